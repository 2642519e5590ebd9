/* Joining a process that runs already, and leaving it again (sigsafe/attach.h has the protocol).
 *
 * A library that arrives by dlopen() stands in front of no function that was bound before, so the
 * process is known only by what the kernel says of it: each thread that exists gets one inherited
 * event, whose first tick comes soon, and in that tick arms itself (trigger/seek.c).
 *
 * Context: _as functions: signal handlers too. The rest is called by the collector in a stopped
 * thread that holds no lock of malloc's or the loader's, all signals blocked.
 * Ownership: after leaving, the library and an empty mapping in place of the spool stay: a thread
 * may be anywhere inside a function of ours. The next attach uses them again. */
#ifndef PENUMBRA_RUNTIME_ATTACH_H
#define PENUMBRA_RUNTIME_ATTACH_H

#include <stdbool.h>

#include "sigsafe/attach.h"

int penumbra_rt_attach(const struct attach_request *request);
int penumbra_rt_detach(int step);

/* Stops all sampling for good if the collector has ended, however it did. */
void attach_look_for_collector_as(void);
/* Whether fd is ours. */
bool attach_owns_fd_as(int fd);

#endif
