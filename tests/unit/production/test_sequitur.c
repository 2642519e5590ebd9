/* Sequitur (sigsafe/sequitur.h): digram uniqueness, rule utility, and the sequence itself, on
 * random and adversarial inputs. With a number of symbols as argument: of that size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "sigsafe/sequitur.h"

static uint32_t size = 100000;

static uint64_t random_state = 88172645463325252u;

static uint32_t draw(uint32_t below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 33) % below;
}

/* ---- invariants ---- */

struct pair {
    uint32_t a, b, at, next;
};

static int compare_pairs(const void *x, const void *y)
{
    const struct pair *p = x, *q = y;
    if (p->a != q->a)
        return p->a < q->a ? -1 : 1;
    return p->b < q->b ? -1 : p->b > q->b;
}

static size_t collect(const struct sequitur *s, struct pair *pairs, uint32_t *uses)
{
    size_t count = 0;
    for (uint32_t rule = 0; rule < s->rule_end; rule++) {
        uint32_t length = 0;
        if (!s->rules[rule].guard)
            continue;
        for (uint32_t at = sequitur_first(s, rule); !sequitur_is_guard(s, at);
             at = s->symbols[at].next) {
            uint32_t value = s->symbols[at].value, next = s->symbols[at].next;
            length++;
            if (sequitur_is_rule(value))
                uses[value - SEQUITUR_RULE]++;
            if (!sequitur_is_guard(s, next))
                pairs[count++] = (struct pair){value, s->symbols[next].value, at, next};
        }
        assert_true(!rule || length > 1);
    }
    return count;
}

/* Of equal pairs there are two at most, and those overlap. */
static void check_pairs(struct pair *pairs, size_t count)
{
    qsort(pairs, count, sizeof *pairs, compare_pairs);
    for (size_t i = 1; i < count; i++) {
        const struct pair *p = &pairs[i - 1], *q = &pairs[i];
        if (compare_pairs(p, q) == 0)
            assert_true(p->a == p->b && (p->next == q->at || q->next == p->at));
        if (i > 1 && compare_pairs(&pairs[i - 2], q) == 0)
            fail_msg("the pair %u %u stands there three times", q->a, q->b);
    }
}

static void check_sequence(const struct sequitur *s, const uint32_t *sequence, uint32_t count)
{
    uint32_t *stack = malloc(((size_t)s->rule_end + 1) * sizeof *stack), depth = 0, made = 0;
    uint32_t at = sequitur_first(s, 0);
    for (;;) {
        while (depth && sequitur_is_guard(s, at))
            at = stack[--depth];
        if (sequitur_is_guard(s, at))
            break;
        uint32_t value = s->symbols[at].value, next = s->symbols[at].next;
        if (sequitur_is_rule(value)) {
            assert_true(depth < s->rule_end);
            stack[depth++] = next;
            at = sequitur_first(s, value - SEQUITUR_RULE);
        } else {
            assert_true(made < count);
            assert_int_equal(sequence[made++], value);
            at = next;
        }
    }
    assert_int_equal(made, count);
    free(stack);
}

static void check(const struct sequitur *s, const uint32_t *sequence, uint32_t count)
{
    struct pair *pairs = calloc((size_t)s->symbol_end + 1, sizeof *pairs);
    uint32_t *uses = calloc((size_t)s->rule_end + 1, sizeof *uses);
    check_pairs(pairs, collect(s, pairs, uses));
    for (uint32_t rule = 1; rule < s->rule_end; rule++)
        if (s->rules[rule].guard) {
            assert_true(uses[rule] > 1);
            assert_int_equal(uses[rule], s->rules[rule].uses);
        }
    check_sequence(s, sequence, count);
    free(pairs);
    free(uses);
}

/* ---- inputs ---- */

enum { INPUTS = 8 };

static uint32_t symbol(unsigned input, const uint32_t *before, uint32_t i, uint32_t letters)
{
    switch (input) {
    case 0: return draw(letters);
    case 1: return 0;
    case 2: return i % letters;
    case 3: return (uint32_t)__builtin_ctz(i + 1);      /* the ruler */
    case 4: return i / 3 % letters;                     /* triples */
    case 5: return (uint32_t)__builtin_popcount(i) & 1; /* Thue and Morse: nothing thrice */
    case 6:                                             /* what was there, with some faults */
        return i < 2 ? i : before[i - (UINT32_C(1) << (31 - __builtin_clz(i)))] ^ !draw(50);
    default: return draw(3) ? i % letters : draw(letters);
    }
}

static void grammar_of(unsigned input, uint32_t count, uint32_t letters)
{
    uint32_t *sequence = malloc((size_t)count * sizeof *sequence);
    uint64_t bytes = sequitur_bytes(count);
    void *memory = calloc(1, bytes);
    struct sequitur s;
    assert_non_null(sequence);
    assert_non_null(memory);
    sequitur_init(&s, memory, count);
    for (uint32_t i = 0; i < count; i++) {
        sequence[i] = symbol(input, sequence, i, letters);
        assert_true(sequitur_add(&s, sequence[i]));
    }
    assert_false(sequitur_add(&s, 0));
    check(&s, sequence, count);
    free(memory);
    free(sequence);
}

static void test_small(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 4000; round++)
        grammar_of(round % INPUTS, 1 + draw(300), 1 + draw(6));
}

static void test_large(void **state)
{
    (void)state;
    for (unsigned input = 0; input < INPUTS; input++)
        grammar_of(input, size, input ? 2 + input : size / 10 + 1);
}

/* S -> A A, A -> a B d B, B -> b c */
static void test_paper(void **state)
{
    static const char text[] = "abcdbcabcdbc";
    uint8_t memory[4096] __attribute__((aligned(8))) = {0};
    struct sequitur s;
    uint32_t rules = 0;
    (void)state;
    assert_true(sequitur_bytes(sizeof text - 1) <= sizeof memory);
    sequitur_init(&s, memory, sizeof text - 1);
    for (const char *c = text; *c; c++)
        assert_true(sequitur_add(&s, (uint32_t)*c));
    for (uint32_t rule = 1; rule < s.rule_end; rule++)
        rules += s.rules[rule].guard != 0;
    assert_int_equal(rules, 2);
    uint32_t first = sequitur_first(&s, 0), second = s.symbols[first].next;
    assert_true(sequitur_is_rule(s.symbols[first].value));
    assert_int_equal(s.symbols[first].value, s.symbols[second].value);
    assert_true(sequitur_is_guard(&s, s.symbols[second].next));
}

static void test_bounds(void **state)
{
    (void)state;
    assert_int_equal(sequitur_bytes(0), 0);
    assert_int_equal(sequitur_bytes(SEQUITUR_MOST + 1), 0);
    assert_true(sequitur_bytes(10000000) < UINT64_C(10000000) * 48);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_paper), cmocka_unit_test(test_bounds),
                                       cmocka_unit_test(test_small), cmocka_unit_test(test_large)};
    if (argc > 1)
        size = (uint32_t)strtoul(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
