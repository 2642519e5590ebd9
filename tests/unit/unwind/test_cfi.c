/* Expressions, CFI programs, records, and the packing of rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "synthetic.h"
#include "unwind/compile.h"
#include "unwind/table.h"

enum { TEXT = 0x10000, SIZE = 0x100 };

static struct unwind_thread thread;
static struct unwind_memory memory;

static enum cfi_status evaluate(const uint8_t *bytes, size_t size, uint64_t *result)
{
    struct unwind_regs regs;
    struct cursor code = {bytes, bytes + size, false};
    for (int i = 0; i < UNWIND_REGISTERS; i++)
        regs.r[i] = 1000u + (unsigned)i;
    unwind_memory_init_as(&memory, &thread, 0);
    return expr_evaluate_as(code, &regs, ~(1u << UNWIND_RBX), &memory, NULL, result);
}

static void expressions(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        uint64_t want;
    } cases[] = {
#define CASE(literal, want) {literal, sizeof(literal) - 1, want}
        CASE("\x30", 0),
        CASE("\x4f", 31),
        CASE("\x08\xff", 255),
        CASE("\x09\xff", UINT64_MAX),
        CASE("\x0a\x34\x12", 0x1234),
        CASE("\x0b\xfe\xff", (uint64_t)-2),
        CASE("\x0c\x78\x56\x34\x12", 0x12345678),
        CASE("\x0d\xff\xff\xff\xff", UINT64_MAX),
        CASE("\x0e\x08\x07\x06\x05\x04\x03\x02\x01", UINT64_C(0x0102030405060708)),
        CASE("\x03\x08\x07\x06\x05\x04\x03\x02\x01", UINT64_C(0x0102030405060708)),
        CASE("\x10\xe5\x8e\x26", 624485),
        CASE("\x11\x9b\xf1\x59", (uint64_t)-624485),
        CASE("\x70\x05", 1005),                 /* breg0 5 */
        CASE("\x77\x78", 1007 - 8),             /* breg7 -8 */
        CASE("\x92\x10\x01", 1017),             /* bregx 16, 1 */
        CASE("\x56", 1006),                     /* reg6 */
        CASE("\x35\x33\x1c", 2),                /* 5 - 3 */
        CASE("\x35\x33\x22", 8),
        CASE("\x35\x23\x07", 12),               /* plus_uconst */
        CASE("\x35\x33\x1e", 15),
        CASE("\x11\x79\x32\x1b", (uint64_t)-3), /* -7 / 2 is signed */
        CASE("\x37\x32\x1d", 1),
        CASE("\x35\x1f\x19", 5),                /* |-5| */
        CASE("\x30\x20", UINT64_MAX),
        CASE("\x3c\x3a\x1a", 8),
        CASE("\x3c\x3a\x21", 14),
        CASE("\x3c\x3a\x27", 6),
        CASE("\x31\x34\x24", 16),
        CASE("\x09\x80\x34\x25", (uint64_t)-128 >> 4), /* shr is logical */
        CASE("\x09\x80\x34\x26", (uint64_t)-8),         /* shra is not */
        CASE("\x31\x08\x40\x24", 0),            /* shifting by 64 */
        CASE("\x09\xff\x31\x2d", 1),            /* -1 < 1 is signed */
        CASE("\x09\xff\x31\x2b", 0),
        CASE("\x35\x35\x29\x35\x35\x2a\x22\x35\x35\x2c\x22\x35\x35\x2e\x22", 3),
        CASE("\x31\x32\x16\x1c", 1),            /* swap: 2 - 1 */
        CASE("\x31\x32\x33\x17", 2),            /* rot: 3 1 2 */
        CASE("\x31\x32\x33\x17\x13", 1),
        CASE("\x31\x32\x33\x17\x13\x13", 3),
        CASE("\x31\x32\x14", 1),                /* over */
        CASE("\x31\x32\x33\x15\x02", 1),        /* pick */
        CASE("\x39\x12\x22", 18),               /* dup */
        CASE("\x31\x28\x01\x00\x30\x35", 5),    /* bra over nothing */
        CASE("\x35\x2f\x01\x00\x30", 5),        /* skip */
        CASE("\x35\x96", 5),
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t got, want = cases[i].want;
        assert_int_equal(evaluate((const uint8_t *)cases[i].bytes, cases[i].size, &got), CFI_OK);
        if (got != want)
            fail_msg("expression %zu: %#lx, expected %#lx", i, got, want);
    }
}

static void expressions_that_fail(void **state)
{
    uint64_t got;
    (void)state;
    assert_int_equal(evaluate(BYTES(""), &got), CFI_BAD);
    assert_int_equal(evaluate(BYTES("\x22"), &got), CFI_BAD);
    assert_int_equal(evaluate(BYTES("\x30\x22"), &got), CFI_BAD);
    assert_int_equal(evaluate(BYTES("\x35\x30\x1b"), &got), CFI_BAD);         /* / 0 */
    assert_int_equal(evaluate(BYTES("\x35\x30\x1d"), &got), CFI_BAD);
    assert_int_equal(evaluate(BYTES("\x0e\x01"), &got), CFI_BAD);             /* cut short */
    assert_int_equal(evaluate(BYTES("\x2f\xfd\xff"), &got), CFI_BAD);         /* for ever */
    assert_int_equal(evaluate(BYTES("\x2f\x70\xff"), &got), CFI_BAD);         /* before it */
    assert_int_equal(evaluate(BYTES("\x31\x15\x07"), &got), CFI_BAD);
    assert_int_equal(evaluate(BYTES("\x31\x94\x09"), &got), CFI_BAD);
    assert_int_equal(evaluate(BYTES("\x92\x11\x00"), &got), CFI_BAD);         /* no register 17 */
    assert_int_equal(evaluate(BYTES("\x9c"), &got), CFI_BAD);                 /* call_frame_cfa */
    assert_int_equal(evaluate(BYTES("\x73\x00"), &got), CFI_UNKNOWN);         /* rbx */
    assert_int_equal(evaluate(BYTES("\x08\x10\x06"), &got), CFI_UNREADABLE);
    assert_int_equal(evaluate(BYTES("\x09\xfc\x06"), &got), CFI_UNREADABLE);  /* wraps */
    assert_int_equal(evaluate(BYTES("\x31\x12\x2f\xfc\xff"), &got), CFI_BAD); /* fills the stack */
}

static void expressions_that_load(void **state)
{
    uint64_t got, value = UINT64_C(0x8877665544332211);
    uint8_t code[11] = {0x0e};
    uint64_t address = (uint64_t)&value;
    (void)state;
    memcpy(code + 1, &address, 8);
    code[9] = 0x06;
    assert_int_equal(evaluate(code, 10, &got), CFI_OK);
    assert_true(got == value);
    code[9] = 0x94;
    code[10] = 3;
    assert_int_equal(evaluate(code, 11, &got), CFI_OK);
    assert_int_equal(got, 0x332211);
}

/* A machine at the row of TEXT + at. */
static enum cfi_status run(struct cfi_machine *m, const uint8_t *program, size_t size, uint64_t at)
{
    static struct synthetic s;
    static struct cfi_space space;
    synthetic_start(&s, "zR", USUAL_CIE);
    synthetic_fde(&s, TEXT, SIZE, program, size);
    space = synthetic_space(&s);
    enum cfi_status status = cfi_fde_find_as(&space, 0, SYNTHETIC_FRAMES, TEXT + at, &m->fde);
    if (status != CFI_OK)
        return status;
    if (!cfi_machine_start_as(m, &space))
        return CFI_BAD;
    return cfi_machine_seek_as(m, TEXT + at);
}

static void check_register(const uint8_t *program, size_t size, unsigned number, enum cfi_how how,
                           int64_t value)
{
    struct cfi_machine m;
    assert_int_equal(run(&m, program, size, SIZE - 1), CFI_OK);
    assert_int_equal(m.row.how[number], how);
    assert_int_equal(m.row.value[number], value);
}

static void instructions(void **state)
{
    (void)state;
    check_register(BYTES("\x86\x02"), UNWIND_RBP, HOW_OFFSET, -16);
    check_register(BYTES("\x05\x06\x03"), UNWIND_RBP, HOW_OFFSET, -24);
    check_register(BYTES("\x11\x06\x7f"), UNWIND_RBP, HOW_OFFSET, 8);
    check_register(BYTES("\x2f\x06\x02"), UNWIND_RBP, HOW_OFFSET, 16);
    check_register(BYTES("\x14\x06\x02"), UNWIND_RBP, HOW_VAL_OFFSET, -16);
    check_register(BYTES("\x15\x06\x7e"), UNWIND_RBP, HOW_VAL_OFFSET, 16);
    check_register(BYTES("\x07\x06"), UNWIND_RBP, HOW_UNDEFINED, 0);
    check_register(BYTES("\x08\x06"), UNWIND_RBP, HOW_SAME, 0);
    check_register(BYTES("\x09\x06\x03"), UNWIND_RBP, HOW_REGISTER, UNWIND_RBX);
    check_register(BYTES("\x86\x02\xc6"), UNWIND_RBP, HOW_UNSPECIFIED, 0);
    check_register(BYTES("\x86\x02\x06\x06"), UNWIND_RBP, HOW_UNSPECIFIED, 0);
    check_register(BYTES("\x07\x10\xd0"), UNWIND_RIP, HOW_OFFSET, -8); /* restore: as in the CIE */
    check_register(BYTES("\x0a\x86\x02\x0b"), UNWIND_RBP, HOW_UNSPECIFIED, 0);
    check_register(BYTES("\x05\x21\x03\x86\x02"), UNWIND_RBP, HOW_OFFSET, -16); /* xmm16 ignored */
    check_register(BYTES("\x2e\x10\x86\x02"), UNWIND_RBP, HOW_OFFSET, -16);     /* args_size */
}

static void check_cfa(const uint8_t *program, size_t size, uint64_t at, uint64_t number,
                      int64_t value)
{
    struct cfi_machine m;
    assert_int_equal(run(&m, program, size, at), CFI_OK);
    assert_int_equal(m.row.cfa_register, number);
    if (number != CFI_CFA_EXPRESSION)
        assert_int_equal(m.row.cfa_value, value);
}

static void canonical_frame_address(void **state)
{
    (void)state;
    check_cfa(BYTES(""), 0, UNWIND_RSP, 8);
    check_cfa(BYTES("\x0c\x06\x10"), 0, UNWIND_RBP, 16);
    check_cfa(BYTES("\x12\x06\x7e"), 0, UNWIND_RBP, 16);
    check_cfa(BYTES("\x0d\x06"), 0, UNWIND_RBP, 8);
    check_cfa(BYTES("\x0e\x80\x02"), 0, UNWIND_RSP, 256);
    check_cfa(BYTES("\x13\x7d"), 0, UNWIND_RSP, 24);
    check_cfa(BYTES("\x0f\x02\x77\x08"), 0, CFI_CFA_EXPRESSION, 0);
    /* remember_state remembers the CFA as well, and may be nested */
    check_cfa(BYTES("\x0a\x0e\x10\x0a\x0e\x20\x0b\x41\x0b"), 0, UNWIND_RSP, 16);
    check_cfa(BYTES("\x0a\x0e\x10\x0a\x0e\x20\x0b\x41\x0b"), 1, UNWIND_RSP, 8);
}

static void locations(void **state)
{
    /* push at 1; advance_loc1 2; advance_loc2 3; advance_loc4 4; then set_loc TEXT + 0x80 */
    static const uint8_t program[] = {0x41, 0x0e, 16, 0x02, 2, 0x0e, 24, 0x03, 3, 0, 0x0e, 32, 0x04,
                                      4,    0,    0,  0,    0x0e, 40, 0x01, 0x80, 0, 1, 0, 0, 0, 0,
                                      0,    0x0e, 48};
    static const int64_t want[][2] = {{0, 8},  {1, 16}, {2, 16},  {3, 24},    {5, 24},   {6, 32},
                                      {9, 32}, {10, 40}, {0x7f, 40}, {0x80, 48}, {0xff, 48}};
    (void)state;
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++)
        check_cfa(program, sizeof program, (uint64_t)want[i][0], UNWIND_RSP, want[i][1]);
    struct cfi_machine m;
    assert_int_equal(run(&m, program, sizeof program, SIZE), CFI_NONE);
    assert_int_equal(run(&m, program, sizeof program, (uint64_t)-1), CFI_NONE);
}

static void programs_that_make_no_sense(void **state)
{
    struct cfi_machine m;
    (void)state;
    assert_int_equal(run(&m, BYTES("\x0b"), 1), CFI_BAD);         /* nothing remembered */
    assert_int_equal(run(&m, BYTES("\x0a\x0a\x0a\x0a\x0a\x0a\x0a"), 1), CFI_BAD);
    assert_int_equal(run(&m, BYTES("\x2d"), 1), CFI_BAD);         /* AArch64, SPARC */
    assert_int_equal(run(&m, BYTES("\x1d\x00"), 1), CFI_BAD);     /* MIPS */
    assert_int_equal(run(&m, BYTES("\x3f"), 1), CFI_BAD);
    assert_int_equal(run(&m, BYTES("\x0d\x11"), 1), CFI_BAD);     /* CFA by register 17 */
    assert_int_equal(run(&m, BYTES("\x0f\x01\x30\x0e\x08"), 1), CFI_BAD);
    assert_int_equal(run(&m, BYTES("\x0f\xff\x7f\x30"), 1), CFI_BAD); /* longer than the FDE */
    assert_int_equal(run(&m, BYTES("\x41\x01\x00\x00\x00\x00\x00\x00\x00\x00"), 1), CFI_BAD);
}

static uint32_t packed(const uint8_t *program, size_t size)
{
    struct cfi_machine m;
    assert_int_equal(run(&m, program, size, 0), CFI_OK);
    return cfi_rule_pack_as(&m);
}

static void packing(void **state)
{
    const uint32_t complex_rule = rule_make(RULE_COMPLEX, 0, 0);
    (void)state;
    assert_int_equal(packed(BYTES("")), rule_make(RULE_RSP, 0, 1));
    assert_int_equal(packed(BYTES("\x0e\x20\x86\x02\x83\x03")), rule_make(RULE_RSP, 2, 4));
    assert_int_equal(packed(BYTES("\x0c\x06\x10\x86\x02")), rule_make(RULE_RBP, 2, 2));
    assert_int_equal(packed(BYTES("\x0e\xf8\xff\xff\x03")), rule_make(RULE_RSP, 0, 0xfffff));
    assert_int_equal(packed(BYTES("\x0e\x80\x80\x80\x04")), complex_rule);
    assert_int_equal(packed(BYTES("\x0e\x0c")), complex_rule);     /* not a multiple of 8 */
    assert_int_equal(packed(BYTES("\x0c\x0a\x00")), complex_rule); /* by r10 */
    assert_int_equal(packed(BYTES("\x86\xff\x01")), rule_make(RULE_RSP, 255, 1));
    assert_int_equal(packed(BYTES("\x86\x80\x02")), complex_rule);
    assert_int_equal(packed(BYTES("\x07\x06")), complex_rule);
    assert_int_equal(packed(BYTES("\x90\x02")), complex_rule); /* return address elsewhere */
    assert_int_equal(packed(BYTES("\x87\x02")), complex_rule); /* rsp saved */
    assert_int_equal(packed(BYTES("\x14\x07\x00")), rule_make(RULE_RSP, 0, 1));
    assert_int_equal(packed(BYTES("\x07\x10")), rule_make(RULE_ROOT, 0, 1));
    assert_int_equal(packed(BYTES("\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22")),
                     rule_make(RULE_PLT, 0, 11));
    assert_int_equal(packed(BYTES("\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x1c")),
                     complex_rule);
    assert_int_equal(packed(BYTES("\x0f\x03\x76\x78\x06")), complex_rule);
}

static void augmentations(void **state)
{
    static const struct {
        const char *string;
        bool good;
    } cases[] = {{"", true}, {"z", true}, {"zR", true}, {"zRS", true}, {"zRB", false},
                 {"eh", false}, {"armcc+", false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct synthetic s;
        struct cfi_fde fde;
        synthetic_start(&s, cases[i].string, USUAL_CIE);
        synthetic_fde(&s, TEXT, SIZE, BYTES(""));
        struct cfi_space space = synthetic_space(&s);
        enum cfi_status status = cfi_fde_find_as(&space, 0, SYNTHETIC_FRAMES, TEXT, &fde);
        assert_int_equal(status, cases[i].good ? CFI_OK : CFI_BAD);
        if (cases[i].good)
            assert_int_equal(fde.cie.signal, strchr(cases[i].string, 'S') != NULL);
    }
}

static void search_without_a_table(void **state)
{
    struct synthetic s;
    struct cfi_fde fde;
    (void)state;
    synthetic_start(&s, "zR", USUAL_CIE);
    synthetic_fde(&s, TEXT, SIZE, BYTES(""));
    synthetic_fde(&s, TEXT + 2 * SIZE, SIZE, BYTES(""));
    s.bytes[3] = 0xff; /* DW_EH_PE_omit: no table */
    struct cfi_space space = synthetic_space(&s);
    assert_int_equal(cfi_fde_find_as(&space, 0, 8, TEXT + 2 * SIZE, &fde), CFI_OK);
    assert_int_equal(fde.lo, TEXT + 2 * SIZE);
    assert_int_equal(cfi_fde_find_as(&space, 0, 8, TEXT + SIZE, &fde), CFI_NONE);
}

/* The table of functions [TEXT, +SIZE), [TEXT + 2 * SIZE, +SIZE) (bad), [TEXT + 3 * SIZE,
 * +SIZE). */
static void compiling(void **state)
{
    struct synthetic s;
    void *block;
    size_t size;
    struct err e = {0};
    (void)state;
    synthetic_start(&s, "zR", USUAL_CIE);
    synthetic_fde(&s, TEXT, SIZE, BYTES("\x41\x0e\x10\x42\x0e\x10\x43\x0e\x08"));
    synthetic_fde(&s, TEXT + 2 * SIZE, SIZE, BYTES("\x41\x0e\x10\x0b"));
    synthetic_fde(&s, TEXT + 3 * SIZE, SIZE, BYTES("\x0c\x06\x10\x86\x02"));
    synthetic_fde(&s, 0, SIZE, BYTES("")); /* discarded code */
    struct unwind_section frames = {s.bytes + SYNTHETIC_FRAMES, s.size - SYNTHETIC_FRAMES,
                                    (uint64_t)s.bytes + SYNTHETIC_FRAMES};
    assert_true(unwind_compile(&frames, NULL, TEXT, TEXT + 8 * SIZE, &block, &size, &e));
    const struct unwind_table *t = block;
    const uint32_t none = rule_make(RULE_NONE, 0, 0);
    assert_true(unwind_table_valid(t, size));
    assert_int_equal(t->fdes, 2);
    assert_int_equal(t->bad_fdes, 1);
    assert_int_equal(t->rows, 6); /* equal neighbours are one row */
    static const struct {
        uint64_t at;
        uint32_t rule;
    } want[] = {{0, 1u << 28 | 1}, {1, 1u << 28 | 2}, {5, 1u << 28 | 2}, {6, 1u << 28 | 1},
                {SIZE - 1, 1u << 28 | 1}, {3 * SIZE, 2u << 28 | 2u << 20 | 2},
                {4 * SIZE - 1, 2u << 28 | 2u << 20 | 2}};
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++)
        assert_int_equal(unwind_table_find_as(t, size, TEXT + want[i].at), want[i].rule);
    for (uint64_t at = SIZE; at < 3 * SIZE; at++)
        assert_int_equal(unwind_table_find_as(t, size, TEXT + at), none);
    assert_int_equal(unwind_table_find_as(t, size, TEXT + 4 * SIZE), none);
    assert_int_equal(unwind_table_find_as(t, size, TEXT + 8 * SIZE), none);
    assert_int_equal(unwind_table_find_as(t, size, TEXT - 1), none);
    assert_int_equal(unwind_table_find_as(t, size, 0), none);
    assert_false(unwind_table_valid(t, size - 1));
    assert_int_equal(unwind_table_find_as(t, size - 1, TEXT), none);
    free(block);
}

/* Whether two tables differ at most where one has rows from code, for which it takes symbols. */
static bool same_but_for_code(const struct unwind_table *with, const struct unwind_table *without)
{
    for (uint64_t at = with->text_lo; at < with->text_hi; at++) {
        uint32_t rule = unwind_table_find_as(with, with->size, at);
        if (rule_kind(rule) == RULE_CODE)
            rule = rule_make(RULE_NONE, 0, 0);
        if (rule != unwind_table_find_as(without, without->size, at))
            return false;
    }
    return with->text_lo == without->text_lo && with->text_hi == without->text_hi;
}

/* This program's file, whole, and without section headers: the same table. */
static void without_section_headers(void **state)
{
    enum { FILE_MAX = 8 << 20, E_SHOFF = 40, E_SHNUM = 60 };
    char *file = malloc(FILE_MAX);
    void *whole, *stripped;
    size_t whole_size, stripped_size;
    struct err e = {0};
    (void)state;
    FILE *in = fopen("/proc/self/exe", "rb");
    assert_non_null(in);
    size_t size = fread(file, 1, FILE_MAX, in);
    fclose(in);
    assert_true(unwind_compile_file("/proc/self/exe", NULL, 0, &whole, &whole_size, &e));
    memset(file + E_SHOFF, 0, 8);
    memset(file + E_SHNUM, 0, 4); /* and e_shstrndx */
    assert_true(unwind_compile_image(file, size, &stripped, &stripped_size, &e));
    assert_true(((struct unwind_table *)whole)->fdes > 10);
    assert_int_equal(((struct unwind_table *)stripped)->code_rows, 0);
    assert_true(same_but_for_code(whole, stripped));
    free(whole);
    free(stripped);
    free(file);
}

static void errors(void **state)
{
    struct unwind_section nothing = {NULL, 0, 0};
    void *block;
    size_t size;
    struct err e = {0};
    (void)state;
    assert_false(unwind_compile(&nothing, NULL, 8, 8, &block, &size, &e));
    assert_int_equal(e.code, ERR_FORMAT);
    e = (struct err){0};
    assert_false(unwind_compile(&nothing, NULL, 0, UINT64_C(1) << 40, &block, &size, &e));
    assert_non_null(strstr(e.message, "1 GiB"));
    e = (struct err){0};
    assert_false(unwind_compile_file("/nonexistent", NULL, 0, &block, &size, &e));
    assert_int_equal(e.code, ERR_NOT_FOUND);
    e = (struct err){0};
    assert_false(unwind_compile_file("/dev/null", NULL, 0, &block, &size, &e));
    assert_int_equal(e.code, ERR_FORMAT);
    e = (struct err){0};
    assert_false(
        unwind_compile_file("/proc/self/exe", (const uint8_t *)"wrong", 5, &block, &size, &e));
    assert_non_null(strstr(e.message, "build-id"));
    e = (struct err){0};
    assert_false(unwind_compile_image("\177ELF", 4, &block, &size, &e));
    assert_int_equal(e.code, ERR_FORMAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions),
        cmocka_unit_test(expressions_that_fail),
        cmocka_unit_test(expressions_that_load),
        cmocka_unit_test(instructions),
        cmocka_unit_test(canonical_frame_address),
        cmocka_unit_test(locations),
        cmocka_unit_test(programs_that_make_no_sense),
        cmocka_unit_test(packing),
        cmocka_unit_test(augmentations),
        cmocka_unit_test(search_without_a_table),
        cmocka_unit_test(compiling),
        cmocka_unit_test(without_section_headers),
        cmocka_unit_test(errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
