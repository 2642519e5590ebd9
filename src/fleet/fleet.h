/* The store of a fleet: the profiles of many machines in one ClickHouse server, which is spoken to
 * over HTTP (docs/fleet.md).
 *
 *      daemon ─> batch.h ─> queue.h ─> files ─> send.h ─┐
 *                                                       ├─ connect.c ─> HTTP ─> the server
 *      query, serve ─> read.c, load ────────────────────┘
 *
 * Context: ordinary code, one thread a connection; calls block for the time-out at most.
 * Ownership: fleet_close releases a connection. */
#ifndef PENUMBRA_FLEET_FLEET_H
#define PENUMBRA_FLEET_FLEET_H

#include "base/buf.h"
#include "base/err.h"
#include "database/store.h"

struct fleet;

struct fleet_options {
    const char *url;       /* http://HOST:PORT[/DATABASE], or https */
    const char *auth_file; /* USER:PASSWORD in its first line; NULL: as the environment says */
    const char *ca_file;   /* as of http_open */
    uint32_t timeout_ms;   /* of a request */
};

/* Says nothing to the server yet. False: *e, of the address, the file or libcurl. */
bool fleet_open(struct fleet **f, const struct fleet_options *options, struct err *e);
void fleet_close(struct fleet *f);

/* Makes the database and its tables; where they are there, nobody needs the right to. */
bool fleet_make(struct fleet *f, struct err *e);
/* The same for who uploads names; a store of an older version gets the table for them. */
bool fleet_symbols_make(struct fleet *f, struct err *e);

/* ---- names apart from hosts ---- */

struct buf;
struct profile_image;

/* Names of one build's functions. */
struct fleet_function {
    const struct profile_image *image; /* with a build-id */
    const char *name;
    uint64_t start, end; /* link-time addresses */
};

/* Appends a function to what is sent. False: it has no name, or is too large to be one. */
bool fleet_function_put(struct buf *rows, const struct fleet_function *function);
/* Sends what was put if it is much, or `all`, and empties it. Sending twice makes one of it. */
bool fleet_functions_send(struct fleet *f, struct buf *rows, bool all, struct err *e);

/* ---- reading: as of store.h ---- */

bool fleet_range(struct fleet *f, const struct store_query *q, struct store_range *range,
                 struct err *e);
struct profile *fleet_get(struct fleet *f, const struct store_query *q, struct store_range *range,
                          struct err *e);
bool fleet_services(struct fleet *f, const struct store_query *q,
                    void (*tell)(void *context, const struct store_service *service),
                    void *context, struct store_range *range, struct err *e);
bool fleet_load(struct fleet *f, const struct store_query *q, uint32_t most,
                struct store_load *load, struct err *e);

/* Removes the days that are over before `before_ns`. *days: how many. */
bool fleet_drop(struct fleet *f, int64_t before_ns, uint64_t *days, struct err *e);

#endif
