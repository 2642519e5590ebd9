/* One thread of a process in a sandbox.
 *
 * Context: the thread of record_sandbox.c.
 * Ownership: sandbox_thread_close closes what is open. */
#ifndef PENUMBRA_COLLECTOR_RECORD_SANDBOX_THREAD_H
#define PENUMBRA_COLLECTOR_RECORD_SANDBOX_THREAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sigsafe/settings.h"

struct sandbox_thread {
    struct spool_thread *record; /* the one in which it was first seen */
    int fd, switches;            /* events that we have opened; -1 */
    int account;                 /* /proc/PID/task/TID/schedstat; -1 */
    uint64_t known_ns;           /* of CPU time, in its records */
    uint64_t counted_ns;         /* the event's count then, if that is of CPU time */
};

/* A process, whose number may be another one's when it is over. */
struct sandbox_place {
    int folder; /* its own in /proc */
    pid_t pid;  /* its number here */
};

/* An errno; ESRCH: it executes another program than `p` is about. */
int sandbox_place_check(const struct sandbox_place *at, const struct spool_process *p);

/* Who is `record->tid` to the process. An errno; ESRCH: it has ended; EAGAIN: so many do that it is
 * not known. */
int sandbox_thread_open(struct sandbox_thread *t, struct spool_thread *record, uint64_t known_ns,
                        const struct sandbox_place *at);
/* Its trigger cannot be set, if it is wanted, which is counted. An errno; 0: nothing has failed. */
void sandbox_thread_refuse(struct spool_thread *record, struct spool_process *p, int error);
/* Does what its state asks for. */
void sandbox_thread_serve(struct sandbox_thread *t, const struct spool_config *c,
                          struct spool_process *p, const struct sandbox_place *at);
/* Its CPU time. False: it has ended. */
bool sandbox_thread_look(struct sandbox_thread *t, const struct spool_config *c);
/* `state`: OUTSIDE_ENDED or OUTSIDE_GONE. */
void sandbox_thread_close(struct sandbox_thread *t, struct spool_process *p,
                          enum spool_outside state);

#endif
