/* The map 0F: what compilers make of it without vector registers. */
#include "interpret/internal.h"

/* What one of two values is, when it is not known which. */
static struct interpret_value either(struct interpret_value a, struct interpret_value b)
{
    return value_of(a.bits, a.known & b.known & ~(a.bits ^ b.bits));
}

static void move_if(const struct step *t)
{
    unsigned size = wide_size(t->insn);
    int is = condition(t->s, t->insn->opcode & 15);
    struct interpret_value from = rm_read(t, size), old = register_read(t, t->insn->reg, size);
    register_write(t, t->insn->reg, is < 0 ? either(from, old) : is ? from : old, size);
}

static void set_if(const struct step *t)
{
    int is = condition(t->s, t->insn->opcode & 15);
    struct interpret_value v = is < 0 ? value_of(0, ~UINT64_C(1)) : value_known((uint64_t)is);
    rm_write(t, v, 1);
}

static void extend_zero(const struct step *t)
{
    struct interpret_value v = rm_read(t, t->insn->opcode & 1 ? 2 : 1);
    v.known |= t->insn->opcode & 1 ? ~UINT64_C(0xffff) : ~UINT64_C(0xff);
    register_write(t, t->insn->reg, v, wide_size(t->insn));
}

static void extend_sign(const struct step *t)
{
    unsigned from = t->insn->opcode & 1 ? 2 : 1;
    struct interpret_value v = sign_extended(t, rm_read(t, from), from);
    register_write(t, t->insn->reg, v, wide_size(t->insn));
}

/* A3, AB, B3, BB with a register; BA with an immediate. A register's bit number counts inside the
 * operand if that is one, too; in memory the bit may be far away. */
static bool bit_operate(const struct step *t, unsigned how, struct interpret_value number)
{
    unsigned size = wide_size(t->insn), bit = (unsigned)number.bits & (8 * size - 1);
    bool known = (number.known & (8 * size - 1)) == 8 * size - 1;
    struct interpret_value v = rm_read(t, size);
    uint64_t mask = known ? UINT64_C(1) << bit : 0;
    flags_set(t, FLAG_CF, v.bits & mask ? FLAG_CF : 0, v.known & mask ? FLAG_CF : 0);
    flags_set(t, FLAG_OF | FLAG_SF | FLAG_AF | FLAG_PF, 0, 0);
    if (how == 0)
        return true;
    if (!known)
        v = value_unknown();
    else if (how == 1)
        v = value_of(v.bits | mask, v.known | mask);
    else if (how == 2)
        v = value_of(v.bits & ~mask, v.known | mask);
    else
        v = value_of(v.bits ^ mask, v.known);
    rm_write(t, v, size);
    return true;
}

static bool bits_execute(const struct step *t)
{
    const struct x86_insn *i = t->insn;
    if (i->opcode == 0xba)
        return bit_operate(t, (i->reg & 7) - 4u, value_known(immediate(t, 0, 1)));
    if (i->access & X86_MEM)
        return false;
    return bit_operate(t, i->opcode >> 3 & 3, register_read(t, i->reg, wide_size(i)));
}

/* bsf, bsr; with F3 tzcnt, lzcnt: where the processor has them not, the same bytes are bsf and bsr,
 * which differ where the operand is 0, and lzcnt everywhere. */
static bool scan(const struct step *t)
{
    unsigned size = wide_size(t->insn);
    struct interpret_value v = rm_read(t, size);
    bool known = interpret_is_known(&v, size), reverse = t->insn->opcode & 1;
    if (t->insn->traits & X86_REP && (reverse || !known || !v.bits))
        return false;
    if (!known || !v.bits)
        return false;
    unsigned at =
        reverse ? 63 - (unsigned)__builtin_clzll(v.bits) : (unsigned)__builtin_ctzll(v.bits);
    register_write(t, t->insn->reg, value_known(at), size);
    /* ZF of tzcnt is of the result */
    flags_set(t, FLAG_STATUS, 0, t->insn->traits & X86_REP ? 0 : FLAG_ZF);
    return true;
}

static void population(const struct step *t)
{
    unsigned size = wide_size(t->insn);
    struct interpret_value v = rm_read(t, size), r = value_unknown();
    if (interpret_is_known(&v, size))
        r = value_known((uint64_t)__builtin_popcountll(v.bits));
    register_write(t, t->insn->reg, r, size);
    flags_set(t, FLAG_STATUS, v.bits ? 0 : FLAG_ZF,
              FLAG_STATUS & ~(uint64_t)(r.known ? 0 : FLAG_ZF));
}

/* B0, B1 */
static void compare_exchange(const struct step *t)
{
    unsigned size = size_of(t->insn);
    uint64_t mask = mask_of(size);
    struct interpret_value v = rm_read(t, size), a = register_read(t, X86_RAX, size);
    struct interpret_value new = register_read(t, t->insn->reg, size);
    bool itself = !(t->insn->access & X86_MEM) && t->insn->base == X86_RAX;
    bool differ = (v.bits ^ a.bits) & v.known & a.known & mask;
    bool same = itself || (!differ && (v.known & a.known & mask) == mask);
    alu(t, ALU_CMP, a, v, size);
    if (same) {
        rm_write(t, new, size);
    } else if (differ) {
        register_set(t->s, X86_RAX, v, size);
    } else {
        rm_write(t, either(v, new), size);
        register_set(t->s, X86_RAX, either(a, v), size);
        /* of 32 bits the upper half is cleared in one case only */
        if (size == 4)
            t->s->reg[X86_RAX] = value_unknown();
        if (size == 4 && !(t->insn->access & X86_MEM))
            t->s->reg[t->insn->base & 15] = value_unknown();
    }
}

static void exchange_add(const struct step *t)
{
    unsigned size = size_of(t->insn);
    struct interpret_value v = rm_read(t, size), reg = register_read(t, t->insn->reg, size);
    struct interpret_value sum = alu(t, ALU_ADD, v, reg, size);
    /* what is in a register is written last, and in memory before its address changes */
    if (t->insn->access & X86_MEM)
        rm_write(t, sum, size);
    register_write(t, t->insn->reg, v, size);
    if (!(t->insn->access & X86_MEM))
        rm_write(t, sum, size);
}

static void swap_bytes(const struct step *t)
{
    unsigned size = wide_size(t->insn);
    struct interpret_value v = register_read(t, t->insn->reg, size);
    if (size == 8)
        v = value_of(__builtin_bswap64(v.bits), __builtin_bswap64(v.known));
    else
        v = value_of(__builtin_bswap32((uint32_t)v.bits), __builtin_bswap32((uint32_t)v.known));
    register_set(t->s, t->insn->reg, size == 2 ? value_unknown() : v, size);
}

/* Instructions that move nothing: prefetches, fences, hints. */
static bool is_nothing(const struct x86_insn *i)
{
    return (i->opcode == 0x18 || i->opcode == 0x1e || i->opcode == 0x1f || i->opcode == 0x0d) &&
           !i->writes;
}

static void multiply_into(const struct step *t)
{
    unsigned size = wide_size(t->insn), reg = t->insn->reg;
    struct interpret_value b = rm_read(t, size);
    register_write(t, reg, multiply(t, register_read(t, reg, size), b, size), size);
}

/* What always comes to its end, and is known in detail. */
static bool simple_execute(const struct step *t)
{
    switch (t->insn->opcode) {
    case 0x40 ... 0x4f: move_if(t); return true;
    case 0x90 ... 0x9f: set_if(t); return true;
    case 0xaf: multiply_into(t); return true;
    case 0xb0 ... 0xb1: compare_exchange(t); return true;
    case 0xb6 ... 0xb7: extend_zero(t); return true;
    case 0xb8: population(t); return true;
    case 0xbe ... 0xbf: extend_sign(t); return true;
    case 0xc0 ... 0xc1: exchange_add(t); return true;
    case 0xc8 ... 0xcf: swap_bytes(t); return true;
    default: return false;
    }
}

bool two_byte_execute(struct step *t, enum interpret_end *end)
{
    unsigned opcode = t->insn->opcode;
    *end = INTERPRET_NEXT;
    if (simple_execute(t))
        return true;
    switch (opcode) {
    case 0x0d: case 0x18: case 0x1e ... 0x1f: return is_nothing(t->insn);
    case 0x80 ... 0x8f: *end = branch(t, condition(t->s, opcode & 15)); return true;
    case 0xa3: case 0xab: case 0xb3: case 0xba ... 0xbb: return bits_execute(t);
    case 0xbc ... 0xbd: return scan(t);
    default: return false;
    }
}
