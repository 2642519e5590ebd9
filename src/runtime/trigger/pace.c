/* The period that threads begin with.
 *
 * A budget stretches the period of a thread as its samples show what they cost (clock.c). A thread
 * or process that lives for some milliseconds has no time to find that out: its first samples,
 * which find nothing in the caches, would be all that it has. So those that are young add up what
 * they used and what samples cost them, in all processes of the recording:
 *
 *     young_cpu_ns      CPU time of threads that are younger than YOUNG_NS
 *     young_allowed_ns  what the budget allows in it
 *     young_cost_ns     what samples cost in it
 *
 * Whenever that is ENOUGH_NS of CPU time, who adds the last of it doubles the multiple that threads
 * begin with until the cost would have been allowed, or halves it, as clock.c does for one thread.
 * The first sample of a thread comes anywhere within its first period, and stands for the whole of
 * it: so threads that are shorter than a period are sampled as often as their time says. */
#include "runtime/carrier/carrier.h"
#include "runtime/thread.h"
#include "runtime/trigger/internal.h"
#include "runtime/trigger/trigger.h"

enum { YOUNG_NS = 50000000, ENOUGH_NS = 200000000, BEGUN_MOST = 1024 };

uint64_t pace_begin_as(const struct rt_thread *t)
{
    const struct spool_header *h = spool_header(&guest.spool);
    uint32_t multiple = __atomic_load_n(&h->begun_multiple, __ATOMIC_RELAXED);
    return t->clock.trigger == TRIGGER_CPU && rt.config->randomize && multiple ? multiple : 1;
}

static void decide(struct spool_header *h)
{
    uint64_t cpu = __atomic_exchange_n(&h->young_cpu_ns, 0, __ATOMIC_RELAXED);
    if (cpu < ENOUGH_NS)
        return; /* another one decides */
    uint64_t allowed = __atomic_exchange_n(&h->young_allowed_ns, 0, __ATOMIC_RELAXED),
             cost = __atomic_exchange_n(&h->young_cost_ns, 0, __ATOMIC_RELAXED);
    uint32_t multiple = __atomic_load_n(&h->begun_multiple, __ATOMIC_RELAXED);
    if (!multiple)
        multiple = 1;
    for (; cost > allowed && multiple < BEGUN_MOST; cost /= 2)
        multiple *= 2;
    if (cost < allowed / 20 * 9 && multiple > 1)
        multiple /= 2;
    __atomic_store_n(&h->begun_multiple, multiple, __ATOMIC_RELAXED);
}

void pace_note_as(const struct rt_thread *t, uint64_t cpu_ns, uint64_t allowed_ns, uint64_t cost_ns)
{
    struct spool_header *h = spool_header(&guest.spool);
    if (t->clock.window_cpu_ns >= YOUNG_NS || t->which)
        return;
    __atomic_fetch_add(&h->young_allowed_ns, allowed_ns, __ATOMIC_RELAXED);
    __atomic_fetch_add(&h->young_cost_ns, cost_ns, __ATOMIC_RELAXED);
    if (__atomic_add_fetch(&h->young_cpu_ns, cpu_ns, __ATOMIC_RELAXED) >= ENOUGH_NS)
        decide(h);
}
