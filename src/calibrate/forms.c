#include "calibrate/forms.h"

/* [pp] [REX] 0F [38] opcode modrm: xmm, xmm. pp: 0, 0x66, 0xf2, 0xf3 */
static void sse(struct emit *e, unsigned pp, unsigned opcode, unsigned to, unsigned from)
{
    if (!emit_room_(e))
        return;
    if (pp)
        emit_u8_(e, pp);
    emit_rm_(e, 4, 0x0f00 | opcode, to, from);
}

static void sse38(struct emit *e, unsigned opcode, unsigned to, unsigned from)
{
    unsigned rex = (to >> 3 & 1) << 2 | (from >> 3 & 1);
    if (!emit_room_(e))
        return;
    emit_u8_(e, 0x66);
    if (rex)
        emit_u8_(e, 0x40 | rex);
    emit_u8_(e, 0x0f);
    emit_u8_(e, 0x38);
    emit_u8_(e, opcode);
    emit_u8_(e, 0xc0 | (to & 7) << 3 | (from & 7));
}

/* vvvv is `to`, too, or `from`; pp of VEX, and 4 for vectors of 32 bytes */
enum { VEX_66 = 1, VEX_WIDE = 4 };
static void vex(struct emit *e, unsigned map, unsigned pp, unsigned opcode, unsigned to,
                unsigned vvvv, unsigned from)
{
    if (emit_room_(e))
        emit_vex_(e, map, pp, opcode, 4, to, vvvv, from);
}

#define SSE(name, pp, opcode)                                                                      \
    static void name(struct emit *e, unsigned to, unsigned from)                                   \
    {                                                                                              \
        sse(e, pp, opcode, to, from);                                                              \
    }
SSE(paddd, 0x66, 0xfe)
SSE(punpckldq, 0x66, 0x62)
SSE(pmuludq, 0x66, 0xf4)
SSE(addpd, 0x66, 0x58)
SSE(mulpd, 0x66, 0x59)
SSE(divss, 0xf3, 0x5e)
SSE(divsd, 0xf2, 0x5e)

/* A conversion reads another register than it writes: a chain is of one register. */
static void cvtdq2ps(struct emit *e, unsigned to, unsigned from)
{
    (void)from;
    sse(e, 0, 0x5b, to, to);
}

static void psrlq(struct emit *e, unsigned to, unsigned from)
{
    (void)from;
    sse(e, 0x66, 0x73, 2, to);
    emit_copy(e, (const uint8_t[]){1}, 1);
}

static void aesenc(struct emit *e, unsigned to, unsigned from)
{
    sse38(e, 0xdc, to, from);
}

static void vfmadd231pd(struct emit *e, unsigned to, unsigned from)
{
    if (emit_room_(e))
        emit_vex_(e, X86_MAP_0F38, VEX_66, 0xb8, 8, to, from, from);
}

static void vpermd(struct emit *e, unsigned to, unsigned from)
{
    vex(e, X86_MAP_0F38, VEX_66 | VEX_WIDE, 0x36, to, from, to);
}

static void korw(struct emit *e, unsigned to, unsigned from)
{
    vex(e, X86_MAP_0F, VEX_WIDE, 0x45, to, to, from);
}

static void add(struct emit *e, unsigned to, unsigned from)
{
    emit_alu_rr(e, EMIT_ADD, 8, to, from);
}

static void shl(struct emit *e, unsigned to, unsigned from)
{
    (void)from;
    emit_shift_ri(e, EMIT_SHL, 8, to, 3);
}

static void lea(struct emit *e, unsigned to, unsigned from)
{
    emit_lea(e, 8, to, emit_indexed(to, from, 4, 0));
}

/* No chain: it reads no register. */
static void lea_rip(struct emit *e, unsigned to, unsigned from)
{
    (void)from;
    emit_lea(e, 8, to, emit_rip((uint64_t)(uintptr_t)e->at));
}

static void imul(struct emit *e, unsigned to, unsigned from)
{
    if (emit_room_(e))
        emit_rm_(e, 8, 0x0faf, to, from);
}

static const struct form forms[] = {
    {UOP_ALU, FORM_GENERAL, false, add},
    {UOP_SHIFT, FORM_GENERAL, false, shl},
    {UOP_LEA, FORM_GENERAL, false, lea},
    {UOP_LEA_RIP, FORM_GENERAL, false, lea_rip},
    {UOP_MUL, FORM_GENERAL, false, imul},
    {UOP_VEC_ALU, FORM_DOUBLES, false, paddd},
    {UOP_VEC_SHIFT, FORM_DOUBLES, false, psrlq},
    {UOP_VEC_SHUFFLE, FORM_DOUBLES, false, punpckldq},
    {UOP_VEC_CROSSING, FORM_DOUBLES, false, vpermd},
    {UOP_VEC_MUL, FORM_DOUBLES, false, pmuludq},
    {UOP_FP_ADD, FORM_DOUBLES, false, addpd},
    {UOP_FP_MUL, FORM_DOUBLES, false, mulpd},
    {UOP_FP_FMA, FORM_DOUBLES, false, vfmadd231pd},
    {UOP_FP_DIV32, FORM_SINGLES, true, divss},
    {UOP_FP_DIV64, FORM_DOUBLES, true, divsd},
    {UOP_FP_CONVERT, FORM_SINGLES, false, cvtdq2ps},
    {UOP_MASK, FORM_MASKS, false, korw},
    {UOP_CRYPTO, FORM_DOUBLES, false, aesenc},
};

const struct form *form_at(unsigned index)
{
    return index < sizeof forms / sizeof *forms ? &forms[index] : NULL;
}

/* __builtin_cpu_supports takes constants only. */
bool form_runs(const struct form *f)
{
    switch (f->class) {
    case UOP_VEC_CROSSING: return __builtin_cpu_supports("avx2");
    case UOP_FP_FMA: return __builtin_cpu_supports("fma");
    case UOP_MASK: return __builtin_cpu_supports("avx512f");
    case UOP_CRYPTO: return __builtin_cpu_supports("aes");
    default: return true;
    }
}

void form_load_vector(struct emit *e, unsigned to, struct emit_mem from)
{
    if (!emit_room_(e))
        return;
    emit_u8_(e, 0x66);
    emit_mem_(e, 4, 0x0f6f, to, from, 0);
}

void form_to_vector(struct emit *e, unsigned to, unsigned from)
{
    sse(e, 0x66, 0x6e, to, from);
}

void form_from_vector(struct emit *e, unsigned to, unsigned from)
{
    sse(e, 0x66, 0x7e, from, to);
}
