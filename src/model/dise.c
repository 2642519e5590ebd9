#include "model/dise.h"

#include <inttypes.h>
#include <stdlib.h>

#include "model/dise_internal.h"

struct dise {
    const struct machine *m;
    const struct production_program *p;
    enum dise_mode mode;
    struct production_state state;
    struct production_state idle; /* as in the beginning */
    uint64_t acting, moving;      /* productions that have actions, micro-operations */
    struct dise_table patterns, sequences, conditionals;
    struct model_core *cores[DISE_PART_COUNT]; /* NULL: as the one before */
    struct dise_memory memory;    /* of handlers */
    unsigned last;                /* of cores */
    uint64_t counts[DISE_COUNT_COUNT];
};

/* ---- whether there is room ---- */

static uint32_t highest_counter(const struct production_program *p)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < p->micros_used; i++)
        most = p->micros[i].counter + 1u > most ? p->micros[i].counter + 1u : most;
    for (uint32_t i = 0; i < p->terms_used; i++)
        if (p->terms[i].what == TERM_OVERFLOW || p->terms[i].what == TERM_ZERO)
            most = p->terms[i].value + 1 > most ? p->terms[i].value + 1 : most;
    return (uint32_t)most;
}

/* Each other value that counters are set to is in a register. */
static uint32_t count_values(const struct production_program *p)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->micros_used; i++) {
        bool known = p->micros[i].what != MICRO_SET;
        for (uint32_t k = 0; !known && k < i; k++)
            known = p->micros[k].what == MICRO_SET && p->micros[k].value == p->micros[i].value;
        count += !known;
    }
    return count;
}

static bool check_entries(const char *key, uint32_t size, uint32_t entries,
                          const struct production *one, struct err *e)
{
    return entries <= size ||
           err_set(e, ERR_USAGE, "%s is %" PRIu32 ", and the production %s alone takes %" PRIu32,
                   key, size, one->name, entries);
}

static bool check_registers(const struct machine *m, const struct production_program *p,
                            enum dise_mode mode, struct err *e)
{
    uint32_t counters = highest_counter(p), values = count_values(p);
    uint32_t registers = mode == DISE_ORIGINAL ? counters + values : values;
    if (counters > m->dise_counters)
        return err_set(e, ERR_USAGE,
                       "dise_counters is %" PRIu32 ", and the productions use counter %" PRIu32,
                       m->dise_counters, counters);
    if (registers > m->dise_registers)
        return err_set(e, ERR_USAGE,
                       "dise_registers is %" PRIu32 ", and the productions take %" PRIu32,
                       m->dise_registers, registers);
    return true;
}

bool dise_check(const struct machine *m, const struct production_program *p, enum dise_mode mode,
                struct err *e)
{
    for (uint32_t i = 0; i < p->count; i++) {
        const struct production *one = &p->productions[i];
        if (!check_entries("dise_pt_size", m->dise_pt_size, dise_pattern_entries(p, one), one, e) ||
            !check_entries("dise_rt_size", m->dise_rt_size, dise_sequence_entries(p, one, mode),
                           one, e))
            return false;
    }
    return check_registers(m, p, mode, e);
}

/* ---- making ---- */

static void fill_tables(struct dise *d)
{
    for (uint32_t i = 0; i < d->p->count && i < PRODUCTIONS_MOST; i++) {
        const struct production *one = &d->p->productions[i];
        uint64_t bit = UINT64_C(1) << i;
        d->acting |= one->actions.count ? bit : 0;
        d->moving |= one->micros.count ? bit : 0;
        d->patterns.sizes[i] = dise_pattern_entries(d->p, one);
        d->sequences.sizes[i] = dise_sequence_entries(d->p, one, d->mode);
        d->conditionals.sizes[i] = d->mode == DISE_HPS && one->micros.count ? 1 : 0;
    }
    dise_table_fill(&d->patterns, d->m->dise_pt_size);
    dise_table_fill(&d->sequences, d->m->dise_rt_size);
    dise_table_fill(&d->conditionals, d->m->dise_ct_size);
}

static bool has_all(const struct dise_table *t)
{
    uint64_t wanted = 0;
    for (unsigned i = 0; i < PRODUCTIONS_MOST; i++)
        wanted |= t->sizes[i] ? UINT64_C(1) << i : 0;
    return t->there == wanted;
}

/* Whether this part can cost anything. */
static bool is_modelled(const struct dise *d, unsigned part)
{
    switch (part) {
    case DISE_BASIC:
    case DISE_CHECKS: return d->mode == DISE_ORIGINAL;
    case DISE_TABLES:
        return !has_all(&d->patterns) || !has_all(&d->sequences) || !has_all(&d->conditionals);
    default: return true;
    }
}

static bool make_memory(struct dise *d)
{
    bool ok = true;
    for (uint32_t i = 0; i < d->p->group_count && i < PRODUCTION_GROUPS; i++)
        if (d->p->groups[i].kind == GROUP_COUNT)
            ok = ok && (d->memory.keys[i] = calloc(DISE_KEPT, sizeof *d->memory.keys[i]));
    return ok;
}

struct dise *dise_new(const struct machine *m, const struct production_program *p,
                      enum dise_mode mode)
{
    struct dise *d = calloc(1, sizeof *d);
    if (!d)
        return NULL;
    d->m = m;
    d->p = p;
    d->mode = mode;
    fill_tables(d);
    dise_begin(d);
    d->idle = d->state;
    bool ok = make_memory(d);
    for (unsigned i = 0; ok && i < DISE_PART_COUNT; i++)
        if (is_modelled(d, i)) {
            ok = (d->cores[i] = model_core_new(m));
            d->last = i;
        }
    if (ok)
        return d;
    dise_free(d);
    return NULL;
}

void dise_free(struct dise *d)
{
    if (!d)
        return;
    for (unsigned i = 0; i < DISE_PART_COUNT; i++)
        model_core_free(d->cores[i]);
    for (unsigned i = 0; i < PRODUCTION_GROUPS; i++)
        free(d->memory.keys[i]);
    free(d);
}

void dise_begin(struct dise *d)
{
    production_begin(&d->state, d->p);
}

uint64_t dise_active(const struct dise *d, uint64_t mask)
{
    return mask & d->state.active;
}

/* ---- sequences ---- */

enum { SEQUENCES_MOST = 2 * PRODUCTION_ACTIONS };

/* A piece of what is inserted before one instruction. */
struct piece {
    enum dise_part part;
    bool flushes; /* its last branch goes where it was not predicted to */
    uint64_t pc;  /* before which instruction */
    struct uop_insn uops;
    struct uop_executed x;
};

struct pieces {
    struct piece *list;
    unsigned count, most;
};

static struct piece *piece_add(struct pieces *p, enum dise_part part, uint64_t pc)
{
    struct piece *one = &p->list[p->count < p->most ? p->count++ : p->most - 1];
    one->part = part;
    one->flushes = false;
    one->uops.count = one->uops.flags = 0;
    one->pc = pc;
    one->x = (struct uop_executed){.pc = pc, .repeat = 1};
    return one;
}

static bool flag_of(const struct production_state *s, const struct production_term *t)
{
    uint64_t counter = s->counters[t->value % PRODUCTION_COUNTERS];
    return t->what == TERM_OVERFLOW ? production_overflow(counter) : production_zero(counter);
}

/* Branches on flags, each asked for once. */
struct asking {
    const struct dise *d;
    struct pieces *to;
    struct piece *piece;
    enum dise_part part;
    uint64_t pc;
    uint32_t asked[2]; /* bit n: the overflow flag, the zero flag of counter n */
};

/* One that has changed since the beginning flushes, and what comes after is another piece. */
static bool ask_flag(struct asking *a, const struct production_term *t)
{
    bool flag = flag_of(&a->d->state, t);
    uint32_t *asked = &a->asked[t->what == TERM_ZERO];
    uint32_t bit = UINT32_C(1) << t->value % PRODUCTION_COUNTERS;
    if (*asked & bit)
        return flag;
    *asked |= bit;
    if (!a->piece || a->piece->flushes || a->piece->uops.count == UOPS_MOST)
        a->piece = piece_add(a->to, a->part, a->pc);
    dise_uop(&a->piece->uops, UOP_BRANCH, UOP_REGISTERS,
             DISE_COUNTER + (unsigned)(t->value % PRODUCTION_COUNTERS));
    a->piece->flushes = flag != flag_of(&a->d->idle, t);
    return flag;
}

/* Terms of the expression that ends at `at`. */
static unsigned span(const struct production_term *terms, unsigned at)
{
    if (terms[at].what == TERM_NOT)
        return at ? 1 + span(terms, at - 1) : 1;
    if ((terms[at].what != TERM_AND && terms[at].what != TERM_OR) || at < 2)
        return 1;
    unsigned right = span(terms, at - 1);
    return right < at ? 1 + right + span(terms, at - 1 - right) : at + 1;
}

/* The conditional that ends at `at`, as far as it has to be evaluated. */
static bool ask(struct asking *a, const struct production_term *terms, unsigned at)
{
    const struct production_term *t = &terms[at];
    if (t->what == TERM_NOT && at)
        return !ask(a, terms, at - 1);
    if (t->what != TERM_AND && t->what != TERM_OR)
        return ask_flag(a, t);
    unsigned right = at ? span(terms, at - 1) : 0;
    if (right + 1 > at)
        return false; /* no program of the parser's */
    bool left = ask(a, terms, at - 1 - right);
    return left == (t->what == TERM_OR) ? left : ask(a, terms, at - 1);
}

static void checks_make(const struct dise *d, uint64_t productions, enum dise_part part,
                        uint64_t pc, struct pieces *to)
{
    struct asking a = {.d = d, .to = to, .part = part, .pc = pc};
    for (; productions; productions &= productions - 1) {
        struct production_run run = d->p->productions[__builtin_ctzll(productions)].conditional;
        if (run.count)
            ask(&a, &d->p->terms[run.first], run.count - 1u);
    }
}

/* The counters' moves as instructions: what changes a flag flushes. */
static void moves_make(const struct dise *d, uint64_t active, uint64_t pc, struct pieces *to)
{
    struct production_state after = d->state;
    struct piece *one = NULL;
    for (; active; active &= active - 1) {
        const struct production *p = &d->p->productions[__builtin_ctzll(active)];
        for (unsigned i = 0; i < p->micros.count; i++) {
            const struct production_micro *m = &d->p->micros[p->micros.first + i];
            unsigned counter = DISE_COUNTER + m->counter % PRODUCTION_COUNTERS;
            bool changed = production_micro_do(&after, m);
            if (!one || one->flushes || one->uops.count + 2 > UOPS_MOST)
                one = piece_add(to, DISE_BASIC, pc);
            if (m->what == MICRO_SET) {
                dise_uop(&one->uops, UOP_ALU, counter,
                         DISE_REGISTER + m->counter % PRODUCTION_COUNTERS);
                continue;
            }
            dise_uop(&one->uops, UOP_ALU, counter, counter);
            dise_uop(&one->uops, UOP_BRANCH, UOP_REGISTERS, counter);
            one->flushes = changed;
        }
    }
}

static void handlers_make(struct dise *d, const struct dise_action *actions, unsigned count,
                          const struct uop_insn *insn, uint64_t pc, struct pieces *to)
{
    for (unsigned i = 0; i < count; i++) {
        struct piece *one = piece_add(to, DISE_SAMPLING, pc);
        const struct production_group *g = &d->p->groups[actions[i].group % PRODUCTION_GROUPS];
        one->flushes =
            dise_handler_make(&d->memory, g, &actions[i], insn, &one->uops, &one->x);
    }
}

/* ---- a step ---- */

/* What is done before one instruction. */
struct plan {
    struct pieces pieces;
    uint64_t replaced[DISE_PART_COUNT]; /* by core: the productions that replace it */
    uint32_t stall;                     /* of misses */
};

static void count(struct dise *d, enum dise_count what, uint64_t n)
{
    d->counts[what] += n;
}

static uint32_t use_tables(struct dise *d, uint64_t mask, uint64_t active)
{
    bool hps = d->mode == DISE_HPS;
    uint32_t patterns = dise_table_use(&d->patterns, hps ? active : mask);
    uint32_t sequences = dise_table_use(&d->sequences, hps ? active : mask);
    uint32_t conditionals = dise_table_use(&d->conditionals, active);
    count(d, DISE_COUNT_PT_MISSES, patterns);
    count(d, DISE_COUNT_RT_MISSES, sequences);
    count(d, DISE_COUNT_CT_MISSES, conditionals);
    return patterns * d->m->dise_pt_miss_penalty + sequences * d->m->dise_rt_miss_penalty +
           conditionals * d->m->dise_ct_miss_penalty;
}

static void plan_make(struct dise *d, uint64_t mask, const struct dise_action *actions,
                      unsigned action_count, const struct uop_insn *insn, uint64_t pc,
                      struct plan *to)
{
    uint64_t active = dise_active(d, mask);
    to->stall = use_tables(d, mask, active);
    to->replaced[DISE_SAMPLING] = to->replaced[DISE_BASIC] = active & d->acting;
    if (d->mode == DISE_ORIGINAL) {
        to->replaced[DISE_BASIC] |= mask & d->moving;
        checks_make(d, mask & d->acting & ~d->moving, DISE_CHECKS, pc, &to->pieces);
    }
    to->replaced[DISE_CHECKS] =
        to->replaced[DISE_BASIC] | (d->mode == DISE_ORIGINAL ? mask & d->acting : 0);
    to->replaced[DISE_TABLES] = to->replaced[DISE_CHECKS];
    handlers_make(d, actions, action_count, insn, pc, &to->pieces);
    if (d->mode == DISE_ORIGINAL) {
        checks_make(d, mask & d->moving, DISE_BASIC, pc, &to->pieces);
        moves_make(d, active, pc, &to->pieces);
    }
    count(d, DISE_COUNT_MATCHED, 1);
    count(d, DISE_COUNT_REPLACED, to->replaced[DISE_CHECKS] != 0);
    count(d, DISE_COUNT_ACTIONS, action_count);
    for (unsigned i = 0; i < to->pieces.count; i++)
        count(d, DISE_COUNT_INSERTED, to->pieces.list[i].uops.count);
}

static void insert(struct dise *d, unsigned part, const struct plan *plan, struct model_cost *cost)
{
    struct model_core *core = d->cores[part];
    uint32_t stall = (plan->replaced[part] ? d->m->dise_replacement_cycles : 0) +
                     (part == DISE_TABLES ? plan->stall : 0);
    if (stall)
        core_redirect(core, core->fetch + stall, COST_FRONT_END);
    for (unsigned i = 0; i < plan->pieces.count; i++) {
        const struct piece *one = &plan->pieces.list[i];
        if ((unsigned)one->part > part)
            continue;
        uint64_t done = core_insert(core, one->pc, &one->uops, &one->x, cost);
        if (one->flushes)
            core_redirect(core, done, COST_BRANCH);
    }
}

static struct dise_moved move(struct dise *d, uint64_t active)
{
    struct dise_moved moved = {0};
    bool changed = false;
    for (; active; active &= active - 1) {
        struct production_run run = d->p->productions[__builtin_ctzll(active)].micros;
        for (uint32_t i = 0; i < run.count; i++) {
            const struct production_micro *m = &d->p->micros[run.first + i];
            unsigned counter = m->counter % PRODUCTION_COUNTERS;
            bool before = production_overflow(d->state.counters[counter]);
            changed |= production_micro_do(&d->state, m);
            bool after = production_overflow(d->state.counters[counter]);
            moved.set |= m->what == MICRO_SET ? UINT32_C(1) << counter : 0;
            moved.overflowed |= !before && after ? UINT32_C(1) << counter : 0;
            count(d, DISE_COUNT_MOVED, 1);
        }
    }
    if (changed)
        production_activate(&d->state, d->p);
    return moved;
}

void dise_add_to(struct dise *d, uint64_t *parts)
{
    model_add_to(d->cores[d->last], parts);
}

struct dise_moved dise_step(struct dise *d, uint64_t mask, const struct dise_action *actions,
                            unsigned action_count, const struct uop_insn *insn,
                            const struct uop_executed *x, struct model_cost *cost)
{
    static struct piece pieces[SEQUENCES_MOST]; /* large */
    static struct model_cost other;
    struct plan plan = {.pieces = {pieces, 0, SEQUENCES_MOST}};
    if (mask)
        plan_make(d, mask, actions, action_count, insn, x->pc, &plan);
    for (unsigned i = 0; i <= d->last; i++) {
        struct model_cost *of = i == d->last ? cost : &other;
        if (!d->cores[i])
            continue;
        if (mask)
            insert(d, i, &plan, of);
        model_step(d->cores[i], insn, x, of);
    }
    return mask ? move(d, dise_active(d, mask)) : (struct dise_moved){0};
}

void dise_sum(const struct dise *d, struct dise_sums *to)
{
    uint64_t cycles = 0;
    for (unsigned i = 0; i < DISE_PART_COUNT; i++) {
        cycles = d->cores[i] ? model_cycles(d->cores[i]) : cycles;
        to->cycles[i] += cycles;
    }
    for (unsigned i = 0; i < DISE_COUNT_COUNT; i++)
        to->counts[i] += d->counts[i];
}
