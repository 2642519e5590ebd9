/* Copies of instructions that cannot be used as they are: those with an operand relative to rip,
 * and those that name r15 where it has been stolen. */
#include "engine/translate.h"

enum { REX_W = 8, REX_R = 4, REX_X = 2, REX_B = 1 };

uint64_t relocate_address(const struct x86_insn *insn, const uint8_t *code, uint64_t pc)
{
    int32_t disp = ((const struct { int32_t v; } __attribute__((packed, may_alias)) *)(const void *)
                    (code + insn->at_disp))->v;
    uint64_t address = pc + insn->length + (uint64_t)(int64_t)disp;
    return insn->traits & X86_ADDRESS32 ? (uint32_t)address : address;
}

static bool is_int32(uint64_t value)
{
    return value == (uint64_t)(int64_t)(int32_t)value;
}

/* The instruction's bytes with another displacement, of the same length. */
static bool copy_in_reach(struct translation *x, const struct x86_insn *insn, const uint8_t *code,
                          uint64_t address)
{
    uint64_t disp = address - (emit_here(&x->hot) + insn->length);
    if (!is_int32(disp) || insn->traits & X86_ADDRESS32)
        return false;
    emit_copy(&x->hot, code, insn->at_disp);
    emit_imm_(&x->hot, 4, (int32_t)disp);
    emit_copy(&x->hot, code + insn->at_disp + 4, insn->length - insn->at_disp - 4u);
    span_close_as(x, SPAN_COPY, insn->length, 0);
    return true;
}

/* Whether bit X of REX, VEX or EVEX is set, which would extend a SIB's index. */
static bool has_index_bit(const struct x86_insn *insn, const uint8_t *code)
{
    if (insn->encoding == X86_LEGACY)
        return insn->traits & X86_HAS_REX && code[insn->at_prefix] & REX_X;
    return insn->encoding != X86_VEX2 && !(code[insn->at_prefix + 1] & 0x40);
}

/* [disp32] instead of [rip + disp32]: one byte more, a SIB without base and index. The address is
 * sign-extended, and with prefix 67 cut to 32 bits. */
static bool copy_absolute(struct translation *x, const struct x86_insn *insn, const uint8_t *code,
                          uint64_t address)
{
    if (!(insn->traits & X86_ADDRESS32) && !is_int32(address))
        return false;
    if (has_index_bit(insn, code) || insn->length > 14)
        return false;
    emit_copy(&x->hot, code, insn->at_modrm);
    emit_copy(&x->hot, (const uint8_t[]){ (uint8_t)((code[insn->at_modrm] & 0x38) | 4), 0x25 }, 2);
    emit_imm_(&x->hot, 4, (int32_t)(uint32_t)address);
    emit_copy(&x->hot, code + insn->at_disp + 4, insn->length - insn->at_disp - 4u);
    span_close_as(x, SPAN_SAME, insn->length, 0);
    return true;
}

/* lea r, [rip + d]: a constant. */
static bool copy_lea(struct translation *x, const struct x86_insn *insn, uint64_t address)
{
    if (insn->map != X86_MAP_ONE_BYTE || insn->opcode != 0x8d || insn->traits & X86_PREFIX66)
        return false;
    emit_mov_ri(&x->hot, insn->reg, insn->traits & X86_REX_W ? address : (uint32_t)address);
    span_close_as(x, SPAN_SAME, insn->length, 0);
    return true;
}

/* The bytes with base `scratch` (below r8, not rsp or rbp) instead of rip. */
static void copy_with_base(struct translation *x, const struct x86_insn *insn, const uint8_t *code,
                           unsigned scratch)
{
    uint8_t *at = x->hot.at;
    emit_copy(&x->hot, code, insn->at_disp);
    emit_copy(&x->hot, code + insn->at_disp + 4, insn->length - insn->at_disp - 4u);
    if (x->hot.overflow)
        return;
    at[insn->at_modrm] = (uint8_t)((code[insn->at_modrm] & 0x38) | scratch);
    /* Bit B extends the base; relative to rip it meant nothing. */
    if (insn->encoding == X86_LEGACY && insn->traits & X86_HAS_REX)
        at[insn->at_prefix] &= (uint8_t)~REX_B;
    else if (insn->encoding != X86_LEGACY && insn->encoding != X86_VEX2)
        at[insn->at_prefix + 1] |= 0x20;
}

/* True for a load that overwrites a whole general register: it can hold the address before. */
static bool is_plain_load(const struct x86_insn *insn)
{
    unsigned bit = 1u << insn->reg;
    return insn->fields & X86_FIELD_REG && insn->encoding == X86_LEGACY &&
           insn->access == (X86_MEM | X86_MEM_READ) && insn->writes == bit &&
           !(insn->reads & bit) && insn->reg < X86_R8 && insn->reg != X86_RSP &&
           insn->reg != X86_RBP && !(insn->traits & X86_HIGH_BYTE);
}

static unsigned used_by(const struct x86_insn *insn)
{
    return (unsigned)insn->reads | insn->writes | insn->implicit | 1u << X86_RSP;
}

/* A register that the instruction neither names nor uses; every instruction leaves one of these. */
static unsigned scratch_for(const struct x86_insn *insn)
{
    static const uint8_t order[] = { X86_RBX, X86_RSI, X86_RDI, X86_RDX, X86_RCX, X86_RAX };
    unsigned used = used_by(insn);
    for (unsigned i = 0; i < sizeof order; i++)
        if (!(used >> order[i] & 1))
            return order[i];
    return X86_RBX;
}

/*      mov gs:[slot], scratch          slot A; slot B if A holds the register that stands for r15
 *      mov scratch, address
 *      (the instruction, on [scratch])
 *      mov scratch, gs:[slot]          not after a plain load into scratch                       */
static void copy_with_scratch(struct translation *x, const struct x86_insn *insn,
                              const uint8_t *code, uint64_t address)
{
    bool second = x->borrowed != X86_RSP;
    bool load = !second && is_plain_load(insn);
    unsigned scratch = load ? insn->reg : scratch_for(insn);
    struct emit_mem slot = emit_gs(second ? ENGINE_T_SLOT_B : ENGINE_T_SLOT_A);
    emit_mov_mr(&x->hot, 8, slot, scratch);
    emit_mov_ri(&x->hot, scratch, address);
    span_close_as(x, second ? SPAN_BETWEEN : SPAN_SAME, 0, 0);
    copy_with_base(x, insn, code, scratch);
    span_close_as(x, SPAN_CORE, insn->length, second ? scratch << 4 : scratch | X86_RSP << 4);
    if (load)
        return;
    emit_mov_rm(&x->hot, 8, scratch, slot);
    span_close_as(x, SPAN_BETWEEN, 0, 0);
}

static void copy_relative(struct translation *x, const struct x86_insn *insn, const uint8_t *code,
                          uint64_t address)
{
    if (copy_in_reach(x, insn, code, address) || copy_lea(x, insn, address) ||
        copy_absolute(x, insn, code, address))
        return;
    copy_with_scratch(x, insn, code, address);
}

/* The instruction with another register for r15; which one, or RSP where the encoding allows
 * none. */
static unsigned rename_r15(const struct x86_insn *insn, uint8_t *code)
{
    unsigned used = used_by(insn);
    for (unsigned i = 0; i < 16; i++) {
        unsigned to = (i + X86_RSI) & 15; /* rsi, rdi, r8 ...: any but rsp */
        if (!(used >> to & 1) && x86_rename_as(insn, code, X86_FIELD_ALL, X86_R15, to))
            return to;
    }
    return X86_RSP;
}

/*      mov gs:[slot_a], borrowed
 *      mov borrowed, gs:[stolen]
 *      (the instruction, with borrowed instead of r15)
 *      mov gs:[stolen], borrowed       if it writes r15
 *      mov borrowed, gs:[slot_a]                                                                 */
static void copy_without_r15(struct translation *x, const struct x86_insn *insn,
                             const uint8_t *code, uint64_t address)
{
    uint8_t bytes[EMIT_LONGEST];
    for (unsigned i = 0; i < insn->length; i++)
        bytes[i] = code[i];
    unsigned borrowed = rename_r15(insn, bytes);
    struct x86_insn renamed;
    x86_decode_as(bytes, insn->length, &renamed);
    emit_mov_mr(&x->hot, 8, emit_gs(ENGINE_T_SLOT_A), borrowed);
    span_close_as(x, SPAN_SAME, 0, 0);
    emit_mov_rm(&x->hot, 8, borrowed, emit_gs(ENGINE_T_STOLEN));
    x->borrowed = borrowed;
    span_close_as(x, SPAN_SAME, 0, 0);
    if (renamed.traits & X86_RIP_RELATIVE) {
        copy_relative(x, &renamed, bytes, address);
    } else {
        emit_copy(&x->hot, bytes, renamed.length);
        span_close_as(x, SPAN_SAME, renamed.length, 0);
    }
    x->borrowed = X86_RSP;
    if (insn->writes >> X86_R15 & 1)
        emit_mov_mr(&x->hot, 8, emit_gs(ENGINE_T_STOLEN), borrowed);
    emit_mov_rm(&x->hot, 8, borrowed, emit_gs(ENGINE_T_SLOT_A));
    span_close_as(x, SPAN_BETWEEN, 0, 0);
}

/* In the program, wherever its bytes are. */
static uint64_t address_of(const struct translation *x, uint32_t index)
{
    return x->pc + (uint64_t)(x->e->code[index] - x->e->code[0]);
}

void relocate_as(struct translation *x, uint32_t index)
{
    struct x86_insn *insn = &x->e->insns[index];
    const uint8_t *code = x->e->code[index];
    uint64_t address = 0;
    x86_uses_as(insn, code);
    if (insn->traits & X86_RIP_RELATIVE)
        address = relocate_address(insn, code, address_of(x, index));
    if (x->e->steals && (insn->reads | insn->writes) >> X86_R15 & 1)
        copy_without_r15(x, insn, code, address);
    else
        copy_relative(x, insn, code, address);
}

/* Where r15 has been stolen and addresses the target: its value in r11 or rcx, which have been
 * spilled, whichever is not the other register of the address. */
static void target_without_r15(struct translation *x, uint8_t *bytes, unsigned length)
{
    struct x86_insn insn;
    x86_decode_as(bytes, length, &insn);
    if (!x->e->steals || !(insn.reads >> X86_R15 & 1))
        return;
    unsigned to = insn.base == X86_R11 || insn.index == X86_R11 ? X86_RCX : X86_R11;
    emit_mov_rm(&x->hot, 8, to, emit_gs(ENGINE_T_STOLEN));
    x86_rename_as(&insn, bytes, X86_FIELD_BASE | X86_FIELD_INDEX, X86_R15, to);
    span_close_as(x, SPAN_CORE_RCX, 0, 0);
}

/* mov rcx, r/m with the addressing of the indirect branch; prefixes that mean something are
 * kept. */
static void target_from_memory(struct translation *x, const struct x86_insn *insn,
                               const uint8_t *code)
{
    uint8_t bytes[EMIT_LONGEST];
    unsigned n = 0;
    unsigned rex = insn->traits & X86_HAS_REX ? code[insn->at_prefix] & (REX_X | REX_B) : 0;
    if (insn->traits & X86_FS)
        bytes[n++] = EMIT_FS;
    if (insn->traits & X86_ADDRESS32)
        bytes[n++] = 0x67;
    bytes[n++] = (uint8_t)(0x40 | REX_W | rex);
    bytes[n++] = 0x8b;
    bytes[n++] = (uint8_t)((code[insn->at_modrm] & 0xc7) | X86_RCX << 3);
    for (unsigned i = insn->at_modrm + 1u; i < insn->length && n < sizeof bytes; i++)
        bytes[n++] = code[i];
    target_without_r15(x, bytes, n);
    emit_copy(&x->hot, bytes, n);
}

/* The same for an operand relative to rip. True if rcx held its address before. */
static bool target_from_rip(struct translation *x, const struct x86_insn *insn, uint64_t address)
{
    struct emit_mem m = emit_rip(address);
    int64_t distance = (int64_t)(address - emit_here(&x->hot));
    if (distance > INT32_MAX - 64 || distance < INT32_MIN + 64) {
        m = emit_absolute((int32_t)address);
        if (!is_int32(address)) {
            emit_mov_ri(&x->hot, X86_RCX, address);
            span_close_as(x, SPAN_SAME, 0, 0);
            m = emit_at(X86_RCX, 0);
        }
    }
    if (insn->traits & X86_FS)
        m.segment = EMIT_FS;
    emit_mov_rm(&x->hot, 8, X86_RCX, m);
    return m.base == X86_RCX;
}

void relocate_target_as(struct translation *x, uint32_t index)
{
    struct x86_insn *insn = &x->e->insns[index];
    const uint8_t *code = x->e->code[index];
    enum span_kind kind = SPAN_SAME;
    x86_uses_as(insn, code);
    if (insn->traits & X86_RIP_RELATIVE) {
        uint64_t address = relocate_address(insn, code, address_of(x, index));
        if (target_from_rip(x, insn, address))
            kind = SPAN_CORE_RCX;
    } else if (!(insn->fields & X86_FIELD_RM)) {
        target_from_memory(x, insn, code);
        kind = x->e->steals ? SPAN_CORE_RCX : SPAN_SAME;
    } else if (insn->base == X86_R15 && x->e->steals) {
        emit_mov_rm(&x->hot, 8, X86_RCX, emit_gs(ENGINE_T_STOLEN));
    } else if (insn->base != X86_RCX) {
        emit_mov_rr(&x->hot, 8, X86_RCX, insn->base);
    }
    /* The call's push comes after this and before the next boundary. */
    span_close_as(x, kind, x->end == END_CALL_INDIRECT ? 0 : insn->length, 0);
}
