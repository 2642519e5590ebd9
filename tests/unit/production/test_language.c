/* .dise files: what they mean, what is wrong in them and where, and how several become one. Then
 * the machine that runs them: flags, overflows, and what is done when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "production/production.h"

static struct production_program program;

static const struct production_settings settings = {.burst = 3, .sparsity = 7};

static bool read_text(const char *text, struct err *e)
{
    *e = (struct err){0};
    return production_read_text("x.dise", text, strlen(text), &settings, &program, e);
}

static void accept(const char *text)
{
    struct err e;
    if (!read_text(text, &e))
        fail_msg("%s\nin: %s", e.message, text);
}

static const char *printed(void)
{
    static char text[65536];
    FILE *f = fmemopen(text, sizeof text, "w");
    production_print(f, &program);
    fclose(f);
    return text;
}

static void shipped(const char *const *names, unsigned count)
{
    struct err e = {0};
    if (!production_read(names, count, getenv("PRODUCTIONS"), &settings, &program, &e))
        fail_msg("%s", e.message);
}

/* ---- errors ---- */

static const struct {
    const char *text, *message;
} wrong[] = {
    {"", "there is no production in these files"},
    {"P1 T.OPCLASS", "x.dise:1:1: expected a label and :, include, or register, found P1"},
    {"P1: T.OPCLASS == mem_op\n", "x.dise:2:1: expected &&, || or =>, found the end of the file"},
    {"P1: T.OPCLASS = mem_op => null", "x.dise:1:15: expected == or !=, found ="},
    {"P1: T.OPCLASS == mem => null",
     "x.dise:1:18: expected a class of instructions (mem_op, proc_call, branch, ...), found mem"},
    {"P1: T.OPCLASS < mem_op => null", "x.dise:1:15: expected == or !=, found <"},
    {"P1: T.OPCODES == 1 => null",
     "x.dise:1:7: expected OPCLASS, PC, Target, IMM, OPCODE, RS, RD, BASE, INDEX, IMAGE or "
     "FUNCTION, found OPCODES"},
    {"P1: T.OPCLASS == any && overflow_9 => null",
     "x.dise:1:25: expected a counter, 1 to 8, found overflow_9"},
    {"P1: T.OPCLASS == any && overflow_0 => null",
     "x.dise:1:25: expected a counter, 1 to 8, found overflow_0"},
    {"P1: overflow_1 => null",
     "x.dise:1:5: expected a pattern beside the conditional: T.OPCLASS == any matches each "
     "instruction"},
    {"P1: T.OPCLASS == any || overflow_1 => null",
     "x.dise:1:5: here || or ! joins the instruction's fields with flags of counters: write "
     "PATTERN && CONDITIONAL, or two productions"},
    {"P1: T.OPCLASS == any => R1", "x.dise:1:25: R1 is not defined in this file"},
    {"P1: T.OPCLASS == any => CC1\nCC1: inc_1;",
     "x.dise:1:25: CC1 is conditional control, defined in line 2"},
    {"P1: T.OPCLASS == any => null, R1\nR1: T.INSN",
     "x.dise:1:31: R1 is a replacement, defined in line 2"},
    {"R1: call(Nobody_handler) T.INSN",
     "x.dise:1:10: expected a handler: DataStream_handler, CallPair_handler or "
     "HotMethod_handler, found Nobody_handler"},
    {"R1: count(T.PC)\nP1: T.OPCLASS == any => R1",
     "x.dise:2:1: expected call(...), count(...), append(...) or T.INSN, which ends each "
     "sequence, found P1"},
    {"R1: T.INSN count(T.PC)", "x.dise:1:12: expected the end of the sequence: T.INSN comes last"},
    {"R1: count(T.NOTHING) T.INSN",
     "x.dise:1:13: expected T.PC, T.Target, T.ADDRESS, T.METHOD, T.IMM, T.OPCODE, or a register, "
     "rax to r15, found NOTHING"},
    {"CC1: set_1(nowhere);",
     "x.dise:1:12: expected a register (sampleFreq, burstLength, or one that the file declares) "
     "or a number, found nowhere"},
    {"CC1: set_1(4294967297);", "x.dise:1:12: 4294967297 is more than 4294967296"},
    {"CC1: inc_1;\nCC1: inc_2;", "x.dise:2:1: CC1 is defined in line 1 already"},
    {"init: inc_1;\ninit: inc_1;", "x.dise:2:1: what counters begin with is said already"},
    {"register a = 1\nregister a = 2", "x.dise:2:10: a has a value already"},
    {"include \"other.dise\"", "x.dise:1:9: this text may include no file"},
    {"# \xc3\xa4\xc3\xb6\n  \xc3\xa4: ",
     "x.dise:2:3: expected a label and :, include, or register, "
                                        "found \xc3\xa4"},
    {"P1: T.IMAGE == libc => null",
     "x.dise:1:16: expected the name of a file in quotes, \"libc.so.6\", found libc"},
    {"P1: T.PC == 99999999999999999999 => null",
     "x.dise:1:13: expected an address, or T.Target, found 99999999999999999999"},
};

static void test_errors(void **state)
{
    struct err e;
    (void)state;
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_false(read_text(wrong[i].text, &e));
        assert_int_equal(e.code, ERR_USAGE);
        assert_string_equal(e.message, wrong[i].message);
    }
}

static void test_limits(void **state)
{
    static char text[1 << 16];
    struct err e;
    (void)state;
    strcpy(text, "P1: ");
    for (unsigned i = 0; i < 100; i++)
        strcat(text, "(");
    assert_false(read_text(text, &e));
    assert_non_null(strstr(e.message, "nested more than 32 deep"));
    for (unsigned deep = 30; deep <= 31; deep++) {
        struct production_trigger t = {.immediate = 1, .has_immediate = true};
        strcpy(text, "P1: ");
        for (unsigned i = 0; i < deep; i++)
            strcat(text, "T.IMM == 0 || T.IMM < 2 && (");
        strcat(text, "T.IMM == 1");
        for (unsigned i = 0; i < deep; i++)
            strcat(text, ")");
        strcat(text, " => null");
        assert_int_equal(read_text(text, &e), deep == 30);
        assert_int_equal(production_match(&program, &t), deep == 30);
    }
    assert_non_null(strstr(e.message, "needs more than 62 values at a time"));
    text[0] = '\0';
    for (unsigned i = 0; i < 65; i++)
        sprintf(text + strlen(text), "P%u: T.IMM == %u => null\n", i, i);
    assert_false(read_text(text, &e));
    assert_string_equal(e.message, "x.dise:65:1: there are more than 64 productions");
    strcpy(text, "P1: T.IMM == 1");
    for (unsigned i = 0; i < 600; i++)
        strcat(text, " || T.IMM == 1");
    assert_false(read_text(text, &e));
    assert_non_null(strstr(e.message, "1024 terms"));
}

/* ---- patterns ---- */

static uint64_t match(const struct production_trigger *t)
{
    return production_match(&program, t);
}

static uint32_t class_bit(unsigned class)
{
    return UINT32_C(1) << class | UINT32_C(1) << OPCLASS_ANY;
}

static void test_patterns(void **state)
{
    (void)state;
    accept("P0: T.OPCLASS == mem_op => null\n"
           "P1: T.OPCLASS != mem_op => null\n"
           "P2: T.PC > T.Target => null\n"
           "P3: T.Target > T.PC => null\n"
           "P4: T.PC >= 0x100 && T.PC < 0x200 => null\n"
           "P5: T.IMM == -3 => null\n"
           "P6: T.OPCODE == 0x0faf => null\n"
           "P7: T.RS == rdi && T.RD == r15 => null\n"
           "P8: T.BASE == rsp || T.INDEX == rax => null\n"
           "P9: T.IMAGE == \"libc.so.6\" => null\n"
           "P10: !(T.OPCLASS == load || T.OPCLASS == store) => null\n"
           "P11: T.OPCLASS == any => null\n");
    struct production_trigger t = {.classes = class_bit(OPCLASS_MEM_OP) | class_bit(OPCLASS_LOAD),
                                   .pc = 0x5000, .offset = 0x180, .base = 0xff, .index = 0xff};
    assert_int_equal(match(&t), 1u | 1u << 4 | 1u << 11);
    t = (struct production_trigger){.classes = class_bit(OPCLASS_BRANCH), .pc = 0x5000,
                                    .target = 0x4000, .has_target = true, .offset = 0x200,
                                    .base = 4, .index = 0xff, .images = 1};
    assert_int_equal(match(&t), 1u << 1 | 1u << 2 | 1u << 8 | 1u << 9 | 1u << 10 | 1u << 11);
    t.target = t.pc;
    assert_int_equal(match(&t) & (1u << 2 | 1u << 3), 0);
    t = (struct production_trigger){.classes = class_bit(OPCLASS_INTEGER), .opcode = 0x0faf,
                                    .immediate = -3, .has_immediate = true, .reads = 1 << 7,
                                    .writes = 1 << 15, .base = 0xff, .index = 0};
    assert_int_equal(match(&t), 1u << 1 | 1u << 5 | 1u << 6 | 1u << 7 | 1u << 8 | 1u << 10 |
                                    1u << 11);
}

static bool function_at(void *context, const char *name, struct production_program *p,
                        struct production_function *out, struct err *e)
{
    (void)context;
    if (strcmp(name, "known") != 0)
        return err_set(e, ERR_USAGE, "there is no %s", name);
    out->image = production_image(p, "prog", 4);
    out->lo = 0x100;
    out->hi = 0x180;
    return true;
}

static void test_functions(void **state)
{
    static const char text[] = "P1: T.FUNCTION == \"known\" => null";
    static const char no[] = "P1: T.FUNCTION == \"un\"";
    struct production_settings s = settings;
    struct err e = {0};
    s.function = function_at;
    (void)state;
    assert_true(production_read_text("f", text, sizeof text - 1, &s, &program, &e));
    struct production_trigger t = {.images = 1, .offset = 0x17f};
    assert_int_equal(match(&t), 1);
    t.offset = 0x180;
    assert_int_equal(match(&t), 0);
    t = (struct production_trigger){.images = 0, .offset = 0x100};
    assert_int_equal(match(&t), 0);
    assert_false(production_read_text("f", no, sizeof no - 1, &s, &program, &e));
    assert_string_equal(e.message, "f:1:19: there is no un");
}

/* ---- several files ---- */

static void test_shipped(void **state)
{
    static const char *const one[] = {"hot-methods"}, *const all[] = {"all"};
    static const char *const parts[] = {"hot-data-streams", "hot-call-pairs.dise", "hot-methods",
                                        "sampling"};
    static char first[65536];
    (void)state;
    shipped(one, 1);
    assert_int_equal(program.count, 7);
    assert_int_equal(program.group_count, 1);
    shipped(all, 1);
    assert_int_equal(program.count, 9);
    assert_int_equal(program.group_count, 3);
    strcpy(first, printed());
    shipped(parts, 4); /* the same, for sampling.dise is read once */
    assert_string_equal(printed(), first);
}

/* What two productions with one pattern ask for is done by one, each once. */
static void test_merged(void **state)
{
    (void)state;
    accept("P1: T.OPCLASS == proc_call && overflow_1 => count(T.PC) T.INSN, inc_1\n"
           "P2: T.OPCLASS == proc_call && overflow_1 => call(CallPair_handler) T.INSN, inc_1\n"
           "P3: T.OPCLASS == proc_call && overflow_2 => null, inc_1\n");
    assert_int_equal(program.count, 2);
    assert_int_equal(program.productions[0].actions.count, 2);
    assert_int_equal(program.productions[0].micros.count, 1);
    assert_non_null(strstr(printed(), "x:P1: T.OPCLASS == proc_call && overflow_1 => x:P1 "
                                      "count(T.PC) CallPair_handler count(T.PC, T.Target) T.INSN, "
                                      "inc_1\n"));
}

/* Figures 3 to 5 as they are printed, but for what is missing in P3. */
static void test_figures(void **state)
{
    (void)state;
    accept("P1:T.OPCLASS == proc_call && !overflow_1 \xe2\x87\x92 null, CC1\n"
           "P2:T.OPCLASS == branch && T.PC < T.Target && !overflow_1\n  \xe2\x87\x92 null, CC1\n"
           "P5:T.OPCLASS == proc_call && overflow_1 && ! overflow_2\n  \xe2\x87\x92 null, CC3\n"
           "CC1: inc_1;\nCC3: set_1(sampleFreq); set_2(burstLength);\n"
           "P6: T.OPCLASS == mem_op && overflow_1 \xe2\x87\x92 R1, null\n"
           "R1: call(DataStream_handler) T.INSN\n"
           "P7: T.OPCLASS == any && (zero_1 || !overflow_2 && zero_3) => null, dec_1, inc_2\n");
    assert_int_equal(program.count, 5);
    assert_int_equal(program.productions[2].micros.count, 2);
    assert_int_equal(program.productions[4].micros.count, 2);
}

/* ---- the machine ---- */

/* One event at which production i matches. */
static uint64_t step(struct production_state *s, uint64_t mask)
{
    uint64_t matched = mask & s->active;
    bool changed = false;
    for (uint64_t left = matched; left; left &= left - 1) {
        const struct production *p = &program.productions[__builtin_ctzll(left)];
        for (unsigned i = 0; i < p->micros.count; i++)
            changed |= production_micro_do(s, &program.micros[p->micros.first + i]);
    }
    if (changed)
        production_activate(s, &program);
    return matched;
}

/* Of `sparsity + burst` events the last `burst` are sampled, again and again. */
static void bursts(uint64_t burst, uint64_t sparsity)
{
    static const char *const name[] = {"hot-call-pairs"};
    struct production_settings s = {.burst = burst, .sparsity = sparsity};
    struct production_trigger call = {.classes = class_bit(OPCLASS_PROC_CALL)};
    struct production_state machine;
    struct err e = {0};
    assert_true(production_read(name, 1, getenv("PRODUCTIONS"), &s, &program, &e));
    uint64_t mask = match(&call), handler = UINT64_C(1) << (program.count - 1);
    production_begin(&machine, &program);
    for (uint64_t event = 0; event < 5 * (burst + sparsity) + 3; event++) {
        bool sampled = step(&machine, mask) & handler;
        assert_int_equal(sampled, event % (burst + sparsity) >= sparsity);
    }
}

static void test_bursts(void **state)
{
    (void)state;
    bursts(1, 99);
    bursts(100, 900);
    bursts(1, 1);
    bursts(2, 1);
    bursts(7, 0); /* all */
    bursts(1, 0);
    bursts(1000, 100000);
}

static void test_counters(void **state)
{
    struct production_state s = {{0}, 0};
    const struct production_micro inc = {.what = MICRO_INC}, dec = {.what = MICRO_DEC},
                                  last = {.what = MICRO_SET, .value = PRODUCTION_COUNTER_END - 1},
                                  end = {.what = MICRO_SET, .value = PRODUCTION_COUNTER_END};
    (void)state;
    assert_true(production_micro_do(&s, &inc)); /* it was zero */
    assert_false(production_micro_do(&s, &inc));
    production_micro_do(&s, &last);
    assert_false(production_overflow(s.counters[0]));
    assert_int_equal(production_distance(s.counters[0], MICRO_INC), 1);
    assert_true(production_micro_do(&s, &inc));
    assert_true(production_overflow(s.counters[0]) && production_zero(s.counters[0]));
    production_micro_do(&s, &inc); /* an overflow stays */
    assert_true(production_overflow(s.counters[0]) && !production_zero(s.counters[0]));
    production_micro_do(&s, &dec);
    assert_true(production_overflow(s.counters[0]) && production_zero(s.counters[0]));
    production_micro_do(&s, &last);
    assert_false(production_overflow(s.counters[0]));
    production_micro_do(&s, &end);
    assert_true(production_overflow(s.counters[0]));
    s.counters[0] = 0;
    production_micro_do(&s, &dec);
    assert_int_equal(s.counters[0], PRODUCTION_COUNTER_END - 1);
    assert_int_equal(production_distance(5, MICRO_DEC), 5);
    assert_int_equal(production_distance(0, MICRO_DEC), 1);
}

static void test_idle(void **state)
{
    static const char *const name[] = {"all"};
    (void)state;
    shipped(name, 1);
    struct production_idle idle = production_idle(&program);
    assert_true(idle.possible);
    assert_int_equal(idle.counter, 0);
    assert_int_equal(idle.events, 3); /* P1, P2 */
    accept("P1: T.OPCLASS == any => count(T.PC) T.INSN");
    assert_false(production_idle(&program).possible);
    accept("P1: T.OPCLASS == any => null, inc_1\nP2: T.OPCLASS == load => null, inc_2");
    assert_false(production_idle(&program).possible);
    accept("P1: T.OPCLASS == any => null, set_1(0)");
    assert_false(production_idle(&program).possible);
}

/* Whether it is settled with this sparsity, and then: as it says, whatever comes. */
static bool settled(const char *text, uint64_t sparsity, uint64_t *always)
{
    struct production_settings s = {.burst = 3, .sparsity = sparsity};
    struct production_state machine;
    struct err e = {0};
    uint64_t random = 88172645463325252u, kept = 0;
    assert_true(production_read_text("x.dise", text, strlen(text), &s, &program, &e));
    if (!production_settled(&program, always))
        return false;
    production_begin(&machine, &program);
    for (unsigned i = 0; i < program.count; i++)
        kept |= (uint64_t)(program.productions[i].actions.count != 0) << i;
    for (unsigned event = 0; event < 1000; event++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        assert_int_equal(machine.active & kept, *always);
        step(&machine, random);
    }
    return true;
}

static void test_settled(void **state)
{
#define FRAME                                                                                      \
    "init: set_1(sampleFreq); set_2(burstLength);\n"                                               \
    "P1: T.OPCLASS == load && !overflow_1 => null, inc_1\n"                                        \
    "P2: T.OPCLASS == load && overflow_1 && !overflow_2 => null, inc_2\n"                          \
    "P3: T.OPCLASS == load && overflow_1 && overflow_2 => null, set_1(sampleFreq), "               \
    "set_2(burstLength)\n"
    uint64_t always;
    (void)state;
    assert_true(settled(FRAME "K: T.OPCLASS == any && overflow_1 => count(T.PC) T.INSN", 0,
                        &always));
    assert_int_equal(always, 8);
    assert_false(settled(FRAME "K: T.OPCLASS == any && overflow_1 => count(T.PC) T.INSN", 7,
                         &always));
    assert_true(settled(FRAME "K: T.OPCLASS == any && !overflow_1 => count(T.PC) T.INSN", 0,
                        &always));
    assert_int_equal(always, 0);
    /* of the counter that moves, and in order */
    assert_false(settled(FRAME "K: T.OPCLASS == any && !overflow_2 => count(T.PC) T.INSN", 0,
                         &always));
    assert_false(settled(FRAME "K: T.OPCLASS == any && zero_2 => count(T.PC) T.INSN", 0, &always));
    assert_false(settled(FRAME "K: T.OPCLASS == any && overflow_1 => append(T.PC) T.INSN", 0,
                         &always));
    assert_true(settled(FRAME "K: T.OPCLASS == any && (overflow_2 || overflow_1) && !overflow_3 => "
                              "count(T.PC) T.INSN", 0, &always));
    assert_int_equal(always, 8);
    /* one that others' actions move */
    assert_false(settled("A: T.OPCLASS == any && !zero_1 => count(T.PC) T.INSN\n"
                         "B: T.OPCLASS == load && !overflow_1 => null, inc_1", 0, &always));
    assert_true(settled("A: T.OPCLASS == any && !overflow_1 => count(T.PC) T.INSN, dec_1\n"
                        "B: T.OPCLASS == load && overflow_1 => null, inc_2", 0, &always));
    assert_int_equal(always, 1);
#undef FRAME
}

static void test_frequency(void **state)
{
    uint64_t sparsity;
    struct err e = {0};
    (void)state;
    assert_true(production_frequency("1/1000", 100, &sparsity, &e));
    assert_int_equal(sparsity, 99900);
    assert_true(production_frequency("1/100", 1, &sparsity, &e));
    assert_int_equal(sparsity, 99);
    assert_true(production_frequency("1/1", 100, &sparsity, &e));
    assert_int_equal(sparsity, 0);
    assert_true(production_frequency("2/3", 1, &sparsity, &e));
    assert_int_equal(sparsity, 1);
    static const char *const none[] = {"", "1", "1/", "/2", "0/5", "3/2", "-1/2", "1/2x", "1/-2",
                                        "1/99999999999999999999"};
    for (unsigned i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(production_frequency(none[i], 1, &sparsity, &e));
    assert_false(production_frequency("1/4294967296", 1000, &sparsity, &e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),    cmocka_unit_test(test_limits),
        cmocka_unit_test(test_patterns),  cmocka_unit_test(test_functions),
        cmocka_unit_test(test_shipped),   cmocka_unit_test(test_merged),
        cmocka_unit_test(test_figures),   cmocka_unit_test(test_bursts),
        cmocka_unit_test(test_counters),  cmocka_unit_test(test_idle),
        cmocka_unit_test(test_settled),
        cmocka_unit_test(test_frequency),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
