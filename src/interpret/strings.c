/* String instructions, repeated or not. */
#include "interpret/internal.h"

enum { REPEATED_MOST = 64 }; /* elements that are executed one by one */

static struct interpret_value at(const struct step *t, unsigned reg)
{
    return t->s->reg[reg];
}

/* By so many elements, in the direction that DF says. */
static void advance(const struct step *t, unsigned reg, uint64_t bytes)
{
    struct interpret_value *r = &t->s->reg[reg];
    const struct interpret_value *f = &t->s->rflags;
    bool known = r->known == UINT64_MAX && f->known & FLAG_DF;
    *r = known ? value_known(f->bits & FLAG_DF ? r->bits - bytes : r->bits + bytes)
               : value_unknown();
}

static struct interpret_value source(const struct step *t, unsigned size)
{
    struct interpret_value from = at(t, X86_RSI);
    from.origin = interpret_no_origin;
    return memory_read(t, &from, size);
}

static void one(const struct step *t, unsigned group, unsigned size)
{
    struct interpret_value to = at(t, X86_RDI);
    if (group == 0xa4)
        memory_store(t->s, &to, source(t, size), size);
    else if (group == 0xaa)
        memory_store(t->s, &to, register_read(t, X86_RAX, size), size);
    else
        register_set(t->s, X86_RAX, source(t, size), size);
    if (group != 0xac)
        advance(t, X86_RDI, size);
    if (group != 0xaa)
        advance(t, X86_RSI, size);
}

/* So many that what they write is not followed. */
static void many(const struct step *t, unsigned group, unsigned size, uint64_t count)
{
    memory_forget(t->s);
    advance(t, X86_RDI, count * size);
    if (group == 0xa4)
        advance(t, X86_RSI, count * size);
}

static void unknown_many(const struct step *t, unsigned group)
{
    memory_forget(t->s);
    t->s->reg[X86_RDI] = value_unknown();
    if (group == 0xa4)
        t->s->reg[X86_RSI] = value_unknown();
}

static void repeated(const struct step *t, unsigned group, unsigned size)
{
    struct interpret_value count = at(t, X86_RCX);
    if (count.known != UINT64_MAX)
        unknown_many(t, group);
    else if (count.bits > REPEATED_MOST)
        many(t, group, size, count.bits);
    else
        for (uint64_t i = 0; i < count.bits; i++)
            one(t, group, size);
    t->s->reg[X86_RCX] = value_known(0);
}

bool string_execute(const struct step *t)
{
    unsigned group = t->insn->opcode & 0xfe, size = size_of(t->insn);
    bool repeats = t->insn->traits & (X86_REP | X86_REPNE);
    if ((group != 0xa4 && group != 0xaa && group != 0xac) || (repeats && group == 0xac) ||
        t->insn->traits & (X86_ADDRESS32 | X86_FS | X86_GS))
        return false;
    if (repeats)
        repeated(t, group, size);
    else
        one(t, group, size);
    return true;
}
