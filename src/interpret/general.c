/* Instructions that are not known in detail: what the decoder's table says that they may write is
 * unknown from then on. */
#include "interpret/internal.h"

/* X86_CF ... as bits of rflags. */
static uint64_t rflags_of(unsigned flags)
{
    return (flags & X86_CF ? FLAG_CF : 0) | (flags & X86_PF ? FLAG_PF : 0) |
           (flags & X86_AF ? FLAG_AF : 0) | (flags & X86_ZF ? FLAG_ZF : 0) |
           (flags & X86_SF ? FLAG_SF : 0) | (flags & X86_OF ? FLAG_OF : 0) |
           (flags & X86_DF ? FLAG_DF : 0) |
           (flags & X86_FLAG_OTHER ? ~(uint64_t)(FLAG_STATUS | FLAG_DF) : 0);
}

/* lar, lsl, rdssp: their register is written or not, which the table does not say. */
static bool is_conditional(const struct x86_insn *i)
{
    return i->map == X86_MAP_0F && i->encoding == X86_LEGACY &&
           ((i->opcode | 1) == 0x03 || i->opcode == 0x1e);
}

/* enter, with frames to be copied; bts and kin with a register write far from their operand's
 * address. */
static bool writes_elsewhere(const struct x86_insn *i)
{
    return (i->map == X86_MAP_ONE_BYTE && i->opcode == 0xc8) ||
           (i->map == X86_MAP_0F && (i->opcode & 0xe7) == 0xa3);
}

static void memory_blur_all(const struct step *t)
{
    struct x86_memory m[X86_MEMORY_MAX];
    unsigned count = x86_memory_as(t->insn, t->code, m);
    for (unsigned i = 0; i < count; i++) {
        if (!(m[i].access & X86_MEM_WRITE))
            continue;
        struct interpret_value address = interpret_address(t->s, t->insn, &m[i]);
        bool fixed = m[i].size && t->insn->kind != X86_STRING_REP;
        if (fixed && !writes_elsewhere(t->insn))
            memory_blur(t->s, &address, m[i].size);
        else
            memory_forget(t->s);
    }
}

static void registers_blur(const struct step *t)
{
    struct x86_definition d[X86_DEFINITIONS_MAX];
    unsigned count = x86_definitions_as(t->insn, d);
    for (unsigned i = 0; i < count; i++) {
        struct interpret_value *r = &t->s->reg[d[i].reg];
        if (d[i].high)
            *r = value_of(r->bits, r->known & ~UINT64_C(0xff00));
        else if ((d[i].width == 4 && d[i].conditional) || t->insn->kind == X86_NONDET ||
                 is_conditional(t->insn))
            *r = value_unknown(); /* the kernel may emulate str and kin, and leave the upper half */
        else
            register_set(t->s, d[i].reg, value_unknown(), d[i].width);
    }
}

void general_execute(const struct step *t)
{
    memory_blur_all(t); /* by addresses as of before */
    registers_blur(t);
    uint64_t flags = rflags_of(t->insn->flags_changed);
    /* some clear flags that the table does not name (vtestps) */
    flags_set(t, flags & FLAG_STATUS ? flags | FLAG_STATUS : flags, 0, 0);
}
