/* Productions (docs/productions.md): what a program of patterns and counters says is done at the
 * instructions that it matches.
 *
 *     idle: no flag has changed since the counters were set, and all that can happen is one step of
 *     one counter. Blocks subtract their events from t->alarm (tools/inline/watch.h), and have no
 *     hooks. t->alarm is what is left of the counter's way, less one.
 *
 *              an alarm in the next block that may overflow           the flags of the beginning
 *     [ idle ] ──────────────────────────> [ followed ] ──────────────> [ idle ]
 *
 *     followed: t->watching is set, so that copies of the blocks with hooks are executed. Each
 *     matching instruction looks at the flags, acts, and moves the counters.
 *
 *     settled: in bursts and shadows of which all is observed, and no counter decides what is kept.
 *     Then counters are left alone, and instructions at which they only move have no hooks.
 *
 * So an overflow is known at exactly the event that the productions say. Where a block has no gate
 * (code that may change) its hooks are always there, and do the same from either state.
 *
 * Context: block as engine/hook.h says; the rest in the thread concerned.
 * Ownership: each thread's sampler stays until the process ends. */
#include <stddef.h>

#include "engine/hook_run.h"
#include "sigsafe/settings.h"
#include "sigsafe/spool_productions.h"
#include "sigsafe/sys.h"
#include "tools/memory.h"
#include "tools/productions_plan.h"
#include "tools/tools.h"

struct productions productions;

/* t->alarm that no run comes to the end of */
#define NEVER (INT64_MAX / 2)

/* A site's only count, where it was when it was found. */
struct known_count {
    uint64_t site; /* 1 + its number; 0: none */
    const struct spool_production_counts *counts; /* they move when they grow */
    struct spool_production_count *entry;
};
enum { KNOWN_COUNTS = 1 << 10 };

/* A thread's. */
struct sampler {
    struct production_store store;
    const struct spool_counts *counts; /* that the store belongs to: a forked child has its own */
    const struct production_common *common;
    struct engine_thread *thread;
    struct production_state state;
    bool idle;
    uint64_t distance; /* of the idle counter, when idle began */
    uint32_t breaks;   /* groups whose streams do not go on */
    uint32_t runs;     /* t->runs, of bursts: when it was looked at last */
    struct known_count known[KNOWN_COUNTS]; /* by site */
};

/* ---- idle ---- */

/* A model runs them, in another process, and keeps what they find. */
static void left_begin(struct sampler *s)
{
    s->thread->alarm = NEVER;
    __atomic_store_n(&s->thread->watching, false, __ATOMIC_RELAXED);
}

static void idle_begin(struct sampler *s)
{
    const struct production_idle *i = &productions.idle;
    s->idle = true;
    s->distance = production_distance(s->state.counters[i->counter], i->what);
    s->thread->alarm = i->events ? (int64_t)s->distance - 1 : NEVER;
    __atomic_store_n(&s->thread->watching, false, __ATOMIC_RELAXED);
}

static void followed_begin(struct sampler *s)
{
    s->idle = false;
    s->thread->alarm = NEVER;
    __atomic_store_n(&s->thread->watching, true, __ATOMIC_RELAXED);
}

/* The counter as it is, from what is left. */
static void idle_end(struct sampler *s)
{
    const struct production_idle *i = &productions.idle;
    uint64_t steps = s->distance - 1 - (uint64_t)s->thread->alarm;
    uint64_t *counter = &s->state.counters[i->counter];
    if (i->events && steps)
        *counter = i->what == MICRO_INC ? *counter + steps : *counter - steps;
    followed_begin(s);
}

void productions_alarm_as(struct engine_thread *t, uint64_t events, uint64_t value)
{
    struct sampler *s = t->tools[TOOL_PRODUCTIONS];
    (void)value;
    t->alarm += (int64_t)events; /* they are counted where they happen */
    if (s && s->idle)
        idle_end(s);
    else
        t->alarm = NEVER;
}

/* ---- actions ---- */

static uint64_t register_of(struct engine_thread *t, const struct production_site *site,
                            unsigned number)
{
    return hook_register(t, number) + (number == ENGINE_RSP ? (uint64_t)(int64_t)site->adjust : 0);
}

static uint64_t address_of(struct engine_thread *t, const struct production_site *site,
                           const struct tuple_memory *m)
{
    uint64_t address = memory_address_as(t, m);
    return m->base == ENGINE_RSP ? address + (uint64_t)(int64_t)site->adjust : address;
}

/* `memory`: which operand; `target`: of an indirect transfer. */
static uint64_t field_value(struct engine_thread *t, const struct production_site *site,
                            uint8_t field, unsigned memory, uint64_t target)
{
    if (field >= FIELD_REGISTER)
        return field < FIELD_END ? register_of(t, site, field - FIELD_REGISTER) : 0;
    if (field == FIELD_METHOD)
        field = site->is_call ? FIELD_TARGET : FIELD_PC;
    switch (field) {
    case FIELD_TARGET: return site->is_indirect ? hook_key_late_as(t, target) : site->target_key;
    case FIELD_ADDRESS:
        return memory < site->memories ? address_of(t, site, &site->memory[memory]) : 0;
    case FIELD_IMMEDIATE: return (uint64_t)site->immediate;
    case FIELD_OPCODE: return site->opcode;
    default: return site->key;
    }
}

/* The buffer is full. Without memory for the search its items are lost. */
static void search_as(struct sampler *s, uint32_t group)
{
    struct spool_production_buffer *b = &s->store.record->buffers[group];
    uint64_t bytes = hot_streams_bytes(PRODUCTION_BUFFER_MOST);
    void *memory = memory_map_as(bytes);
    if (memory) {
        production_search_as(&s->store, group, memory);
        own_unmap_as(memory, bytes);
    } else {
        s->store.record->lost[group] += b->count;
        __atomic_store_n(&b->count, 0, __ATOMIC_RELEASE);
    }
}

static void append_as(struct sampler *s, uint32_t group, struct hot_item item)
{
    enum production_put put;
    while ((put = production_append_as(&s->store, group, item)) == PRODUCTION_NO_ROOM)
        if (!hook_wait_as(s->thread)) {
            s->store.record->lost[group]++;
            return;
        }
    hook_waited(s->thread);
    if (put == PRODUCTION_FULL) {
        search_as(s, group);
        production_append_as(&s->store, group, item);
    }
}

static void count_as(struct sampler *s, uint32_t group, struct hot_item item)
{
    enum production_put put;
    while ((put = production_count_as(&s->store, group, item.a, item.b)) == PRODUCTION_NO_ROOM)
        if (!hook_wait_as(s->thread))
            break;
    if (put == PRODUCTION_PUT)
        hook_waited(s->thread);
    else
        s->store.record->lost[group]++;
}

/* What the group keeps of the instruction; `memory`, `target`: as above. */
static struct hot_item item_of(const struct sampler *s, const struct production_group *g,
                               const struct production_site *site, unsigned memory,
                               uint64_t target)
{
    struct hot_item item = { .a = field_value(s->thread, site, g->fields[0], memory, target) };
    if (g->fields[1] != FIELD_NOTHING)
        item.b = field_value(s->thread, site, g->fields[1], memory, target);
    return item;
}

static void action_as(struct sampler *s, uint32_t group, const struct production_site *site,
                      uint64_t target)
{
    const struct production_group *g = &productions.program->groups[group];
    bool each = g->fields[0] == FIELD_ADDRESS || g->fields[1] == FIELD_ADDRESS;
    unsigned times = each ? site->memories : 1;
    for (unsigned i = 0; i < times; i++) {
        struct hot_item item = item_of(s, g, site, i, target);
        s->store.record->done[group]++;
        if (g->kind == GROUP_COUNT) {
            count_as(s, group, item);
            continue;
        }
        if (s->breaks >> group & 1 && s->store.record->buffers[group].count)
            append_as(s, group, HOT_BREAK);
        s->breaks &= ~(UINT32_C(1) << group);
        append_as(s, group, item);
    }
}

/* ---- an instruction ---- */

static void actions_as(struct sampler *s, uint64_t matched, const struct production_site *site,
                       uint64_t target)
{
    const struct production_program *p = productions.program;
    for (; matched; matched &= matched - 1) {
        struct production_run run = p->productions[__builtin_ctzll(matched)].actions;
        for (uint32_t i = 0; i < run.count; i++)
            action_as(s, p->actions[run.first + i] % PRODUCTION_GROUPS, site, target);
    }
}

/* True: there were some. */
static bool micros_do(struct sampler *s, uint64_t matched)
{
    const struct production_program *p = productions.program;
    bool any = false, changed = false, by_time = p->by_time;
    for (; matched; matched &= matched - 1) {
        struct production_run run = p->productions[__builtin_ctzll(matched)].micros;
        for (uint32_t i = 0; i < run.count; i++) {
            const struct production_micro *m = &p->micros[run.first + i];
            const uint64_t *counter = &s->state.counters[m->counter % PRODUCTION_COUNTERS];
            if (!any && s->idle)
                idle_end(s);
            bool before = production_overflow(*counter);
            any = true;
            changed |= production_micro_do(&s->state, m);
            s->store.record->overflows[m->counter % PRODUCTION_COUNTERS] +=
                !by_time && !before && production_overflow(*counter);
            if (m->what == MICRO_SET)
                s->breaks = UINT32_MAX;
        }
    }
    if (changed)
        production_activate(&s->state, p);
    return any;
}

/* What comes next did not follow what came before. The counters stay. The burst is counted where
 * overflows of the sampler's first counter are: there are none. */
static void burst_begin(struct sampler *s)
{
    s->runs = s->thread->runs;
    s->breaks = UINT32_MAX;
    s->store.record->overflows[0]++;
}

/* What a count costs most of is finding it. */
static void only_count_as(struct sampler *s, const struct production_site *site, uint64_t number)
{
    struct known_count *k = &s->known[number % KNOWN_COUNTS];
    uint32_t group = site->only - 1u;
    if (k->site == number + 1 && k->counts == s->store.counts) {
        __atomic_store_n(&k->entry->count, k->entry->count + 1, __ATOMIC_RELEASE);
        s->store.record->done[group]++;
        return;
    }
    actions_as(s, site->mask, site, 0);
    const struct production_group *g = &productions.program->groups[group];
    struct hot_item item = item_of(s, g, site, 0, 0);
    struct spool_production_count *entry =
        production_counted_as(&s->store, group, item.a, item.b);
    *k = (struct known_count){ entry ? number + 1 : 0, s->store.counts, entry };
}

/* Where counters decide nothing, and are left alone. */
static void settled_site_as(struct sampler *s, const struct production_site *site,
                            uint64_t number, uint64_t target)
{
    if (site->only)
        only_count_as(s, site, number);
    else
        actions_as(s, site->mask, site, target);
}

void productions_site_as(struct engine_thread *t, uint64_t number, uint64_t target)
{
    struct sampler *s = t->tools[TOOL_PRODUCTIONS];
    if (!s || !s->store.record)
        return;
    if (s->runs != t->runs && productions.program->by_time)
        burst_begin(s);
    const struct production_site *site = &s->common->sites[number];
    if (productions.settled) {
        settled_site_as(s, site, number, target);
        return;
    }
    uint64_t matched = site->mask & s->state.active;
    if (!matched)
        return;
    actions_as(s, matched, site, target);
    if (micros_do(s, matched) && productions.idle.possible &&
        production_flags(&s->state) == productions.idle.flags)
        idle_begin(s);
}

/* ---- threads ---- */

void productions_begin(const struct spool *spool, uint64_t stack)
{
    if (!settings_productions_as(spool))
        return;
    productions.stack = stack;
    productions.heap = (uint64_t)sys_call3_as(SYS_brk, 0, 0, 0);
}

/* The process's part, once. False: there is no program. */
static bool process_ready_as(const struct spool *spool)
{
    const struct production_settings_block *settings = settings_productions_as(spool);
    if (productions.program || !settings)
        return productions.program;
    const struct production_program *p = spool_at(spool, settings->program, sizeof *p);
    if (!p)
        return false;
    productions.spool = spool;
    productions.idle = production_idle(p);
    productions.maps = (uint64_t)(uintptr_t)&productions;
    productions.settled = p->by_time && production_settled(p, &productions.always);
    productions.program = p;
    return true;
}

static bool store_begin_as(struct sampler *s, struct engine_thread *t, struct spool_counts *counts)
{
    int32_t tid = t->window.record ? t->window.record->tid : 0;
    while (!production_store_begin_as(&s->store, hook_spool(t),
                                      &counts->tables[TABLE_PRODUCTIONS], tid))
        if (!hook_wait_as(t))
            return false;
    hook_waited(t);
    s->store.record->stack = productions.stack;
    s->store.record->heap = productions.heap;
    s->store.record->maps = productions.maps;
    s->counts = counts;
    return true;
}

static bool thread_begin_as(struct engine_thread *t)
{
    struct spool_counts *counts = hook_counts(t);
    struct sampler *s = t->tools[TOOL_PRODUCTIONS];
    if (!counts || !process_ready_as(hook_spool(t)))
        return true;
    if (!s && !(s = memory_map_as(sizeof *s)))
        return false;
    t->tools[TOOL_PRODUCTIONS] = s;
    s->thread = t;
    s->common = hook_common(t, TOOL_PRODUCTIONS);
    if ((!s->store.record || s->counts != counts) && !store_begin_as(s, t, counts))
        return false;
    s->store.record->window =
        t->window.record ? spool_ref_of(hook_spool(t), t->window.record) : 0;
    s->breaks = UINT32_MAX;
    production_begin(&s->state, productions.program);
    if (productions.program->by_model)
        left_begin(s);
    else if (productions.idle.possible)
        idle_begin(s);
    else
        followed_begin(s);
    return true;
}

const struct tool tool_productions = {
    .flags = TOOL_WATCHES,
    .common_size = sizeof(struct production_common) +
                   PRODUCTION_SITES * sizeof(struct production_site),
    .block = productions_block_as,
    .thread_begin = thread_begin_as,
};
