/* The kernel's part of stacks (record --kernel). The kernel puts it into the ring of the thread's
 * event when a period expires; the handler finds it there, and charges the sample to it, below the
 * user's part:
 *
 *     period expires in the kernel ──> ring: its functions       signal ──> user's stack
 *                                        └──────────────────────────────────> ... > write > ksys_write > ...
 *
 * The ring is mapped readable, so that the kernel overwrites what is old. What came since the last
 * sample is read from its oldest record on, and the last one counts: signals may have been merged.
 *
 * Context: the thread's own handler, and where its event is opened and closed.
 * Ownership: the mapping is the thread's, with its event; a forked child has none. */
#ifndef PENUMBRA_RUNTIME_TRIGGER_KERNEL_H
#define PENUMBRA_RUNTIME_TRIGGER_KERNEL_H

#include <stdint.h>

struct perf_event_attr;
struct perf_event_mmap_page;
struct rt_thread;

enum { KERNEL_FRAMES = 64 };

struct rt_kernel {
    const struct perf_event_mmap_page *ring; /* NULL: kernel parts are not known */
    uint64_t seen;                  /* of the ring's bytes */
    uint32_t count;                 /* of this sample; 0: it was in user mode */
    uint64_t frames[KERNEL_FRAMES]; /* addresses, innermost first */
};

/* Where kernel parts are asked for: the event of `a` gives them. */
void kernel_ask_as(struct perf_event_attr *a);
/* t->fd has been opened; is about to be closed; is no longer the thread's. */
void kernel_open_as(struct rt_thread *t);
void kernel_close_as(struct rt_thread *t);
void kernel_forget_as(struct rt_thread *t);
/* In a sandbox: in the thread itself, with no system call but munmap. */
void kernel_abandon_as(struct rt_thread *t);
/* Of the sample that its signal is for. */
void kernel_read_as(struct rt_thread *t);

#endif
