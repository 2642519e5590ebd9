/* One HTTP/1.1 request that sends bytes to a server, without TLS (RFC 9112).
 *
 * Context: ordinary code; calls block, but for the time given at most (name resolution apart).
 * Ownership: http_answer_fini releases an answer. */
#ifndef PENUMBRA_EXPORT_HTTP_H
#define PENUMBRA_EXPORT_HTTP_H

#include "base/buf.h"
#include "base/err.h"

struct http_url {
    char host[256], port[8], path[1024]; /* an IPv6 address without its brackets */
};

struct http_answer {
    int status;           /* 200 ... */
    uint32_t retry_after; /* seconds that the server asks to be left alone; 0: it does not */
    struct buf body;      /* at most HTTP_BODY_MAX bytes of it; empty if it came in chunks */
};
enum { HTTP_BODY_MAX = 64 * 1024 };

/* http://HOST[:PORT][/PATH]. No path, or "/": `path`. */
bool http_url_parse(struct http_url *u, const char *text, const char *path, struct err *e);

/* Sends the body, which is of `type` and gzip'ed. False: there was no answer in time, or none that
 * can be understood; ERR_INTERNAL: without memory, which another try does not help. */
bool http_post(const struct http_url *u, const char *type, const struct buf *body,
               uint32_t timeout_ms, struct http_answer *answer, struct err *e);
void http_answer_fini(struct http_answer *answer);

/* The head and body of an answer as received, NUL behind it; *all: nothing is missing. False: it is
 * no answer. */
bool http_answer_parse(struct http_answer *answer, const char *text, size_t size, bool *all);

#endif
