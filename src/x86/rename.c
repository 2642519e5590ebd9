/* Other registers in the fields of an encoded instruction. */
#include "x86/insn.h"

/* Where one field's bits are: the low three in a byte, the fourth in another. */
struct place {
    unsigned low_at, low_shift;
    unsigned high_at, high_bit; /* high_at 0: no room for the fourth bit */
    bool inverted;
};

/* The fourth bit. REX: 0100WRXB; the second byte of the three-byte vector encodings: RXB....
 * inverted; of the two-byte VEX: R....... */
static void extension(const struct x86_insn *insn, unsigned rex_bit, struct place *p)
{
    p->inverted = insn->encoding != X86_LEGACY;
    p->high_at = UINT32_MAX;
    if (insn->encoding == X86_LEGACY) {
        if (insn->traits & X86_HAS_REX) {
            p->high_at = insn->at_prefix;
            p->high_bit = rex_bit;
        }
    } else if (insn->encoding != X86_VEX2 || rex_bit == 2) {
        p->high_at = insn->at_prefix + 1u;
        p->high_bit = 5 + rex_bit;
    }
}

static struct place place_of(const struct x86_insn *insn, unsigned field)
{
    struct place p = {.low_at = insn->at_modrm};
    switch (field) {
    case X86_FIELD_REG:
        p.low_shift = 3;
        extension(insn, 2, &p);
        break;
    case X86_FIELD_INDEX:
        p.low_at = insn->at_sib;
        p.low_shift = 3;
        extension(insn, 1, &p);
        break;
    case X86_FIELD_OPCODE:
        p.low_at = insn->at_opcode;
        extension(insn, 0, &p);
        break;
    default: /* X86_FIELD_RM, X86_FIELD_BASE */
        if (field == X86_FIELD_BASE && insn->at_sib)
            p.low_at = insn->at_sib;
        extension(insn, 0, &p);
        break;
    }
    return p;
}

static unsigned number_in(const struct x86_insn *insn, unsigned field)
{
    switch (field) {
    case X86_FIELD_RM: case X86_FIELD_BASE: return insn->base;
    case X86_FIELD_INDEX: return insn->index;
    case X86_FIELD_VVVV: return insn->vvvv;
    default: return insn->reg;
    }
}

/* Numbers that mean something else in the field. */
static bool expressible(const struct x86_insn *insn, const uint8_t *code, unsigned field,
    unsigned to)
{
    if (field == X86_FIELD_INDEX)
        return to != X86_RSP;
    if (field != X86_FIELD_BASE)
        return true;
    if ((to & 7) == X86_RSP)
        return insn->at_sib != 0;
    return (to & 7) != X86_RBP || code[insn->at_modrm] >= 0x40;
}

static bool has_room(const struct x86_insn *insn, const uint8_t *code, unsigned field, unsigned to)
{
    if (field == X86_FIELD_VVVV)
        return true;
    struct place p = place_of(insn, field);
    return (p.high_at != UINT32_MAX || to < 8) && expressible(insn, code, field, to);
}

static void set(const struct x86_insn *insn, uint8_t *code, unsigned field, unsigned to)
{
    if (field == X86_FIELD_VVVV) { /* .vvvv... inverted, before the opcode (EVEX: before that) */
        uint8_t *byte = code + insn->at_opcode - (insn->encoding == X86_EVEX ? 2 : 1);
        *byte = (uint8_t)((*byte & 0x87) | (~to & 15) << 3);
        return;
    }
    struct place p = place_of(insn, field);
    code[p.low_at] = (uint8_t)((code[p.low_at] & ~(7u << p.low_shift)) | (to & 7) << p.low_shift);
    if (p.high_at == UINT32_MAX)
        return;
    unsigned bit = (to >> 3 & 1) ^ p.inverted;
    code[p.high_at] = (uint8_t)((code[p.high_at] & ~(1u << p.high_bit)) | bit << p.high_bit);
}

bool x86_rename_as(const struct x86_insn *insn, uint8_t *code, unsigned fields, unsigned from,
    unsigned to)
{
    fields &= insn->fields;
    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned field = X86_FIELD_REG; field <= X86_FIELD_OPCODE; field <<= 1) {
            if (!(fields & field) || number_in(insn, field) != from)
                continue;
            if (pass == 0 && !has_room(insn, code, field, to))
                return false;
            if (pass == 1)
                set(insn, code, field, to);
        }
    }
    return true;
}
