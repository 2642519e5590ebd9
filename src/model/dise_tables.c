/* What the productions take in the tables, and what is there. */
#include "model/dise_internal.h"

/* ---- sizes ---- */

/* Conjunctions that a pattern is a disjunction of, and so of what it denies. */
struct forms { uint32_t yes, no; };

static uint32_t capped(uint64_t n)
{
    return n < UINT16_MAX ? (uint32_t)n : UINT16_MAX;
}

static struct forms joined(uint32_t what, struct forms a, struct forms b)
{
    uint32_t sum_yes = capped((uint64_t)a.yes + b.yes), sum_no = capped((uint64_t)a.no + b.no);
    uint32_t all_yes = capped((uint64_t)a.yes * b.yes), all_no = capped((uint64_t)a.no * b.no);
    return what == TERM_OR ? (struct forms){sum_yes, all_no} : (struct forms){all_yes, sum_no};
}

uint32_t dise_pattern_entries(const struct production_program *p, const struct production *one)
{
    struct forms stack[PRODUCTION_HEIGHT + 2];
    unsigned height = 0;
    for (unsigned i = 0; i < one->pattern.count; i++) {
        uint32_t what = p->terms[one->pattern.first + i].what;
        if (what == TERM_NOT && height) {
            struct forms *top = &stack[height - 1];
            *top = (struct forms){top->no, top->yes};
        } else if (what == TERM_AND || what == TERM_OR) {
            if (height < 2)
                return 1; /* no program of the parser's */
            stack[height - 2] = joined(what, stack[height - 2], stack[height - 1]);
            height--;
        } else if (height < sizeof stack / sizeof *stack) {
            stack[height++] = (struct forms){1, 1};
        }
    }
    return height ? stack[height - 1].yes : 1;
}

/* Flags that a conditional asks for, each once. */
static uint32_t count_flags(const struct production_program *p, const struct production *one)
{
    uint32_t overflow = 0, zero = 0;
    for (unsigned i = 0; i < one->conditional.count; i++) {
        const struct production_term *t = &p->terms[one->conditional.first + i];
        uint32_t bit = UINT32_C(1) << t->value % PRODUCTION_COUNTERS;
        overflow |= t->what == TERM_OVERFLOW ? bit : 0;
        zero |= t->what == TERM_ZERO ? bit : 0;
    }
    return (uint32_t)__builtin_popcount(overflow) + (uint32_t)__builtin_popcount(zero);
}

uint32_t dise_sequence_entries(const struct production_program *p, const struct production *one,
                               enum dise_mode mode)
{
    uint32_t entries = 0;
    for (unsigned i = 0; i < one->actions.count; i++)
        entries += dise_handler_entries(
            &p->groups[p->actions[one->actions.first + i] % PRODUCTION_GROUPS]);
    if (mode == DISE_ORIGINAL) {
        entries += count_flags(p, one);
        for (unsigned i = 0; i < one->micros.count; i++)
            entries += p->micros[one->micros.first + i].what == MICRO_SET ? 1 : 2;
    }
    return entries ? entries + 1 : 0;
}

/* ---- what is there ---- */

static uint64_t bit(unsigned production)
{
    return UINT64_C(1) << production;
}

void dise_table_fill(struct dise_table *t, uint32_t size)
{
    t->size = size;
    t->there = t->used = 0;
    for (unsigned i = 0; i < PRODUCTIONS_MOST; i++)
        if (t->sizes[i] && t->used + t->sizes[i] <= size) {
            t->there |= bit(i);
            t->used += t->sizes[i];
        }
}

/* What was used least recently goes; of equal ones the first. */
static void evict(struct dise_table *t)
{
    unsigned oldest = PRODUCTIONS_MOST;
    for (uint64_t left = t->there; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);
        if (oldest == PRODUCTIONS_MOST || t->used_at[i] < t->used_at[oldest])
            oldest = i;
    }
    assert(oldest < PRODUCTIONS_MOST && "one that fits alone has room");
    t->there &= ~bit(oldest);
    t->used -= t->sizes[oldest];
}

uint32_t dise_table_use(struct dise_table *t, uint64_t productions)
{
    uint32_t misses = 0;
    for (; productions; productions &= productions - 1) {
        unsigned i = (unsigned)__builtin_ctzll(productions);
        if (!t->sizes[i])
            continue;
        t->used_at[i] = ++t->clock;
        if (t->there & bit(i))
            continue;
        while (t->used + t->sizes[i] > t->size)
            evict(t);
        t->there |= bit(i);
        t->used += t->sizes[i];
        misses++;
    }
    assert(t->used <= t->size && "no table is overfull");
    return misses;
}
