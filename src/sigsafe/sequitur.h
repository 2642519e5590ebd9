/* Sequitur: a sequence as a grammar that generates it and nothing else (Nevill-Manning and Witten,
 * Identifying Hierarchical Structure in Sequences, 1997), one symbol after the other.
 *
 *      a b c d b c a b c d b c     S -> A A     A -> a B d B     B -> b c
 *
 * Two invariants hold after each symbol:
 *   digram uniqueness   no pair of neighbours stands twice in the grammar, but for a pair that
 *                       overlaps itself (a a a)
 *   rule utility        each rule but S is used twice at least
 *
 * Where the textbook calls itself for each pair that a change makes, this keeps a list of the
 * symbols that begin such pairs: it needs no stack. Memory is one block of a size that is known
 * before: for n symbols some 40 n bytes, whatever they are.
 *
 *      rule:   guard <-> symbol <-> symbol <-> ... <-> guard     a ring; guard.value: which rule
 *      symbol: next, prev, value; chain: the next of those whose digrams have the same hash
 *
 * Context: any, general registers only; no allocation.
 * Ownership: the block is the caller's, 8 bytes aligned. */
#ifndef PENUMBRA_SIGSAFE_SEQUITUR_H
#define PENUMBRA_SIGSAFE_SEQUITUR_H

#include <stdbool.h>
#include <stdint.h>

#define SEQUITUR_TERMINALS (UINT32_C(1) << 30) /* values below it are terminals */
#define SEQUITUR_RULE SEQUITUR_TERMINALS       /* + the rule's number */
#define SEQUITUR_GUARD (UINT32_C(1) << 31)     /* + the rule's number */
#define SEQUITUR_MOST (UINT32_C(1) << 28)      /* symbols of a sequence */

struct sequitur_symbol {
    uint32_t next, prev, value, chain;
};

struct sequitur_rule {
    uint32_t guard; /* 0: no rule */
    uint32_t uses;  /* of rules that are none: the next free one */
};

struct sequitur {
    struct sequitur_symbol *symbols; /* 0 is none */
    struct sequitur_rule *rules;     /* 0 is S */
    uint32_t *buckets;   /* of digrams: symbols */
    uint32_t *waiting;   /* symbols whose digrams are to be looked at */
    uint8_t *marks;      /* of symbols: 1: waits */
    uint32_t capacity;   /* terminals */
    uint32_t added;
    uint32_t symbol_end, rule_end; /* behind the highest that was ever used */
    uint32_t free_symbol, free_rule;
    uint32_t waiting_count, mask;
};

/* Bytes for a sequence of at most that many symbols; 0: those are too many. */
uint64_t sequitur_bytes(uint32_t capacity);
/* `memory` is all zeroes. */
void sequitur_init(struct sequitur *s, void *memory, uint32_t capacity);
/* False: the sequence is as long as it can be. */
bool sequitur_add(struct sequitur *s, uint32_t terminal);

static inline uint32_t sequitur_first(const struct sequitur *s, uint32_t rule)
{
    return s->symbols[s->rules[rule].guard].next;
}

static inline bool sequitur_is_guard(const struct sequitur *s, uint32_t symbol)
{
    return s->symbols[symbol].value & SEQUITUR_GUARD;
}

static inline bool sequitur_is_rule(uint32_t value)
{
    return !(value & SEQUITUR_GUARD) && value & SEQUITUR_RULE;
}

#endif
