/* One HTTP request that sends bytes to a server, by libcurl. The library is loaded by the first
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
    struct buf body;      /* at most HTTP_BODY_MAX bytes of it */
};
enum { HTTP_BODY_MAX = 64 * 1024 };

/* To http://HOST[:PORT][/PATH], or https. No path, or "/": `path`. ca_file: certificates (PEM) of
 * the authorities that are trusted instead of the system's; NULL: the system's. NULL on an address
 * that is none (ERR_USAGE), or if there is no libcurl (ERR_INTERNAL). */
struct http *http_open(const char *url, const char *path, const char *ca_file, struct err *e);
void http_close(struct http *h);

/* Sends the body, which is of `type` and gzip'ed. False: there was no whole answer in time, or the
 * server's certificate does not hold; *again: another try may help. */
bool http_post(struct http *h, const char *type, const struct buf *body, uint32_t timeout_ms,
               struct http_answer *answer, bool *again, struct err *e);
void http_answer_fini(struct http_answer *answer);

#endif
