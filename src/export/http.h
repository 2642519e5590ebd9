/* HTTP requests that send bytes to a server, by libcurl. The library is loaded by the first
 * http_open: at start-up its own 24 libraries would take longer than most commands.
 *
 * Context: ordinary code, one thread; calls block for the time given at most.
 * Ownership: http_close releases what http_open made, http_answer_fini an answer. */
#ifndef PENUMBRA_EXPORT_HTTP_H
#define PENUMBRA_EXPORT_HTTP_H

#include "base/buf.h"
#include "base/err.h"

struct http;

struct http_answer {
    int status;           /* 200 ... */
    uint32_t retry_after; /* seconds that the server asks to be left alone; 0: it does not */
    struct buf body;      /* at most as many bytes of it as the request says */
};
enum { HTTP_BODY_MAX = 64 * 1024 };

/* A name with its value: of the query, which is encoded here, or a field of the head. */
struct http_pair {
    const char *name, *value;
};

struct http_request {
    const char *type; /* of the body */
    bool gzip;        /* the body is gzip'ed */
    /* The body is sent once the server says that it reads it: one that hangs before that never
     * gets it. */
    bool expect;
    const struct buf *body;
    const struct http_pair *query, *fields;
    unsigned query_count, field_count;
    uint32_t timeout_ms;
    size_t answer_most; /* bytes; a longer answer fails */
};

/* To http://HOST[:PORT][/PATH], or https. No path, or "/": `path`. ca_file: certificates (PEM) of
 * the authorities that are trusted instead of the system's; NULL: the system's. NULL on an address
 * that is none (ERR_USAGE), or if there is no libcurl (ERR_INTERNAL). */
struct http *http_open(const char *url, const char *path, const char *ca_file, struct err *e);
void http_close(struct http *h);
/* The address for messages: without its query, which may hold a token. */
const char *http_name(const struct http *h);
/* The path of the address without its first slash, which is to be free()d, and of which no request
 * has any more: they are sent to "/". NULL without memory. */
char *http_path_take(struct http *h);

/* Sends the request. False: there was no whole answer in time, or the
 * server's certificate does not hold; *again: another try may help. */
bool http_send(struct http *h, const struct http_request *request, struct http_answer *answer,
               bool *again, struct err *e);
/* The same for a collector, whose answer is cut. */
bool http_post(struct http *h, const char *type, const struct buf *body, uint32_t timeout_ms,
               struct http_answer *answer, bool *again, struct err *e);
void http_answer_fini(struct http_answer *answer);

#endif
