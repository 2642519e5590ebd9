/* What a daemon sends to a fleet's store, besides what it writes to its database: batches into a
 * spool beside the database, and a process that sends them.
 *
 * Context: the main thread.
 * Ownership: daemon_fleet_end releases it. */
#ifndef PENUMBRA_CLI_DAEMON_FLEET_H
#define PENUMBRA_CLI_DAEMON_FLEET_H

#include "cli/source.h"

struct daemon_fleet;

/* Before the daemon opens what its sender is not to have. database: its path; the spool is
 * DATABASE-spool. most: bytes of the spool. NULL: *e. */
struct daemon_fleet *daemon_fleet_begin(const struct source_options *options, const char *database,
                                        const char *host, uint64_t most, struct err *e);
void daemon_fleet_most(struct daemon_fleet *f, uint64_t most);
/* An interval that the database has. What cannot be kept is said, and missing in the next one.
 * f: NULL: nothing is done, as by the next two. */
void daemon_fleet_put(struct daemon_fleet *f, struct store *s, const struct profile *p,
                      const struct store_slot *slot);
uint64_t daemon_fleet_cost_ns(struct daemon_fleet *f);
void daemon_fleet_end(struct daemon_fleet *f);

#endif
