/* What the decoder says of general registers and flags, against this processor: random instructions
 * on registers run twice, the second time with everything changed that they do not read.
 *
 *     what is not written keeps its value; what is written is the same both times;
 *     flags that are killed are the same both times, and flags that do not change keep their value
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "x86/emit.h"
#include "x86/operands.h"

/* All that an instruction on registers works with; r[X86_RSP] is not used. */
struct hardware_state {
    uint64_t r[16];
    uint64_t flags;
};

/* The assembly below works on these: state in and out, the code, and the host's stack pointer. */
struct hardware_state hardware_state;
void *hardware_code;
uint64_t hardware_stack;
void hardware_run(void);
void hardware_back(void);

__asm__(".text\n"
    "hardware_run:\n"
    "    push %rbx\n    push %rbp\n    push %r12\n    push %r13\n    push %r14\n    push %r15\n"
    "    mov %rsp, hardware_stack(%rip)\n"
    "    push 128 + hardware_state(%rip)\n    popfq\n"
    "    mov 0 + hardware_state(%rip), %rax\n    mov 8 + hardware_state(%rip), %rcx\n"
    "    mov 16 + hardware_state(%rip), %rdx\n    mov 24 + hardware_state(%rip), %rbx\n"
    "    mov 40 + hardware_state(%rip), %rbp\n    mov 48 + hardware_state(%rip), %rsi\n"
    "    mov 56 + hardware_state(%rip), %rdi\n    mov 64 + hardware_state(%rip), %r8\n"
    "    mov 72 + hardware_state(%rip), %r9\n    mov 80 + hardware_state(%rip), %r10\n"
    "    mov 88 + hardware_state(%rip), %r11\n    mov 96 + hardware_state(%rip), %r12\n"
    "    mov 104 + hardware_state(%rip), %r13\n    mov 112 + hardware_state(%rip), %r14\n"
    "    mov 120 + hardware_state(%rip), %r15\n"
    "    jmp *hardware_code(%rip)\n"
    "hardware_back:\n"
    "    mov %rax, 0 + hardware_state(%rip)\n    mov %rcx, 8 + hardware_state(%rip)\n"
    "    mov %rdx, 16 + hardware_state(%rip)\n    mov %rbx, 24 + hardware_state(%rip)\n"
    "    mov %rbp, 40 + hardware_state(%rip)\n    mov %rsi, 48 + hardware_state(%rip)\n"
    "    mov %rdi, 56 + hardware_state(%rip)\n    mov %r8, 64 + hardware_state(%rip)\n"
    "    mov %r9, 72 + hardware_state(%rip)\n    mov %r10, 80 + hardware_state(%rip)\n"
    "    mov %r11, 88 + hardware_state(%rip)\n    mov %r12, 96 + hardware_state(%rip)\n"
    "    mov %r13, 104 + hardware_state(%rip)\n    mov %r14, 112 + hardware_state(%rip)\n"
    "    mov %r15, 120 + hardware_state(%rip)\n"
    "    mov hardware_stack(%rip), %rsp\n"
    "    pushfq\n    pop 128 + hardware_state(%rip)\n    cld\n"
    "    pop %r15\n    pop %r14\n    pop %r13\n    pop %r12\n    pop %rbp\n    pop %rbx\n"
    "    ret\n");

static sigjmp_buf fault;
static uint64_t seed = 0xd1342543de82ef95;

static void on_fault(int signal)
{
    siglongjmp(fault, signal);
}

static uint64_t next(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

/* Values at which carries, signs and counts of 0 happen, too. */
static uint64_t value(void)
{
    uint64_t r = next();
    switch (r & 7) {
    case 0: return 0;
    case 1: return r >> 60;
    case 2: return ~(r >> 58);
    case 3: return r >> 32;
    case 4: return UINT64_C(1) << (r >> 58);
    default: return next();
    }
}

/* EFLAGS of flags of insn.h, and back. */
static const struct { unsigned flag, eflag; } flag_bits[] = {{X86_CF, 1}, {X86_PF, 4}, {X86_AF, 16},
    {X86_ZF, 64}, {X86_SF, 128}, {X86_DF, 1024}, {X86_OF, 2048}};

static uint64_t eflags(unsigned flags)
{
    uint64_t out = 0;
    for (unsigned i = 0; i < sizeof flag_bits / sizeof *flag_bits; i++)
        out |= flags & flag_bits[i].flag ? flag_bits[i].eflag : 0;
    return out;
}

/* Only what works on general registers and flags, and not on the stack. */
static bool usable(const struct x86_insn *insn)
{
    bool class = insn->class == X86_CLASS_MOVE || insn->class == X86_CLASS_INTEGER ||
        insn->class == X86_CLASS_MULDIV || insn->class == X86_CLASS_NOP;
    return insn->kind == X86_ORDINARY && class && !((insn->reads | insn->writes) >> X86_RSP & 1) &&
        !(insn->access & (X86_MEM_READ | X86_MEM_WRITE | X86_MEM_STACK)) &&
        !(insn->traits & X86_RIP_RELATIVE) && !(insn->flags_changed & X86_FLAG_OTHER);
}

/* False: the processor refused it. */
static bool run(struct hardware_state *state)
{
    hardware_state = *state;
    if (sigsetjmp(fault, 1))
        return false;
    hardware_run();
    *state = hardware_state;
    return true;
}

static void place(const uint8_t *code, unsigned length)
{
    struct emit e = {.at = hardware_code, .end = (uint8_t *)hardware_code + 64};
    emit_copy(&e, code, length);
    emit_jmp_m(&e, emit_rip(emit_here(&e) + 6));
    emit_literal(&e, (uint64_t)(uintptr_t)hardware_back);
    assert_false(emit_failed(&e));
}

static void complain(const uint8_t *code, unsigned length, const char *what, unsigned which)
{
    fprintf(stderr, "%s, %s %u:", x86_mnemonic(code, length), what, which);
    for (unsigned i = 0; i < length; i++)
        fprintf(stderr, " %02x", code[i]);
    fputc('\n', stderr);
}

/* Runs the instruction from two states. Returns how many things are wrong, -1: refused. */
static int check(const struct x86_insn *insn, const uint8_t *code)
{
    struct hardware_state before[2], after[2];
    uint64_t read = eflags(insn->flags_read), all = eflags(0x7f);
    int wrong = 0;
    for (unsigned i = 0; i < 16; i++) {
        before[0].r[i] = value();
        before[1].r[i] = insn->reads >> i & 1 ? before[0].r[i] : value();
    }
    before[0].flags = 0x202 | (next() & all);
    before[1].flags = 0x202 | (before[0].flags & read) | (next() & all & ~read);
    for (unsigned k = 0; k < 2; k++) {
        after[k] = before[k];
        if (!run(&after[k]))
            return -1;
        for (unsigned i = 0; i < 16; i++)
            if (!(insn->writes >> i & 1) && i != X86_RSP && after[k].r[i] != before[k].r[i])
                complain(code, insn->length, "writes register", i), wrong++;
        uint64_t kept = all & ~eflags(insn->flags_changed);
        if ((after[k].flags ^ before[k].flags) & kept)
            complain(code, insn->length, "changes flags",
                (unsigned)((after[k].flags ^ before[k].flags) & kept)), wrong++;
    }
    for (unsigned i = 0; i < 16; i++)
        if ((insn->writes >> i & 1) && after[0].r[i] != after[1].r[i])
            complain(code, insn->length, "reads something else for register", i), wrong++;
    uint64_t killed = eflags(insn->flags_killed);
    if ((after[0].flags ^ after[1].flags) & killed)
        complain(code, insn->length, "does not kill flags",
            (unsigned)((after[0].flags ^ after[1].flags) & killed)), wrong++;
    return wrong;
}

/* Random bytes, mostly where instructions on general registers are. */
static unsigned make(uint8_t code[32], struct x86_insn *insn)
{
    unsigned at = 0, shape = (unsigned)(next() & 15);
    for (unsigned k = 0; k < 32; k += 8) {
        uint64_t r = next();
        memcpy(code + k, &r, 8);
    }
    if (shape == 1) { /* VEX of maps 0F38 and 0F3A */
        code[0] = 0xc4;
        code[1] = (uint8_t)((code[1] & 0xe0) | 2 | (code[30] & 1));
        code[2] &= 0xfb;
        code[3] = (uint8_t)(0xf0 | (code[3] & 7));
        code[4] |= 0xc0;
        return x86_decode_as(code, 32, insn);
    }
    if (shape & 2)
        code[at++] = shape & 4 ? 0x66 : 0xf3;
    if (shape & 8)
        code[at++] = 0x40 | (code[31] & 15);
    if (next() & 1)
        code[at++] = 0x0f;
    code[at + 1] |= next() % 4 ? 0xc0 : 0;
    return x86_decode_as(code, 32, insn);
}

static void test_registers_and_flags(void **unused)
{
    static const int signals[] = {SIGILL, SIGFPE, SIGSEGV, SIGBUS, SIGTRAP};
    unsigned long checked = 0, refused = 0, wrong = 0;
    (void)unused;
    for (unsigned i = 0; i < 5; i++)
        signal(signals[i], on_fault);
    hardware_code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(hardware_code != MAP_FAILED);
    for (unsigned i = 0; i < 400000 && wrong < 20; i++) {
        uint8_t code[32];
        struct x86_insn insn;
        unsigned length = make(code, &insn);
        if (!length || !usable(&insn))
            continue;
        place(code, length);
        for (unsigned k = 0; k < 4; k++) {
            int result = check(&insn, code);
            checked += result >= 0;
            refused += result < 0;
            wrong += result > 0 ? (unsigned)result : 0;
        }
    }
    for (unsigned i = 0; i < 5; i++)
        signal(signals[i], SIG_DFL);
    munmap(hardware_code, 4096);
    print_message("%lu runs compared, %lu refused by the processor\n", checked, refused);
    assert_int_equal(wrong, 0);
    assert_true(checked > 50000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_registers_and_flags),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
