/* Writing x86-64 instructions, forward, into memory given. One function for each form of an
 * instruction, headed by the form, over few primitives:
 *
 *     prefix  REX  opcode  modrm sib disp  imm            emit_rm_ (register, register)
 *     66 64.. 40.. 0f op   ^^^^^^^^^^^^^^  1 2 4 8        emit_mem_ (register, memory)
 *
 * Registers are the numbers of insn.h. Widths are in bytes: 1, 2, 4 or 8; of width 4 the upper half
 * of a destination becomes zero. Byte registers are always al, cl, dl, bl, spl, bpl, sil, dil, r8b
 * to r15b: never ah.
 *
 * Errors are sticky: a form without EMIT_LONGEST bytes of room writes nothing and sets `overflow`,
 * and so do all that follow; a target out of reach of its displacement sets `unreachable`. Check
 * emit_failed once, before the code is used.
 *
 * Context: any, signal handlers included.
 * Ownership: a struct emit borrows the memory it writes to. */
#ifndef PENUMBRA_X86_EMIT_H
#define PENUMBRA_X86_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "x86/insn.h"

enum { EMIT_LONGEST = 16 };

struct emit {
    uint8_t *at;      /* the next byte */
    uint8_t *end;     /* first byte that may not be written */
    int64_t bias;     /* where the code will run minus where it is written */
    bool overflow;
    bool unreachable; /* a rel8, rel32 or rip-relative displacement did not fit */
};

static inline bool emit_failed(const struct emit *e)
{
    return e->overflow || e->unreachable;
}

/* The address at which the next byte will run. */
static inline uint64_t emit_here(const struct emit *e)
{
    return (uint64_t)(uintptr_t)e->at + (uint64_t)e->bias;
}

/* A memory operand: segment:[base + index * scale + disp], or [rip + (target - next one)] */
struct emit_mem {
    uint8_t segment; /* 0, EMIT_FS or EMIT_GS */
    uint8_t base;    /* X86_NONE: none; X86_RIP: `target` counts, and nothing else */
    uint8_t index;   /* X86_NONE: none */
    uint8_t scale;   /* 1, 2, 4, 8 */
    int32_t disp;
    uint64_t target;
};

enum { EMIT_FS = 0x64, EMIT_GS = 0x65 };

/* [base + disp] */
static inline struct emit_mem emit_at(unsigned base, int32_t disp)
{
    return (struct emit_mem){.base = (uint8_t)base, .index = X86_NONE, .scale = 1, .disp = disp};
}

/* [base + index * scale + disp]; the index may not be rsp */
static inline struct emit_mem emit_indexed(unsigned base, unsigned index, unsigned scale,
    int32_t disp)
{
    return (struct emit_mem){.base = (uint8_t)base, .index = (uint8_t)index,
        .scale = (uint8_t)scale, .disp = disp};
}

/* [disp32 + index * scale]; the address is sign-extended: a table in the low or high 2 GB */
static inline struct emit_mem emit_table(int32_t disp, unsigned index, unsigned scale)
{
    return emit_indexed(X86_NONE, index, scale, disp);
}

/* [disp32], sign-extended */
static inline struct emit_mem emit_absolute(int32_t disp)
{
    return emit_at(X86_NONE, disp);
}

/* gs:[disp32] */
static inline struct emit_mem emit_gs(int32_t disp)
{
    struct emit_mem m = emit_at(X86_NONE, disp);
    m.segment = EMIT_GS;
    return m;
}

/* [rip + d], d such that the operand is at `target` where the code will run */
static inline struct emit_mem emit_rip(uint64_t target)
{
    return (struct emit_mem){.base = X86_RIP, .index = X86_NONE, .scale = 1, .target = target};
}

/* Primitives */

static inline bool emit_room_(struct emit *e)
{
    if (e->end - e->at < EMIT_LONGEST)
        e->overflow = true;
    return !e->overflow;
}

static inline void emit_u8_(struct emit *e, unsigned byte)
{
    *e->at++ = (uint8_t)byte;
}

static inline void emit_u16_(struct emit *e, uint16_t value)
{
    ((struct { uint16_t v; } __attribute__((packed, may_alias)) *)e->at)->v = value;
    e->at += 2;
}

static inline void emit_u32_(struct emit *e, uint32_t value)
{
    ((struct { uint32_t v; } __attribute__((packed, may_alias)) *)e->at)->v = value;
    e->at += 4;
}

static inline void emit_u64_(struct emit *e, uint64_t value)
{
    ((struct { uint64_t v; } __attribute__((packed, may_alias)) *)e->at)->v = value;
    e->at += 8;
}

/* An immediate of an operation of `width` bytes: at most 4 bytes, sign-extended to 8 */
static inline void emit_imm_(struct emit *e, unsigned width, int32_t value)
{
    if (width == 1)
        emit_u8_(e, (uint8_t)value);
    else if (width == 2)
        emit_u16_(e, (uint16_t)value);
    else
        emit_u32_(e, (uint32_t)value);
}

/* The 32-bit distance to `target` from `after` bytes behind the four that it takes */
static inline void emit_rel32_(struct emit *e, uint64_t target, unsigned after)
{
    int64_t distance = (int64_t)(target - (emit_here(e) + 4 + after));
    if (distance != (int32_t)distance)
        e->unreachable = true;
    emit_u32_(e, (uint32_t)distance);
}

/* Opcodes: 0xNN, 0x0fNN, with EMIT_BYTE_REG if `reg` is a byte, EMIT_BYTE_RM if the
 * register in rm is one. */
enum { EMIT_BYTE_REG = 0x10000, EMIT_BYTE_RM = 0x20000 };

static inline void emit_prefixes_(struct emit *e, unsigned width, unsigned rex, unsigned opcode)
{
    if (width == 2)
        emit_u8_(e, 0x66);
    if (width == 8)
        rex |= 0x48;
    if (rex)
        emit_u8_(e, 0x40 | rex);
    if (opcode & 0xff00)
        emit_u8_(e, 0x0f);
    emit_u8_(e, opcode & 0xff);
}

/* op rm, reg: both registers, in either order by the opcode */
static inline void emit_rm_(struct emit *e, unsigned width, unsigned opcode, unsigned reg,
    unsigned rm)
{
    unsigned rex = (reg >> 3 & 1) << 2 | (rm >> 3 & 1);
    if (((opcode & EMIT_BYTE_REG) && reg >= 4) || ((opcode & EMIT_BYTE_RM) && rm >= 4))
        rex |= 0x40;
    emit_prefixes_(e, width, rex, opcode);
    emit_u8_(e, 0xc0 | (reg & 7) << 3 | (rm & 7));
}

/* modrm, sib and displacement. `after`: bytes of the instruction behind them */
static inline void emit_address_(struct emit *e, unsigned reg, struct emit_mem m, unsigned after)
{
    unsigned field = (reg & 7) << 3, mod = 0;
    if (m.base == X86_RIP) {
        emit_u8_(e, field | 5);
        emit_rel32_(e, m.target, after);
        return;
    }
    if (m.base != X86_NONE && (m.disp || (m.base & 7) == X86_RBP))
        mod = m.disp == (int8_t)m.disp ? 0x40 : 0x80;
    if (m.base != X86_NONE && m.index == X86_NONE && (m.base & 7) != X86_RSP) {
        emit_u8_(e, mod | field | (m.base & 7u));
    } else {
        unsigned scale = m.scale == 8 ? 0xc0 : m.scale == 4 ? 0x80 : m.scale == 2 ? 0x40 : 0;
        unsigned index = m.index == X86_NONE ? 4 : m.index & 7u;
        emit_u8_(e, mod | field | 4);
        emit_u8_(e, scale | index << 3 | (m.base == X86_NONE ? 5 : m.base & 7u));
    }
    if (mod == 0x40)
        emit_u8_(e, (uint8_t)m.disp);
    else if (mod == 0x80 || m.base == X86_NONE)
        emit_u32_(e, (uint32_t)m.disp);
}

/* op mem, reg or op reg, mem by the opcode; `reg` may be an opcode's extension */
static inline void emit_mem_(struct emit *e, unsigned width, unsigned opcode, unsigned reg,
    struct emit_mem m, unsigned after)
{
    unsigned rex = (reg >> 3 & 1) << 2;
    if (m.base < X86_RIP)
        rex |= m.base >> 3 & 1u;
    if (m.index != X86_NONE)
        rex |= (m.index >> 3 & 1u) << 1;
    if ((opcode & EMIT_BYTE_REG) && reg >= 4)
        rex |= 0x40;
    if (m.segment)
        emit_u8_(e, m.segment);
    emit_prefixes_(e, width, rex, opcode);
    emit_address_(e, reg, m, after);
}

/* Opcodes whose lowest bit says "not bytes" */
static inline unsigned emit_sized_(unsigned opcode, unsigned width)
{
    return width == 1 ? opcode : opcode | 1;
}

/* The same, of operations between a register and a register or memory */
static inline unsigned emit_bytes_(unsigned opcode, unsigned width)
{
    return width == 1 ? opcode | EMIT_BYTE_REG | EMIT_BYTE_RM : opcode | 1;
}

/* Moves */

/* mov r, r      (to of `width` bytes) */
static inline void emit_mov_rr(struct emit *e, unsigned width, unsigned to, unsigned from)
{
    if (emit_room_(e))
        emit_rm_(e, width, emit_bytes_(0x88, width), from, to);
}

/* mov r, [m] */
static inline void emit_mov_rm(struct emit *e, unsigned width, unsigned to, struct emit_mem from)
{
    if (emit_room_(e))
        emit_mem_(e, width, emit_bytes_(0x8a, width), to, from, 0);
}

/* mov [m], r */
static inline void emit_mov_mr(struct emit *e, unsigned width, struct emit_mem to, unsigned from)
{
    if (emit_room_(e))
        emit_mem_(e, width, emit_bytes_(0x88, width), from, to, 0);
}

/* mov [m], imm  (sign-extended to 8 bytes) */
static inline void emit_mov_mi(struct emit *e, unsigned width, struct emit_mem to, int32_t value)
{
    if (!emit_room_(e))
        return;
    emit_mem_(e, width, emit_sized_(0xc6, width), 0, to, width > 4 ? 4 : width);
    emit_imm_(e, width, value);
}

/* mov r32, imm32  (zero-extended to 8 bytes) */
static inline void emit_mov_ri32(struct emit *e, unsigned to, uint32_t value)
{
    if (!emit_room_(e))
        return;
    emit_prefixes_(e, 4, to >> 3 & 1, 0xb8 | (to & 7));
    emit_u32_(e, value);
}

/* mov r64, imm64  (always ten bytes) */
static inline void emit_mov_ri64(struct emit *e, unsigned to, uint64_t value)
{
    if (!emit_room_(e))
        return;
    emit_prefixes_(e, 8, to >> 3 & 1, 0xb8 | (to & 7));
    emit_u64_(e, value);
}

/* mov r64, imm: the shortest that leaves the flags alone */
static inline void emit_mov_ri(struct emit *e, unsigned to, uint64_t value)
{
    if (value == (uint32_t)value) {
        emit_mov_ri32(e, to, (uint32_t)value);
    } else if (value != (uint64_t)(int32_t)value) {
        emit_mov_ri64(e, to, value);
    } else if (emit_room_(e)) {
        emit_rm_(e, 8, 0xc7, 0, to);
        emit_u32_(e, (uint32_t)value);
    }
}

/* movzx r32, r8 or r16   (`width` of the source: 1, 2) */
static inline void emit_movzx_rr(struct emit *e, unsigned width, unsigned to, unsigned from)
{
    if (emit_room_(e))
        emit_rm_(e, 4, emit_sized_(0x0fb6, width) | (width == 1 ? EMIT_BYTE_RM : 0), to, from);
}

/* movzx r32, ah, ch, dh or bh: the second byte of `from`, which is rax, rcx, rdx or rbx; `to` is
 * none of r8 to r15 */
static inline void emit_movzx_rh(struct emit *e, unsigned to, unsigned from)
{
    if (emit_room_(e))
        emit_rm_(e, 4, 0x0fb6, to, from + 4);
}

/* movzx r32, byte [m] or word [m] */
static inline void emit_movzx_rm(struct emit *e, unsigned width, unsigned to, struct emit_mem from)
{
    if (emit_room_(e))
        emit_mem_(e, 4, emit_sized_(0x0fb6, width), to, from, 0);
}

/* movsxd r64, r32 */
static inline void emit_movsxd_rr(struct emit *e, unsigned to, unsigned from)
{
    if (emit_room_(e))
        emit_rm_(e, 8, 0x63, to, from);
}

/* bswap r       (`width` 4, 8) */
static inline void emit_bswap_r(struct emit *e, unsigned width, unsigned reg)
{
    if (emit_room_(e))
        emit_prefixes_(e, width, reg >> 3 & 1, 0x0fc8 | (reg & 7));
}

/* lea r, [m]    (`width` of the destination: 2, 4, 8; of width 2 the upper bits stay) */
static inline void emit_lea(struct emit *e, unsigned width, unsigned to, struct emit_mem m)
{
    if (emit_room_(e))
        emit_mem_(e, width, 0x8d, to, m, 0);
}

/* xchg r, r     (never the one-byte form) */
static inline void emit_xchg_rr(struct emit *e, unsigned width, unsigned a, unsigned b)
{
    if (emit_room_(e))
        emit_rm_(e, width, emit_bytes_(0x86, width), b, a);
}

/* xchg [m], r   (atomic) */
static inline void emit_xchg_mr(struct emit *e, unsigned width, struct emit_mem m, unsigned reg)
{
    if (emit_room_(e))
        emit_mem_(e, width, emit_bytes_(0x86, width), reg, m, 0);
}

/* Arithmetic */

enum emit_alu {
    EMIT_ADD, EMIT_OR, EMIT_ADC, EMIT_SBB, EMIT_AND, EMIT_SUB, EMIT_XOR, EMIT_CMP
};

/* op r, r */
static inline void emit_alu_rr(struct emit *e, enum emit_alu op, unsigned width, unsigned to,
    unsigned from)
{
    if (emit_room_(e))
        emit_rm_(e, width, emit_bytes_((unsigned)op << 3, width), from, to);
}

/* op r, [m] */
static inline void emit_alu_rm(struct emit *e, enum emit_alu op, unsigned width, unsigned to,
    struct emit_mem from)
{
    if (emit_room_(e))
        emit_mem_(e, width, emit_bytes_((unsigned)op << 3 | 2, width), to, from, 0);
}

/* op [m], r */
static inline void emit_alu_mr(struct emit *e, enum emit_alu op, unsigned width, struct emit_mem to,
    unsigned from)
{
    if (emit_room_(e))
        emit_mem_(e, width, emit_bytes_((unsigned)op << 3, width), from, to, 0);
}

/* Bytes that an immediate takes: sign-extended byte, or up to four */
static inline unsigned emit_imm_width_(unsigned width, int32_t value)
{
    return value == (int8_t)value ? 1 : width > 4 ? 4 : width;
}

/* op r, imm     (sign-extended to 8 bytes; the one-byte immediate where it does) */
static inline void emit_alu_ri(struct emit *e, enum emit_alu op, unsigned width, unsigned to,
    int32_t value)
{
    unsigned bytes = emit_imm_width_(width, value);
    if (!emit_room_(e))
        return;
    if (to == X86_RAX && (width == 1 || bytes > 1))
        emit_prefixes_(e, width, 0, emit_sized_((unsigned)op << 3 | 4, width));
    else if (width == 1)
        emit_rm_(e, width, 0x80 | EMIT_BYTE_RM, op, to);
    else
        emit_rm_(e, width, bytes == 1 ? 0x83 : 0x81, op, to);
    emit_imm_(e, bytes, value);
}

/* op [m], imm   (the same) */
static inline void emit_alu_mi(struct emit *e, enum emit_alu op, unsigned width, struct emit_mem to,
    int32_t value)
{
    unsigned bytes = emit_imm_width_(width, value);
    if (!emit_room_(e))
        return;
    emit_mem_(e, width, width == 1 ? 0x80 : bytes == 1 ? 0x83 : 0x81, op, to, bytes);
    emit_imm_(e, bytes, value);
}

/* inc [m] */
static inline void emit_inc_m(struct emit *e, unsigned width, struct emit_mem m)
{
    if (emit_room_(e))
        emit_mem_(e, width, emit_sized_(0xfe, width), 0, m, 0);
}

/* dec [m] */
static inline void emit_dec_m(struct emit *e, unsigned width, struct emit_mem m)
{
    if (emit_room_(e))
        emit_mem_(e, width, emit_sized_(0xfe, width), 1, m, 0);
}

/* test r, r */
static inline void emit_test_rr(struct emit *e, unsigned width, unsigned a, unsigned b)
{
    if (emit_room_(e))
        emit_rm_(e, width, emit_bytes_(0x84, width), b, a);
}

enum emit_shift { EMIT_ROL, EMIT_ROR, EMIT_RCL, EMIT_RCR, EMIT_SHL, EMIT_SHR, EMIT_SAR = 7 };

/* op r, imm8    (shifts; flags change unless the count is 0) */
static inline void emit_shift_ri(struct emit *e, enum emit_shift op, unsigned width, unsigned to,
    unsigned count)
{
    if (!emit_room_(e))
        return;
    emit_rm_(e, width, emit_sized_(0xc0, width) | (width == 1 ? EMIT_BYTE_RM : 0), op, to);
    emit_u8_(e, count);
}

/* movd, movq [m], xmm   (4 or 8 bytes) */
static inline void emit_mov_mx(struct emit *e, unsigned width, struct emit_mem to, unsigned from)
{
    if (emit_room_(e))
        emit_mem_(e, 2, width == 8 ? 0x0fd6 : 0x0f7e, from, to, 0);
}

/* movhps [m], xmm: the upper 8 bytes */
static inline void emit_movh_mx(struct emit *e, struct emit_mem to, unsigned from)
{
    if (emit_room_(e))
        emit_mem_(e, 4, 0x0f17, from, to, 0);
}

/* VEX.LZ with register operands: C4 [~R 1 ~B mmmmm] [W ~vvvv 0 pp] opcode modrm */
static inline void emit_vex_(struct emit *e, unsigned map, unsigned pp, unsigned opcode,
    unsigned width, unsigned reg, unsigned vvvv, unsigned rm)
{
    emit_u8_(e, 0xc4);
    emit_u8_(e, (~reg >> 3 & 1) << 7 | 0x40 | (~rm >> 3 & 1) << 5 | map);
    emit_u8_(e, (width == 8 ? 0x80u : 0) | (~vvvv & 15) << 3 | pp);
    emit_u8_(e, opcode);
    emit_u8_(e, 0xc0 | (reg & 7) << 3 | (rm & 7));
}

/* shlx, shrx, sarx r, r, r: to = from shifted by count; no flags (BMI2; EMIT_SHL, SHR, SAR) */
static inline void emit_shiftx_rrr(struct emit *e, enum emit_shift op, unsigned width, unsigned to,
    unsigned from, unsigned count)
{
    unsigned pp = op == EMIT_SHL ? 1 : op == EMIT_SAR ? 2 : 3;
    if (emit_room_(e))
        emit_vex_(e, X86_MAP_0F38, pp, 0xf7, width, to, count, from);
}

/* rorx r, r, imm8: no flags (BMI2) */
static inline void emit_rorx_rri(struct emit *e, unsigned width, unsigned to, unsigned from,
    unsigned count)
{
    if (!emit_room_(e))
        return;
    emit_vex_(e, X86_MAP_0F3A, 3, 0xf0, width, to, 0, from);
    emit_u8_(e, count);
}

/* Stack */

/* push r64 */
static inline void emit_push_r(struct emit *e, unsigned reg)
{
    if (emit_room_(e))
        emit_prefixes_(e, 4, reg >> 3 & 1, 0x50 | (reg & 7));
}

/* pop r64 */
static inline void emit_pop_r(struct emit *e, unsigned reg)
{
    if (emit_room_(e))
        emit_prefixes_(e, 4, reg >> 3 & 1, 0x58 | (reg & 7));
}

/* push qword [m] */
static inline void emit_push_m(struct emit *e, struct emit_mem m)
{
    if (emit_room_(e))
        emit_mem_(e, 4, 0xff, 6, m, 0);
}

/* pop qword [m] */
static inline void emit_pop_m(struct emit *e, struct emit_mem m)
{
    if (emit_room_(e))
        emit_mem_(e, 4, 0x8f, 0, m, 0);
}

/* push imm32    (sign-extended; always five bytes) */
static inline void emit_push_i32(struct emit *e, int32_t value)
{
    if (!emit_room_(e))
        return;
    emit_u8_(e, 0x68);
    emit_u32_(e, (uint32_t)value);
}

/* Flags */

enum { /* instructions of one byte, for emit_op */
    EMIT_PUSHFQ = 0x9c, EMIT_POPFQ = 0x9d, EMIT_SAHF = 0x9e, EMIT_LAHF = 0x9f, EMIT_RET = 0xc3,
    EMIT_LEAVE = 0xc9, EMIT_INT3 = 0xcc, EMIT_CLD = 0xfc, EMIT_STD = 0xfd,
};

/* pushfq, popfq, sahf, lahf, ret, leave, int3, cld, std */
static inline void emit_op(struct emit *e, unsigned opcode)
{
    if (emit_room_(e))
        emit_u8_(e, opcode);
}

/* setcc r8      (condition: the low four bits of jcc's opcode; EMIT_O and so on) */
static inline void emit_set_r(struct emit *e, unsigned condition, unsigned reg)
{
    if (emit_room_(e))
        emit_rm_(e, 4, 0x0f90 | condition | EMIT_BYTE_RM, 0, reg);
}

/* setcc byte [m] */
static inline void emit_set_m(struct emit *e, unsigned condition, struct emit_mem m)
{
    if (emit_room_(e))
        emit_mem_(e, 4, 0x0f90 | condition, 0, m, 0);
}

/* Control */

enum emit_condition {
    EMIT_O, EMIT_NO, EMIT_B, EMIT_NB, EMIT_Z, EMIT_NZ, EMIT_BE, EMIT_NBE,
    EMIT_S, EMIT_NS, EMIT_P, EMIT_NP, EMIT_L, EMIT_NL, EMIT_LE, EMIT_NLE
};

/* jmp rel32 */
static inline void emit_jmp(struct emit *e, uint64_t target)
{
    if (!emit_room_(e))
        return;
    emit_u8_(e, 0xe9);
    emit_rel32_(e, target, 0);
}

/* call rel32 */
static inline void emit_call(struct emit *e, uint64_t target)
{
    if (!emit_room_(e))
        return;
    emit_u8_(e, 0xe8);
    emit_rel32_(e, target, 0);
}

/* jcc rel32 */
static inline void emit_jcc(struct emit *e, unsigned condition, uint64_t target)
{
    if (!emit_room_(e))
        return;
    emit_u8_(e, 0x0f);
    emit_u8_(e, 0x80 | condition);
    emit_rel32_(e, target, 0);
}

/* Short jumps: forward to a place not yet known (emit_jump8 returns where the displacement is, for
 * emit_bind8 when the place has been reached), or to an address (emit_jump8_to). */
enum { EMIT_JMP8 = 0xeb, EMIT_JRCXZ8 = 0xe3, EMIT_JCC8 = 0x70 /* | condition */ };

/* jmp rel8, jcc rel8, jrcxz rel8 */
static inline uint8_t *emit_jump8(struct emit *e, unsigned opcode)
{
    if (!emit_room_(e))
        return NULL;
    emit_u8_(e, opcode);
    emit_u8_(e, 0);
    return e->at - 1;
}

/* Lets the short jump whose displacement is at `place` go to the next byte written. */
static inline void emit_bind8(struct emit *e, uint8_t *place)
{
    if (place == NULL || e->overflow)
        return;
    ptrdiff_t distance = e->at - (place + 1);
    if (distance > 127)
        e->unreachable = true;
    *place = (uint8_t)distance;
}

/* jmp rel8, jcc rel8, jrcxz rel8 to an address (where the code will run) */
static inline void emit_jump8_to(struct emit *e, unsigned opcode, uint64_t target)
{
    if (!emit_room_(e))
        return;
    int64_t distance = (int64_t)(target - (emit_here(e) + 2));
    if (distance != (int8_t)distance)
        e->unreachable = true;
    emit_u8_(e, opcode);
    emit_u8_(e, (uint8_t)distance);
}

/* jmp r64 */
static inline void emit_jmp_r(struct emit *e, unsigned reg)
{
    if (emit_room_(e))
        emit_rm_(e, 4, 0xff, 4, reg);
}

/* jmp qword [m] */
static inline void emit_jmp_m(struct emit *e, struct emit_mem m)
{
    if (emit_room_(e))
        emit_mem_(e, 4, 0xff, 4, m, 0);
}

/* call r64 */
static inline void emit_call_r(struct emit *e, unsigned reg)
{
    if (emit_room_(e))
        emit_rm_(e, 4, 0xff, 2, reg);
}

/* call qword [m] */
static inline void emit_call_m(struct emit *e, struct emit_mem m)
{
    if (emit_room_(e))
        emit_mem_(e, 4, 0xff, 2, m, 0);
}

/* not r         (no flags) */
static inline void emit_not_r(struct emit *e, unsigned width, unsigned reg)
{
    if (emit_room_(e))
        emit_rm_(e, width, emit_sized_(0xf6, width) | (width == 1 ? EMIT_BYTE_RM : 0), 2, reg);
}

/* rdtsc         (edx:eax, both zero-extended) */
static inline void emit_rdtsc(struct emit *e)
{
    if (emit_room_(e))
        emit_u16_(e, 0x310f);
}

/* lfence        (all instructions before it have finished, none behind it has begun) */
static inline void emit_lfence(struct emit *e)
{
    if (!emit_room_(e))
        return;
    emit_u16_(e, 0xae0f);
    emit_u8_(e, 0xe8);
}

/* ud2 */
static inline void emit_ud2(struct emit *e)
{
    if (emit_room_(e))
        emit_u16_(e, 0x0b0f);
}

/* rdfsbase, rdgsbase, wrfsbase, wrgsbase r64 */
enum emit_base { EMIT_RDFSBASE, EMIT_RDGSBASE, EMIT_WRFSBASE, EMIT_WRGSBASE };

static inline void emit_base_r(struct emit *e, enum emit_base op, unsigned reg)
{
    if (!emit_room_(e))
        return;
    emit_u8_(e, 0xf3);
    emit_rm_(e, 8, 0x0fae, op, reg);
}

/* No-operations of `bytes` bytes in all, in as few as processors like: up to 9 bytes each. */
static inline void emit_nop(struct emit *e, unsigned bytes)
{
    /*  1: 90                      4: 0f 1f 40 00           7: 0f 1f 80 00 00 00 00
     *  2: 66 90                   5: 0f 1f 44 00 00        8: 0f 1f 84 00 00 00 00 00
     *  3: 0f 1f 00                6: 66 0f 1f 44 00 00     9: 66 0f 1f 84 00 00 00 00 00 */
    while (bytes && emit_room_(e)) {
        unsigned n = bytes < 9 ? bytes : 9;
        bytes -= n;
        if (n == 2 || n == 6 || n == 9) {
            emit_u8_(e, 0x66);
            n--;
        }
        if (n == 1) {
            emit_u8_(e, 0x90);
            continue;
        }
        emit_u8_(e, 0x0f);
        emit_u8_(e, 0x1f);
        emit_u8_(e, n == 8 ? 0x84 : n == 7 ? 0x80 : n == 5 ? 0x44 : n == 4 ? 0x40 : 0);
        for (unsigned i = 3; i < n; i++)
            emit_u8_(e, 0);
    }
}

/* Bytes as they are: an instruction of the program */
static inline void emit_copy(struct emit *e, const uint8_t *bytes, size_t count)
{
    while (count) {
        size_t n = count < EMIT_LONGEST ? count : EMIT_LONGEST;
        if (!emit_room_(e))
            return;
        for (size_t i = 0; i < n; i++)
            e->at[i] = bytes[i];
        e->at += n;
        bytes += n;
        count -= n;
    }
}

/* A 64-bit literal, for [rip + d] operands */
static inline void emit_literal(struct emit *e, uint64_t value)
{
    if (emit_room_(e))
        emit_u64_(e, value);
}

#endif
