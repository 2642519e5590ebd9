/* Changes of executable mappings, by whatever way the program makes them: a library's function, an
 * inlined system call, any thread. Code that bursts and shadows trust not to change is forgotten
 * before another one could run it.
 *
 *      each thread's perf event (dummy, mmap records) ──> its ring of 8 kB ──> read before the next burst, or fork of a shadow
 *
 * The kernel writes a record when a mapping becomes executable: by mmap, or by mprotect. Code that
 * has been written to or replaced cannot be executed again without one. Where a thread has no ring
 * (the kernel refuses), nothing is trusted.
 *
 * Context: signal handlers of the thread concerned; burst_watch_thread_as: also ordinary code.
 * Ownership: a ring stays mapped where it is; the next thread of the same state maps its own over
 * it. */
#ifndef PENUMBRA_RUNTIME_CARRIER_BURST_BURST_WATCH_H
#define PENUMBRA_RUNTIME_CARRIER_BURST_BURST_WATCH_H

#include "runtime/carrier/burst/burst_code.h"
#include "runtime/runtime.h"

struct perf_event_mmap_page;

/* What is kept about a thread: its ring. */
struct rt_watch {
    struct perf_event_mmap_page *ring; /* mapped in the process `pid`, for the thread `tid` */
    int32_t pid;                       /* atomic */
    int32_t tid;
};

/* The calling thread is watched from now on, if the kernel lets it be. */
void burst_watch_thread_as(struct rt_thread *t);

/* Every thread is. */
bool burst_watch_whole_as(void);

/* Forgets what has changed since the last time, and everything where that is not known. False:
 * another thread is about it, and no burst may begin before it has done. */
bool burst_watch_look_as(burst_code_forgotten *gone);

void burst_watch_fork_child(void);

#endif
