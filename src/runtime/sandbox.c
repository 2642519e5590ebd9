#include "runtime/sandbox.h"

#include <time.h>

#include "runtime/self.h"
#include "runtime/thread.h"
#include "sigsafe/sys.h"

enum { LOOKS = 2000, LOOK_NS = 1000000 };

static bool is_inside(const struct rt_thread *t)
{
    return __atomic_load_n(&t->inside, __ATOMIC_SEQ_CST) || __atomic_load_n(&t->burst.active, __ATOMIC_RELAXED);
}

static bool somebody_inside(const struct rt_thread *self)
{
    if (__atomic_load_n(&rt.inside, __ATOMIC_SEQ_CST))
        return true;
    uint32_t used = __atomic_load_n(&rt.slots_used, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < used; i++) {
        const struct rt_thread *t = thread_at_as(i);
        if (t && t != self && is_inside(t))
            return true;
    }
    return false;
}

void sandbox_begins(void)
{
    const struct timespec look = {0, LOOK_NS};
    const struct rt_thread *self = rt.process ? self_get() : NULL;
    if (__atomic_exchange_n(&rt.spool.quiet, 1, __ATOMIC_SEQ_CST) || !rt.process)
        return;
    __atomic_store_n(&rt.process->sandboxed, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < LOOKS && somebody_inside(self); i++)
        sys_call3_as(SYS_nanosleep, (long)&look, 0, 0);
}

void sandbox_left_out_as(uint32_t threads, uint32_t processes)
{
    if (!rt.process)
        return;
    __atomic_fetch_add(&rt.process->sandbox_threads, threads, __ATOMIC_RELAXED);
    __atomic_fetch_add(&rt.process->sandbox_processes, processes, __ATOMIC_RELAXED);
}
