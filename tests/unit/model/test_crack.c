/* x86 instructions as micro-operations: one of each form by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "crack/crack.h"

static const char *const classes[UOP_CLASS_COUNT + 1] = {
#define CLASS(id, name, what) [UOP_##id] = #name,
    UOP_CLASSES_TIMED(CLASS) UOP_CLASSES_MEMORY(CLASS)
#undef CLASS
    [UOP_NONE] = "none"};

/* "load alu+ store_address store_data+": + shares the slot of the one before, = is a copy, 0 a
 * zero. */
static void describe(const struct uop_insn *insn, char *out, size_t size)
{
    *out = '\0';
    for (unsigned i = 0; i < insn->count; i++) {
        const struct uop *u = &insn->uops[i];
        size_t used = strlen(out);
        snprintf(out + used, size - used, "%s%s%s%s%s", i ? " " : "", classes[u->class],
                 u->flags & UOP_FUSED ? "+" : "", u->flags & UOP_COPY ? "=" : "",
                 u->flags & UOP_ZERO ? "0" : "");
    }
}

static const struct {
    const char *name;
    char code[16];
    const char *uops;
    unsigned flags, transfer;
} insns[] = {
    {"add %rbx, %rax", "\x48\x01\xd8", "alu", INSN_FUSES, 0},
    {"add (%rbx), %rax", "\x48\x03\x03", "load alu+", INSN_FUSES, 0},
    {"add %rax, (%rbx)", "\x48\x01\x03", "load alu+ store_address store_data+", 0, 0},
    {"lock add %rax, (%rbx)", "\xf0\x48\x01\x03", "load alu+ store_address store_data+",
     INSN_LOCKED, 0},
    {"mov %rbx, %rax", "\x48\x89\xd8", "alu=", 0, 0},
    {"mov (%rbx), %rax", "\x48\x8b\x03", "load", 0, 0},
    {"mov %rax, (%rbx)", "\x48\x89\x03", "store_address store_data+", 0, 0},
    {"mov $1, %eax", "\xb8\x01\0\0\0", "alu", 0, 0},
    {"xor %eax, %eax", "\x31\xc0", "alu0", 0, 0},
    {"lea (%rax,%rbx), %rcx", "\x48\x8d\x0c\x18", "alu", 0, 0},
    {"lea 8(%rax,%rbx), %rcx", "\x48\x8d\x4c\x18\x08", "alu", 0, 0},
    {"lea (%rax,%rbx,2), %rcx", "\x48\x8d\x0c\x58", "lea", 0, 0},
    {"lea 0(%rip), %rcx", "\x48\x8d\x0d\x00\x00\x00\x00", "lea_rip", 0, 0},
    {"imul %rbx, %rax", "\x48\x0f\xaf\xc3", "mul", 0, 0},
    {"div %rbx", "\x48\xf7\xf3", "div64", 0, 0},
    {"div %ebx", "\xf7\xf3", "div32", 0, 0},
    {"push %rax", "\x50", "store_address store_data+", 0, 0},
    {"pop %rax", "\x58", "load", 0, 0},
    {"call .+5", "\xe8\0\0\0\0", "store_address store_data+ branch", 0, TRANSFER_CALL},
    {"ret", "\xc3", "load branch+", 0, TRANSFER_RETURN},
    {"jmp *%rax", "\xff\xe0", "branch", 0, TRANSFER_JUMP_INDIRECT},
    {"call *(%rax)", "\xff\x10", "load store_address store_data+ branch+", 0,
     TRANSFER_CALL_INDIRECT},
    {"jne .", "\x75\xfe", "branch", INSN_FUSIBLE, TRANSFER_BRANCH},
    {"leave", "\xc9", "load alu", 0, 0},
    {"nop", "\x90", "none", 0, 0},
    {"rep movsb", "\xf3\xa4", "load store_address store_data+ alu", INSN_REPEATED, 0},
    {"rep stosq", "\xf3\x48\xab", "store_address store_data+ alu", INSN_REPEATED, 0},
    {"syscall", "\x0f\x05", "complex", INSN_SERIAL, 0},
    {"cpuid", "\x0f\xa2", "complex", INSN_SERIAL, 0},
    {"mfence", "\x0f\xae\xf0", "complex", INSN_LOCKED, 0},
    {"addsd %xmm1, %xmm0", "\xf2\x0f\x58\xc1", "fp_add", 0, 0},
    {"addsd (%rax), %xmm0", "\xf2\x0f\x58\x00", "load fp_add+", 0, 0},
    {"mulps %xmm1, %xmm0", "\x0f\x59\xc1", "fp_mul", 0, 0},
    {"divsd %xmm1, %xmm0", "\xf2\x0f\x5e\xc1", "fp_div64", 0, 0},
    {"sqrtss %xmm1, %xmm0", "\xf3\x0f\x51\xc1", "fp_div32", 0, 0},
    {"movaps %xmm1, %xmm0", "\x0f\x28\xc1", "vec_alu=", 0, 0},
    {"movsd (%rax), %xmm0", "\xf2\x0f\x10\x00", "load", 0, 0},
    {"movsd %xmm0, (%rax)", "\xf2\x0f\x11\x00", "store_address store_data+", 0, 0},
    {"movq %rax, %xmm0", "\x66\x48\x0f\x6e\xc0", "cross", 0, 0},
    {"movq %xmm0, %rax", "\x66\x48\x0f\x7e\xc0", "cross", 0, 0},
    {"cvtsi2sd %rax, %xmm0", "\xf2\x48\x0f\x2a\xc0", "cross fp_convert", 0, 0},
    {"cvttsd2si %xmm0, %rax", "\xf2\x48\x0f\x2c\xc0", "fp_convert cross", 0, 0},
    {"pxor %xmm0, %xmm0", "\x66\x0f\xef\xc0", "vec_alu0", 0, 0},
    {"vpxor %xmm1, %xmm1, %xmm0", "\xc5\xf1\xef\xc1", "vec_alu0", 0, 0},
    {"pshufb %xmm1, %xmm0", "\x66\x0f\x38\x00\xc1", "vec_shuffle", 0, 0},
    {"vpaddd %ymm1, %ymm2, %ymm0", "\xc5\xed\xfe\xc1", "vec_alu", 0, 0},
    {"vpaddd %zmm1, %zmm2, %zmm0", "\x62\xf1\x6d\x48\xfe\xc1", "vec_alu vec_alu", 0, 0},
    {"vmovdqu64 (%rax), %zmm0", "\x62\xf1\xfe\x48\x6f\x00", "load load", 0, 0},
    {"vfmadd231pd %ymm1, %ymm2, %ymm0", "\xc4\xe2\xed\xb8\xc1", "fp_fma", 0, 0},
    {"vpermd %ymm1, %ymm2, %ymm0", "\xc4\xe2\x6d\x36\xc1", "vec_crossing", 0, 0},
    {"pmovmskb %xmm0, %eax", "\x66\x0f\xd7\xc0", "cross", 0, 0},
    {"aesenc %xmm1, %xmm0", "\x66\x0f\x38\xdc\xc1", "crypto", 0, 0},
    {"popcnt %rbx, %rax", "\xf3\x48\x0f\xb8\xc3", "mul", 0, 0},
    {"kandw %k1, %k2, %k3", "\xc5\xec\x41\xd9", "mask", 0, 0},
    {"fldl (%rax)", "\xdd\x00", "load", 0, 0},
    {"faddp", "\xde\xc1", "fp_add", 0, 0},
    {"fxch", "\xd9\xc9", "none", 0, 0},
};

static void instructions_become_what_they_are(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof insns / sizeof *insns; i++) {
        struct uop_insn out;
        char text[512];
        if (!crack((const uint8_t *)insns[i].code, 16, 32, &out))
            fail_msg("%s is no instruction", insns[i].name);
        describe(&out, text, sizeof text);
        unsigned flags = out.flags & ~(unsigned)INSN_MMX;
        if (strcmp(text, insns[i].uops) != 0 || flags != insns[i].flags ||
            out.transfer != insns[i].transfer)
            fail_msg("%s: %s, flags %u, transfer %u", insns[i].name, text, flags, out.transfer);
    }
}

static bool has(const uint8_t *list, unsigned count, unsigned reg)
{
    for (unsigned i = 0; i < count; i++)
        if (list[i] == reg)
            return true;
    return false;
}

static void registers_are_followed(void **state)
{
    (void)state;
    struct uop_insn out;
    assert_true(crack((const uint8_t *)"\x48\x11\xd8", 3, 32, &out)); /* adc %rbx, %rax */
    const struct uop *u = &out.uops[0];
    assert_true(has(u->sources, u->source_count, 0) && has(u->sources, u->source_count, 3) &&
                has(u->sources, u->source_count, UOP_CARRY));
    assert_true(has(u->results, u->result_count, 0) &&
                has(u->results, u->result_count, UOP_CARRY) &&
                has(u->results, u->result_count, UOP_FLAGS));
    assert_true(crack((const uint8_t *)"\x88\xd8", 2, 32, &out)); /* mov %bl, %al */
    u = &out.uops[0];
    assert_true(has(u->sources, u->source_count, 0) && !(u->flags & UOP_COPY));
    assert_true(crack((const uint8_t *)"\xde\xc1", 2, 32, &out)); /* faddp */
    assert_int_equal(out.x87_after, 1);
    assert_true(crack((const uint8_t *)"\xd9\xe8", 2, 32, &out)); /* fld1 */
    assert_int_equal(out.x87_before, -1);
}

static void what_has_no_row_says_so(void **state)
{
    (void)state;
    struct uop_insn out;
    assert_null(crack_row_of("frobnicate", false));
    assert_true(crack((const uint8_t *)"\x0f\x01\xf9", 3, 32, &out)); /* rdtscp has one */
    assert_false(out.flags & INSN_UNKNOWN);
    assert_true(crack((const uint8_t *)"\xf4", 1, 32, &out)); /* hlt has none */
    assert_true(out.flags & INSN_UNKNOWN);
    assert_int_equal(out.uops[0].class, UOP_COMPLEX);
    assert_false(crack((const uint8_t *)"\x06", 1, 32, &out));
}

static void small_constants_are_added(void **state)
{
    (void)state;
    static const struct { char code[9]; bool adds; } each[] = {
        {"\x48\x83\xc0\x08", true},          /* add $8, %rax */
        {"\x48\xff\xc0", true},              /* inc %rax */
        {"\x48\x8d\x40\x01", true},          /* lea 1(%rax), %rax */
        {"\x48\x05\x00\x00\x01\x00", false}, /* add $65536, %rax */
        {"\x48\x05\xff\x03\x00\x00", true},  /* add $1023, %rax */
        {"\x48\x05\x00\x04\x00\x00", false}, /* add $1024, %rax */
        {"\x48\x8d\x80\x40\x01\x00\x00", true}, /* lea 320(%rax), %rax */
        {"\x83\xc0\x08", false},             /* add $8, %eax */
        {"\x66\x83\xc0\x08", false},         /* add $8, %ax */
        {"\x48\x01\xd8", false},             /* add %rbx, %rax */
        {"\x48\x83\x00\x08", false},         /* add $8, (%rax) */
        {"\x48\x83\xd0\x08", false},         /* adc $8, %rax */
    };
    for (unsigned i = 0; i < sizeof each / sizeof *each; i++) {
        struct uop_insn out;
        bool adds = false;
        assert_true(crack((const uint8_t *)each[i].code, 8, 32, &out));
        for (unsigned k = 0; k < out.count; k++)
            adds |= (out.uops[k].flags & UOP_ADDS) != 0;
        if (adds != each[i].adds)
            fail_msg("instruction %u", i);
    }
}

/* As a Golden Cove does it: the first two have one form, the others none. */
static void what_is_renamed_in_memory(void **state)
{
    (void)state;
    static const struct { char code[9]; bool renamed; } each[] = {
        {"\x48\x89\x47\x08", true},          /* mov %rax, 8(%rdi) */
        {"\x48\x8b\x47\x08", true},          /* mov 8(%rdi), %rax */
        {"\x48\x83\x47\x08\x01", true},      /* addq $1, 8(%rdi) */
        {"\x48\x01\x47\x08", false},         /* add %rax, 8(%rdi) */
        {"\x48\x8b\x44\xcf\x08", false},     /* mov 8(%rdi,%rcx,8), %rax */
        {"\x0f\xb7\x47\x08", false},         /* movzwl 8(%rdi), %eax */
        {"\x48\x63\x47\x08", false},         /* movslq 8(%rdi), %rax */
        {"\xf2\x0f\x10\x47\x08", false},     /* movsd 8(%rdi), %xmm0 */
    };
    struct uop_insn out, push, pop;
    uint32_t form = 0;
    for (unsigned i = 0; i < sizeof each / sizeof *each; i++) {
        assert_true(crack((const uint8_t *)each[i].code, 8, 32, &out));
        form = i ? form : out.uops[0].form;
        assert_int_equal(out.uops[0].form, each[i].renamed ? form : 0);
    }
    assert_int_not_equal(form, 0);
    assert_true(crack((const uint8_t *)"\x50", 1, 32, &push));
    assert_true(crack((const uint8_t *)"\x58", 1, 32, &pop));
    assert_int_equal(push.uops[0].form, pop.uops[0].form);
    assert_int_not_equal(push.uops[0].form, 0);
}

/* Nothing is left out of what takes most. */
static void the_longest_are_whole(void **state)
{
    (void)state;
    struct uop_insn out;
    unsigned stores = 0;
    /* vpconflictd (%rax), %zmm0 */
    assert_true(crack((const uint8_t *)"\x62\xf2\x7d\x48\xc4\x00", 6, 16, &out));
    assert_int_equal(out.count, 4 + 4 * 8);
    /* vpscatterdd %zmm0, (%rax,%zmm1){%k1} */
    assert_true(crack((const uint8_t *)"\x62\xf2\x7d\x49\xa0\x04\x08", 7, 16, &out));
    for (unsigned i = 0; i < out.count; i++)
        stores += out.uops[i].class == UOP_STORE_DATA;
    assert_int_equal(stores, 16);
}

/* User-mode instructions that are rare, and rows that others stand before. */
static void rare_ones_have_rows(void **state)
{
    (void)state;
    static const char *const names[] = {
        "xabort", "xsusldtrk", "rdpru", "umwait", "tpause", "ptwrite", "incsspq", "wrssq",
        "enqcmd", "clui", "testui", "senduipi", "lar", "lsl", "verw", "sidt", "smsw", "str",
        "llwpcb", "tdpbf16ps", "tileloadd", "tilezero", "ldtilecfg", "sttilecfg", "encodekey128",
        "pmadcswd", "extrq", "insertq"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (!crack_row_of(names[i], false))
            fail_msg("%s has no row", names[i]);
    assert_int_equal(crack_row_of("pcmpestri", false)->class, UOP_CRYPTO);
    assert_int_equal(crack_row_of("pcmpeqb", false)->class, UOP_VEC_ALU);
}

/* Whatever the bytes are: what comes out can be executed by the model. */
static void any_bytes_become_what_the_model_takes(void **state)
{
    (void)state;
    static const uint32_t widths[] = {16, 32, 64};
    uint64_t chance = 1;
    unsigned taken = 0;
    for (unsigned i = 0; i < 60000; i++) {
        uint8_t code[16];
        struct uop_insn out;
        for (unsigned k = 0; k < sizeof code; k++) {
            chance = chance * 6364136223846793005u + 1442695040888963407u;
            code[k] = (uint8_t)(chance >> 56);
        }
        if (i % 4 == 0) /* wide ones are rare otherwise */
            memcpy(code, (i & 1) ? "\x62\xf1\x6d\x48" : "\xc5\xed\xfe\xc1", i & 1 ? 4 : 2);
        if (!crack(code, sizeof code, widths[i % 3], &out))
            continue;
        taken++;
        assert_in_range(out.count, 1, UOPS_MOST);
        for (unsigned k = 0; k < out.count; k++) {
            const struct uop *u = &out.uops[k];
            assert_true(u->class <= UOP_NONE && u->source_count <= UOP_SOURCES &&
                        u->result_count <= UOP_RESULTS && u->operand < INSN_OPERANDS);
            for (unsigned r = 0; r < u->source_count; r++)
                assert_true(u->sources[r] < UOP_REGISTERS);
            for (unsigned r = 0; r < u->result_count; r++)
                assert_true(u->results[r] < UOP_REGISTERS);
            bool memory = u->class == UOP_LOAD || u->class == UOP_STORE_ADDRESS;
            assert_true(!memory || (u->size && u->offset + u->size <= 64));
            assert_true(u->class != UOP_STORE_ADDRESS ||
                        (k + 1 < out.count && u[1].class == UOP_STORE_DATA));
        }
    }
    assert_true(taken > 20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instructions_become_what_they_are),
        cmocka_unit_test(registers_are_followed),
        cmocka_unit_test(what_has_no_row_says_so),
        cmocka_unit_test(small_constants_are_added),
        cmocka_unit_test(what_is_renamed_in_memory),
        cmocka_unit_test(the_longest_are_whole),
        cmocka_unit_test(rare_ones_have_rows),
        cmocka_unit_test(any_bytes_become_what_the_model_takes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
