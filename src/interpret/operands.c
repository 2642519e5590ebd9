#include <string.h>

#include "interpret/internal.h"

/* ah, ch, dh, bh */
static bool is_high(const struct step *t, unsigned reg, unsigned bytes)
{
    return bytes == 1 && t->insn->traits & X86_HIGH_BYTE && reg >= 4 && reg < 8;
}

struct interpret_value register_read(const struct step *t, unsigned reg, unsigned bytes)
{
    bool high = is_high(t, reg, bytes);
    struct interpret_value v = t->s->reg[high ? reg - 4 : reg & 15];
    if (high)
        return value_of(v.bits >> 8, v.known >> 8 & 0xff);
    v.bits &= mask_of(bytes);
    v.known &= mask_of(bytes);
    v.origin = origin_cut(t->s, v.origin, bytes);
    return v;
}

void register_set(struct interpret_state *s, unsigned reg, struct interpret_value v, unsigned bytes)
{
    struct interpret_value *to = &s->reg[reg & 15];
    uint64_t mask = mask_of(bytes);
    if (bytes == 8) {
        *to = v;
    } else if (bytes == 4) {
        *to = (struct interpret_value){v.bits & mask, (v.known & mask) | ~mask,
                                       origin_cut(s, v.origin, 4)};
    } else {
        *to =
            value_of((to->bits & ~mask) | (v.bits & mask), (to->known & ~mask) | (v.known & mask));
    }
}

void register_write(const struct step *t, unsigned reg, struct interpret_value v, unsigned bytes)
{
    if (!is_high(t, reg, bytes)) {
        register_set(t->s, reg, v, bytes);
        return;
    }
    struct interpret_value *to = &t->s->reg[reg - 4];
    const uint64_t mask = 0xff00;
    *to = value_of((to->bits & ~mask) | (v.bits << 8 & mask),
                   (to->known & ~mask) | (v.known << 8 & mask));
}

/* ---- addresses ---- */

/* What is not known is unknown as a whole: carries go everywhere. */
static struct interpret_value add(struct interpret_value a, struct interpret_value b)
{
    bool known = a.known == UINT64_MAX && b.known == UINT64_MAX;
    struct interpret_value sum = known ? value_known(a.bits + b.bits) : value_unknown();
    sum.origin = origin_add(a.origin, b.origin);
    return sum;
}

static struct interpret_value scaled(struct interpret_value v, unsigned scale)
{
    struct interpret_value r =
        v.known == UINT64_MAX ? value_known(v.bits * scale) : value_unknown();
    r.origin = origin_scale(v.origin, scale);
    return r;
}

static struct interpret_value base_of(const struct interpret_state *s, const struct x86_insn *insn,
                                      const struct x86_memory *m)
{
    if (m->base == X86_NONE)
        return constant(0);
    return m->base == X86_RIP ? constant(s->rip + insn->length) : s->reg[m->base & 15];
}

struct interpret_value interpret_address(const struct interpret_state *s,
                                         const struct x86_insn *insn, const struct x86_memory *m)
{
    struct interpret_value a = add(base_of(s, insn, m), constant((uint64_t)m->disp));
    if (insn->traits & X86_VSIB && m->index != X86_NONE)
        return value_unknown();
    if (m->index != X86_NONE)
        a = add(a, scaled(s->reg[m->index & 15], m->scale));
    if (m->add8 != X86_NONE)
        a = add(a, value_of(s->reg[m->add8 & 15].bits & 0xff,
                            s->reg[m->add8 & 15].known | ~UINT64_C(0xff)));
    if (m->address32)
        a = value_of(a.bits & UINT32_MAX, a.known == UINT64_MAX ? UINT64_MAX : 0);
    if (m->segment)
        a = add(a, m->segment == X86_FS ? s->fs : s->gs);
    return a;
}

struct interpret_value rm_address(const struct step *t)
{
    return interpret_address(t->s, t->insn, &t->memory);
}

/* ---- memory ---- */

struct interpret_value memory_read(const struct step *t, const struct interpret_value *address,
                                   unsigned bytes)
{
    bool there = address->known == UINT64_MAX;
    struct interpret_value v = there ? interpret_load(t->s, address->bits, bytes) : value_unknown();
    if (!there || !memory_is_written(t->s, address->bits, bytes))
        v.origin = origin_of_word(t->s, address->origin, bytes, false);
    return v;
}

struct interpret_value rm_read(const struct step *t, unsigned bytes)
{
    if (!(t->insn->access & X86_MEM))
        return register_read(t, t->insn->base, bytes);
    struct interpret_value address = rm_address(t);
    return memory_read(t, &address, bytes);
}

void rm_write(const struct step *t, struct interpret_value v, unsigned bytes)
{
    if (!(t->insn->access & X86_MEM)) {
        register_write(t, t->insn->base, v, bytes);
        return;
    }
    struct interpret_value address = rm_address(t);
    memory_store(t->s, &address, v, bytes);
}

uint64_t immediate(const struct step *t, unsigned at, unsigned bytes)
{
    uint64_t v = 0;
    memcpy(&v, t->code + t->insn->at_imm + at, bytes);
    /* sign-extended */
    return bytes >= 8 ? v : (uint64_t)((int64_t)(v << (64 - 8 * bytes)) >> (64 - 8 * bytes));
}

struct interpret_value sign_extended(const struct step *t, struct interpret_value v, unsigned from)
{
    uint64_t sign = UINT64_C(1) << (8 * from - 1), above = ~mask_of(from);
    bool known = v.known & sign, one = v.bits & sign;
    struct interpret_origin origin = origin_signed(t->s, v.origin, from);
    v = value_of(v.bits | (one ? above : 0), v.known | (known ? above : 0));
    v.origin = origin;
    return v;
}

void push(const struct step *t, struct interpret_value v, unsigned bytes)
{
    struct interpret_value *rsp = &t->s->reg[X86_RSP];
    *rsp = add(*rsp, constant(-(uint64_t)bytes));
    memory_store(t->s, rsp, v, bytes);
}

struct interpret_value pop(const struct step *t, unsigned bytes)
{
    struct interpret_value *rsp = &t->s->reg[X86_RSP];
    struct interpret_value v = memory_read(t, rsp, bytes);
    *rsp = add(*rsp, constant(bytes));
    return v;
}
