/* The back end: operands, ports, memory, and stores until they are in the cache. */
#include "model/core_internal.h"

/* What a line's end divides: a load or store of so many bytes. */
static bool is_split(uint64_t address, uint32_t size)
{
    return address >> LINE_SHIFT != (address + size - 1) >> LINE_SHIFT;
}

static uint64_t address_of(const struct uop *u, const struct uop_executed *x, uint64_t repeated)
{
    return x->address[u->operand] + u->offset + repeated;
}

static unsigned register_of(const struct model_core *core, unsigned reg)
{
    if (reg < UOP_STACK || reg >= UOP_STACK + 8)
        return reg;
    return UOP_STACK + ((reg - UOP_STACK + (unsigned)core->top) & 7);
}

/* ---- ports ---- */

enum { NO_BANK = BANKS };

/* The port that fewest kinds of micro-operations can use. */
static unsigned choose(const struct model_core *core, uint32_t free)
{
    unsigned best = (unsigned)__builtin_ctz(free);
    for (uint32_t left = free & (free - 1); left; left &= left - 1) {
        unsigned port = (unsigned)__builtin_ctz(left);
        if (core->popularity[port] < core->popularity[best])
            best = port;
    }
    return best;
}

/* The first cycle from `at` on in which one of the ports is free; it is taken. A cycle whose slot a
 * later one has is taken to be full. */
static uint64_t take_port(struct model_core *core, uint32_t ports, uint64_t at, uint32_t bank)
{
    for (;; at++) {
        struct port_slot *s = &core->ports[at % PORT_SLOTS];
        if (s->cycle > at)
            continue;
        if (s->cycle < at)
            *s = (struct port_slot){.cycle = at};
        uint32_t free = ports & ~s->taken;
        if (!free || (bank != NO_BANK && s->banks[bank] == core->m->l1d_bank_loads))
            continue;
        if (bank != NO_BANK)
            s->banks[bank]++;
        uint32_t bit = 1u << choose(core, free);
        assert(s->cycle == at && !(s->taken & bit) && "no port twice a cycle");
        s->taken |= bit;
        return at;
    }
}

/* One divider divides all widths. */
static unsigned unit_of(unsigned class)
{
    return class == UOP_DIV64 ? UOP_DIV32 : class == UOP_FP_DIV64 ? UOP_FP_DIV32 : class;
}

/* The bank of the first-level cache, of eight bytes of a line; NO_BANK: none is known. */
static uint32_t bank_of(const struct uop *u, const struct uop_executed *x, uint64_t repeated)
{
    return u->class == UOP_LOAD && x->known[u->operand]
               ? (uint32_t)(address_of(u, x, repeated) / BANK_BYTES % BANKS)
               : NO_BANK;
}

static uint64_t issue(struct model_core *core, unsigned class, uint64_t ready, uint32_t bank)
{
    const struct machine *m = core->m;
    if (m->busy[class] <= 1)
        return take_port(core, m->ports[class], ready, bank);
    uint64_t *free = &core->unit_free[unit_of(class)];
    uint64_t at = take_port(core, m->ports[class], *free > ready ? *free : ready,
                            bank);
    *free = at + m->busy[class];
    return at;
}

/* ---- loads ---- */

static struct granule *granule_at(struct model_core *core, uint64_t address)
{
    uint64_t number = address >> GRANULE_SHIFT;
    return &core->granules[(number ^ number >> 12) % GRANULES];
}

/* Whether a store that may still be queued has some of these bytes. *whole: it has all. */
static const struct granule *find_store(struct model_core *core, uint64_t from, uint64_t to,
                                        uint64_t at, bool *whole)
{
    const struct granule *found = NULL;
    for (uint64_t a = from >> GRANULE_SHIFT << GRANULE_SHIFT; a < to; a += 1 << GRANULE_SHIFT) {
        const struct granule *g = granule_at(core, a);
        if (g->address != a + 1 || g->drained <= at || g->begin >= to || g->end <= from)
            continue;
        *whole = g->begin <= from && g->end >= to;
        if (!found || g->drained > found->drained)
            found = g;
        if (*whole)
            break;
    }
    return found;
}

static const enum cost_cause level_causes[] = {COST_L1, COST_L2, COST_L3, COST_MEMORY};

static void load_from_cache(struct model_core *core, uint64_t pc, uint64_t address, uint32_t size,
                            struct passage *p, struct model_cost *cost)
{
    struct memory_answer a = memory_data(&core->memory, pc, address, p->issue, false);
    if (is_split(address, size)) {
        struct memory_answer b =
            memory_data(&core->memory, pc, address + size - 1, p->issue + 1, false);
        a.level = b.level > a.level ? b.level : a.level;
        a.done = b.done > a.done ? b.done : a.done;
        a.tlb += b.tlb;
        a.walked |= b.walked;
    }
    p->done = a.done;
    p->tlb = a.tlb;
    p->doing = level_causes[a.level];
    cost->events[COST_EVENT_L1D_MISSES] += a.level > LEVEL_L1;
    cost->events[COST_EVENT_L2_MISSES] += a.level > LEVEL_L2;
    cost->events[COST_EVENT_MEMORY_LOADS] += a.level == LEVEL_MEMORY;
    cost->events[COST_EVENT_WALKS] += a.walked;
}

static void load(struct model_core *core, const struct uop *u, const struct uop_executed *x,
                 uint64_t repeated, struct passage *p, struct model_cost *cost)
{
    const struct machine *m = core->m;
    bool whole = false;
    uint64_t from = address_of(u, x, repeated), to = from + u->size;
    cost->events[COST_EVENT_LOADS]++;
    p->doing = COST_L1;
    p->done = p->issue + m->l1d_latency;
    if (!x->known[u->operand])
        return;
    const struct granule *g = find_store(core, from, to, p->issue, &whole);
    if (!g) {
        load_from_cache(core, x->pc, from, u->size, p, cost);
        return;
    }
    p->doing = COST_FORWARD;
    cost->events[whole ? COST_EVENT_FORWARDED : COST_EVENT_BLOCKED]++;
    uint64_t begin = whole ? g->data : g->drained;
    p->done = (begin > p->issue ? begin : p->issue) +
              (whole ? m->forward_latency : m->l1d_latency + m->forward_penalty);
    if (whole && m->memory_renaming && u->form && u->form == g->form && from == g->begin)
        p->renamed = g->source > p->dispatch ? g->source : p->dispatch + 1;
}

/* ---- stores ---- */

uint64_t core_drain(struct model_core *core, const struct uop_executed *x, const struct uop *u,
                    uint64_t repeated, struct stored s)
{
    uint64_t address = address_of(u, x, repeated), at = s.commit + 1, end = address + u->size;
    if (x->known[u->operand]) {
        struct memory_answer a = memory_data(&core->memory, x->pc, address, s.commit, true);
        if (a.level != LEVEL_L1 && a.done > at)
            at = a.done;
        if (is_split(address, u->size)) {
            a = memory_data(&core->memory, x->pc, end - 1, s.commit, true);
            if (a.level != LEVEL_L1 && a.done > at)
                at = a.done;
        }
    }
    bool same_line = core->drain_line == address >> LINE_SHIFT;
    if ((core->drained == core->m->store_drain_width || !same_line) && at <= core->drain)
        at = core->drain + 1;
    core->drain_line = address >> LINE_SHIFT;
    if (at < core->drain)
        at = core->drain;
    core->drained = at > core->drain ? 1 : core->drained + 1;
    core->drain = at;
    for (uint64_t g = address >> GRANULE_SHIFT << GRANULE_SHIFT; x->known[u->operand] && g < end;
         g += 1 << GRANULE_SHIFT)
        *granule_at(core, g) =
            (struct granule){g + 1, address, end, s.data, s.source, at, u->form};
    return at;
}

/* ---- any ---- */

uint64_t core_sources_ready(const struct model_core *core, const struct uop *u)
{
    uint64_t ready = 0;
    for (unsigned i = 0; i < u->source_count; i++) {
        uint64_t at = core->ready[register_of(core, u->sources[i])];
        ready = at > ready ? at : ready;
    }
    return ready;
}

/* What renaming will have added to the register that the micro-operation reads. */
static int added_by(const struct model_core *core, const struct uop *u)
{
    int before = u->flags & (UOP_ADDS | UOP_COPY) && u->source_count
                     ? core->added[register_of(core, u->sources[0])]
                     : 0;
    return before + u->adds;
}

static bool is_eliminated(const struct model_core *core, const struct uop *u)
{
    const struct machine *m = core->m;
    int added = u->flags & UOP_ADDS && m->add_elimination ? added_by(core, u) : UOP_ADDS_MOST;
    return u->class == UOP_NONE || (u->flags & UOP_COPY && m->move_elimination) ||
           (u->flags & UOP_ZERO && m->zero_elimination) ||
           (added < UOP_ADDS_MOST && added > -UOP_ADDS_MOST);
}

static void set_register(struct model_core *core, unsigned reg, uint64_t ready, int16_t added)
{
    core->ready[reg] = ready;
    core->added[reg] = added;
}

/* Renaming does it: no port, no time; a copy is there when what it is a copy of is. */
static void rename_only(struct model_core *core, const struct uop *u, struct passage *p)
{
    uint64_t there = core_sources_ready(core, u);
    int16_t added = (int16_t)added_by(core, u);
    p->ready = p->issue = p->dispatch;
    p->done = p->dispatch + 1;
    p->doing = p->late;
    for (unsigned i = 0; i < u->result_count; i++)
        set_register(core, register_of(core, u->results[i]), there, added);
}

/* A shift does not take the constant in passing that renaming still has to add. */
static uint32_t latency_of(const struct model_core *core, const struct uop *u)
{
    enum { LATE_CONSTANT = 2 };
    bool late = u->class == UOP_SHIFT && u->source_count &&
                core->added[register_of(core, u->sources[0])] != 0;
    return (u->class < UOP_TIMED_COUNT ? core->m->latency[u->class] : 1) +
           (late ? LATE_CONSTANT : 0);
}

void core_execute(struct model_core *core, const struct uop *u, const struct uop_executed *x,
                  uint64_t repeated, struct passage *p, struct model_cost *cost)
{
    p->doing = COST_DEPENDENCY;
    p->tlb = 0;
    p->renamed = 0;
    if (is_eliminated(core, u)) {
        rename_only(core, u, p);
        return;
    }
    p->ready = core_sources_ready(core, u);
    if (u->class == UOP_LOAD && core->fence > p->ready)
        p->ready = core->fence;
    if (p->ready <= p->dispatch)
        p->ready = p->dispatch + 1;
    p->issue = issue(core, u->class, p->ready, bank_of(u, x, repeated));
    if (u->class == UOP_LOAD)
        load(core, u, x, repeated, p, cost);
    else
        p->done = p->issue + latency_of(core, u);
    for (unsigned i = 0; i < u->result_count; i++)
        set_register(core, register_of(core, u->results[i]), p->renamed ? p->renamed : p->done, 0);
}
