/* Prints what every form of the emitter writes, beside what it means:
 *
 *     48 89 d8<TAB>mov rax, rbx
 *
 * check_emit.py has GNU as assemble the right side, and compares. Code runs at 0x10000000. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "x86/emit.h"

enum { RUNS_AT = 0x10000000 };

static uint8_t memory[256];
static struct emit e;

static const char *const names[4][16] = {
    {"al", "cl", "dl", "bl", "spl", "bpl", "sil", "dil", "r8b", "r9b", "r10b", "r11b", "r12b",
     "r13b", "r14b", "r15b"},
    {"ax", "cx", "dx", "bx", "sp", "bp", "si", "di", "r8w", "r9w", "r10w", "r11w", "r12w", "r13w",
     "r14w", "r15w"},
    {"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "r8d", "r9d", "r10d", "r11d", "r12d",
     "r13d", "r14d", "r15d"},
    {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13",
     "r14", "r15"},
};
static const unsigned widths[] = {1, 2, 4, 8};
static const char *const sizes[] = {"byte", "word", "dword", "qword"};
static const char *const alu[] = {"add", "or", "adc", "sbb", "and", "sub", "xor", "cmp"};
static const char *const conditions[] = {"o", "no", "b", "ae", "e", "ne", "be", "a", "s", "ns", "p",
    "np", "l", "ge", "le", "g"};

static void start(void)
{
    e = (struct emit){.at = memory, .end = memory + sizeof memory,
        .bias = RUNS_AT - (int64_t)(uintptr_t)memory};
}

/* Prints what was written since start(), and starts again. */
__attribute__((format(printf, 1, 2)))
static void show(const char *format, ...)
{
    va_list arguments;
    for (uint8_t *p = memory; p < e.at; p++)
        printf("%02x ", *p);
    putchar('\t');
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    puts(emit_failed(&e) ? " FAILED" : "");
    start();
}

static const char *describe(struct emit_mem m, unsigned width)
{
    static char text[8][96];
    static unsigned turn;
    char *out = text[turn++ % 8], base[16] = "", index[24] = "";
    const char *segment = m.segment == EMIT_GS ? "gs:" : m.segment == EMIT_FS ? "fs:" : "";
    if (m.base == X86_RIP) {
        snprintf(out, 96, "%s ptr [rip + base + 0x%" PRIx64 "]", sizes[width], m.target - RUNS_AT);
        return out;
    }
    if (m.base != X86_NONE)
        snprintf(base, sizeof base, "%s + ", names[3][m.base]);
    if (m.index != X86_NONE)
        snprintf(index, sizeof index, "%s*%u + ", names[3][m.index], m.scale);
    if (m.base == X86_NONE && m.index == X86_NONE && !m.segment)
        segment = "ds:";
    snprintf(out, 96, "%s ptr %s[%s%s%" PRId32 "]", sizes[width], segment, base, index, m.disp);
    return out;
}

/* All shapes of a memory operand; calls `form` with each. */
static void each_memory(void (*form)(struct emit_mem m))
{
    static const int32_t disps[] = {0, 1, -128, 127, 128, -129, 0x12345678, -0x12345678};
    for (unsigned base = 0; base < 16; base++)
        for (unsigned d = 0; d < 8; d++) {
            form(emit_at(base, disps[d]));
            for (unsigned index = base & 1; index < 16; index += 3)
                if (index != X86_RSP)
                    form(emit_indexed(base, index, 1u << (d & 3), disps[d]));
        }
    for (unsigned d = 0; d < 8; d++) {
        form(emit_absolute(disps[d]));
        form(emit_gs(disps[d]));
        form(emit_rip((uint64_t)(RUNS_AT + disps[d])));
        for (unsigned index = 0; index < 16; index++)
            if (index != X86_RSP)
                form(emit_table(disps[d], index, 1u << (d & 3)));
    }
}

static void load(struct emit_mem m)
{
    static unsigned reg;
    reg = (reg + 5) % 16;
    emit_mov_rm(&e, 8, reg, m);
    show("mov %s, %s", names[3][reg], describe(m, 3));
}

static void store_immediate(struct emit_mem m)
{
    static unsigned turn;
    unsigned w = turn++ % 4;
    emit_mov_mi(&e, widths[w], m, 0x34);
    show("mov %s, 0x34", describe(m, w));
}

static const struct emit_mem some[] = {
    {.base = X86_RBX, .index = X86_NONE, .scale = 1, .disp = 8},
    {.base = X86_R12, .index = X86_NONE, .scale = 1},
    {.base = X86_R13, .index = X86_R9, .scale = 8},
    {.base = X86_NONE, .index = X86_NONE, .scale = 1, .disp = 0x120, .segment = EMIT_GS},
    {.base = X86_RIP, .index = X86_NONE, .scale = 1, .target = RUNS_AT + 0x1000},
    {.base = X86_NONE, .index = X86_RAX, .scale = 8, .disp = 0x200000},
};
enum { SOME = sizeof some / sizeof *some };

static void moves(unsigned w, unsigned a, unsigned b)
{
    unsigned width = widths[w];
    const char *ra = names[w][a], *rb = names[w][b];
    emit_mov_rr(&e, width, a, b), show("mov %s, %s", ra, rb);
    emit_test_rr(&e, width, a, b), show("test %s, %s", ra, rb);
    if (a != b) /* xchg rax, rax is a nop to as */
        emit_xchg_rr(&e, width, a, b), show("xchg %s, %s", ra, rb);
    if (w < 2)
        emit_movzx_rr(&e, width, a, b), show("movzx %s, %s", names[2][a], rb);
    static const char *const high[] = {"ah", "ch", "dh", "bh"};
    if (w == 0 && a < 8 && b < 4)
        emit_movzx_rh(&e, a, b), show("movzx %s, %s", names[2][a], high[b]);
    if (w == 2)
        emit_movsxd_rr(&e, a, b), show("movsxd %s, %s", names[3][a], rb);
    for (unsigned op = 0; op < 8; op++)
        emit_alu_rr(&e, op, width, a, b), show("%s %s, %s", alu[op], ra, rb);
    if (w < 2)
        return;
    unsigned c = (a * 7 + b) % 16;
    emit_shiftx_rrr(&e, EMIT_SHL, width, a, b, c), show("shlx %s, %s, %s", ra, rb, names[w][c]);
    emit_shiftx_rrr(&e, EMIT_SHR, width, a, b, c), show("shrx %s, %s, %s", ra, rb, names[w][c]);
    emit_shiftx_rrr(&e, EMIT_SAR, width, a, b, c), show("sarx %s, %s, %s", ra, rb, names[w][c]);
    emit_rorx_rri(&e, width, a, b, 13), show("rorx %s, %s, 13", ra, rb);
}

static void with_memory(unsigned w, unsigned reg, struct emit_mem m)
{
    unsigned width = widths[w];
    const char *r = names[w][reg], *text = describe(m, w);
    emit_mov_rm(&e, width, reg, m), show("mov %s, %s", r, text);
    emit_mov_mr(&e, width, m, reg), show("mov %s, %s", text, r);
    emit_xchg_mr(&e, width, m, reg), show("xchg %s, %s", text, r);
    for (unsigned op = 0; op < 8; op++) {
        emit_alu_rm(&e, op, width, reg, m), show("%s %s, %s", alu[op], r, text);
        emit_alu_mr(&e, op, width, m, reg), show("%s %s, %s", alu[op], text, r);
    }
    if (w < 2)
        emit_movzx_rm(&e, width, reg, m), show("movzx %s, %s", names[2][reg], text);
    else
        emit_lea(&e, width, reg, m), show("lea %s, %s", r, describe((struct emit_mem){
            .base = m.base, .index = m.index, .scale = m.scale, .disp = m.disp, .target = m.target,
            .segment = m.segment}, w));
    if (w == 1)
        emit_lea(&e, 2, reg, m), show("lea %s, %s", r, text);
    if (w >= 2)
        emit_mov_mx(&e, width, m, reg), show("mov%c %s, xmm%u", w == 2 ? 'd' : 'q', text, reg);
    if (w == 3)
        emit_movh_mx(&e, m, reg), show("movhps %s, xmm%u", text, reg);
}

static void immediates(unsigned w, unsigned reg)
{
    static const int32_t values[] = {0, 1, 127, -128, 128, -129, 0x1234, 0x7fffffff, -0x7fffffff};
    static const struct { enum emit_shift op; const char *name;
    } shifts[] = {{EMIT_ROL, "rol"}, {EMIT_ROR, "ror"}, {EMIT_RCL, "rcl"}, {EMIT_RCR, "rcr"},
                  {EMIT_SHL, "shl"}, {EMIT_SHR, "shr"}, {EMIT_SAR, "sar"}};
    unsigned width = widths[w];
    for (unsigned v = 0; v < (w == 0 ? 4 : w == 1 ? 7 : 9); v++)
        for (unsigned op = 0; op < 8; op++) {
            emit_alu_ri(&e, op, width, reg, values[v]);
            show("%s %s, %d", alu[op], names[w][reg], values[v]);
            emit_alu_mi(&e, op, width, some[reg % SOME], values[v]);
            show("%s %s, %d", alu[op], describe(some[reg % SOME], w), values[v]);
        }
    for (unsigned s = 0; s < 7; s++) {
        emit_shift_ri(&e, shifts[s].op, width, reg, 5);
        show("%s %s, 5", shifts[s].name, names[w][reg]);
    }
}

static void one_register(unsigned reg)
{
    static const char *const bases[] = {"rdfsbase", "rdgsbase", "wrfsbase", "wrgsbase"};
    const char *r = names[3][reg];
    emit_push_r(&e, reg), show("push %s", r);
    emit_pop_r(&e, reg), show("pop %s", r);
    emit_jmp_r(&e, reg), show("jmp %s", r);
    emit_call_r(&e, reg), show("call %s", r);
    emit_mov_ri32(&e, reg, 0xfedcba98), show("mov %s, 0xfedcba98", names[2][reg]);
    emit_mov_ri64(&e, reg, 0x123456789), show("movabs %s, 0x123456789", r);
    emit_mov_ri(&e, reg, 7), show("mov %s, 7", names[2][reg]);
    emit_mov_ri(&e, reg, (uint64_t)-7), show("mov %s, -7", r);
    emit_mov_ri(&e, reg, UINT64_C(0x8000000000000000)), show("movabs %s, 0x8000000000000000", r);
    for (unsigned w = 0; w < 4; w++)
        emit_not_r(&e, widths[w], reg), show("not %s", names[w][reg]);
    emit_bswap_r(&e, 8, reg), show("bswap %s", r);
    emit_bswap_r(&e, 4, reg), show("bswap %s", names[2][reg]);
    for (unsigned i = 0; i < 16; i++)
        emit_set_r(&e, i, reg), show("set%s %s", conditions[i], names[0][reg]);
    for (unsigned i = 0; i < 4; i++)
        emit_base_r(&e, i, reg), show("%s %s", bases[i], r);
}

static void one_memory(struct emit_mem m)
{
    emit_push_m(&e, m), show("push %s", describe(m, 3));
    emit_pop_m(&e, m), show("pop %s", describe(m, 3));
    emit_jmp_m(&e, m), show("jmp %s", describe(m, 3));
    emit_call_m(&e, m), show("call %s", describe(m, 3));
    emit_set_m(&e, EMIT_O, m), show("seto %s", describe(m, 0));
    for (unsigned w = 0; w < 4; w++) {
        emit_inc_m(&e, widths[w], m), show("inc %s", describe(m, w));
        emit_dec_m(&e, widths[w], m), show("dec %s", describe(m, w));
    }
}

static void control(void)
{
    static const struct { unsigned op; const char *name; } ops[] = {{EMIT_PUSHFQ, "pushfq"},
        {EMIT_POPFQ, "popfq"}, {EMIT_SAHF, "sahf"}, {EMIT_LAHF, "lahf"}, {EMIT_RET, "ret"},
        {EMIT_LEAVE, "leave"}, {EMIT_INT3, "int3"}, {EMIT_CLD, "cld"}, {EMIT_STD, "std"}};
    for (unsigned i = 0; i < 9; i++)
        emit_op(&e, ops[i].op), show("%s", ops[i].name);
    emit_ud2(&e), show("ud2");
    emit_rdtsc(&e), show("rdtsc");
    emit_lfence(&e), show("lfence");
    emit_push_i32(&e, 0x12345678), show("push 0x12345678");
    emit_jmp(&e, RUNS_AT + 0x1000), show("jmp base + 0x1000");
    emit_jmp(&e, RUNS_AT - 0x1000), show("jmp base - 0x1000");
    emit_call(&e, RUNS_AT + 0x1000), show("call base + 0x1000");
    for (unsigned i = 0; i < 16; i++) {
        emit_jcc(&e, i, RUNS_AT + 0x2000), show("j%s base + 0x2000", conditions[i]);
        emit_jump8_to(&e, EMIT_JCC8 | i, RUNS_AT + 0x20), show("j%s base + 0x20", conditions[i]);
    }
    emit_jump8_to(&e, EMIT_JMP8, RUNS_AT - 0x20), show("jmp base - 0x20");
    uint8_t *place = emit_jump8(&e, EMIT_JRCXZ8);
    emit_bind8(&e, place), show("jrcxz base + 2");
    emit_alu_ri(&e, EMIT_ADD, 1, X86_RAX, 127), show("add al, 127");
    for (unsigned n = 1; n <= 9; n++)
        emit_nop(&e, n), show("NOP %u", n);
    emit_nop(&e, 23), show("NOP 23");
}

int main(void)
{
    start();
    each_memory(load);
    each_memory(store_immediate);
    for (unsigned w = 0; w < 4; w++)
        for (unsigned a = 0; a < 16; a++) {
            for (unsigned b = 0; b < 16; b++)
                moves(w, a, b);
            for (unsigned i = 0; i < SOME; i++)
                with_memory(w, a, some[i]);
            immediates(w, a);
        }
    for (unsigned reg = 0; reg < 16; reg++)
        one_register(reg);
    for (unsigned i = 0; i < SOME; i++)
        one_memory(some[i]);
    control();
    return 0;
}
