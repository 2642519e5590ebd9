/* Handlers as sequences of instructions, each an entry of the replacement table.
 *
 *     count(a, b)     own0 = a; own1 = hash        append(a, b)     own2 = the buffer's end
 *                     own2 = &table[hash]                           store a, b there
 *                     own2->a == a? own2->b == b?                   own2 += size; is it full?
 *                     own2->count++                                 the buffer's end = own2
 *
 * An entry that has another key is a mispredicted branch, and gets the new one. The search of a
 * full buffer for streams is the consumer's, and no part of the sequence. */
#include "model/dise_internal.h"
#include "sigsafe/hash.h"

enum {
    OWN0 = DISE_OWN, OWN1, OWN2, OWN3, NOTHING = UOP_REGISTERS,
    GROUP_SHIFT = 32, ENTRY_SHIFT = 5, WORD = 8, COUNT_OFFSET = 16,
    BUFFER = 1 << 21, /* bytes, then it begins anew */
    COMPUTED_ENTRY = 0, BUFFER_END = 1, /* operands */
};

static uint64_t kept_at(unsigned group)
{
    return MEMORY_OWN + ((uint64_t)group << GROUP_SHIFT);
}

struct uop *dise_uop(struct uop_insn *to, unsigned class, unsigned result, unsigned source)
{
    assert(to->count < UOPS_MOST && "a sequence fits");
    struct uop *u = &to->uops[to->count++];
    *u = (struct uop){.class = (uint8_t)class, .size = WORD};
    if (result != NOTHING)
        u->results[u->result_count++] = (uint8_t)result;
    if (source != NOTHING)
        u->sources[u->source_count++] = (uint8_t)source;
    return u;
}

static void load(struct uop_insn *to, unsigned result, unsigned base, unsigned operand,
                 unsigned offset)
{
    struct uop *u = dise_uop(to, UOP_LOAD, result, base);
    u->operand = (uint8_t)operand;
    u->offset = (uint8_t)offset;
}

static void store(struct uop_insn *to, unsigned source, unsigned base, unsigned operand,
                  unsigned offset)
{
    struct uop *address = dise_uop(to, UOP_STORE_ADDRESS, NOTHING, base);
    address->operand = (uint8_t)operand;
    address->offset = (uint8_t)offset;
    struct uop *data = dise_uop(to, UOP_STORE_DATA, NOTHING, source);
    data->operand = (uint8_t)operand;
    data->offset = (uint8_t)offset;
}

/* A value of the instruction: the instantiation logic puts constants in; addresses wait for their
 * registers, and so do registers. */
static void value(struct uop_insn *to, unsigned result, uint8_t field, unsigned operand,
                  const struct uop_insn *insn)
{
    struct uop *u = dise_uop(to, UOP_ALU, result, NOTHING);
    if (field >= FIELD_REGISTER && field < FIELD_END)
        u->sources[u->source_count++] = (uint8_t)(UOP_GENERAL + field - FIELD_REGISTER);
    for (unsigned i = 0; field == FIELD_ADDRESS && i < insn->count; i++) {
        const struct uop *from = &insn->uops[i];
        if ((from->class != UOP_LOAD && from->class != UOP_STORE_ADDRESS) ||
            from->operand != operand)
            continue;
        for (unsigned k = 0; k < from->source_count; k++)
            u->sources[k] = from->sources[k];
        u->source_count = from->source_count;
        break;
    }
}

static void compare_key(struct uop_insn *to, unsigned key, unsigned offset)
{
    load(to, OWN3, OWN2, COMPUTED_ENTRY, offset);
    struct uop *u = dise_uop(to, UOP_ALU, OWN3, OWN3);
    u->sources[u->source_count++] = (uint8_t)key;
    dise_uop(to, UOP_BRANCH, NOTHING, OWN3);
}

/* ---- count ---- */

static uint64_t hash_of(uint64_t a, uint64_t b)
{
    uint64_t hash = hash_word(a ^ b * UINT64_C(0xd6e8feb86659fd93));
    return hash ^ hash >> 32;
}

/* own2: the entry's address; own0: the first value, own1 the second. */
static void hash_make(struct uop_insn *to, bool two)
{
    unsigned last = OWN0;
    if (two) {
        dise_uop(to, UOP_MUL, OWN2, OWN1);
        struct uop *u = dise_uop(to, UOP_ALU, OWN2, OWN2);
        u->sources[u->source_count++] = OWN0;
        last = OWN2;
    }
    dise_uop(to, UOP_MUL, OWN2, last);
    dise_uop(to, UOP_SHIFT, OWN2, OWN2);
    dise_uop(to, UOP_LEA, OWN2, OWN2);
}

static bool count_make(struct dise_memory *memory, const struct production_group *g,
                       const struct dise_action *action, struct uop_insn *to,
                       struct uop_executed *x)
{
    bool two = g->fields[1] != FIELD_NOTHING;
    uint64_t hash = hash_of(action->a, action->b), *keys = memory->keys[action->group];
    uint32_t at = (uint32_t)hash % DISE_KEPT;
    bool other = keys && keys[at] != hash;
    hash_make(to, two);
    compare_key(to, OWN0, 0);
    if (two)
        compare_key(to, OWN1, WORD);
    x->address[COMPUTED_ENTRY] = kept_at(action->group) + ((uint64_t)at << ENTRY_SHIFT);
    load(to, OWN3, OWN2, COMPUTED_ENTRY, COUNT_OFFSET);
    dise_uop(to, UOP_ALU, OWN3, OWN3);
    store(to, OWN3, OWN2, COMPUTED_ENTRY, COUNT_OFFSET);
    if (!other)
        return false;
    keys[at] = hash;
    store(to, OWN0, OWN2, COMPUTED_ENTRY, 0);
    if (two)
        store(to, OWN1, OWN2, COMPUTED_ENTRY, WORD);
    return true;
}

/* ---- append ---- */

static void append_make(struct dise_memory *memory, const struct production_group *g,
                        const struct dise_action *action, struct uop_insn *to,
                        struct uop_executed *x)
{
    bool two = g->fields[1] != FIELD_NOTHING;
    uint64_t *appended = &memory->appended[action->group];
    x->address[COMPUTED_ENTRY] = kept_at(action->group) + *appended % BUFFER;
    x->address[BUFFER_END] = kept_at(action->group) + 2 * (uint64_t)BUFFER;
    *appended += two ? 2 * WORD : WORD;
    load(to, OWN2, NOTHING, BUFFER_END, 0);
    store(to, OWN0, OWN2, COMPUTED_ENTRY, 0);
    if (two)
        store(to, OWN1, OWN2, COMPUTED_ENTRY, WORD);
    dise_uop(to, UOP_ALU, OWN2, OWN2);
    dise_uop(to, UOP_ALU, OWN3, OWN2);
    dise_uop(to, UOP_BRANCH, NOTHING, OWN3);
    store(to, OWN2, NOTHING, BUFFER_END, 0);
}

/* ---- any ---- */

bool dise_handler_make(struct dise_memory *memory, const struct production_group *g,
                       const struct dise_action *action, const struct uop_insn *insn,
                       struct uop_insn *out, struct uop_executed *x)
{
    out->count = 0;
    x->pc = MEMORY_OWN + ((uint64_t)action->group << ENTRY_SHIFT);
    x->known[COMPUTED_ENTRY] = x->known[BUFFER_END] = true;
    value(out, OWN0, g->fields[0], action->operand, insn);
    if (g->fields[1] != FIELD_NOTHING)
        value(out, OWN1, g->fields[1], action->operand, insn);
    if (g->kind == GROUP_COUNT)
        return count_make(memory, g, action, out, x);
    append_make(memory, g, action, out, x);
    return false;
}

/* A store is one instruction. With the stores of a new key. */
uint32_t dise_handler_entries(const struct production_group *g)
{
    uint32_t values = g->fields[1] != FIELD_NOTHING ? 2 : 1;
    bool two = values == 2;
    if (g->kind == GROUP_COUNT) /* values, hash, comparisons, count, the new key */
        return values + (two ? 5 : 3) + 3 * values + 3 + values;
    return values + 1 + values + 3 + 1;
}
