/* `penumbra record -p PID`: loading the runtime into a process that runs, and leaving it again.
 *
 *   check ─> a thread at a safe point ─> in it: receive descriptors, dlopen, penumbra_rt_attach
 *     ... let go; the process runs ...
 *   detach ─> in any thread: silence ─> each thread stopped once ─> in any thread: leave
 *
 * The spool, the library and one end of a pipe are sent to the process as descriptors, so that it
 * does not matter what its mount and pid namespaces are. The pipe breaks when the collector ends,
 * however that happens: the runtime then falls silent by itself.
 *
 * Context: the main thread (ptrace knows one tracer thread).
 * Ownership: record_attach_end releases what a struct record_attach holds. */
#ifndef PENUMBRA_COLLECTOR_RECORD_ATTACH_H
#define PENUMBRA_COLLECTOR_RECORD_ATTACH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "collector/record_spool.h"
#include "sigsafe/settings.h"

struct record_attach {
    pid_t pid;
    char name[64];        /* of its program, for file names */
    int mem;              /* /proc/PID/mem, or -1 */
    int lifeline;         /* our end of the pipe, or -1 */
    uint64_t detach;      /* address of the runtime's function; 0: not attached */
    int signal;           /* of samples */
    pid_t *unblocked;     /* threads in which it was blocked */
    unsigned unblocked_count;
};

/* Refuses what cannot work, without touching the process. */
bool record_attach_check(struct record_attach *a, pid_t pid, struct err *e);
/* Chooses the signal of samples: a perf event's, or for timers one that the process does not
 * use. */
bool record_attach_signal(struct record_attach *a, struct spool_config *config, struct err *e);
bool record_attach_begin(struct record_attach *a, const char *runtime,
                         const struct record_spool *spool, struct err *e);
/* False: the process has ended. */
bool record_attach_runs(const struct record_attach *a);
/* Leaves the process, and the children it has made since. False: it could not be left completely
 * (*e), though nothing is sampled any more. */
bool record_attach_leave(struct record_attach *a, const struct record_spool *spool, struct err *e);
void record_attach_end(struct record_attach *a);

/* The arguments of the process, NULL-terminated, to free() as one; NULL: not to be had. */
char **record_attach_arguments(pid_t pid);

#endif
