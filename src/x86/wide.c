/* Results in registers that are not general ones. */
#include "x86/form.h"
#include "x86/insn.h"

enum { NOTHING = -1 };

/* ---- x87 ---- */

/* Escapes D8 to DF with a memory operand, by digit: what they leave at the top is their result. The
 * others compare, store or change the state. */
static const uint8_t x87_memory[8] = {
    0xf3, /* D8: fadd, fmul, -, -, fsub, fsubr, fdiv, fdivr */
    0x01, /* D9: fld m32 */
    0xf3, /* DA: fiadd ... */
    0x21, /* DB: fild m32, fld m80 */
    0xf3, /* DC: fadd m64 ... */
    0x01, /* DD: fld m64 */
    0xf3, /* DE: fiadd m16 ... */
    0x31, /* DF: fild m16, fbld, fild m64 */
};

/* st(i) is written, and what was at the top popped. */
static int below(unsigned i)
{
    return i ? (int)i - 1 : NOTHING;
}

/* D9 C0 and up: what has a result is at the top, but for fnop, ftst, fxam and what turns the
 * stack. */
static int x87_d9(unsigned modrm)
{
    switch (modrm) {
    case 0xc0 ... 0xcf: return 0; /* fld, fxch */
    case 0xd8 ... 0xdf: return below(modrm & 7); /* as fstp */
    case 0xe0: case 0xe1: return 0; /* fchs, fabs */
    case 0xf2: return 1; /* fptan: 1 is pushed */
    case 0xef: case 0xf6: case 0xf7: return NOTHING; /* -, fdecstp, fincstp */
    default: return modrm >= 0xe8 ? 0 : NOTHING;
    }
}

/* With registers only: the distance of what is written from the top behind the instruction. Some
 * have other encodings besides those that are documented: fxch DD C8 and DF C8, fstp DF D0 and DF
 * D8. */
static int x87_register(unsigned escape, unsigned modrm)
{
    unsigned digit = modrm >> 3 & 7, i = modrm & 7;
    bool compares = digit == 2 || digit == 3;
    switch (escape) {
    case 0: return compares ? NOTHING : 0;
    case 1: return x87_d9(modrm);
    case 2: case 3: return digit < 4 ? 0 : NOTHING; /* fcmov */
    case 4: return compares ? NOTHING : (int)i;
    /* fst, fstp */
    case 5: return digit == 1 ? 0 : digit == 2 ? (int)i : digit == 3 ? below(i) : NOTHING;
    case 6: return compares ? NOTHING : below(i);
    default: return digit == 1 ? 0 : compares ? below(i) : NOTHING;
    }
}

/* fxch, fptan, fxtract, fsincos; frstor. */
static bool x87_more(unsigned escape, unsigned modrm)
{
    if (modrm < 0xc0)
        return escape == 5 && (modrm >> 3 & 7) == 4;
    bool exchanges = (modrm & 0xf8) == 0xc8 && (escape == 1 || escape == 5 || escape == 7);
    return exchanges || (escape == 1 && (modrm == 0xf2 || modrm == 0xf4 || modrm == 0xfb));
}

static int x87_result(const struct x86_insn *insn, const uint8_t *code, bool *more)
{
    unsigned escape = insn->opcode & 7u, modrm = code[insn->at_modrm];
    if (insn->encoding != X86_LEGACY || insn->map != X86_MAP_ONE_BYTE ||
        (insn->opcode & 0xf8) != 0xd8)
        return NOTHING;
    *more |= x87_more(escape, modrm);
    if (modrm >= 0xc0)
        return x87_register(escape, modrm);
    return x87_memory[escape] >> (modrm >> 3 & 7) & 1 ? 0 : NOTHING;
}

/* ---- all ---- */

struct x86_lanes x86_lanes_as(const struct x86_insn *insn)
{
    unsigned lanes = x86_forms[insn->form].lanes;
    bool vectors = insn->class == X86_CLASS_MMX || insn->class == X86_CLASS_SSE ||
                   insn->class == X86_CLASS_AVX || insn->class == X86_CLASS_AVX512;
    if (!vectors)
        return (struct x86_lanes){0};
    return (struct x86_lanes){.bytes = (uint8_t)(1u << (lanes & 3)),
                              .form = lanes >> LANES_FORM_SHIFT & 3,
                              .scalar = lanes & LANES_SCALAR};
}

/* vzeroupper, vzeroall; fxrstor, xrstor. */
static bool writes_all(const struct x86_insn *insn, const uint8_t *code)
{
    unsigned digit = insn->at_modrm ? code[insn->at_modrm] >> 3 & 7u : 0;
    if (insn->map != X86_MAP_0F)
        return false;
    if (insn->encoding != X86_LEGACY)
        return insn->opcode == 0x77;
    return (insn->opcode == 0xae && insn->access & X86_MEM_READ && (digit == 1 || digit == 5)) ||
           (insn->opcode == 0xc7 && insn->access & X86_MEM_READ && digit == 3);
}

bool x86_wide_result_as(const struct x86_insn *insn, const uint8_t *code, struct x86_wide *out,
                        bool *more)
{
    static const uint8_t bytes[] = {[X86_BANK_XMM] = 16, [X86_BANK_YMM] = 32, [X86_BANK_ZMM] = 64,
                                    [X86_BANK_MMX] = 8, [X86_BANK_MASK] = 8};
    const struct x86_form *form = &x86_forms[insn->form];
    /* 62, RXBR'0mmm, ...: X extends modrm.rm where that is a vector. */
    bool x = insn->encoding == X86_EVEX && !(code[insn->at_prefix + 1] & 0x40);
    unsigned bank = form->vector >> VECTOR_BANK_SHIFT,
             field = form->vector & ((1u << VECTOR_BANK_SHIFT) - 1);
    unsigned reg = field == VECTOR_REG    ? insn->reg
                   : field == VECTOR_RM   ? insn->base | (x ? 16u : 0)
                   : field == VECTOR_VVVV ? insn->vvvv
                                          : 0;
    *more = form->lanes & (LANES_SECOND | LANES_TILE) || writes_all(insn, code);
    *out = (struct x86_wide){.bank = X86_BANK_NONE};
    if (field) {
        *out = (struct x86_wide){
            .bank = (uint8_t)bank,
            .reg = (uint8_t)(bank >= X86_BANK_MMX ? reg & 7 : reg),
            .bytes = bytes[bank],
        };
        return true;
    }
    int top = insn->class == X86_CLASS_X87 ? x87_result(insn, code, more) : NOTHING;
    if (top == NOTHING)
        return false;
    *out = (struct x86_wide){.bank = X86_BANK_X87, .reg = (uint8_t)top, .bytes = 10};
    return true;
}
