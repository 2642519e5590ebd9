/* Encodings, one axis after the other:
 *
 *      legacy  map 4 · prefix (none 66 F3 F2) 4 · REX.W 2 · opcode 256
 *      VEX     map 3 · pp 4 · W 2 · L 2 · opcode 256
 *      EVEX    map 5 · pp 4 · W 2 · L 3 · opcode 256
 *      times   operand (register, [base + disp], sib, [rip + disp]) 4 · modrm.reg 8 */
#include <string.h>

#include "piece.h"
#include "x86/operands.h"

enum {
    LEGACY = 4 * 4 * 2 * 256, VEX = 3 * 4 * 2 * 2 * 256, EVEX = 5 * 4 * 2 * 3 * 256,
    OPERANDS = 4 * 8,
};
enum { OPERAND_REGISTER, OPERAND_BASE, OPERAND_SIB, OPERAND_RIP };

uint64_t forms_count(void)
{
    return (uint64_t)(LEGACY + VEX + EVEX) * OPERANDS;
}

uint64_t form_any(struct dice *d)
{
    uint64_t r = roll(d);
    return r >> 62 ? (r >> 2) % (LEGACY * OPERANDS) : (r >> 2) % forms_count();
}

/* Instructions that are never run, each for a reason. */
static const struct { const char *mnemonic, *why; } excused[] = {
    { "vmmcall", "a call of the hypervisor" },
    { "vmcall", "a call of the hypervisor" },
    { "vmgexit", "a call of the hypervisor" },
    { "tdcall", "a call of the hypervisor" },
    { "enclu", "enters an enclave" },
    { "wrpkru", "takes the arena away" },
    { "monitorx", "waits" },
    { "mwaitx", "waits" },
    { "umonitor", "waits" },
    { "umwait", "waits" },
    { "tpause", "waits" },
    { "xbegin", "aborts at any time" },
    { "xtest", "aborts at any time" },
    { "loadiwkey", "changes a key of the processor" },
};

const char *excuse(const uint8_t *code, const struct x86_insn *insn)
{
    if (insn->kind == X86_SYSCALL || insn->kind == X86_SYSENTER)
        return "a system call";
    if (insn->kind == X86_INT1)
        return "hypervisors show its trap at one place or the other";
    if (insn->kind == X86_INT && code[insn->at_imm] == 0x80)
        return "a system call";
    const char *mnemonic = x86_mnemonic(code, insn->length);
    for (unsigned i = 0; mnemonic && i < sizeof excused / sizeof *excused; i++)
        if (!strcmp(mnemonic, excused[i].mnemonic))
            return excused[i].why;
    return NULL;
}

/* The pairs of bytes that every encoding of what must not be run contains, and of what is different
 * each time. */
bool bytes_are_unsafe(const uint8_t *code, unsigned size)
{
    static const uint8_t behind_0f[] = { 0x01, 0x05, 0x31, 0x33, 0x34, 0x37, 0xa2, 0xae, 0xc7 };
    if (size && memchr(code, 0xf1, size))
        return true;
    for (unsigned i = 0; i + 1 < size; i++) {
        if (code[i] == 0xcd && code[i + 1] == 0x80)
            return true;
        if (code[i] == 0xc7 && code[i + 1] == 0xf8)
            return true;
        if (code[i] == 0x0f && memchr(behind_0f, code[i + 1], sizeof behind_0f))
            return true;
    }
    return false;
}

struct draft {
    uint8_t bytes[48];
    unsigned length;
};

static void put(struct draft *w, unsigned byte)
{
    w->bytes[w->length++] = (uint8_t)byte;
}

/* Prefixes that change little, in any order, before the one that selects the form. */
static void odd_prefixes(struct draft *w, struct dice *d, unsigned mandatory)
{
    static const uint8_t odd[] = { 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x67, 0xf0, 0x64 };
    unsigned before = chance(d, 8) ? 1 + (unsigned)(roll(d) % 3) : 0;
    unsigned after = chance(d, 16) ? 1 : 0;
    while (before--)
        put(w, odd[roll(d) & 7]);
    if (mandatory)
        put(w, mandatory);
    while (after--)
        put(w, odd[roll(d) & 7]);
}

static void legacy_begin(struct draft *w, struct dice *d, uint64_t form)
{
    static const uint8_t prefixes[] = { 0, 0x66, 0xf3, 0xf2 };
    unsigned opcode = form & 255, w_bit = form >> 8 & 1, map = form >> 11 & 3;
    odd_prefixes(w, d, prefixes[form >> 9 & 3]);
    if (w_bit || roll(d) & 1)
        put(w, 0x40 | w_bit << 3 | (roll(d) & 7));
    if (map)
        put(w, 0x0f);
    if (map > 1)
        put(w, map == 2 ? 0x38 : 0x3a);
    put(w, opcode);
}

static void vex_begin(struct draft *w, struct dice *d, uint64_t form)
{
    unsigned opcode = form & 255, l = form >> 8 & 1, w_bit = form >> 9 & 1, pp = form >> 10 & 3;
    unsigned map = 1 + (unsigned)(form >> 12);
    unsigned vvvv = chance(d, 3) ? 15 : roll(d) & 15;
    if (chance(d, 16))
        put(w, chance(d, 2) ? 0x64 : 0x67);
    if (map == 1 && !w_bit && roll(d) & 1) {
        put(w, 0xc5);
        put(w, (roll(d) & 0x80) | vvvv << 3 | l << 2 | pp);
    } else {
        put(w, 0xc4);
        put(w, (roll(d) & 0xe0) | map);
        put(w, w_bit << 7 | vvvv << 3 | l << 2 | pp);
    }
    put(w, opcode);
}

static void evex_begin(struct draft *w, struct dice *d, uint64_t form)
{
    static const uint8_t maps[] = { 1, 2, 3, 5, 6 };
    unsigned opcode = form & 255, w_bit = form >> 8 & 1, pp = form >> 9 & 3;
    unsigned map = maps[(form >> 11) % 5], l = (unsigned)(form >> 11) / 5;
    unsigned vvvv = chance(d, 3) ? 31 : roll(d) & 31;
    unsigned mask = chance(d, 3) ? 0 : roll(d) & 7;
    unsigned zero = mask && chance(d, 3), b = chance(d, 4);
    put(w, 0x62);
    put(w, (roll(d) & 0xf0) | map);
    put(w, w_bit << 7 | (vvvv & 15) << 3 | 4 | pp);
    put(w, zero << 7 | l << 5 | b << 4 | (vvvv & 16) >> 1 | mask);
    put(w, opcode);
}

static unsigned modrm(struct dice *d, unsigned operand, unsigned reg)
{
    unsigned r = roll(d) & 7;
    switch (operand) {
    case OPERAND_REGISTER:
        return 0xc0 | reg << 3 | r;
    case OPERAND_BASE:
        return (chance(d, 2) ? 0x40 : 0x80) | reg << 3 | (r == 4 ? 3 : r);
    case OPERAND_SIB:
        return (unsigned)(roll(d) % 3) << 6 | reg << 3 | 4;
    default:
        return reg << 3 | 5;
    }
}

static void patch(uint8_t *code, unsigned at, unsigned size, uint64_t v)
{
    for (unsigned i = 0; i < size; i++)
        code[at + i] = (uint8_t)(v >> 8 * i);
}

/* Displacements that hit the arena, and branches that hit ud2s of the slot. */
static void aim(struct dice *d, uint64_t code, unsigned at, uint8_t *out,
                const struct x86_insn *insn)
{
    uint64_t target = machine_data(code) + 1024 + (roll(d) & 0xfc0), behind = at + insn->length;
    if (insn->kind == X86_JCC || insn->kind == X86_LOOP || insn->kind == X86_JMP ||
        insn->kind == X86_CALL)
        patch(out, insn->at_imm, insn->imm_size, 44 + (roll(d) & 14) - behind);
    else if (insn->traits & X86_RIP_RELATIVE && chance(d, 16)) /* nothing is mapped there */
        patch(out, insn->at_disp, 4, (uint64_t)(int64_t)((int32_t)roll(d) / 4));
    else if (insn->traits & X86_RIP_RELATIVE)
        patch(out, insn->at_disp, 4, target - (code + behind) + (chance(d, 4) ? roll(d) & 63 : 0));
    else if (insn->disp_size == 8 || (insn->disp_size == 4 && insn->base == X86_NONE))
        patch(out, insn->at_disp, insn->disp_size, target);
    else if (insn->disp_size == 4)
        patch(out, insn->at_disp, 4, (roll(d) & 0x1ff) - 256);
}

unsigned form_make(uint64_t form, struct dice *d, uint64_t code, unsigned at, uint8_t *out,
                   struct x86_insn *insn)
{
    struct draft w = { .length = 0 };
    unsigned reg = form & 7, operand = form >> 3 & 3;
    uint64_t head = form / OPERANDS;
    if (head < LEGACY)
        legacy_begin(&w, d, head);
    else if (head < LEGACY + VEX)
        vex_begin(&w, d, head - LEGACY);
    else
        evex_begin(&w, d, head - LEGACY - VEX);
    put(&w, modrm(d, operand, reg));
    while (w.length < sizeof w.bytes)
        put(&w, (unsigned)roll(d) & 255);
    unsigned length = x86_decode_as(w.bytes, 15, insn);
    if (!length || excuse(w.bytes, insn))
        return 0;
    aim(d, code, at, w.bytes, insn);
    memcpy(out, w.bytes, length);
    x86_decode_as(out, length, insn);
    return excuse(out, insn) ? 0 : length;
}
