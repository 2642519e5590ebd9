/* Where query and serve read from: this machine's database, or a fleet's store. The functions are
 * those of database/store.h.
 *
 * Context: the main thread, or that of the server.
 * Ownership: source_close releases a source, also one that could not be opened. */
#ifndef PENUMBRA_CLI_SOURCE_H
#define PENUMBRA_CLI_SOURCE_H

#include <limits.h>

#include "database/store.h"
#include "fleet/fleet.h"

/* Texts of the options; NULL where one was not given. */
struct source_options {
    const char *database, *store, *auth_file, *ca_file;
};

/* Rows of a command's options, whose arguments have a struct source_options. */
#define SOURCE_STORE_ROWS(type, member)                                                            \
    {0, "store", "URL",                                                                            \
     .help = "a fleet's store: http://HOST:PORT/DATABASE of a ClickHouse server, or https",        \
     .filled = true, FIELD(type, member.store)},                                                   \
    {0, "store-auth", "FILE",                                                                      \
     .help = "USER:PASSWORD for it, instead of PENUMBRA_STORE_USER and PENUMBRA_STORE_PASSWORD in "\
             "the environment",                                                                    \
     .filled = true, FIELD(type, member.auth_file)},                                               \
    {0, "store-ca", "FILE",                                                                        \
     .help = "whom to trust for https: the authorities' certificates (PEM), instead of the "       \
             "system's",                                                                           \
     .filled = true, FIELD(type, member.ca_file)}
#define SOURCE_ROWS(type, member)                                                                  \
    {0, "db", "FILE", .fallback = "/var/lib/penumbra/machine.db, of users ~/.local/state/penumbra",\
     .help = "the database", .filled = true, FIELD(type, member.database)},                        \
    SOURCE_STORE_ROWS(type, member)

struct source;

/* What the connection to the store is made with. */
struct fleet_options source_fleet(const struct source_options *options);
/* Whether options are given that go together. */
bool source_check(const struct source_options *options, struct err *e);
/* The same, of who takes one of both, a database or a store. */
bool source_check_one(const struct source_options *options, struct err *e);

bool source_open(struct source **s, const struct source_options *options, struct err *e);
void source_close(struct source *s);
/* The database's path or the store's address. */
bool source_name(const struct source_options *options, char name[PATH_MAX], struct err *e);

bool source_range(struct source *s, const struct store_query *q, struct store_range *range,
                  struct err *e);
struct profile *source_get(struct source *s, const struct store_query *q,
                           struct store_range *range, struct err *e);
bool source_services(struct source *s, const struct store_query *q,
                     void (*tell)(void *context, const struct store_service *service),
                     void *context, struct store_range *range, struct err *e);
bool source_load(struct source *s, const struct store_query *q, uint32_t most,
                 struct store_load *load, struct err *e);

#endif
