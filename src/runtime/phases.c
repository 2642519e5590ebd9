/* Each phase is an epoch of the process: rt.phase says which, and a thread's next sample finds out that
 * it has changed, and goes on in another tree (thread_follow_phase_as). */
#include "runtime/phases.h"

#include "runtime/process.h"
#include "runtime/thread.h"
#include "runtime/trigger/sync.h"
#include "sigsafe/sys.h"

#define EXPORT __attribute__((visibility("default")))

enum { DEPTH = 64, SPINS = 1000 };

static struct {
    uint32_t lock;
    uint32_t count;                       /* of phases; ids are 1 .. count */
    uint32_t depth;                       /* of `open` */
    uint32_t too_deep;                    /* begun beyond that, and not ended */
    uint32_t open[DEPTH];                 /* ids, outermost first; a refused phase has its outer's */
    bool refused[DEPTH];
    struct spool_phase *known[RT_PHASES]; /* by id */
} phases;

static uint64_t now_ns(void)
{
    return rt_quiet_as() ? 0 : thread_monotonic_ns_as();
}

/* Held for a moment with all signals blocked, so that a handler may call us too. False: this is a process
 * that we do not know of. */
static bool lock_take(struct sync_hold *hold)
{
    if (!rt_running_as())
        return false;
    sync_mask(hold);
    for (unsigned tries = 1; __atomic_exchange_n(&phases.lock, 1, __ATOMIC_ACQUIRE); tries++) {
        if (rt_quiet_as() || tries % SPINS)
            continue;
        if (process_foreign_as()) {
            sync_unmask(hold);
            return false;
        }
        sys_call3_as(SYS_sched_yield, 0, 0, 0);
    }
    return true;
}

static void lock_release(struct sync_hold *hold)
{
    __atomic_store_n(&phases.lock, 0, __ATOMIC_RELEASE);
    sync_unmask(hold);
}

static uint64_t length_of(const char *name)
{
    enum { LENGTH_MAX = 4096 };
    uint64_t length = 0;
    while (length < LENGTH_MAX && name[length])
        length++;
    return length;
}

static bool named(const struct spool_phase *phase, const char *name, uint64_t length)
{
    const struct spool_string *s = spool_at(&rt.spool, phase->name, sizeof *s);
    if (!s || s->length != length)
        return false;
    for (uint64_t i = 0; i < length; i++)
        if (s->bytes[i] != name[i])
            return false;
    return true;
}

static uint32_t phase_add(spool_ref name, uint32_t outer)
{
    struct spool_phase *phase = name ? spool_alloc_as(&rt.spool, sizeof *phase) : NULL;
    if (!phase)
        return 0;
    phase->id = phases.count + 1;
    phase->outer = outer;
    phase->name = name;
    phases.known[phase->id] = phase;
    phases.count++;
    spool_push_as(&rt.spool, &rt.process->phases, phase);
    return phase->id;
}

/* The id of the phase; 0: there is no room for another one. */
static uint32_t phase_find(const char *name, uint32_t outer)
{
    uint64_t length = length_of(name);
    for (uint32_t id = 1; id <= phases.count; id++)
        if (phases.known[id]->outer == outer && named(phases.known[id], name, length))
            return id;
    if (phases.count + 1 == RT_PHASES)
        return 0;
    return phase_add(spool_string_as(&rt.spool, name, length), outer);
}

static uint32_t current(void)
{
    return phases.depth ? phases.open[phases.depth - 1] : 0;
}

static void begin(const char *name)
{
    if (phases.depth == DEPTH) {
        phases.too_deep++;
        rt.process->phases_refused++;
        return;
    }
    uint32_t outer = current(), id = phase_find(name, outer);
    phases.refused[phases.depth] = !id;
    phases.open[phases.depth++] = id ? id : outer;
    if (!id) {
        rt.process->phases_refused++;
        return;
    }
    phases.known[id]->begun++;
    phases.known[id]->start_ns = now_ns();
    __atomic_store_n(&rt.phase, id, __ATOMIC_RELEASE);
}

static void end(void)
{
    if (phases.too_deep) {
        phases.too_deep--;
        return;
    }
    if (!phases.depth)
        return;
    phases.depth--;
    if (phases.refused[phases.depth])
        return;
    struct spool_phase *phase = phases.known[phases.open[phases.depth]];
    uint64_t now = now_ns();
    if (now && phase->start_ns)
        phase->elapsed_ns += now - phase->start_ns;
    phase->start_ns = 0;
    __atomic_store_n(&rt.phase, current(), __ATOMIC_RELEASE);
}

EXPORT void penumbra_rt_phase_begin(const char *name);
void penumbra_rt_phase_begin(const char *name)
{
    struct sync_hold hold;
    if (!lock_take(&hold))
        return;
    begin(name ? name : "");
    lock_release(&hold);
}

EXPORT void penumbra_rt_phase_end(void);
void penumbra_rt_phase_end(void)
{
    struct sync_hold hold;
    if (!lock_take(&hold))
        return;
    end();
    lock_release(&hold);
}

EXPORT void penumbra_rt_pause(void);
void penumbra_rt_pause(void)
{
    struct sync_hold hold;
    if (!lock_take(&hold))
        return;
    if (!rt.paused) {
        rt.process->pauses++;
        __atomic_store_n(&rt.process->pause_start_ns, now_ns(), __ATOMIC_RELAXED);
    }
    __atomic_store_n(&rt.paused, rt.paused + 1, __ATOMIC_RELEASE);
    lock_release(&hold);
}

EXPORT void penumbra_rt_resume(void);
void penumbra_rt_resume(void)
{
    struct sync_hold hold;
    if (!lock_take(&hold))
        return;
    if (rt.paused) {
        uint64_t start = rt.process->pause_start_ns, now = now_ns();
        __atomic_store_n(&rt.paused, rt.paused - 1, __ATOMIC_RELEASE);
        if (!rt.paused) {
            if (start && now)
                __atomic_store_n(&rt.process->paused_ns, rt.process->paused_ns + now - start,
                                 __ATOMIC_RELAXED);
            __atomic_store_n(&rt.process->pause_start_ns, 0, __ATOMIC_RELAXED);
        }
    }
    lock_release(&hold);
}

/* A pause that ends between the two loads is counted twice for a moment. */
uint64_t phases_paused_ns_as(uint64_t now)
{
    uint64_t start = __atomic_load_n(&rt.process->pause_start_ns, __ATOMIC_RELAXED);
    uint64_t ended = __atomic_load_n(&rt.process->paused_ns, __ATOMIC_RELAXED);
    return ended + (start && now > start ? now - start : 0);
}

void phases_fork_child(void)
{
    uint32_t depth = phases.depth, outer = 0, innermost = 0;
    const struct spool_phase *parents[RT_PHASES];
    uint64_t now = now_ns();
    phases.lock = 0;
    for (uint32_t id = 1; id <= phases.count; id++)
        parents[id] = phases.known[id];
    phases.count = 0;
    for (uint32_t i = 0; i < depth; i++) {
        uint32_t id = phases.refused[i] ? 0 : phase_add(parents[phases.open[i]]->name, outer);
        phases.refused[i] = !id;
        phases.open[i] = id ? id : outer;
        if (!id)
            continue;
        phases.known[id]->begun = 1;
        phases.known[id]->start_ns = now;
        outer = innermost = id;
    }
    __atomic_store_n(&rt.phase, innermost, __ATOMIC_RELEASE);
    rt.process->pauses = rt.paused != 0;
    rt.process->pause_start_ns = rt.paused ? now : 0;
}
