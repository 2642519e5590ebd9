#include "sigsafe/production.h"

#include <stddef.h>

enum { REGISTERS = 16 };

const char *production_class_name(uint32_t class)
{
#define NAME(id, name) name,
    static const char *const names[] = { PRODUCTION_CLASSES(NAME) };
#undef NAME
    return class < OPCLASS_COUNT ? names[class] : NULL;
}

const char *production_register_name(uint32_t number)
{
    static const char *const names[REGISTERS] = {
        "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
        "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15",
    };
    return number < REGISTERS ? names[number] : NULL;
}

const char *production_field_name(uint32_t field)
{
#define NAME(id, name) name,
    static const char *const names[] = { PRODUCTION_FIELDS_ALL(NAME) };
#undef NAME
    return field < FIELD_REGISTER ? names[field] : production_register_name(field - FIELD_REGISTER);
}

/* ---- patterns ---- */

static bool relation_holds(uint32_t relation, bool less, bool equal)
{
    switch (relation) {
    case RELATION_EQ: return equal;
    case RELATION_NE: return !equal;
    case RELATION_LT: return less;
    case RELATION_LE: return less || equal;
    case RELATION_GT: return !less && !equal;
    default: return !less;
    }
}

static bool compare(uint32_t relation, uint64_t a, uint64_t b)
{
    return relation_holds(relation, a < b, a == b);
}

static bool in_function(const struct production_program *p, const struct production_trigger *t,
                        uint64_t number)
{
    const struct production_function *f = &p->functions[number];
    return number < p->function_count && f->image < PRODUCTION_IMAGES &&
           t->images >> f->image & 1 && t->offset >= f->lo && t->offset < f->hi;
}

static bool test(const struct production_program *p, const struct production_trigger *t,
                 const struct production_term *term)
{
    uint64_t value = term->value;
    switch (term->what) {
    case TERM_CLASS: return value < OPCLASS_COUNT && t->classes >> value & 1;
    case TERM_PC: return compare(term->relation, t->offset, value);
    case TERM_PC_TARGET: return t->has_target && compare(term->relation, t->pc, t->target);
    case TERM_IMMEDIATE:
        return t->has_immediate &&
               relation_holds(term->relation, t->immediate < (int64_t)value,
                              t->immediate == (int64_t)value);
    case TERM_OPCODE: return compare(term->relation, t->opcode, value);
    case TERM_BASE: return t->base == value;
    case TERM_INDEX: return t->index == value;
    case TERM_READS: return value < REGISTERS && t->reads >> value & 1;
    case TERM_WRITES: return value < REGISTERS && t->writes >> value & 1;
    case TERM_IMAGE: return value < PRODUCTION_IMAGES && t->images >> value & 1;
    case TERM_FUNCTION: return in_function(p, t, value);
    default: return false;
    }
}

static bool test_flag(const struct production_state *s, const struct production_term *term)
{
    uint64_t counter = term->value < PRODUCTION_COUNTERS ? s->counters[term->value] : 0;
    return term->what == TERM_OVERFLOW ? production_overflow(counter) : production_zero(counter);
}

/* An expression of terms that are tested: the stack's bits, the last one lowest. One of no terms is
 * true. */
static bool evaluate(const struct production_program *p, struct production_run run,
                     const struct production_trigger *t, const struct production_state *s)
{
    uint64_t stack = 1;
    for (uint32_t i = run.first; i < (uint32_t)run.first + run.count && i < PRODUCTION_TERMS; i++) {
        const struct production_term *term = &p->terms[i];
        if (term->what == TERM_NOT)
            stack ^= 1;
        else if (term->what == TERM_AND)
            stack = (stack >> 1 & ~UINT64_C(1)) | (stack >> 1 & stack & 1);
        else if (term->what == TERM_OR)
            stack = stack >> 1 | (stack & 1);
        else
            stack = stack << 1 | (t ? test(p, t, term) : s && test_flag(s, term));
    }
    return stack & 1;
}

uint64_t production_match(const struct production_program *p, const struct production_trigger *t)
{
    uint64_t matched = 0;
    for (uint32_t i = 0; i < p->count && i < PRODUCTIONS_MOST; i++)
        if (evaluate(p, p->productions[i].pattern, t, NULL))
            matched |= UINT64_C(1) << i;
    return matched;
}

/* ---- counters ---- */

static uint64_t stepped(uint64_t counter, uint32_t what)
{
    uint64_t low = PRODUCTION_COUNTER_END - 1;
    if (what == MICRO_DEC)
        return (counter & ~low) | ((counter - 1) & low);
    return (counter & PRODUCTION_COUNTER_END) | ((counter & low) + 1);
}

bool production_micro_do(struct production_state *s, const struct production_micro *m)
{
    uint64_t *counter = &s->counters[m->counter % PRODUCTION_COUNTERS], before = *counter;
    *counter = m->what == MICRO_SET ? m->value : stepped(before, m->what);
    return production_overflow(before) != production_overflow(*counter) ||
           production_zero(before) != production_zero(*counter);
}

void production_activate(struct production_state *s, const struct production_program *p)
{
    s->active = 0;
    for (uint32_t i = 0; i < p->count && i < PRODUCTIONS_MOST; i++)
        if (evaluate(p, p->productions[i].conditional, NULL, s))
            s->active |= UINT64_C(1) << i;
}

uint32_t production_flags(const struct production_state *s)
{
    enum { ZEROS = 16 };
    uint32_t flags = 0;
    for (unsigned i = 0; i < PRODUCTION_COUNTERS; i++)
        flags |= (uint32_t)production_overflow(s->counters[i]) << i |
                 (uint32_t)production_zero(s->counters[i]) << (ZEROS + i);
    return flags;
}

void production_begin(struct production_state *s, const struct production_program *p)
{
    for (unsigned i = 0; i < PRODUCTION_COUNTERS; i++)
        s->counters[i] = 0;
    for (uint32_t i = 0; i < p->begin.count && p->begin.first + i < PRODUCTION_MICROS; i++)
        production_micro_do(s, &p->micros[p->begin.first + i]);
    production_activate(s, p);
}

uint64_t production_distance(uint64_t counter, uint32_t what)
{
    uint64_t low = counter & (PRODUCTION_COUNTER_END - 1);
    if (!low)
        return 1;
    return what == MICRO_DEC ? low : PRODUCTION_COUNTER_END - low;
}

/* ---- idle ---- */

struct production_idle production_idle(const struct production_program *p)
{
    struct production_state s;
    struct production_idle idle = { .possible = true };
    production_begin(&s, p);
    idle.active = s.active;
    idle.flags = production_flags(&s);
    for (uint32_t i = 0; i < p->count && i < PRODUCTIONS_MOST; i++) {
        const struct production *one = &p->productions[i];
        const struct production_micro *m = &p->micros[one->micros.first % PRODUCTION_MICROS];
        if (!(s.active >> i & 1) || (!one->actions.count && !one->micros.count))
            continue;
        bool first = !idle.events;
        idle.possible &= !one->actions.count && one->micros.count == 1 && m->what != MICRO_SET &&
                         (first || (m->counter == idle.counter && m->what == idle.what));
        idle.counter = m->counter;
        idle.what = m->what;
        idle.events |= UINT64_C(1) << i;
    }
    return idle;
}

/* ---- where counters decide nothing ---- */

/* What flags can be, by production_flags' bits. */
struct possible {
    uint32_t on, off;
};

enum { ZERO_BIT = 16 };

/* Bit 0: it can be true; bit 1: it can be false. */
static unsigned possible_flag(const struct possible *f, const struct production_term *term)
{
    unsigned bit = (unsigned)(term->value % PRODUCTION_COUNTERS) +
                   (term->what == TERM_ZERO ? ZERO_BIT : 0);
    return (f->on >> bit & 1) | (f->off >> bit & 1) << 1;
}

/* The same of a conditional. Two stacks of bits. */
static unsigned possible_conditional(const struct production_program *p,
                                     struct production_run run, const struct possible *f)
{
    uint64_t on = 1, off = 0;
    for (uint32_t i = run.first; i < (uint32_t)run.first + run.count && i < PRODUCTION_TERMS; i++) {
        const struct production_term *term = &p->terms[i];
        uint64_t last_on = on & 1, last_off = off & 1;
        if (term->what == TERM_NOT) {
            on = (on & ~UINT64_C(1)) | last_off;
            off = (off & ~UINT64_C(1)) | last_on;
        } else if (term->what == TERM_AND) {
            on = (on >> 1 & ~UINT64_C(1)) | (on >> 1 & last_on);
            off = off >> 1 | last_off;
        } else if (term->what == TERM_OR) {
            on = on >> 1 | last_on;
            off = (off >> 1 & ~UINT64_C(1)) | (off >> 1 & last_off);
        } else {
            unsigned is = possible_flag(f, term);
            on = on << 1 | (is & 1);
            off = off << 1 | is >> 1;
        }
    }
    return (unsigned)(on & 1) | (unsigned)(off & 1) << 1;
}

static void possible_after(struct possible *f, const struct production_micro *m)
{
    unsigned counter = m->counter % PRODUCTION_COUNTERS;
    uint32_t overflow = UINT32_C(1) << counter, zero = UINT32_C(1) << (counter + ZERO_BIT);
    if (m->what == MICRO_SET) {
        *(production_overflow(m->value) ? &f->on : &f->off) |= overflow;
        *(production_zero(m->value) ? &f->on : &f->off) |= zero;
        return;
    }
    f->on |= zero;
    f->off |= zero;
    if (m->what == MICRO_INC) /* a flag that is set stays so */
        f->on |= overflow;
}

static struct possible possible_flags(const struct production_program *p)
{
    struct production_state s;
    production_begin(&s, p);
    struct possible f = { .on = production_flags(&s), .off = ~production_flags(&s) }, before;
    do {
        before = f;
        for (uint32_t i = 0; i < p->count && i < PRODUCTIONS_MOST; i++) {
            struct production_run run = p->productions[i].micros;
            bool can = possible_conditional(p, p->productions[i].conditional, &f) & 1;
            for (uint32_t k = run.first;
                 can && k < (uint32_t)run.first + run.count && k < PRODUCTION_MICROS; k++)
                possible_after(&f, &p->micros[k]);
        }
    } while (before.on != f.on || before.off != f.off);
    return f;
}

bool production_settled(const struct production_program *p, uint64_t *always)
{
    const struct possible f = possible_flags(p);
    bool settled = true;
    *always = 0;
    for (uint32_t i = 0; i < p->group_count && i < PRODUCTION_GROUPS; i++)
        settled &= p->groups[i].kind == GROUP_COUNT;
    for (uint32_t i = 0; i < p->count && i < PRODUCTIONS_MOST; i++) {
        unsigned is = possible_conditional(p, p->productions[i].conditional, &f);
        if (!p->productions[i].actions.count)
            continue;
        settled &= is != 3;
        *always |= (uint64_t)(is == 1) << i;
    }
    return settled;
}
