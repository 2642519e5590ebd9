/* Waits of threads that wait often are looked at from outside.
 *
 * With -e wall each end of a wait is a signal, however short the wait was. Where such ends cost
 * more than samples may, the thread leaves its waits to the collector (collector/outside/), which
 * looks at it once a period and sends no signal:
 *
 *     ends cost too much ──> WANTED ──> the collector may look at the process: READY
 *                                                    │
 *     no trampoline any more, and none is set <──────┘   (from outside it would be met as a caller)
 *                │
 *     no signal at ends of waits; the thread's own clock is that of CPU time; record.watched_ns
 *
 * It stays so as long as the thread lives. */
#include "runtime/thread.h"
#include "runtime/trigger/internal.h"
#include "runtime/trigger/trigger.h"
#include "sigsafe/sample_path.h"

enum {
    ENDS = 64,             /* from one look to the next */
    BOUND_PPM = 20000,     /* of the CPU time, if no bound is asked for ... */
    ELAPSED_LEAST = 200,   /* ... and so many times what they cost is more than has passed */
};

void watch_arm_as(struct rt_thread *t)
{
    t->trampoline.allowed |= t->waits.lifts;
    t->waits = (struct rt_waits){0};
}

static bool ends_are_dear(const struct rt_thread *t, uint64_t cpu_ns, uint64_t passed_ns)
{
    uint64_t bound = t->clock.bound_ppm && t->clock.bound_ppm < BOUND_PPM ? t->clock.bound_ppm
                                                                          : BOUND_PPM;
    return t->waits.spent_ns * 1000000 > cpu_ns * bound &&
           t->waits.spent_ns * ELAPSED_LEAST > passed_ns;
}

static void watch_begin(struct rt_thread *t)
{
    perf_close_switches_as(t);
    uint64_t now = clock_leave_wall_as(t);
    ticks_arm_as(t);
    t->record->watched_cpu_ns = t->clock.base;
    __atomic_store_n(&t->record->watched_ns, now, __ATOMIC_RELEASE);
    __atomic_fetch_add(&guest.process->watched, 1, __ATOMIC_RELEASE);
}

static void watch_want(struct rt_thread *t)
{
    uint32_t none = WATCH_NONE;
    switch (__atomic_load_n(&guest.process->watch, __ATOMIC_ACQUIRE)) {
    case WATCH_NONE:
        __atomic_compare_exchange_n(&guest.process->watch, &none, WATCH_WANTED, false,
                                    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
        break;
    case WATCH_READY:
        t->waits.lifts |= t->trampoline.allowed;
        t->trampoline.allowed = false; /* the next sample takes it away */
        if (!t->trampoline.set)
            watch_begin(t);
        break;
    default:
        break;
    }
}

SAMPLE_PATH
void watch_look_as(struct rt_thread *t, uint64_t spent_ns)
{
    t->waits.spent_ns += spent_ns;
    if (++t->waits.ends < ENDS || !rt.config->watch || t->switch_fd < 0 || t->which ||
        t->vfork.is_child)
        return;
    uint64_t cpu_ns = thread_cpu_ns_as(), now_ns = thread_monotonic_ns_as();
    if (t->waits.now_ns && ends_are_dear(t, cpu_ns - t->waits.cpu_ns, now_ns - t->waits.now_ns))
        watch_want(t);
    t->waits.ends = 0;
    t->waits.spent_ns = 0;
    t->waits.cpu_ns = cpu_ns;
    t->waits.now_ns = now_ns;
}
