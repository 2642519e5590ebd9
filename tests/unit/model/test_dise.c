/* Productions in the decode stage: what is sampled when, what misses where, and what it costs, of
 * loops whose events are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collector/machine_file.h"
#include "model/dise.h"
#include "production/production.h"

/* Figure 4 of the paper, of calls only. */
#define FRAMEWORK                                                                                  \
    "init: set_1(sampleFreq); set_2(burstLength);\n"                                               \
    "P1: T.OPCLASS == proc_call && !overflow_1 => null, inc_1\n"                                   \
    "P3: T.OPCLASS == proc_call && overflow_1 && !overflow_2 => null, inc_2\n"                     \
    "P5: T.OPCLASS == proc_call && overflow_1 && overflow_2 => null, CC3\n"                        \
    "CC3: set_1(sampleFreq); set_2(burstLength);\n"
#define PAIRS                                                                                      \
    FRAMEWORK "P2: T.OPCLASS == proc_call && overflow_1 => call(CallPair_handler) T.INSN\n"
#define STREAMS                                                                                    \
    FRAMEWORK "M: T.OPCLASS == mem_op && overflow_1 => call(DataStream_handler) T.INSN\n"

struct bench {
    struct machine m;
    struct production_program p;
    struct dise *d;
    struct model_cost cost;
    struct dise_sums sums;
    uint64_t ran; /* instructions */
};

static struct machine machine(const char *const *sets)
{
    struct machine m;
    struct err e = {0};
    if (!machine_file_load(MACHINES "/hps2005.conf", sets, &m, &e))
        fail_msg("%s", e.message);
    return m;
}

static void compile(const char *text, uint64_t burst, uint64_t sparsity,
                    struct production_program *to)
{
    const struct production_settings settings = {.burst = burst, .sparsity = sparsity};
    struct err e = {0};
    memset(to, 0, sizeof *to);
    if (!production_read_text("test.dise", text, strlen(text), &settings, to, &e))
        fail_msg("%s", e.message);
}

static struct bench *begin(const char *text, uint64_t burst, uint64_t sparsity,
                           enum dise_mode mode, const char *const *sets)
{
    static struct bench b;
    struct err e = {0};
    b = (struct bench){.m = machine(sets)};
    compile(text, burst, sparsity, &b.p);
    if (!dise_check(&b.m, &b.p, mode, &e))
        fail_msg("%s", e.message);
    b.d = dise_new(&b.m, &b.p, mode);
    assert_non_null(b.d);
    return &b;
}

static void end(struct bench *b)
{
    memset(&b->sums, 0, sizeof b->sums);
    dise_sum(b->d, &b->sums);
    dise_free(b->d);
    b->d = NULL;
}

/* The productions, by name, of which instructions of that kind match all. */
static uint64_t named(const struct bench *b, const char *labels)
{
    uint64_t mask = 0;
    for (uint32_t i = 0; i < b->p.count; i++)
        if (strchr(labels, strchr(b->p.productions[i].name, ':')[1]))
            mask |= UINT64_C(1) << i;
    return mask;
}

/* One of a loop of 16 instructions, that as many handlers may look at; true: it was sampled. */
static bool step(struct bench *b, uint64_t mask, unsigned handlers)
{
    static const struct uop_insn insn = {
        .length = 4, .count = 1,
        .uops = {{.class = UOP_ALU, .result_count = 1, .results = {1}}}};
    static const struct uop_insn jump = {
        .length = 4, .count = 1, .transfer = TRANSFER_JUMP, .uops = {{.class = UOP_BRANCH}}};
    struct dise_action actions[2] = {{.a = 1}, {.a = 2}};
    uint64_t at = b->ran++ % 16, active = dise_active(b->d, mask), acting = 0;
    struct uop_executed x = {.pc = 0x1000 + 4 * at, .next = 0x1000 + 4 * ((at + 1) % 16),
                             .repeat = 1};
    for (uint32_t i = 0; i < b->p.count; i++)
        acting |= b->p.productions[i].actions.count ? active & UINT64_C(1) << i : 0;
    dise_step(b->d, mask, actions, acting ? handlers : 0, at == 15 ? &jump : &insn, &x,
              &b->cost);
    return acting;
}

/* ---- when ---- */

static void overflows_come_at_the_configured_event(void **state)
{
    (void)state;
    static const struct { uint64_t burst, sparsity; } ways[] = {{1, 99}, {10, 90}, {100, 400},
                                                               {7, 1}, {3, 0}};
    for (unsigned mode = DISE_HPS; mode <= DISE_ORIGINAL; mode++)
        for (unsigned w = 0; w < sizeof ways / sizeof *ways; w++) {
            struct bench *b = begin(PAIRS, ways[w].burst, ways[w].sparsity, mode, NULL);
            for (uint64_t event = 0; event < 2100; event++) {
                uint64_t all = ways[w].burst + ways[w].sparsity;
                bool wanted = event % all >= ways[w].sparsity;
                step(b, 0, 0);
                if (step(b, named(b, "P"), 1) != wanted)
                    fail_msg("event %d of %d/%d", (int)event, (int)ways[w].burst, (int)all);
            }
            end(b);
        }
}

/* ---- what it costs ---- */

static void run(struct bench *b, const char *labels, unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        step(b, 0, 0);
        step(b, named(b, labels), 1);
    }
}

static void masked_patterns_cost_nothing(void **state)
{
    (void)state;
    struct bench *b = begin(PAIRS, 1, 1000000, DISE_HPS, NULL);
    run(b, "P", 20000);
    end(b);
    assert_int_equal(b->sums.counts[DISE_COUNT_MATCHED], 20000);
    assert_int_equal(b->sums.counts[DISE_COUNT_MOVED], 20000);
    assert_int_equal(b->sums.counts[DISE_COUNT_REPLACED], 0);
    for (unsigned i = 1; i < DISE_PART_COUNT; i++)
        assert_int_equal(b->sums.cycles[i], b->sums.cycles[DISE_NONE]);
}

static void original_pays_for_each_match(void **state)
{
    (void)state;
    struct bench *b = begin(PAIRS, 1, 1000000, DISE_ORIGINAL, NULL);
    run(b, "P", 20000);
    end(b);
    const uint64_t *c = b->sums.cycles;
    assert_int_equal(b->sums.counts[DISE_COUNT_REPLACED], 20000);
    /* the flag for the handler; for the counter the flag, its move, and whether it changes one */
    assert_int_equal(b->sums.counts[DISE_COUNT_INSERTED], 20000 * 4);
    assert_int_equal(c[DISE_SAMPLING], c[DISE_NONE]);
    assert_true(c[DISE_BASIC] > c[DISE_SAMPLING] && c[DISE_CHECKS] > c[DISE_BASIC]);
    assert_int_equal(c[DISE_TABLES], c[DISE_CHECKS]);
    assert_int_equal(cost_parts(&b->cost) / COST_CYCLE, c[DISE_TABLES]);
}

/* Cycles that each replacement adds, of so many for the replacement itself. */
static double replacement(const char *cycles)
{
    const char *sets[] = {cycles, NULL};
    struct bench *b = begin("R: T.OPCLASS == any => count(T.PC) T.INSN", 1, 0, DISE_HPS, sets);
    run(b, "R", 10000);
    end(b);
    assert_int_equal(b->sums.counts[DISE_COUNT_REPLACED], 10000);
    assert_int_equal(b->sums.counts[DISE_COUNT_ACTIONS], 10000);
    return (double)(b->sums.cycles[DISE_SAMPLING] - b->sums.cycles[DISE_NONE]) / 10000;
}

static void a_replacement_takes_its_cycles(void **state)
{
    (void)state;
    double twenty = replacement("dise_replacement_cycles=20");
    double forty = replacement("dise_replacement_cycles=40");
    if (forty - twenty < 19.6 || forty - twenty > 20.4)
        fail_msg("%.3f and %.3f", twenty, forty);
    assert_true(replacement("dise_replacement_cycles=1") < twenty);
}

static void repeatable(void **state)
{
    (void)state;
    struct dise_sums first;
    for (unsigned i = 0; i < 2; i++) {
        struct bench *b = begin(PAIRS, 3, 7, DISE_ORIGINAL, NULL);
        run(b, "P", 5000);
        end(b);
        if (i)
            assert_memory_equal(&first, &b->sums, sizeof first);
        first = b->sums;
    }
}

/* ---- tables ---- */

/* Three productions of one entry each, one after the other. */
static struct bench *rounds(const char *const *sets, enum dise_mode mode, unsigned times)
{
    struct bench *b = begin("A: T.OPCLASS == load => count(T.PC) T.INSN\n"
                            "B: T.OPCLASS == store => count(T.ADDRESS) T.INSN\n"
                            "C: T.OPCLASS == move => count(T.OPCODE) T.INSN, inc_1\n"
                            "D: T.OPCLASS == string => null, inc_1\n",
                            1, 0, mode, sets);
    for (unsigned i = 0; i < times; i++)
        for (const char *label = "ABCD"; *label; label++)
            step(b, named(b, (char[]){*label, '\0'}), 1);
    end(b);
    return b;
}

static void what_fits_never_misses(void **state)
{
    (void)state;
    static const char *const sets[] = {"dise_pt_size=4", "dise_ct_size=2", NULL};
    struct bench *b = rounds(sets, DISE_HPS, 100);
    assert_int_equal(b->sums.counts[DISE_COUNT_PT_MISSES], 0);
    assert_int_equal(b->sums.counts[DISE_COUNT_RT_MISSES], 0);
    assert_int_equal(b->sums.counts[DISE_COUNT_CT_MISSES], 0);
    assert_int_equal(b->sums.cycles[DISE_TABLES], b->sums.cycles[DISE_CHECKS]);
}

/* With room for all but one, least recently used goes: so in a round each is missing, but in the
 * first those that the table began with. */
static void what_does_not_fit_misses(void **state)
{
    (void)state;
    static const char *const patterns[] = {"dise_pt_size=3", "dise_pt_miss_penalty=100", NULL};
    struct bench *b = rounds(patterns, DISE_HPS, 100);
    assert_int_equal(b->sums.counts[DISE_COUNT_PT_MISSES], 400 - 3);
    uint64_t more = b->sums.cycles[DISE_TABLES] - b->sums.cycles[DISE_CHECKS];
    assert_true(more > 397 * 90 && more < 397 * 101);

    static const char *const conditionals[] = {"dise_ct_size=1", NULL};
    b = rounds(conditionals, DISE_HPS, 100);
    assert_int_equal(b->sums.counts[DISE_COUNT_CT_MISSES], 200 - 1);
    b = rounds(conditionals, DISE_ORIGINAL, 100);
    assert_int_equal(b->sums.counts[DISE_COUNT_CT_MISSES], 0);
}

/* Masked patterns are not looked for; without masks all are. */
static void masked_patterns_do_not_miss(void **state)
{
    (void)state;
    static const char *const sets[] = {"dise_pt_size=2", NULL};
    for (unsigned mode = DISE_HPS; mode <= DISE_ORIGINAL; mode++) {
        struct bench *b = begin("A: T.OPCLASS == load && overflow_1 => count(T.PC) T.INSN\n"
                                "B: T.OPCLASS == store && overflow_1 => count(T.PC) T.INSN\n"
                                "C: T.OPCLASS == move && overflow_1 => count(T.PC) T.INSN\n",
                                1, 0, mode, sets);
        for (unsigned i = 0; i < 300; i++)
            step(b, named(b, (char[]){"ABC"[i % 3], '\0'}), 1);
        end(b);
        assert_int_equal(b->sums.counts[DISE_COUNT_PT_MISSES], mode == DISE_HPS ? 0 : 300 - 2);
        assert_int_equal(b->sums.counts[DISE_COUNT_ACTIONS], 0);
    }
}

/* A handler that counts one value is 11 instructions, T.INSN one more. */
static void sequences_miss_by_their_instructions(void **state)
{
    (void)state;
    static const char *const two[] = {"dise_rt_size=35", NULL}, *const three[] = {"dise_rt_size=36",
                                                                                  NULL};
    assert_int_equal(rounds(three, DISE_HPS, 100)->sums.counts[DISE_COUNT_RT_MISSES], 0);
    assert_int_equal(rounds(two, DISE_HPS, 100)->sums.counts[DISE_COUNT_RT_MISSES], 300 - 2);
    /* original: moving the counter is two instructions of C, and D has a sequence */
    assert_true(rounds(three, DISE_ORIGINAL, 100)->sums.counts[DISE_COUNT_RT_MISSES] > 0);
}

static void refused(const char *text, enum dise_mode mode, const char *set, const char *key)
{
    const char *sets[] = {set, NULL};
    struct machine m = machine(sets);
    static struct production_program p;
    struct err e = {0};
    compile(text, 1, 99, &p);
    if (dise_check(&m, &p, mode, &e))
        fail_msg("%s was taken", set);
    assert_int_equal(e.code, ERR_USAGE);
    if (!strstr(e.message, key))
        fail_msg("%s", e.message);
}

static void what_has_no_room_is_refused(void **state)
{
    (void)state;
    const char *either =
        "E: T.OPCLASS == load || !(T.IMM == 1 && T.OPCLASS == move) => null, inc_1";
    static struct production_program p;
    struct machine m = machine((const char *const[]){"dise_pt_size=3", NULL});
    compile(either, 1, 99, &p);
    assert_true(dise_check(&m, &p, DISE_HPS, NULL));
    /* what denies an alternative is one entry */
    m = machine((const char *const[]){"dise_pt_size=1", NULL});
    compile("N: !(T.OPCLASS == load || T.OPCLASS == move) => null, inc_1", 1, 99, &p);
    assert_true(dise_check(&m, &p, DISE_HPS, NULL));
    refused(either, DISE_HPS, "dise_pt_size=2", "test:E alone takes 3");
    refused(PAIRS, DISE_HPS, "dise_rt_size=16", "dise_rt_size");
    refused(PAIRS, DISE_HPS, "dise_counters=1", "dise_counters is 1");
    refused(PAIRS, DISE_HPS, "dise_registers=1", "dise_registers is 1");
    refused(PAIRS, DISE_ORIGINAL, "dise_registers=3", "take 4");
    refused("P: T.OPCLASS == load && zero_3 => null, inc_1", DISE_HPS, "dise_counters=2",
            "counter 3");
}

static void streams_are_appended(void **state)
{
    (void)state;
    struct bench *b = begin(STREAMS, 100, 900, DISE_HPS, NULL);
    for (unsigned i = 0; i < 5000; i++) {
        step(b, named(b, "P"), 1);
        step(b, named(b, "M"), 2);
    }
    end(b);
    assert_int_equal(b->sums.counts[DISE_COUNT_REPLACED], 500);
    assert_int_equal(b->sums.counts[DISE_COUNT_ACTIONS], 1000);
    assert_true(b->sums.cycles[DISE_SAMPLING] > b->sums.cycles[DISE_NONE]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overflows_come_at_the_configured_event),
        cmocka_unit_test(masked_patterns_cost_nothing),
        cmocka_unit_test(original_pays_for_each_match),
        cmocka_unit_test(a_replacement_takes_its_cycles),
        cmocka_unit_test(repeatable),
        cmocka_unit_test(what_fits_never_misses),
        cmocka_unit_test(what_does_not_fit_misses),
        cmocka_unit_test(masked_patterns_do_not_miss),
        cmocka_unit_test(sequences_miss_by_their_instructions),
        cmocka_unit_test(what_has_no_room_is_refused),
        cmocka_unit_test(streams_are_appended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
