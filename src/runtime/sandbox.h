/* Sandboxes (seccomp): a filter may end the program for any system call that it does not know, and
 * may begin for all threads at once. So it is noted before it is there, and waited for who had
 * looked before that:
 *
 *     the thread that enters a sandbox          another one, in its handler or another entry of ours
 *       quiet = 1                                 inside = 1
 *       wait until nobody is inside               quiet? then no system calls
 *       the program's own call                    ... inside = 0
 *
 * Of both stores and loads that follow, at least one thread sees the other's (they are sequentially
 * consistent).
 *
 * Context: _as functions: any. The rest: ordinary code. */
#ifndef PENUMBRA_RUNTIME_SANDBOX_H
#define PENUMBRA_RUNTIME_SANDBOX_H

#include "runtime/thread.h"

/* The calling thread, or one that we know, may be about to enter a sandbox. Returns when no thread
 * of ours makes a system call of its own any more; or after two seconds, as somebody may have
 * stopped one there. */
void sandbox_begins(void);
/* Only waits, and only for the handlers and bursts of other threads; for all of their entries of
 * ours. */
void sandbox_await_handlers(void);
void sandbox_await(void);
/* As sandbox_begins, before what is like a sandbox, but may be refused. True: it is the first one,
 * and to be told what came of it; others may have begun one meanwhile, and only if none has, all is
 * as it was (_refused: true). sandbox_granted_as makes no system calls. */
bool sandbox_may_begin(void);
void sandbox_granted_as(void);
bool sandbox_refused(void);
/* One has begun that was not refused. */
bool sandbox_is_there_as(void);
/* What is made in a sandbox and not observed is counted. */
void sandbox_left_out_as(uint32_t threads, uint32_t processes, enum left_reason why);

/* Around what looks at rt_quiet_as() and then makes system calls. Nests; in a thread with a state
 * (handlers) it returns what sandbox_out_as is to be told. */
static inline uint32_t sandbox_in_as(struct rt_thread *t)
{
    if (t)
        return __atomic_exchange_n(&t->inside, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&rt.inside, 1, __ATOMIC_SEQ_CST);
    return 0;
}

static inline void sandbox_out_as(struct rt_thread *t, uint32_t before)
{
    if (t)
        __atomic_store_n(&t->inside, before, __ATOMIC_RELEASE);
    else
        __atomic_fetch_sub(&rt.inside, 1, __ATOMIC_RELEASE);
}

#endif
