/* A web server for one person on one machine: it listens on loopback alone, and answers those who
 * have its token. Requests are read and never written: GET and HEAD.
 *
 *     GET /?token=T ──> the page, and a cookie with T ──> GET /..., with the cookie
 *                                                         GET /..., Authorization: Bearer T
 *
 * A page of another site can neither read answers (no token, no CORS) nor show them in a frame, and
 * a name that somebody else has lead to 127.0.0.1 is refused: Host must be a loopback address or
 * "localhost".
 *
 * libmicrohttpd reads and writes HTTP. It is loaded when a server begins.
 *
 * Context: web_begin and web_end on one thread. The handler runs on the server's own, one request
 * after the other.
 * Ownership: web_end ends it, and waits for the request that is answered. */
#ifndef PENUMBRA_SERVE_WEB_H
#define PENUMBRA_SERVE_WEB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum { WEB_TOKEN_SIZE = 33 };

struct web;
struct web_request;

/* To be filled by the handler; the body is taken over. */
struct web_answer {
    unsigned status;      /* 0: 200 */
    const char *type;     /* Content-Type, constant */
    const char *download; /* the name of a file, constant; NULL: to be shown */
    struct buf body;
};

/* Without the question mark and what follows. */
const char *web_path(const struct web_request *r);
/* A parameter of the query, decoded; NULL: there is none. Valid until the handler returns. */
const char *web_parameter(const struct web_request *r, const char *name);

struct web_options {
    uint16_t port; /* 0: any that is free */
    void (*handle)(void *context, const struct web_request *r, struct web_answer *answer);
    void *context;
};

/* NULL: *e; ERR_OUTPUT: the port cannot be had. */
struct web *web_begin(const struct web_options *options, struct err *e);
void web_end(struct web *w);
uint16_t web_port(const struct web *w);
const char *web_token(const struct web *w);

#endif
