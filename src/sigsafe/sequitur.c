#include "sigsafe/sequitur.h"

#include <stddef.h>

#include "sigsafe/hash.h"

/* A sequence of n symbols takes n symbols in the right-hand sides at most, because a new rule
 * replaces two pairs by two symbols and has a pair itself; a guard for each of n / 2 rules; and
 * what is there twice while a rule is made. */
enum { SPARE = 8 };

static uint32_t symbols_most(uint32_t capacity)
{
    return capacity + capacity / 2 + SPARE;
}

static uint32_t rules_most(uint32_t capacity)
{
    return capacity / 2 + SPARE;
}

static uint32_t buckets_of(uint32_t capacity)
{
    uint32_t buckets = 1;
    while (buckets < capacity)
        buckets *= 2;
    return buckets;
}

uint64_t sequitur_bytes(uint32_t capacity)
{
    uint64_t symbols = symbols_most(capacity), rules = rules_most(capacity);
    if (!capacity || capacity > SEQUITUR_MOST)
        return 0;
    return symbols * (sizeof(struct sequitur_symbol) + sizeof(uint32_t) + 1) +
           rules * sizeof(struct sequitur_rule) +
           (uint64_t)buckets_of(capacity) * sizeof(uint32_t) + sizeof(uint64_t);
}

/* ---- symbols and rules ---- */

static uint32_t symbol_new(struct sequitur *s, uint32_t value)
{
    uint32_t i = s->free_symbol;
    if (i)
        s->free_symbol = s->symbols[i].next;
    else
        i = s->symbol_end++;
    s->symbols[i] = (struct sequitur_symbol){ .value = value };
    if (sequitur_is_rule(value))
        s->rules[value - SEQUITUR_RULE].uses++;
    return i;
}

static void symbol_free(struct sequitur *s, uint32_t i)
{
    if (sequitur_is_rule(s->symbols[i].value))
        s->rules[s->symbols[i].value - SEQUITUR_RULE].uses--;
    s->symbols[i].value = SEQUITUR_GUARD; /* no digram begins here */
    s->symbols[i].next = s->free_symbol;
    s->free_symbol = i;
}

static uint32_t rule_new(struct sequitur *s)
{
    uint32_t rule = s->free_rule;
    if (rule)
        s->free_rule = s->rules[rule].uses;
    else
        rule = s->rule_end++;
    uint32_t guard = symbol_new(s, SEQUITUR_GUARD | rule);
    s->symbols[guard].next = s->symbols[guard].prev = guard;
    s->rules[rule] = (struct sequitur_rule){ .guard = guard };
    return rule;
}

static void rule_free(struct sequitur *s, uint32_t rule)
{
    symbol_free(s, s->rules[rule].guard);
    s->rules[rule] = (struct sequitur_rule){ .uses = s->free_rule };
    s->free_rule = rule;
}

void sequitur_init(struct sequitur *s, void *memory, uint32_t capacity)
{
    uint32_t symbols = symbols_most(capacity), rules = rules_most(capacity);
    uint32_t buckets = buckets_of(capacity);
    *s = (struct sequitur){ .symbols = memory, .capacity = capacity, .symbol_end = 1,
                            .mask = buckets - 1 };
    s->rules = (struct sequitur_rule *)(s->symbols + symbols);
    s->buckets = (uint32_t *)(s->rules + rules);
    s->waiting = s->buckets + buckets;
    s->marks = (uint8_t *)(s->waiting + symbols);
    rule_new(s);
}

/* ---- digrams ---- */

static uint32_t *bucket_of(const struct sequitur *s, uint32_t i)
{
    uint64_t a = s->symbols[i].value, b = s->symbols[s->symbols[i].next].value;
    uint64_t hash = hash_word(a << 32 | b);
    return &s->buckets[(hash ^ hash >> 29) >> 32 & s->mask];
}

/* A pair begins there. */
static bool is_pair(const struct sequitur *s, uint32_t i)
{
    return !sequitur_is_guard(s, i) && !sequitur_is_guard(s, s->symbols[i].next);
}

static bool same_pair(const struct sequitur *s, uint32_t a, uint32_t b)
{
    return s->symbols[a].value == s->symbols[b].value &&
           s->symbols[s->symbols[a].next].value == s->symbols[s->symbols[b].next].value;
}

/* The pair that is as the one at i; 0: none is known. */
static uint32_t pair_find(const struct sequitur *s, uint32_t i)
{
    uint32_t at = *bucket_of(s, i);
    while (at && !same_pair(s, at, i))
        at = s->symbols[at].chain;
    return at;
}

static void pair_add(struct sequitur *s, uint32_t i)
{
    uint32_t *bucket = bucket_of(s, i);
    s->symbols[i].chain = *bucket;
    *bucket = i;
}

/* Before one of its symbols changes. */
static void pair_forget(struct sequitur *s, uint32_t i)
{
    if (!is_pair(s, i))
        return;
    uint32_t *at = bucket_of(s, i);
    while (*at && *at != i)
        at = &s->symbols[*at].chain;
    if (*at)
        *at = s->symbols[i].chain;
}

/* The pair that begins there may be new. */
static void wait(struct sequitur *s, uint32_t i)
{
    if (s->marks[i])
        return;
    s->marks[i] = 1;
    s->waiting[s->waiting_count++] = i;
}

/* The pairs around symbol i, forgotten or new: of three equal symbols only one pair was known. */
static void wait_around(struct sequitur *s, uint32_t i)
{
    uint32_t prev = s->symbols[i].prev;
    wait(s, s->symbols[prev].prev);
    wait(s, prev);
    wait(s, i);
    wait(s, s->symbols[i].next);
}

static void link(struct sequitur *s, uint32_t left, uint32_t right)
{
    s->symbols[left].next = right;
    s->symbols[right].prev = left;
}

/* ---- changes of the grammar ---- */

/* The pair at i becomes one symbol, the rule. */
static void substitute(struct sequitur *s, uint32_t i, uint32_t rule)
{
    uint32_t second = s->symbols[i].next, left = s->symbols[i].prev;
    uint32_t right = s->symbols[second].next;
    pair_forget(s, left);
    pair_forget(s, i);
    pair_forget(s, second);
    uint32_t made = symbol_new(s, SEQUITUR_RULE + rule);
    link(s, left, made);
    link(s, made, right);
    symbol_free(s, i);
    symbol_free(s, second);
    wait_around(s, made);
}

/* The only use of a rule, at i, becomes what the rule stands for. */
static void expand(struct sequitur *s, uint32_t i)
{
    uint32_t rule = s->symbols[i].value - SEQUITUR_RULE, guard = s->rules[rule].guard;
    uint32_t left = s->symbols[i].prev, right = s->symbols[i].next;
    uint32_t first = s->symbols[guard].next, last = s->symbols[guard].prev;
    pair_forget(s, left);
    pair_forget(s, i);
    link(s, left, first);
    link(s, last, right);
    symbol_free(s, i);
    rule_free(s, rule);
    wait_around(s, first);
    wait_around(s, right);
}

static bool is_rare(const struct sequitur *s, uint32_t i)
{
    uint32_t value = s->symbols[i].value;
    return sequitur_is_rule(value) && s->rules[value - SEQUITUR_RULE].uses == 1;
}

/* The rule is a pair, which has just replaced another one: what that one was made of may be used
 * here only. */
static void expand_rare(struct sequitur *s, uint32_t rule)
{
    uint32_t first = sequitur_first(s, rule), last = s->symbols[first].next;
    if (is_rare(s, first))
        expand(s, first);
    if (is_rare(s, last))
        expand(s, last);
}

/* The rule whose right-hand side the pair at i is; 0: none. */
static uint32_t rule_of(const struct sequitur *s, uint32_t i)
{
    const struct sequitur_symbol *a = &s->symbols[i], *b = &s->symbols[a->next];
    bool all = a->prev == b->next && sequitur_is_guard(s, a->prev);
    return all ? s->symbols[a->prev].value & ~SEQUITUR_GUARD : 0;
}

/* The pairs at i and at `other` are the same. */
static void match(struct sequitur *s, uint32_t i, uint32_t other)
{
    uint32_t rule = rule_of(s, other);
    if (!rule && (rule = rule_of(s, i))) {
        /* it is the rule's own pair that is found last */
        substitute(s, other, rule);
        pair_add(s, i);
    } else if (rule) {
        substitute(s, i, rule);
    } else {
        rule = rule_new(s);
        uint32_t guard = s->rules[rule].guard;
        uint32_t first = symbol_new(s, s->symbols[i].value);
        uint32_t second = symbol_new(s, s->symbols[s->symbols[i].next].value);
        link(s, guard, first);
        link(s, first, second);
        link(s, second, guard);
        substitute(s, other, rule);
        substitute(s, i, rule);
        pair_add(s, first);
    }
    expand_rare(s, rule);
}

/* The pair at i becomes known, or the rule that it is. */
static void look(struct sequitur *s, uint32_t i)
{
    if (!is_pair(s, i))
        return;
    uint32_t other = pair_find(s, i);
    if (!other)
        pair_add(s, i);
    else if (other != i && s->symbols[other].next != i && s->symbols[i].next != other)
        match(s, i, other);
}

bool sequitur_add(struct sequitur *s, uint32_t terminal)
{
    if (s->added == s->capacity)
        return false;
    s->added++;
    uint32_t guard = s->rules[0].guard, last = s->symbols[guard].prev;
    uint32_t i = symbol_new(s, terminal);
    link(s, last, i);
    link(s, i, guard);
    wait(s, last);
    while (s->waiting_count) {
        uint32_t next = s->waiting[--s->waiting_count];
        s->marks[next] = 0;
        look(s, next);
    }
    return true;
}
