#include "model/core.h"

#include <stdlib.h>

#include "model/core_internal.h"

/* ---- making ---- */

bool core_queue_make(struct queue *q, uint32_t size)
{
    *q = (struct queue){.free_at = calloc(size, sizeof *q->free_at), .size = size};
    return q->free_at;
}

static void count_popularity(struct model_core *core)
{
    for (unsigned class = 0; class < UOP_CLASS_COUNT; class++)
        for (unsigned port = 0; port < MACHINE_PORTS; port++)
            core->popularity[port] += core->m->ports[class] >> port & 1;
}

static bool make_tables(struct model_core *core)
{
    const struct machine *m = core->m;
    uint32_t windows = m->uop_cache_size / UOPS_PER_WINDOW / m->uop_cache_ways * m->uop_cache_ways;
    core->leaving = calloc(SCHEDULER_SLOTS, sizeof *core->leaving);
    core->ports = calloc(PORT_SLOTS, sizeof *core->ports);
    core->granules = calloc(GRANULES, sizeof *core->granules);
    return core->leaving && core->ports && core->granules &&
           set_table_make(&core->uop_cache, windows, m->uop_cache_ways) &&
           core_queue_make(&core->rob, m->rob_size) && core_queue_make(&core->loads, m->lq_size) &&
           core_queue_make(&core->stores, m->sq_size) &&
           core_queue_make(&core->buffer, m->decode_buffer_size +
                                              m->mispredict_penalty * m->dispatch_width);
}

struct model_core *model_core_new(const struct machine *m)
{
    struct model_core *core = calloc(1, sizeof *core);
    if (!core)
        return NULL;
    core->m = m;
    core->late = COST_FRONT_END;
    core->also = core->nowhere;
    core->part = COST_CYCLE / m->retire_width;
    count_popularity(core);
    if (make_tables(core) && memory_make(&core->memory, m) &&
        predictor_make(&core->predictor, m))
        return core;
    model_core_free(core);
    return NULL;
}

void model_add_to(struct model_core *core, uint64_t *parts)
{
    core->also = parts ? parts : core->nowhere;
}

void model_core_free(struct model_core *core)
{
    if (!core)
        return;
    memory_free(&core->memory);
    predictor_free(&core->predictor);
    set_table_free(&core->uop_cache);
    free(core->rob.free_at);
    free(core->loads.free_at);
    free(core->stores.free_at);
    free(core->buffer.free_at);
    free(core->leaving);
    free(core->ports);
    free(core->granules);
    free(core);
}

const struct machine *model_machine(const struct model_core *core)
{
    return core->m;
}

uint64_t model_cycles(const struct model_core *core)
{
    return core->commit;
}

/* ---- dispatch ---- */

/* Up to this cycle micro-operations leave the scheduler. */
static void scheduler_go_on(struct model_core *core, uint64_t to)
{
    for (; core->scheduler_at < to && core->scheduled; core->scheduler_at++) {
        uint16_t *leaving = &core->leaving[core->scheduler_at % SCHEDULER_SLOTS];
        core->scheduled -= *leaving;
        *leaving = 0;
    }
    if (core->scheduler_at < to)
        core->scheduler_at = to;
}

static bool has_room(struct model_core *core, uint64_t at)
{
    scheduler_go_on(core, at);
    return core->scheduled < core->m->scheduler_size;
}

static bool is_scheduled(const struct passage *p)
{
    return p->issue > p->dispatch;
}

/* It leaves at its issue; what waits longer than there are slots leaves with the last of them. */
static void scheduler_take(struct model_core *core, const struct passage *p)
{
    uint64_t last = core->scheduler_at + SCHEDULER_SLOTS - 1;
    core->leaving[(p->issue < last ? p->issue : last) % SCHEDULER_SLOTS]++;
    core->scheduled++;
    assert(core->scheduled <= core->m->scheduler_size && "the scheduler is not overfull");
}

static void wait_for(struct passage *p, uint64_t at, enum cost_cause why)
{
    if (at <= p->dispatch)
        return;
    p->dispatch = at;
    p->late = why;
}

/* Room for one micro-operation in what it needs. */
static void wait_for_room(struct model_core *core, const struct uop *u, struct passage *p)
{
    if (u->class == UOP_LOAD)
        wait_for(p, queue_free_at(&core->loads) + 1, COST_DEPENDENCY);
    else if (u->class == UOP_STORE_ADDRESS)
        wait_for(p, queue_free_at(&core->stores) + 1, COST_STORES);
    while (!has_room(core, p->dispatch))
        wait_for(p, p->dispatch + 1, COST_DEPENDENCY);
}

static void dispatch_slot(struct model_core *core, const struct uop *u, uint64_t fetched,
                          struct passage *p)
{
    const struct machine *m = core->m;
    p->dispatch = core->dispatch + (core->dispatched == m->dispatch_width);
    p->late = COST_FRONT_END;
    wait_for(p, fetched + m->mispredict_penalty, core->late);
    wait_for(p, queue_free_at(&core->rob) + 1, COST_DEPENDENCY);
    wait_for_room(core, u, p);
    assert(p->dispatch >= core->dispatch && p->dispatch > fetched && "dispatch is in order");
    core->dispatched = p->dispatch > core->dispatch ? 1 : core->dispatched + 1;
    core->dispatch = p->dispatch;
    queue_take(&core->buffer, p->dispatch);
}

/* What shares the slot may have to wait for room of its own. */
static void dispatch_fused(struct model_core *core, const struct uop *u, const struct passage *lead,
                           struct passage *p)
{
    p->dispatch = lead->dispatch;
    p->late = lead->late;
    wait_for_room(core, u, p);
    if (p->dispatch > core->dispatch) {
        core->dispatch = p->dispatch;
        core->dispatched = 1;
    }
}

/* ---- commit ---- */

/* Slots that were lost before one commits, and not explained yet. */
struct lost {
    struct model_cost *cost;
    uint64_t *also;
    uint64_t slots, width, from; /* width: of a cycle; from: the commit before */
    uint32_t part;
};

static void explain(struct lost *l, uint64_t cycles, enum cost_cause why)
{
    uint64_t slots = cycles * l->width;
    slots = slots < l->slots ? slots : l->slots;
    l->cost->parts[why] += slots * l->part;
    l->also[why] += slots * l->part;
    l->slots -= slots;
}

/* What of it is later than the commit before. */
static void explain_time(struct lost *l, uint64_t begin, uint64_t end, enum cost_cause why)
{
    begin = begin > l->from ? begin : l->from;
    explain(l, end > begin ? end - begin : 0, why);
}

/* What it would have been earlier by without waiting for a port, or for a translation; then the
 * time that it took; then what was before that: `before` is what made its operands, in the same
 * slot. */
static void explain_passage(struct lost *l, const struct passage *p, const struct passage *before)
{
    explain(l, p->issue - p->ready, COST_PORTS);
    explain(l, p->tlb, COST_TLB);
    explain_time(l, p->issue, p->done, p->doing);
    if (before && before->done == p->ready) {
        explain_passage(l, before, NULL);
        return;
    }
    explain_time(l, p->dispatch + 1, p->ready, COST_DEPENDENCY);
    explain_time(l, 0, p->dispatch + 1, p->late);
}

static void commit_slot(struct model_core *core, const struct passage *p,
                        const struct passage *before, uint64_t done, struct model_cost *cost)
{
    uint32_t width = core->m->retire_width;
    uint64_t at = core->commit + (core->committed == width);
    at = done > at ? done : at;
    assert(p->dispatch < p->done && p->done <= at && "nothing commits before it completes");
    if (at > core->commit) {
        struct lost l = {.cost = cost, .also = core->also, .width = width, .from = core->commit,
                         .part = core->part};
        l.slots = width - core->committed + (at - core->commit - 1) * width;
        explain_time(&l, done, at, COST_BASE);
        explain_passage(&l, p, before);
        assert(!l.slots && "all lost slots are explained");
        core->committed = 0;
    }
    cost->parts[COST_BASE] += core->part;
    core->also[COST_BASE] += core->part;
    core->committed++;
    core->commit = at;
    queue_take(&core->rob, at);
}

/* ---- instructions ---- */

struct step {
    struct model_core *core;
    const struct uop_insn *insn;
    const struct uop_executed *x;
    struct model_cost *cost;
    uint64_t fetched;
    uint64_t address_known; /* of the store whose data comes next */
    uint64_t done;          /* the last result */
    bool fused;             /* its comparison and the branch behind it are one */
};

/* Locked instructions wait for stores, and loads wait for them; serializing ones take long. */
static void delay(struct step *s, const struct uop *u, struct passage *p)
{
    struct model_core *core = s->core;
    uint32_t latency = 0;
    if (s->insn->flags & INSN_LOCKED && (u->class == UOP_LOAD || u->class == UOP_COMPLEX))
        latency = core->m->lock_latency;
    if (s->insn->flags & INSN_SERIAL && u->class == UOP_COMPLEX)
        latency = core->m->serialize_latency;
    if (!latency)
        return;
    uint64_t begin = core->drain > p->issue ? core->drain : p->issue;
    if (begin + latency > p->done) {
        p->done = begin + latency;
        p->doing = COST_SERIAL;
    }
    for (unsigned i = 0; i < u->result_count; i++)
        core->ready[u->results[i]] = p->done;
    core->fence = p->done;
}

static void execute(struct step *s, const struct uop *u, uint64_t repeated, struct passage *p)
{
    struct model_core *core = s->core;
    struct uop changed;
    if (s->fused && u->class == UOP_ALU) { /* the branch's port does both */
        changed = *u;
        changed.class = UOP_BRANCH;
        changed.flags &= (uint8_t)~UOP_ADDS;
        u = &changed;
    }
    core_execute(core, u, s->x, repeated, p, s->cost);
    delay(s, u, p);
    if (is_scheduled(p))
        scheduler_take(core, p);
    s->done = p->done > s->done ? p->done : s->done;
}

/* The slot of s->insn->uops[from] up to before `to`. */
static void run_slot(struct step *s, unsigned from, unsigned to, uint64_t repeated)
{
    struct model_core *core = s->core;
    struct passage last = {0}, before = {0};
    const struct uop *store = NULL;
    uint64_t done = 0, source = 0;
    for (unsigned i = from; i < to; i++) {
        const struct uop *u = &s->insn->uops[i];
        struct passage p;
        if (i == from)
            dispatch_slot(core, u, s->fetched, &p);
        else
            dispatch_fused(core, u, &last, &p);
        execute(s, u, repeated, &p);
        if (u->class == UOP_STORE_ADDRESS)
            s->address_known = p.done;
        if (u->class == UOP_STORE_DATA) {
            store = u;
            source = core_sources_ready(core, u);
        }
        if (p.done >= done) {
            before = last;
            last = p;
            done = p.done;
        }
    }
    commit_slot(core, &last, before.done ? &before : NULL, done, s->cost);
    s->cost->events[COST_EVENT_UOPS]++;
    for (unsigned i = from; i < to; i++)
        if (s->insn->uops[i].class == UOP_LOAD)
            queue_take(&core->loads, core->commit);
    if (store) {
        uint64_t data = done > s->address_known ? done : s->address_known;
        struct stored stored = {.source = source, .data = data, .commit = core->commit};
        queue_take(&core->stores, core_drain(core, s->x, store, repeated, stored));
    }
}

static unsigned slot_end(const struct step *s, unsigned from)
{
    unsigned to = from + 1;
    while (s->core->m->micro_fusion && to < s->insn->count && s->insn->uops[to].flags & UOP_FUSED)
        to++;
    return to;
}

static bool is_memory(const struct uop *u)
{
    return u->class == UOP_LOAD || u->class == UOP_STORE_ADDRESS || u->class == UOP_STORE_DATA;
}

/* A count that no run gets to: the instruction faults or is interrupted before. */
enum { REPEATED_MOST = 1 << 30 };

/* String instructions: what accesses memory as often as it takes, the rest once. */
static void run_repeated(struct step *s)
{
    struct uop_insn once = *s->insn;
    uint32_t step = s->core->m->string_bytes, size = 1;
    unsigned first = 0;
    while (first < once.count && is_memory(&once.uops[first]))
        size = once.uops[first++].size;
    uint64_t most = REPEATED_MOST / size;
    uint64_t bytes = (s->x->repeat < most ? s->x->repeat : most) * size;
    const struct uop_insn *insn = s->insn;
    s->insn = &once;
    for (uint64_t at = 0; at < bytes; at += step) {
        for (unsigned i = 0; i < first; i++)
            once.uops[i].size = (uint8_t)(bytes - at < step ? bytes - at : step);
        for (unsigned i = 0, end; i < first; i = end) {
            end = slot_end(s, i);
            run_slot(s, i, end, at);
        }
    }
    for (unsigned i = first, end; i < once.count; i = end) {
        end = slot_end(s, i);
        run_slot(s, i, end, 0);
    }
    s->insn = insn;
}

static uint32_t count_slots(const struct step *s)
{
    uint32_t slots = 0;
    for (unsigned i = 0; i < s->insn->count; i = slot_end(s, i))
        slots++;
    return slots;
}

/* A branch that is part of the comparison before it has its result with that. */
static void run_absorbed(struct step *s)
{
    const struct uop *u = &s->insn->uops[0];
    for (unsigned i = 0; i < u->source_count; i++) {
        uint64_t at = s->core->ready[u->sources[i]];
        s->done = at > s->done ? at : s->done;
    }
}

void model_step(struct model_core *core, const struct uop_insn *insn, const struct uop_executed *x,
                struct model_cost *cost)
{
    struct step s = {.core = core, .insn = insn, .x = x, .cost = cost};
    bool absorbed = core->absorbed && insn->flags & INSN_FUSIBLE;
    s.fused = core->m->macro_fusion && insn->flags & INSN_FUSES && x->follower &&
              x->follower->flags & INSN_FUSIBLE;
    core->absorbed = s.fused;
    s.fetched = core_fetch(core, insn, x, absorbed ? 0 : count_slots(&s), cost);
    core->top = insn->flags & INSN_MMX ? 0 : (core->top + insn->x87_before) & 7;
    if (absorbed)
        run_absorbed(&s);
    else if (insn->flags & INSN_REPEATED)
        run_repeated(&s);
    else
        for (unsigned i = 0, end; i < insn->count; i = end) {
            end = slot_end(&s, i);
            run_slot(&s, i, end, 0);
        }
    core->top = (core->top + insn->x87_after) & 7;
    core_follow(core, insn, x, s.done, cost);
}

uint64_t core_insert(struct model_core *core, uint64_t pc, const struct uop_insn *insn,
                     const struct uop_executed *x, struct model_cost *cost)
{
    struct step s = {.core = core, .insn = insn, .x = x, .cost = cost};
    core->absorbed = false;
    for (unsigned i = 0; i < insn->count; i++) {
        s.fetched = core_fetch_inserted(core, pc, cost);
        run_slot(&s, i, i + 1, 0);
    }
    return s.done;
}
