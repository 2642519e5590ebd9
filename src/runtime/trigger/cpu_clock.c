/* The thread's CPU time, as its event counts it.
 *
 * To read a thread's CPU clock has the kernel look whether its time slice is over, which it does
 * at its ticks otherwise: who reads it at every sample is preempted more often than without, and
 * finds its caches full of what others have done. To read the event does not:
 *
 *     CPU clock = what the event has counted + ahead
 *
 * The event stands still while it is not enabled: then `ahead` is measured anew. At each switch of
 * the thread it stands still a little longer than the clock, some 10 us: `ahead` is right within
 * that of each switch in CHECKED_NS, and no longer of use after it. */
#include "runtime/thread.h"
#include "runtime/trigger/internal.h"
#include "runtime/trigger/trigger.h"

enum { CHECKED_NS = 1000000000 };

void cpu_clock_forget_as(struct rt_thread *t)
{
    __atomic_store_n(&t->cpu_clock.known, false, __ATOMIC_RELAXED);
}

uint64_t cpu_clock_as(struct rt_thread *t)
{
    struct rt_cpu_clock *c = &t->cpu_clock;
    bool counts = t->fd >= 0 && !t->which && t->clock.trigger == TRIGGER_CPU;
    uint64_t counted = counts ? perf_count_as(t) : 0;
    if (!counted)
        return thread_cpu_ns_as();
    uint64_t now = counted + c->ahead;
    if (__atomic_exchange_n(&c->known, true, __ATOMIC_RELAXED) && now - c->checked < CHECKED_NS)
        return now;
    c->checked = thread_cpu_ns_as();
    c->ahead = c->checked - counted;
    return c->checked;
}
