/* One thread of a process in a sandbox.
 *
 * Context: the thread of record_sandbox.c.
 * Ownership: sandbox_thread_close closes what is open. */
#ifndef PENUMBRA_COLLECTOR_RECORD_SANDBOX_THREAD_H
#define PENUMBRA_COLLECTOR_RECORD_SANDBOX_THREAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sigsafe/spool.h"

struct sandbox_thread {
    struct spool_thread *record; /* the one in which it was first seen */
    int fd, switches;            /* events that we have opened; -1 */
    int account;                 /* /proc/PID/task/TID/schedstat; -1 */
    uint64_t known_ns;           /* of CPU time, in its records */
    uint64_t counted_ns;         /* the event's count then, if that is of CPU time */
};

/* Who is `record->tid` to the process `pid`, whose number here that is. False: it has ended. */
bool sandbox_thread_open(struct sandbox_thread *t, struct spool_thread *record, uint64_t known_ns, pid_t pid);
/* Does what its state asks for. */
void sandbox_thread_serve(struct sandbox_thread *t, const struct spool_config *c, struct spool_process *p, pid_t pid);
/* Its CPU time. False: it has ended. */
bool sandbox_thread_look(struct sandbox_thread *t, const struct spool_config *c);
/* `state`: OUTSIDE_ENDED or OUTSIDE_GONE. */
void sandbox_thread_close(struct sandbox_thread *t, struct spool_process *p, enum spool_outside state);

#endif
