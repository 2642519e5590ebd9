#include "sigsafe/hot_streams.h"

#include <stddef.h>

#include "sigsafe/hash.h"
#include "sigsafe/sequitur.h"

struct finder {
    struct sequitur grammar;
    const struct hot_item *items;
    uint32_t count, references, distinct; /* without breaks */
    uint32_t *table;  /* by hash: 1 + the terminal */
    uint32_t *first;  /* of a terminal: the item */
    uint32_t *order;  /* rules, each behind all that use it */
    uint32_t *times;  /* of a rule: how often it comes in all */
    uint32_t *cold;   /* of a rule: the same, outside hot ones */
    uint32_t *length; /* of a rule: items */
    uint32_t order_count;
};

static uint32_t table_size(uint32_t count)
{
    uint32_t size = 2;
    while (size < 2 * (uint64_t)count)
        size *= 2;
    return size;
}

static uint32_t rules_most(uint32_t count)
{
    return count / 2 + 8;
}

uint64_t hot_streams_bytes(uint32_t count)
{
    uint64_t grammar = (sequitur_bytes(count) + 7) & ~UINT64_C(7);
    return grammar + sizeof(uint32_t) * (table_size(count) + (uint64_t)count +
                                         UINT64_C(4) * rules_most(count));
}

static void finder_init(struct finder *f, void *memory, const struct hot_item *items,
                        uint32_t count)
{
    uint8_t *at = memory;
    uint32_t rules = rules_most(count);
    f->items = items;
    f->count = count;
    f->references = f->distinct = f->order_count = 0;
    sequitur_init(&f->grammar, memory, count);
    f->table = (uint32_t *)(void *)(at + ((sequitur_bytes(count) + 7) & ~UINT64_C(7)));
    f->first = f->table + table_size(count);
    f->order = f->first + count;
    f->times = f->order + rules;
    f->cold = f->times + rules;
    f->length = f->cold + rules;
}

/* ---- the grammar ---- */

static uint32_t terminal_of(struct finder *f, uint32_t i)
{
    const struct hot_item *item = &f->items[i];
    uint64_t hash = hash_word(item->a ^ item->b * UINT64_C(0xd6e8feb86659fd93));
    uint32_t mask = table_size(f->count) - 1, at = (uint32_t)(hash >> 32) & mask;
    for (; f->table[at]; at = (at + 1) & mask) {
        const struct hot_item *other = &f->items[f->first[f->table[at] - 1]];
        if (other->a == item->a && other->b == item->b)
            return f->table[at] - 1;
    }
    f->first[f->distinct] = i;
    f->table[at] = ++f->distinct;
    return f->distinct - 1;
}

/* A break is a terminal that comes once: so it is in no rule but S. */
static void grammar_make(struct finder *f)
{
    uint32_t breaks = 0;
    for (uint32_t i = 0; i < f->count; i++) {
        bool is_break = hot_is_break(&f->items[i]);
        f->references += !is_break;
        sequitur_add(&f->grammar,
                     is_break ? SEQUITUR_TERMINALS - 1 - breaks++ : terminal_of(f, i));
    }
}

/* ---- how often, how long ---- */

/* Calls for each symbol of the rule that is a rule itself: `each`(child). */
#define CHILDREN(f, rule, child)                                                                   \
    for (uint32_t at_ = sequitur_first(&(f)->grammar, rule), child;                                \
         !sequitur_is_guard(&(f)->grammar, at_); at_ = (f)->grammar.symbols[at_].next)             \
        if (child = (f)->grammar.symbols[at_].value - SEQUITUR_RULE,                               \
            sequitur_is_rule((f)->grammar.symbols[at_].value))

/* A rule's turn comes when all its uses have been met; `cold` counts those that have. */
static void order_make(struct finder *f)
{
    f->order[f->order_count++] = 0;
    f->times[0] = 1;
    for (uint32_t i = 0; i < f->order_count; i++) {
        uint32_t rule = f->order[i];
        CHILDREN(f, rule, child) {
            f->times[child] += f->times[rule];
            if (++f->cold[child] == f->grammar.rules[child].uses)
                f->order[f->order_count++] = child;
        }
    }
    for (uint32_t i = f->order_count; i-- > 0;) {
        uint32_t rule = f->order[i], length = 0, at = sequitur_first(&f->grammar, rule);
        for (; !sequitur_is_guard(&f->grammar, at); at = f->grammar.symbols[at].next) {
            uint32_t value = f->grammar.symbols[at].value;
            length += sequitur_is_rule(value) ? f->length[value - SEQUITUR_RULE] : 1;
        }
        f->length[rule] = length;
    }
}

/* ---- heat ---- */

static uint32_t expand(const struct finder *f, uint32_t rule, uint32_t *indices)
{
    const struct sequitur *g = &f->grammar;
    uint32_t stack[HOT_STREAM_MOST], depth = 0, count = 0;
    uint32_t at = sequitur_first(g, rule);
    for (;;) {
        while (sequitur_is_guard(g, at)) {
            if (!depth)
                return count;
            at = stack[--depth];
        }
        uint32_t value = g->symbols[at].value, next = g->symbols[at].next;
        if (sequitur_is_rule(value)) {
            stack[depth++] = next;
            at = sequitur_first(g, value - SEQUITUR_RULE);
        } else {
            indices[count++] = f->first[value];
            at = next;
        }
    }
}

/* Each of the rules that have the heat, with `found` if that is not NULL. Returns the heat of
 * all. */
static uint64_t heat_at(struct finder *f, uint64_t threshold, hot_stream_found *found, void *data)
{
    uint32_t indices[HOT_STREAM_MOST];
    uint64_t covered = 0;
    for (uint32_t i = 0; i < f->order_count; i++)
        f->cold[f->order[i]] = f->times[f->order[i]];
    for (uint32_t i = 0; i < f->order_count; i++) {
        uint32_t rule = f->order[i], length = f->length[rule], cold = f->cold[rule];
        uint64_t heat = (uint64_t)length * cold;
        bool hot = rule && length >= HOT_STREAM_LEAST && length <= HOT_STREAM_MOST && cold > 1 &&
                   heat >= threshold;
        uint32_t taken = hot ? f->times[rule] : f->times[rule] - cold;
        if (hot) {
            covered += heat;
            if (found)
                found(data, indices, expand(f, rule, indices), cold);
        }
        CHILDREN(f, rule, child) {
            f->cold[child] -= taken;
        }
    }
    return covered;
}

uint64_t hot_streams_find(void *memory, const struct hot_item *items, uint32_t count,
                          hot_stream_found *found, void *data)
{
    enum { THOUSAND = 1000 };
    struct finder f;
    finder_init(&f, memory, items, count);
    grammar_make(&f);
    if (!f.distinct)
        return 0;
    order_make(&f);
    uint64_t average = f.references / f.distinct, least = f.references / THOUSAND;
    uint64_t wanted = (uint64_t)f.references * HOT_STREAM_COVERED / 100;
    uint64_t threshold = f.references / 2;
    least = average < least ? average : least;
    while (threshold / 2 > least && heat_at(&f, threshold, NULL, NULL) < wanted)
        threshold /= 2;
    return heat_at(&f, threshold, found, data);
}
