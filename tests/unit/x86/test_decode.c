/* What is known of single instructions, from the processor manuals rather than from Zydis; the
 * ends of the bytes given; operands; renaming. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "against.h"

enum {
    RAX = 1 << X86_RAX, RCX = 1 << X86_RCX, RDX = 1 << X86_RDX, RBX = 1 << X86_RBX,
    RSP = 1 << X86_RSP, RBP = 1 << X86_RBP, RSI = 1 << X86_RSI, RDI = 1 << X86_RDI,
    R8 = 1 << X86_R8, R11 = 1 << X86_R11, R15 = 1 << X86_R15,
    ARITHMETIC = X86_STATUS_FLAGS, NO_AF = X86_STATUS_FLAGS & ~X86_AF,
    SHIFT = X86_CF | X86_PF | X86_ZF | X86_SF,
};

static const struct fact {
    const char *text, *bytes;
    unsigned length, kind, reads, writes, flags_read, flags_killed, flags_changed;
} facts[] = {
    {"add eax, ecx", "\x01\xc8", 2, X86_ORDINARY, RAX | RCX, RAX, 0, ARITHMETIC, ARITHMETIC},
    {"mov eax, ecx", "\x89\xc8", 2, X86_ORDINARY, RCX, RAX, 0, 0, 0},
    {"mov ax, cx", "\x66\x89\xc8", 3, X86_ORDINARY, RAX | RCX, RAX, 0, 0, 0},
    {"mov ah, cl", "\x88\xcc", 2, X86_ORDINARY, RAX | RCX, RAX, 0, 0, 0},
    {"mov spl, cl", "\x40\x88\xcc", 3, X86_ORDINARY, RSP | RCX, RSP, 0, 0, 0},
    {"mov r15, [rbx+r8*4+16]", "\x4e\x8b\x7c\x83\x10", 5, X86_ORDINARY, RBX | R8, R15, 0, 0, 0},
    {"lea rax, [rip+1]", "\x48\x8d\x05\x01\0\0\0", 7, X86_ORDINARY, 0, RAX, 0, 0, 0},
    {"cmove eax, ecx", "\x0f\x44\xc1", 3, X86_ORDINARY, RAX | RCX, RAX, X86_ZF, 0, 0},
    {"sete al", "\x0f\x94\xc0", 3, X86_ORDINARY, RAX, RAX, X86_ZF, 0, 0},
    {"inc ecx: leaves CF", "\xff\xc1", 2, X86_ORDINARY, RCX, RCX, 0, ARITHMETIC & ~X86_CF,
     ARITHMETIC & ~X86_CF},
    {"adc rax, rcx", "\x48\x11\xc8", 3, X86_ORDINARY, RAX | RCX, RAX, X86_CF, ARITHMETIC,
     ARITHMETIC},
    {"test eax, eax", "\x85\xc0", 2, X86_ORDINARY, RAX, 0, 0, ARITHMETIC, ARITHMETIC},
    {"shl eax, cl: may keep all flags", "\xd3\xe0", 2, X86_ORDINARY, RAX | RCX, RAX, 0, 0,
     ARITHMETIC},
    {"shl eax, 3", "\xc1\xe0\x03", 3, X86_ORDINARY, RAX, RAX, 0, SHIFT, ARITHMETIC},
    {"shl eax, 33: a count of 1", "\xc1\xe0\x21", 3, X86_ORDINARY, RAX, RAX, 0, NO_AF, ARITHMETIC},
    {"shl eax, 32: a count of 0", "\xc1\xe0\x20", 3, X86_ORDINARY, RAX, RAX, 0, 0, 0},
    {"shl rax, 32", "\x48\xc1\xe0\x20", 4, X86_ORDINARY, RAX, RAX, 0, SHIFT, ARITHMETIC},
    {"shl eax, 1", "\xd1\xe0", 2, X86_ORDINARY, RAX, RAX, 0, NO_AF, ARITHMETIC},
    {"rol eax, 1: CF and OF", "\xd1\xc0", 2, X86_ORDINARY, RAX, RAX, 0, X86_CF | X86_OF,
     X86_CF | X86_OF},
    {"rcl eax, 1", "\xd1\xd0", 2, X86_ORDINARY, RAX, RAX, X86_CF, X86_CF | X86_OF, X86_CF | X86_OF},
    {"shlx eax, ecx, edx", "\xc4\xe2\x69\xf7\xc1", 5, X86_ORDINARY, RCX | RDX, RAX, 0, 0, 0},
    {"bsf eax, ecx: of 0 keeps eax", "\x0f\xbc\xc1", 3, X86_ORDINARY, RAX | RCX, RAX, 0, X86_ZF,
     ARITHMETIC},
    {"mul rcx", "\x48\xf7\xe1", 3, X86_ORDINARY, RAX | RCX, RAX | RDX, 0, X86_CF | X86_OF,
     ARITHMETIC},
    {"div ecx", "\xf7\xf1", 2, X86_ORDINARY, RAX | RCX | RDX, RAX | RDX, 0, 0, ARITHMETIC},
    {"cmpxchg16b [rdi]", "\x48\x0f\xc7\x0f", 4, X86_ORDINARY, RAX | RDX | RBX | RCX | RDI,
     RAX | RDX, 0, X86_ZF, X86_ZF},
    {"push rax", "\x50", 1, X86_ORDINARY, RAX | RSP, RSP, 0, 0, 0},
    {"pop r15", "\x41\x5f", 2, X86_ORDINARY, RSP, RSP | R15, 0, 0, 0},
    {"leave", "\xc9", 1, X86_ORDINARY, RSP | RBP, RSP | RBP, 0, 0, 0},
    {"movsb", "\xa4", 1, X86_ORDINARY, RSI | RDI, RSI | RDI, X86_DF, 0, 0},
    {"rep movsb", "\xf3\xa4", 2, X86_STRING_REP, RSI | RDI | RCX, RSI | RDI | RCX, X86_DF, 0, 0},
    {"repne movsb repeats", "\xf2\xa4", 2, X86_STRING_REP, RSI | RDI | RCX, RSI | RDI | RCX, X86_DF,
     0, 0},
    {"rep stosq", "\xf3\x48\xab", 3, X86_STRING_REP, RAX | RDI | RCX, RDI | RCX, X86_DF, 0, 0},
    {"repe cmpsb: no flags if rcx is 0", "\xf3\xa6", 2, X86_STRING_REP, RSI | RDI | RCX,
     RSI | RDI | RCX, X86_DF | X86_ZF, 0, ARITHMETIC},
    {"repne scasb", "\xf2\xae", 2, X86_STRING_REP, RAX | RDI | RCX, RDI | RCX, X86_DF | X86_ZF, 0,
     ARITHMETIC},
    {"cmpsb", "\xa6", 1, X86_ORDINARY, RSI | RDI, RSI | RDI, X86_DF, ARITHMETIC, ARITHMETIC},
    {"repne stosb repeats", "\xf2\xaa", 2, X86_STRING_REP, RAX | RDI | RCX, RDI | RCX, X86_DF, 0,
     0},
    {"cld", "\xfc", 1, X86_ORDINARY, 0, 0, 0, X86_DF, X86_DF},
    {"lahf", "\x9f", 1, X86_ORDINARY, RAX, RAX, ARITHMETIC & ~X86_OF, 0, 0},
    {"sahf", "\x9e", 1, X86_ORDINARY, RAX, 0, 0, ARITHMETIC & ~X86_OF, ARITHMETIC & ~X86_OF},
    {"nop [rax+rax]", "\x0f\x1f\x44\0\0", 5, X86_ORDINARY, 0, 0, 0, 0, 0},
    {"endbr64", "\xf3\x0f\x1e\xfa", 4, X86_ORDINARY, 0, 0, 0, 0, 0},
    {"jne rel8", "\x75\x10", 2, X86_JCC, 0, 0, X86_ZF, 0, 0},
    {"jne rel32", "\x0f\x85\0\0\0\0", 6, X86_JCC, 0, 0, X86_ZF, 0, 0},
    {"jrcxz", "\xe3\x10", 2, X86_LOOP, RCX, 0, 0, 0, 0},
    {"loope", "\xe1\x10", 2, X86_LOOP, RCX, RCX, X86_ZF, 0, 0},
    {"jmp rel8", "\xeb\xfe", 2, X86_JMP, 0, 0, 0, 0, 0},
    {"call rel32", "\xe8\0\0\0\0", 5, X86_CALL, RSP, RSP, 0, 0, 0},
    {"call [rip]", "\xff\x15\0\0\0\0", 6, X86_CALL_INDIRECT, RSP, RSP, 0, 0, 0},
    {"notrack jmp rax", "\x3e\xff\xe0", 3, X86_JMP_INDIRECT, RAX, 0, 0, 0, 0},
    {"data16 rex.w call rel32", "\x66\x48\xe8\0\0\0\0", 7, X86_CALL, RSP, RSP, 0, 0, 0},
    {"data16 jmp: as long as Intel has it", "\x66\xe9\0\0\0\0", 6, X86_NEAR16, 0, 0, 0, 0, 0},
    {"rep ret", "\xf3\xc3", 2, X86_RET, RSP, RSP, 0, 0, 0},
    {"ret 8", "\xc2\x08\0", 3, X86_RET, RSP, RSP, 0, 0, 0},
    {"iretq", "\x48\xcf", 2, X86_FAR, RSP, RSP, X86_FLAG_OTHER,
     ARITHMETIC | X86_DF | X86_FLAG_OTHER, ARITHMETIC | X86_DF | X86_FLAG_OTHER},
    {"ud2", "\x0f\x0b", 2, X86_UD, 0, 0, 0, 0, 0},
    {"hlt", "\xf4", 1, X86_PRIVILEGED, 0, 0, 0, 0, 0},
    {"cpuid", "\x0f\xa2", 2, X86_NONDET, RAX | RCX, RAX | RCX | RDX | RBX, 0, 0, 0},
    {"rdtsc", "\x0f\x31", 2, X86_NONDET, 0, RAX | RDX, 0, 0, 0},
    {"wrgsbase rax", "\xf3\x48\x0f\xae\xd8", 5, X86_FSGSBASE, RAX, 0, 0, 0, 0},
    {"mov gs, eax", "\x8e\xe8", 2, X86_SEGMENT, RAX, 0, 0, 0, 0},
    {"fxsave [rax]", "\x0f\xae\x00", 3, X86_FPU_STATE, RAX, 0, 0, 0, 0},
    {"vpgatherdd ymm1, [rax+ymm2*4], ymm3", "\xc4\xe2\x65\x90\x0c\x90", 6, X86_ORDINARY, RAX, 0, 0,
     0, 0},
    {"pfadd mm0, mm1", "\x0f\x0f\xc1\x9e", 4, X86_ORDINARY, 0, 0, 0, 0, 0},
};

static void test_facts(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        const struct fact *f = &facts[i];
        struct x86_insn got;
        uint8_t code[32] = {0};
        memcpy(code, f->bytes, f->length);
        unsigned length = x86_decode_as(code, sizeof code, &got);
        if (length != f->length || got.length != f->length || got.kind != f->kind ||
            got.reads != f->reads || got.writes != f->writes || got.flags_read != f->flags_read ||
            got.flags_killed != f->flags_killed || got.flags_changed != f->flags_changed)
            fail_msg("%s: length %u kind %u reads %04x writes %04x flags %02x %02x %02x", f->text,
                length, got.kind, got.reads, got.writes, got.flags_read, got.flags_killed,
                got.flags_changed);
    }
}

/* No byte behind the ones given is touched, and too few of them is told from wrong ones. */
static void test_ends(void **unused)
{
    enum { PAGE = 4096 };
    uint8_t *pages =
        mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)unused;
    assert_true(pages != MAP_FAILED);
    assert_int_equal(mprotect(pages + PAGE, PAGE, PROT_NONE), 0);
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        for (unsigned given = 0; given <= facts[i].length; given++) {
            struct x86_insn got;
            memcpy(pages + PAGE - given, facts[i].bytes, given);
            unsigned length = x86_decode_as(pages + PAGE - given, given, &got);
            /* A prefix or two cut off may leave a whole instruction: not of these. */
            assert_int_equal(length, given == facts[i].length ? given : 0);
            assert_int_equal(got.kind, length ? facts[i].kind : X86_TRUNCATED);
        }
    /* Prefixes without end, and prefixes before what is longest. */
    static const char *const ends[] = {"\x66",     "\x62\xf2\x7d\x48", "\xc4\xe2", "\x0f\x38",
                                       "\x8f\xe8", "\x81\x84\x24",     "\x0f\x0f"};
    for (unsigned end = 0; end < 7; end++)
        for (unsigned lead = 0; lead < 32; lead++)
            for (unsigned given = lead; given < 40; given++) {
                uint8_t *code = pages + PAGE - given;
                struct x86_insn got;
                for (unsigned i = 0; i < given; i++)
                    code[i] = i < lead ? 0x2e : (uint8_t)ends[end][(i - lead) % strlen(ends[end])];
                assert_true(x86_decode_as(code, given, &got) <= 15);
            }
    static const uint8_t invalid[][3] = {{0x06, 0, 0}, {0x0f, 0x04, 0}, {0xc5, 0x00, 0x0f}};
    for (unsigned i = 0; i < 3; i++) {
        struct x86_insn got;
        memcpy(pages + PAGE - 3, invalid[i], 3);
        assert_int_equal(x86_decode_as(pages + PAGE - 3, 3, &got), 0);
        assert_int_equal(got.kind, X86_INVALID);
    }
    munmap(pages, 2 * PAGE);
}

static unsigned memory_of(const char *bytes, size_t size, struct x86_memory out[X86_MEMORY_MAX])
{
    struct x86_insn insn;
    uint8_t code[32] = {0};
    memcpy(code, bytes, size);
    assert_int_equal(x86_decode_as(code, sizeof code, &insn), size);
    return x86_memory_as(&insn, code, out);
}

#define MEMORY(bytes, out) memory_of(bytes, sizeof bytes - 1, out)

static void test_memory(void **unused)
{
    struct x86_memory m[X86_MEMORY_MAX];
    (void)unused;
    assert_int_equal(MEMORY("\x48\x8d\x44\x24\x08", m), 0); /* lea */
    assert_int_equal(MEMORY("\x65\x42\x01\x44\xa3\xf0", m), 1); /* add gs:[rbx+r12*4-16], eax */
    assert_int_equal(m[0].segment, X86_GS);
    assert_int_equal(m[0].base, X86_RBX);
    assert_int_equal(m[0].index, X86_R12);
    assert_int_equal(m[0].scale, 4);
    assert_int_equal(m[0].disp, -16);
    assert_int_equal(m[0].size, 4);
    assert_int_equal(m[0].access, X86_MEM_READ | X86_MEM_WRITE);
    assert_int_equal(MEMORY("\x50", m), 1); /* push rax */
    assert_int_equal(m[0].base, X86_RSP);
    assert_int_equal(m[0].disp, -8);
    assert_int_equal(m[0].access, X86_MEM_WRITE);
    assert_int_equal(MEMORY("\x8f\x44\x24\x08", m), 2); /* pop [rsp+8] */
    assert_int_equal(m[0].disp, 16);
    assert_int_equal(m[0].access, X86_MEM_WRITE);
    assert_int_equal(m[1].disp, 0);
    assert_int_equal(m[1].access, X86_MEM_READ);
    assert_int_equal(MEMORY("\xff\x10", m), 2); /* call [rax] */
    assert_int_equal(m[0].size, 8);
    assert_int_equal(m[1].disp, -8);
    assert_int_equal(MEMORY("\x64\xa5", m), 2); /* movsd with fs: the source only */
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(m[i].segment, m[i].base == X86_RSI ? X86_FS : 0);
        assert_int_equal(m[i].access, m[i].base == X86_RSI ? X86_MEM_READ : X86_MEM_WRITE);
        assert_int_equal(m[i].size, 4);
    }
    assert_int_equal(MEMORY("\xa0\x88\x77\x66\x55\x44\x33\x22\x11", m), 1); /* mov al, [moffs] */
    assert_true(m[0].base == X86_NONE && m[0].disp == 0x1122334455667788);
    assert_int_equal(MEMORY("\xd7", m), 1); /* xlat */
    assert_true(m[0].base == X86_RBX && m[0].add8 == X86_RAX && m[0].size == 1);
    assert_int_equal(MEMORY("\x62\xf1\x7c\x49\x11\x40\x01", m), 1); /* vmovups [rax+64]{k1}, zmm0 */
    assert_true(m[0].disp == 64 && m[0].size == 64);
    assert_int_equal(m[0].access, X86_MEM_WRITE | X86_MEM_CONDITIONAL);
}

static void test_definitions(void **unused)
{
    static const struct { const char *bytes; unsigned size,
                         count; struct x86_definition of[4]; } cases[] = {
        {"\x88\xcc", 2, 1, {{X86_RAX, 1, true, false}}},              /* mov ah, cl */
        {"\x40\x88\xcc", 3, 1, {{X86_RSP, 1, false, false}}},         /* mov spl, cl */
        {"\x66\x89\xc8", 3, 1, {{X86_RAX, 2, false, false}}},         /* mov ax, cx */
        {"\x0f\x44\xc1", 3, 1, {{X86_RAX, 4, false, true}}},          /* cmove eax, ecx */
        {"\xac", 1, 2, {{X86_RAX, 1, false, false}, {X86_RSI, 8, false, false}}}, /* lodsb */
        {"\x9f", 1, 1, {{X86_RAX, 1, true, false}}},                  /* lahf */
        {"\xf6\xe1", 2, 1, {{X86_RAX, 2, false, false}}},             /* mul cl */
        {"\x41\x5f", 2, 2, {{X86_RSP, 8, false, false}, {X86_R15, 8, false, false}}}, /* pop r15 */
        {"\x48\x87\xd1", 3, 2, {{X86_RCX, 8, false, false}, {X86_RDX, 8, false, false}}},
    };
    (void)unused;
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct x86_insn insn;
        struct x86_definition got[X86_DEFINITIONS_MAX];
        uint8_t code[32] = {0};
        memcpy(code, cases[i].bytes, cases[i].size);
        assert_int_equal(x86_decode_as(code, sizeof code, &insn), cases[i].size);
        assert_int_equal(x86_definitions_as(&insn, got), cases[i].count);
        for (unsigned k = 0; k < cases[i].count; k++) {
            assert_int_equal(got[k].reg, cases[i].of[k].reg);
            assert_int_equal(got[k].width, cases[i].of[k].width);
            assert_int_equal(got[k].high, cases[i].of[k].high);
            assert_int_equal(got[k].conditional, cases[i].of[k].conditional);
        }
    }
}

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static unsigned renamed(unsigned mask, unsigned from, unsigned to)
{
    return mask >> from & 1 ? (mask & ~(1u << from)) | 1u << to : mask;
}

/* Random instructions: a register that only fields name, renamed everywhere to one that is not
 * used, gives the same form with the masks renamed; and Zydis reads the changed bytes the same
 * way. */
static void test_rename(void **unused)
{
    struct against a;
    uint64_t state = 0x853c49e6748fea9b;
    unsigned changed = 0, refused = 0;
    (void)unused;
    against_init(&a);
    for (unsigned i = 0; i < 2000000; i++) {
        uint8_t code[32];
        struct x86_insn before, after;
        for (unsigned k = 0; k < 32; k += 8) {
            uint64_t r = next(&state);
            memcpy(code + k, &r, 8);
        }
        if (i % 2)
            code[0] = 0x40 | (code[0] & 15);
        if (i % 8 == 2)
            code[0] = i % 16 == 2 ? 0xc4 : 0x62;
        unsigned length = x86_decode_as(code, 32, &before);
        unsigned from = code[31] & 15, to = code[30] & 15;
        unsigned used = before.reads | before.writes;
        if (!length || !(used >> from & 1) || used >> to & 1 || before.implicit >> from & 1 ||
                (before.traits & X86_HIGH_BYTE))
            continue;
        if (!x86_rename_as(&before, code, X86_FIELD_ALL, from, to)) {
            assert_true(to >= 8 || (to & 7) == X86_RSP || to == X86_RBP || from < 8);
            refused++;
            continue;
        }
        assert_int_equal(x86_decode_as(code, 32, &after), length);
        if (after.traits & X86_HIGH_BYTE) /* al to what is now ah: the caller adds no REX */
            continue;
        assert_int_equal(after.form, before.form);
        assert_int_equal(after.reads, renamed(before.reads, from, to));
        assert_int_equal(after.writes, renamed(before.writes, from, to));
        against_zydis(&a, code, 32);
        changed++;
    }
    print_message("%u renamed, %u refused\n", changed, refused);
    assert_int_equal(a.mismatches, 0);
    assert_true(changed > 20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_facts),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_definitions),
        cmocka_unit_test(test_rename),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
