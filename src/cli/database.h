/* What daemon, query and db share: where the database is, and ranges of time as people write them.
 *
 * Context: the main thread. */
#ifndef PENUMBRA_CLI_DATABASE_H
#define PENUMBRA_CLI_DATABASE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Where it is unless --db says otherwise: of root /var/lib/penumbra/machine.db, of others
 * penumbra/machine.db in $XDG_STATE_HOME or ~/.local/state. make: its folder is made if it is
 * missing. */
bool database_path(const char *given, bool make, char path[PATH_MAX], struct err *e);

/* CLOCK_REALTIME now. */
int64_t database_now(void);

/* The range that is meant unless another one is given: up to now. */
#define DATABASE_LAST "1h"

struct database_range {
    int64_t from_ns, to_ns;
};
/* A moment: "2026-11-27", "2026-11-27 14:30", "2026-11-27T14:30:05", "14:30" (today), all local
 * time, with a Z at the end UTC; "-2h": so long ago; "now"; "@1795793400": since 1970. option: for
 * messages. */
bool database_moment(const char *text, const char *option, int64_t now_ns, int64_t *ns,
                     struct err *e);
/* "FROM..TO", of which either may be missing, or "2h": the last two hours. */
bool database_range(const char *text, const char *option, int64_t now_ns,
                    struct database_range *range, struct err *e);
/* What a command's --last, or --from and --to, say (NULL: not given); without any the last hour. */
bool database_between(const char *last, const char *from, const char *to,
                      struct database_range *range, struct err *e);

#endif
