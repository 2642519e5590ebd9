/* Each phase is an epoch of the process: guest.phase says which. A guest finds out at its thread's
 * next record that it has changed, and goes on in another tree. */
#include "guest/phases.h"

#include "sigsafe/sys.h"

enum { DEPTH = 64, SPINS = 1000 };

static struct {
    uint32_t lock;
    uint32_t count;                       /* of phases; ids are 1 .. count */
    uint32_t depth;                       /* of `open` */
    uint32_t too_deep;                    /* begun beyond that, and not ended */
    uint32_t open[DEPTH]; /* ids, outermost first; a refused phase has its outer's */
    bool refused[DEPTH];
    struct spool_phase *known[GUEST_PHASES]; /* by id */
} phases;

static uint64_t now_ns(void)
{
    return guest_quiet_as() ? 0 : sys_clock_ns_as(CLOCK_MONOTONIC);
}

/* Held for a moment. False: this is a process that we do not know of. */
static bool lock_take(void)
{
    for (unsigned tries = 1; __atomic_exchange_n(&phases.lock, 1, __ATOMIC_ACQUIRE); tries++) {
        if (guest_quiet_as() || tries % SPINS)
            continue;
        if (guest_is_foreign_as())
            return false;
        sys_call3_as(SYS_sched_yield, 0, 0, 0);
    }
    return true;
}

static void lock_release(void)
{
    __atomic_store_n(&phases.lock, 0, __ATOMIC_RELEASE);
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
    const struct spool_string *s = spool_at(&guest.spool, phase->name, sizeof *s);
    if (!s || s->length != length)
        return false;
    for (uint64_t i = 0; i < length; i++)
        if (s->bytes[i] != name[i])
            return false;
    return true;
}

static uint32_t phase_add(spool_ref name, uint32_t outer)
{
    struct spool_phase *phase = name ? spool_alloc_as(&guest.spool, sizeof *phase) : NULL;
    if (!phase)
        return 0;
    phase->id = phases.count + 1;
    phase->outer = outer;
    phase->name = name;
    phases.known[phase->id] = phase;
    phases.count++;
    spool_push_as(&guest.spool, &guest.process->phases, phase);
    return phase->id;
}

/* The id of the phase; 0: there is no room for another one. */
static uint32_t phase_find(const char *name, uint32_t outer)
{
    uint64_t length = length_of(name);
    for (uint32_t id = 1; id <= phases.count; id++)
        if (phases.known[id]->outer == outer && named(phases.known[id], name, length))
            return id;
    if (phases.count + 1 == GUEST_PHASES)
        return 0;
    return phase_add(spool_string_as(&guest.spool, name, length), outer);
}

static uint32_t current(void)
{
    return phases.depth ? phases.open[phases.depth - 1] : 0;
}

static void begin(const char *name)
{
    if (phases.depth == DEPTH) {
        phases.too_deep++;
        guest.process->phases_refused++;
        return;
    }
    uint32_t outer = current(), id = phase_find(name, outer);
    phases.refused[phases.depth] = !id;
    phases.open[phases.depth++] = id ? id : outer;
    if (!id) {
        guest.process->phases_refused++;
        return;
    }
    phases.known[id]->begun++;
    phases.known[id]->start_ns = now_ns();
    __atomic_store_n(&guest.phase, id, __ATOMIC_RELEASE);
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
    __atomic_store_n(&guest.phase, current(), __ATOMIC_RELEASE);
}

void phases_begin(const char *name)
{
    if (!lock_take())
        return;
    begin(name);
    lock_release();
}

void phases_end(void)
{
    if (!lock_take())
        return;
    end();
    lock_release();
}

void phases_pause(void)
{
    if (!lock_take())
        return;
    if (!guest.paused) {
        guest.process->pauses++;
        __atomic_store_n(&guest.process->pause_start_ns, now_ns(), __ATOMIC_RELAXED);
    }
    __atomic_store_n(&guest.paused, guest.paused + 1, __ATOMIC_RELEASE);
    lock_release();
}

void phases_resume(void)
{
    if (!lock_take())
        return;
    if (guest.paused) {
        uint64_t start = guest.process->pause_start_ns, now = now_ns();
        __atomic_store_n(&guest.paused, guest.paused - 1, __ATOMIC_RELEASE);
        if (!guest.paused) {
            if (start && now)
                __atomic_store_n(&guest.process->paused_ns, guest.process->paused_ns + now - start,
                                 __ATOMIC_RELAXED);
            __atomic_store_n(&guest.process->pause_start_ns, 0, __ATOMIC_RELAXED);
        }
    }
    lock_release();
}

/* A pause that ends between the two loads is counted twice for a moment. */
uint64_t phases_paused_ns_as(uint64_t now)
{
    uint64_t start = __atomic_load_n(&guest.process->pause_start_ns, __ATOMIC_RELAXED);
    uint64_t ended = __atomic_load_n(&guest.process->paused_ns, __ATOMIC_RELAXED);
    return ended + (start && now > start ? now - start : 0);
}

void phases_fork_child(void)
{
    uint32_t depth = phases.depth, outer = 0, innermost = 0;
    const struct spool_phase *parents[GUEST_PHASES];
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
    __atomic_store_n(&guest.phase, innermost, __ATOMIC_RELEASE);
    guest.process->pauses = guest.paused != 0;
    guest.process->pause_start_ns = guest.paused ? now : 0;
}
