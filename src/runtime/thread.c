#include "runtime/thread.h"

#include <sys/mman.h>
#include <time.h>

#include "runtime/carrier/carrier.h"
#include "runtime/trampoline/trampoline.h"
#include "runtime/path/tree.h"
#include "runtime/interpose/alternate.h"
#include "runtime/trigger/trigger.h"
#include "runtime/trigger/turn.h"
#include "sigsafe/sample_path.h"
#include "sigsafe/own_memory.h"
#include "sigsafe/sys.h"

static struct rt_thread *free_states; /* atomic stack head; see thread_make_as on ABA */
static uint32_t free_lock;            /* taken by try only */

enum { RESERVED_LEAST = 8 };

uint64_t thread_cpu_ns_as(void)
{
    return sys_clock_ns_as(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t thread_monotonic_ns_as(void)
{
    return sys_clock_ns_as(CLOCK_MONOTONIC);
}

/* A state with memory for `others` triggers after the first:
 *
 *      signal stack | rt_thread | frames | memo | others | a memo of each */
static uint64_t state_size(uint32_t max_depth, uint32_t others)
{
    return RT_SIGNAL_STACK + sizeof(struct rt_thread) + others * sizeof(struct rt_other) +
           (uint64_t)max_depth *
               (sizeof(struct unwind_frame) + (1 + others) * sizeof(struct rt_memo));
}

/* The pool is a stack under a lock that is only ever tried: a handler that interrupted the holder
 * must not wait for it. Whoever does not get it maps fresh memory, or leaks one state. */
static bool pool_try_as(void)
{
    return !__atomic_exchange_n(&free_lock, 1, __ATOMIC_ACQUIRE);
}

static void pool_release_as(void)
{
    __atomic_store_n(&free_lock, 0, __ATOMIC_RELEASE);
}

static struct rt_thread *state_map_as(uint32_t depth, uint32_t others)
{
    long address = own_map_as(0, state_size(depth, others), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    if (sys_failed(address))
        return NULL;
    struct rt_thread *t = (struct rt_thread *)(address + RT_SIGNAL_STACK);
    t->frames = (struct unwind_frame *)(t + 1);
    t->memo = (struct rt_memo *)(t->frames + depth);
    t->max_depth = depth;
    t->others = (struct rt_other *)(t->memo + depth);
    t->other_room = others;
    struct rt_memo *memo = (struct rt_memo *)(t->others + others);
    for (uint32_t i = 0; i < others; i++)
        t->others[i].memo = memo + (uint64_t)i * depth;
    return t;
}

static void others_begin(struct rt_thread *t, uint32_t others)
{
    t->which = 0;
    t->other_count = others;
    for (uint32_t i = 0; i < others; i++)
        t->others[i].fd = -1;
}

struct rt_thread *thread_make_as(void)
{
    uint32_t others = spool_triggers(rt.config) - 1;
    struct rt_thread *t = NULL;
    if (pool_try_as()) {
        t = free_states;
        if (t)
            free_states = t->next_free;
        pool_release_as();
    }
    /* Of an earlier recording of the process? */
    if (t && (t->max_depth < rt.config->max_depth || t->other_room < others)) {
        own_unmap_as((const uint8_t *)t - RT_SIGNAL_STACK, state_size(t->max_depth, t->other_room));
        t = NULL;
    }
    if (!t && !rt_quiet_as())
        t = state_map_as(rt.config->max_depth, others);
    if (!t)
        return NULL;
    others_begin(t, others);
    t->fd = t->switch_fd = t->stop_fd = t->timer = -1;
    t->carrier.barrier = (struct rt_barrier){0};
    t->trampoline = (struct rt_trampoline){.entry = RT_NO_ENTRY};
    t->next_free = NULL;
    t->alternate = (struct rt_alternate){0};
    t->filter = (struct rt_filter){0};
    t->outside = (struct rt_outside){0};
    t->vfork = (struct rt_vfork){0};
    for (unsigned i = 0; i < RT_VFORK_LEVELS; i++)
        t->vfork_levels[i].pid = 0;
    t->delivery = (struct rt_delivery){0};
    return t;
}

void thread_reserve(uint32_t count, uint64_t room)
{
    uint32_t others = spool_triggers(rt.config) - 1;
    uint64_t size = state_size(rt.config->max_depth, others);
    for (uint32_t i = 0; i < count && (i < RESERVED_LEAST || (i + 1) * size <= room); i++) {
        struct rt_thread *t = state_map_as(rt.config->max_depth, others);
        if (!t)
            return;
        thread_free_as(t);
    }
}

/* A state is never unmapped: other threads that search the slots may be reading it. */
void thread_free_as(struct rt_thread *t)
{
    enum { TRIES = 64 };
    for (int i = 0; i < TRIES; i++) {
        if (pool_try_as()) {
            t->next_free = free_states;
            free_states = t;
            pool_release_as();
            return;
        }
        if (rt_quiet_as())
            return;
        sys_call3_as(SYS_sched_yield, 0, 0, 0);
    }
}

static bool slot_take_as(struct rt_thread *t)
{
    for (uint32_t i = 0; i < RT_SLOTS; i++) {
        struct rt_thread *empty = NULL;
        if (__atomic_load_n(&rt.slots[i], __ATOMIC_RELAXED) ||
            !__atomic_compare_exchange_n(&rt.slots[i], &empty, t, false, __ATOMIC_RELEASE,
                                         __ATOMIC_RELAXED))
            continue;
        t->slot = i;
        uint32_t used = __atomic_load_n(&rt.slots_used, __ATOMIC_RELAXED);
        while (used <= i && !__atomic_compare_exchange_n(&rt.slots_used, &used, i + 1, false,
                                                         __ATOMIC_RELEASE, __ATOMIC_RELAXED))
            ;
        return true;
    }
    return false;
}

void thread_name_as(struct rt_thread *t)
{
    guest_thread_name_as(t->record);
}

void thread_timeline_as(struct rt_thread *t)
{
    if (!t->record->timeline && t->timeline.record)
        __atomic_store_n(&t->record->timeline, spool_ref_of(&guest.spool, t->timeline.record),
                         __ATOMIC_RELEASE);
}

/* Makes `record` the one that is counted in. The thread's windows of cost and deliveries go on. */
static void record_use_as(struct rt_thread *t, struct spool_thread *record, uint32_t phase)
{
    if (t->record) {
        t->clock.window_cost_ticks += record->cost_ticks - t->record->cost_ticks;
        t->clock.window_deliveries += record->deliveries - t->record->deliveries;
        t->clock.window_delivered_ns += record->delivered_ns - t->record->delivered_ns;
        t->clock.window_switched_ns += record->switched_ns - t->record->switched_ns;
    }
    t->record = record;
    thread_timeline_as(t);
    t->phase = phase;
    t->memo[0].key = key_pseudo(KEY_ROOT);
    t->memo[0].node = record->tree;
    t->memo_depth = 1;
    t->counted = record->tree;
}

/* A fresh record and an empty tree for the calling thread in this phase, by this trigger. */
static struct spool_thread *record_new_as(struct rt_thread *t, uint32_t phase, uint32_t which)
{
    struct spool_thread *record = guest_thread_make_as(t->tid, phase);
    if (!record) {
        if (!rt.carrier->translates) /* that one tries again, and counts what it stops for */
            __atomic_fetch_add(&guest.process->drops[DROP_SPOOL_FULL], 1, __ATOMIC_RELAXED);
        return NULL;
    }
    record->which = which;
    if (t->timeline.record)
        record->timeline = spool_ref_of(&guest.spool, t->timeline.record);
    if (rt_quiet_as())
        record->start_ns = t->record ? t->record->start_ns : 0;
    for (unsigned i = 0; t->record && i < sizeof record->name; i++)
        record->name[i] = t->record->name[i];
    if (!t->life)
        t->life = spool_ref_of(&guest.spool, record);
    record->life = t->other_count && !rt.config->outside ? t->life : 0;
    return record;
}

static bool record_make_as(struct rt_thread *t, uint32_t phase)
{
    struct spool_thread *record = record_new_as(t, phase, t->which);
    if (!record)
        return false;
    t->records[phase] = record;
    record_use_as(t, record, phase);
    guest_thread_publish_as(record);
    return true;
}

bool thread_other_record_as(struct rt_thread *t, uint32_t which)
{
    struct rt_other *o = &t->others[which - 1];
    uint32_t phase = __atomic_load_n(&guest.phase, __ATOMIC_ACQUIRE);
    struct spool_thread *record = record_new_as(t, phase, which);
    if (!record)
        return false;
    o->record = o->records[phase] = record;
    o->phase = phase;
    o->memo[0].key = key_pseudo(KEY_ROOT);
    o->memo[0].node = o->counted = record->tree;
    o->memo_depth = 1;
    guest_thread_publish_as(record);
    return true;
}

/* The first record of a thread, or of a forked child's only one. */
static bool record_first_as(struct rt_thread *t)
{
    t->records = t->first_records;
    for (unsigned i = 0; i < GUEST_PHASES; i++)
        t->records[i] = NULL;
    for (uint32_t k = 0; k < t->other_count; k++) {
        struct rt_other *o = &t->others[k];
        o->record = NULL;
        o->records = o->own_records;
        for (unsigned i = 0; i < GUEST_PHASES; i++)
            o->records[i] = NULL;
    }
    t->record = NULL;
    timeline_begin(&t->timeline);
    t->life = 0;
    t->block = t->block_end = NULL;
    t->cpu_seen = 0;
    t->seen[0] = t->seen[1] = 0;
    if (!record_make_as(t, __atomic_load_n(&guest.phase, __ATOMIC_ACQUIRE)))
        return false;
    if (!rt_quiet_as())
        thread_name_as(t);
    return true;
}

SAMPLE_PATH
void thread_follow_phase_as(struct rt_thread *t)
{
    uint32_t phase = __atomic_load_n(&guest.phase, __ATOMIC_ACQUIRE);
    if (phase == t->phase)
        return;
    if (!rt_quiet_as())
        thread_cpu_note_as(t);
    if (t->records[phase])
        record_use_as(t, t->records[phase], phase);
    else
        record_make_as(t, phase);
}

uint64_t thread_cpu_seen_as(struct rt_thread *t, uint64_t cpu_ns)
{
    if (cpu_ns > t->cpu_seen) {
        t->record->cpu_ns += cpu_ns - t->cpu_seen;
        t->cpu_seen = cpu_ns;
    }
    return cpu_ns;
}

uint64_t thread_cpu_note_as(struct rt_thread *t)
{
    return thread_cpu_seen_as(t, thread_cpu_ns_as());
}

struct record_place {
    uint32_t other, phase;
};

/* All records of the thread, one after the other; then NULL. */
static struct spool_thread *record_next(struct rt_thread *t, struct record_place *at)
{
    for (; at->other <= t->other_count; at->other++, at->phase = 0) {
        struct spool_thread **records = at->other ? t->others[at->other - 1].records : t->records;
        while (records && at->phase < GUEST_PHASES)
            if (records[at->phase++])
                return records[at->phase - 1];
    }
    return NULL;
}

void thread_ends_at(struct rt_thread *t, uint64_t ns)
{
    struct spool_thread *record;
    for (struct record_place at = {0, 0}; (record = record_next(t, &at)) != NULL;)
        record->end_ns = ns;
}

bool thread_begin_as(struct rt_thread *t)
{
    return thread_begin_numbered_as(t, (int32_t)sys_call3_as(SYS_gettid, 0, 0, 0));
}

bool thread_begin_numbered_as(struct rt_thread *t, int32_t tid)
{
    t->tid = tid;
    t->busy = 0;
    t->unwind.generation = 0;
    trampoline_thread_begin_as(t);
    if (!slot_take_as(t)) {
        __atomic_fetch_add(&guest.process->drops[DROP_FOREIGN], 1, __ATOMIC_RELAXED);
        thread_free_as(t);
        return false;
    }
    if (!record_first_as(t)) {
        __atomic_store_n(&rt.slots[t->slot], NULL, __ATOMIC_RELEASE);
        thread_free_as(t);
        return false;
    }
    CARRIER_TELL(thread_begin_as, (t));
    return true;
}

bool thread_begin_again_as(struct rt_thread *t)
{
    t->tid = (int32_t)sys_call3_as(SYS_gettid, 0, 0, 0);
    t->busy = 0;
    t->cpu_seen = 0;
    t->vfork.has_left = false;
    t->vfork.left = NULL;
    if (!slot_take_as(t))
        return false;
    struct spool_thread *record;
    for (struct record_place at = {0, 0}; (record = record_next(t, &at)) != NULL;)
        record->tid = t->tid;
    return true;
}

void thread_settle_as(struct rt_thread *t)
{
    if (rt_running_as() && !__atomic_exchange_n(&t->busy, 1, __ATOMIC_ACQUIRE)) {
        uint64_t rest = trigger_rest_as(t);
        if (rest)
            t->clock.last_ticks = sys_ticks_as();
        tree_add_unattributed_as(t, rest);
        for (uint32_t which = 1; which <= t->other_count; which++)
            if (t->others[which - 1].record && turn_to_as(t, which))
                tree_add_unattributed_as(t, trigger_rest_as(t));
        turn_to_as(t, 0);
        __atomic_store_n(&t->busy, 0, __ATOMIC_RELEASE);
    }
    trigger_last_as(t);
    uint64_t now = thread_monotonic_ns_as();
    thread_cpu_note_as(t);
    thread_ends_at(t, now);
}

static void spare_free_as(struct rt_thread *t)
{
    if (t->vfork.spare)
        thread_free_as(t->vfork.spare);
    t->vfork.spare = NULL;
}

void thread_end_as(struct rt_thread *t)
{
    uint64_t begun = rt_quiet_as() ? 0 : thread_cpu_ns_as();
    thread_name_as(t);
    thread_settle_as(t);
    trigger_disarm_as(t);
    alternate_end_as(t);
    CARRIER_TELL(thread_end_as, (t));
    if (!rt_quiet_as())
        trigger_took_as(t, thread_cpu_note_as(t) - begun);
    for (unsigned i = 0; i < sizeof rt.seen / sizeof rt.seen[0]; i++)
        __atomic_fetch_add(&rt.seen[i], t->seen[i], __ATOMIC_RELAXED);
    spare_free_as(t);
    thread_forget_as(t);
}

bool thread_takes_samples_as(const struct rt_thread *t)
{
    return !__atomic_load_n(&t->executes, __ATOMIC_SEQ_CST) && !t->alternate.too_short &&
           !t->filter.silenced && !t->delivery.stopped &&
           !(signals_yield_as() && t->mask.trap_blocked);
}

bool thread_others_as(void)
{
    uint32_t used = __atomic_load_n(&rt.slots_used, __ATOMIC_ACQUIRE), seen = 0;
    for (uint32_t i = 0; i < used; i++)
        seen += thread_at_as(i) != NULL;
    return seen > 1;
}

void thread_unarmed_as(void)
{
    if (!rt_quiet_as()) /* a sandbox counts its own */
        __atomic_fetch_add(&guest.process->unarmed, 1, __ATOMIC_RELAXED);
}

/* The clock of another thread's CPU time (the kernel's linux/posix-timers.h: CPUCLOCK_SCHED and
 * CPUCLOCK_PERTHREAD below the complement of the thread's number). */
long thread_clock_of(int32_t tid)
{
    return (long)((int32_t)((uint32_t)~tid << 3) | 6);
}

/* As thread_cpu_note_as, for any thread. */
static uint64_t cpu_note_of_as(struct rt_thread *t)
{
    return thread_cpu_seen_as(t, sys_clock_ns_as(thread_clock_of(t->tid)));
}

/* False: it stays in its handler, where it may have been preempted. */
static bool still_as(struct rt_thread *t, uint32_t *waits)
{
    enum { WAITS = 40 }; /* of all threads */
    const struct timespec moment = {.tv_nsec = 250000};
    while (__atomic_exchange_n(&t->busy, 1, __ATOMIC_ACQUIRE)) {
        if (++*waits > WAITS)
            return false;
        sys_call3_as(SYS_nanosleep, (long)&moment, 0, 0);
    }
    return true;
}

void thread_note_others_as(const struct rt_thread *self)
{
    uint32_t used = __atomic_load_n(&rt.slots_used, __ATOMIC_ACQUIRE), waits = 0;
    for (uint32_t i = 0; i < used; i++) {
        struct rt_thread *t = thread_at_as(i);
        if (!t || t == self)
            continue;
        if (!still_as(t, &waits)) {
            cpu_note_of_as(t);
            continue;
        }
        tree_add_unattributed_now_as(t, trigger_rest_of_as(t, cpu_note_of_as(t)));
        __atomic_store_n(&t->busy, 0, __ATOMIC_RELEASE);
    }
}

void thread_forget_as(struct rt_thread *t)
{
    __atomic_store_n(&rt.slots[t->slot], NULL, __ATOMIC_RELEASE);
    thread_free_as(t);
}

void thread_leave_as(struct rt_thread *t)
{
    uint64_t now = thread_monotonic_ns_as();
    cpu_note_of_as(t);
    thread_ends_at(t, now);
    thread_forget_as(t);
}

void thread_reap_as(void)
{
    enum { LOOKS = 32 };
    static uint32_t position;
    uint32_t used = __atomic_load_n(&rt.slots_used, __ATOMIC_ACQUIRE);
    uint32_t at = __atomic_fetch_add(&position, LOOKS, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < LOOKS && i < used; i++) {
        struct rt_thread *t = thread_at_as((at + i) % used), *seen = t;
        if (!t || t->busy || t->vfork.is_child ||
            sys_call3_as(SYS_tgkill, guest.pid, t->tid, 0) != -3)
            continue;
        /* Whoever takes it out of its slot gives it back. */
        if (!__atomic_compare_exchange_n(&rt.slots[t->slot], &seen, NULL, false, __ATOMIC_ACQ_REL,
                                         __ATOMIC_RELAXED))
            continue;
        trigger_disarm_as(t);
        CARRIER_TELL(thread_end_as, (t));
        thread_ends_at(t, thread_monotonic_ns_as());
        thread_free_as(t);
    }
}

void thread_stack_as(struct rt_thread *t, const void *frame, uint64_t size)
{
    uint64_t hi = (uint64_t)frame;
    t->unwind.stack_hi = size ? hi : 0;
    t->unwind.stack_lo = size && size < hi ? hi - size : 0;
}

/* Of two threads that come here with one stack at once, each has written before it reads: one sees
 * the other. */
bool thread_alternate_as(struct rt_thread *t, uint64_t lo, uint64_t hi)
{
    __atomic_store_n(&t->alternate.lo, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&t->alternate.hi, hi, __ATOMIC_SEQ_CST);
    __atomic_store_n(&t->alternate.lo, lo, __ATOMIC_SEQ_CST);
    uint32_t used = __atomic_load_n(&rt.slots_used, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; lo && i < used; i++) {
        const struct rt_thread *other = thread_at_as(i);
        if (!other || other == t)
            continue;
        uint64_t from = __atomic_load_n(&other->alternate.lo, __ATOMIC_SEQ_CST);
        if (from && from < hi && lo < __atomic_load_n(&other->alternate.hi, __ATOMIC_SEQ_CST))
            return true;
    }
    return false;
}

SAMPLE_PATH
struct rt_thread *thread_at_as(uint32_t slot)
{
    return slot < RT_SLOTS ? __atomic_load_n(&rt.slots[slot], __ATOMIC_ACQUIRE) : NULL;
}

struct rt_thread *thread_find_as(int32_t tid)
{
    uint32_t used = __atomic_load_n(&rt.slots_used, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < used; i++) {
        struct rt_thread *t = thread_at_as(i);
        if (t && t->tid == tid)
            return t;
    }
    return NULL;
}

bool thread_fork_child_as(struct rt_thread *keep)
{
    return thread_fork_child_numbered_as(keep,
                                         keep ? (int32_t)sys_call3_as(SYS_gettid, 0, 0, 0) : 0);
}

bool thread_fork_child_numbered_as(struct rt_thread *keep, int32_t tid)
{
    /* Only the forking thread exists here; if it interrupted a holder of the pool, the pool may be
     * half changed: start a new one. */
    if (free_lock || !rt_quiet_as())
        free_states = NULL;
    free_lock = 0;
    for (uint32_t i = 0; i < rt.slots_used; i++)
        rt.slots[i] = NULL;
    if (!keep)
        return false;
    rt.slots[keep->slot] = keep;
    keep->tid = tid;
    keep->busy = keep->inside = 0;
    keep->vfork.child = keep->vfork.spare = NULL; /* their records are the parent's */
    turn_to_as(keep, 0);
    CARRIER_TELL(thread_begin_as, (keep));
    if (record_first_as(keep))
        return true;
    rt.slots[keep->slot] = NULL;
    return false;
}
