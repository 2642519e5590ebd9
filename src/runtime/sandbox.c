#include "runtime/sandbox.h"

#include <time.h>

#include "runtime/carrier/carrier.h"
#include "runtime/sandbox_outside.h"
#include "runtime/self.h"
#include "runtime/thread.h"
#include "runtime/trigger/trigger.h"
#include "sigsafe/sys.h"

enum { LOOKS = 2000, LOOK_NS = 1000000 };
enum { QUIET_NOT, QUIET_MAYBE, QUIET }; /* guest.spool.quiet */

static bool is_inside(const struct rt_thread *t)
{
    return __atomic_load_n(&t->inside, __ATOMIC_SEQ_CST) || CARRIER_ASK(is_active_as, (t));
}

static bool somebody_inside(const struct rt_thread *self, bool in_handlers)
{
    if (!in_handlers && __atomic_load_n(&rt.inside, __ATOMIC_SEQ_CST))
        return true;
    uint32_t used = __atomic_load_n(&rt.slots_used, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < used; i++) {
        const struct rt_thread *t = thread_at_as(i);
        if (t && t != self && is_inside(t))
            return true;
    }
    return false;
}

static void inside_await(bool in_handlers)
{
    const struct timespec look = {0, LOOK_NS};
    const struct rt_thread *self = self_get();
    for (int i = 0; i < LOOKS && somebody_inside(self, in_handlers); i++)
        sys_call3_as(SYS_nanosleep, (long)&look, 0, 0);
}

void sandbox_await_handlers(void)
{
    inside_await(true);
}

void sandbox_await(void)
{
    inside_await(false);
}

/* Nobody is inside: from now on periods are not drawn. */
static void still(void)
{
    inside_await(false);
    uint32_t used = __atomic_load_n(&rt.slots_used, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < used; i++)
        if (thread_at_as(i))
            trigger_fix_as(thread_at_as(i));
}

void sandbox_begins(void)
{
    if (__atomic_load_n(&guest.spool.quiet, __ATOMIC_RELAXED) == QUIET_NOT)
        outside_reserve();
    if (__atomic_exchange_n(&guest.spool.quiet, QUIET, __ATOMIC_SEQ_CST) == QUIET ||
        !rt_profiled_as())
        return;
    __atomic_store_n(&guest.process->sandboxed, 1, __ATOMIC_RELAXED);
    outside_announce();
    still();
}

bool sandbox_may_begin(void)
{
    uint32_t not = QUIET_NOT;
    if (!__atomic_compare_exchange_n(&guest.spool.quiet, &not, QUIET_MAYBE, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST)) {
        sandbox_begins();
        return false;
    }
    still();
    return true;
}

void sandbox_granted_as(void)
{
    __atomic_store_n(&guest.spool.quiet, QUIET, __ATOMIC_SEQ_CST);
    __atomic_store_n(&guest.process->sandboxed, 1, __ATOMIC_RELAXED);
}

/* Threads and processes that were made meanwhile are not observed: their line in the report needs
 * the word. */
bool sandbox_refused(void)
{
    uint32_t maybe = QUIET_MAYBE;
    if (__atomic_load_n(&guest.process->sandbox_threads, __ATOMIC_RELAXED) ||
        __atomic_load_n(&guest.process->sandbox_processes, __ATOMIC_RELAXED))
        __atomic_store_n(&guest.process->sandboxed, 1, __ATOMIC_RELAXED);
    return __atomic_compare_exchange_n(&guest.spool.quiet, &maybe, QUIET_NOT, false,
                                       __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

bool sandbox_is_there_as(void)
{
    return __atomic_load_n(&guest.spool.quiet, __ATOMIC_RELAXED) == QUIET;
}

void sandbox_left_out_as(uint32_t threads, uint32_t processes, enum left_reason why)
{
    if (!rt_profiled_as())
        return;
    __atomic_fetch_add(&guest.process->sandbox_threads, threads, __ATOMIC_RELAXED);
    __atomic_fetch_add(&guest.process->sandbox_processes, processes, __ATOMIC_RELAXED);
    __atomic_fetch_add(&guest.process->left_out[why], threads + processes, __ATOMIC_RELAXED);
}
