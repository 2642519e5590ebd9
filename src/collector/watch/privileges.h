/* What a daemon may do once it samples: nothing but to look at processes and read files.
 *
 *      CAP_SYS_PTRACE           /proc/PID/maps, root, exe of others' processes
 *      CAP_DAC_READ_SEARCH      their executables and libraries
 *      CAP_CHECKPOINT_RESTORE   /proc/PID/map_files (Linux 5.9)
 *      CAP_SYSLOG               /proc/kallsyms, for modules that are loaded later
 *
 * All others are given up, CAP_PERFMON too: events stay open. No program that it executes can get
 * any (no_new_privs).
 *
 * Context: the thread that starts all others, before it does. */
#ifndef PENUMBRA_COLLECTOR_WATCH_PRIVILEGES_H
#define PENUMBRA_COLLECTOR_WATCH_PRIVILEGES_H

#include <stdbool.h>

#include "base/err.h"

bool privileges_drop(struct err *e);
/* The same of who shows a database: CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH are left, as it may be
 * of the daemon's user (readers of a WAL lock its index). */
bool privileges_read(struct err *e);
/* Whether we may look at processes of others. */
bool privileges_look(void);

#endif
