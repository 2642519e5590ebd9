#include "modules/simulate_warm.h"

#include <stdlib.h>

#include "crack/crack.h"
#include "sigsafe/warm.h"

enum { BLOCKS_MOST = 1 << 22 };
/* A count that no run gets to: the instruction faults or is interrupted before. */
#define REPEATED_MOST (UINT64_C(1) << 40)

struct simulate_block {
    uint64_t pc, end;
    uint64_t last;    /* its last instruction's address */
    uint8_t transfer; /* of it: enum uop_transfer */
    uint32_t count, slot_count;
    uint64_t seen;    /* the sequence in which its code was looked up last */
    struct slot {
        uint64_t pc;
        uint32_t size; /* 0: it is not accessed */
        bool store, repeated;
    } slots[];
};

struct simulate_blocks {
    struct simulate_block **blocks;
    uint32_t capacity;
};

/* ---- blocks ---- */

static void slot_describe(struct slot *s, const struct uop_insn *insn, unsigned operand)
{
    for (unsigned i = 0; i < insn->count; i++) {
        const struct uop *u = &insn->uops[i];
        bool store = u->class == UOP_STORE_DATA, load = u->class == UOP_LOAD;
        if ((!store && !load) || u->operand != operand)
            continue;
        uint32_t end = (uint32_t)u->offset + u->size;
        s->size = end > s->size ? end : s->size;
        s->store |= store;
    }
}

static void insn_add(struct simulate_block *b, const struct tuple_insn *r,
                     const struct uop_insn *insn)
{
    b->last = r->address;
    b->end = r->address + r->length;
    b->transfer = insn->transfer;
    for (unsigned i = 0; i < r->memories; i++) {
        struct slot *s = &b->slots[b->slot_count++];
        s->pc = r->address;
        s->repeated = insn->flags & INSN_REPEATED;
        slot_describe(s, insn, i);
    }
}

static struct simulate_block *block_new(struct simulate_records records, uint32_t vector_bytes,
                                        const uint64_t *ids, uint32_t count)
{
    struct simulate_block *b =
        calloc(1, sizeof *b + (size_t)count * TUPLE_MEMORIES * sizeof b->slots[0]);
    for (uint32_t i = 0; b && i < count; i++) {
        uint32_t id = (uint32_t)(ids[i / 2] >> (i % 2 ? 32 : 0));
        const struct tuple_insn *insn = records.find(records.data, id);
        struct uop_insn cracked;
        if (!insn) {
            free(b);
            return NULL;
        }
        if (!crack(insn->bytes, insn->length, vector_bytes, &cracked))
            cracked = (struct uop_insn){0};
        b->pc = i ? b->pc : insn->address;
        insn_add(b, insn, &cracked);
    }
    if (b)
        b->count = count;
    return b;
}

static bool grow(struct simulate_blocks *w, uint32_t number)
{
    uint32_t capacity = w->capacity ? w->capacity : 1024;
    while (capacity <= number)
        capacity *= 2;
    if (capacity == w->capacity)
        return true;
    struct simulate_block **blocks = reallocarray(w->blocks, capacity, sizeof *blocks);
    if (!blocks)
        return false;
    for (uint32_t i = w->capacity; i < capacity; i++)
        blocks[i] = NULL;
    w->blocks = blocks;
    w->capacity = capacity;
    return true;
}

/* A ring may define a block several times, as the same. */
static void define(struct simulate_blocks **blocks, struct simulate_block *b, uint32_t number)
{
    if (!*blocks)
        *blocks = calloc(1, sizeof **blocks);
    struct simulate_blocks *of = *blocks;
    if (of && number < BLOCKS_MOST && grow(of, number) && !of->blocks[number])
        of->blocks[number] = b;
    else
        free(b);
}

static struct simulate_block *find(const struct simulate_blocks *w, uint64_t number)
{
    return w && number < w->capacity ? w->blocks[number] : NULL;
}

/* ---- execution ---- */

/* Within a sequence, which is some 10,000 instructions, a block's code is looked up once. */
static uint64_t enter(struct model_core *core, struct simulate_warm *at,
                      struct simulate_block *b)
{
    struct simulate_block *before = at->block;
    if (at->branches && before && b && before->transfer != TRANSFER_NONE)
        model_warm_branch(core, (enum uop_transfer)before->transfer, before->last, before->end,
                          b->pc);
    at->block = b;
    at->repeat = 1;
    if (!b)
        return 0;
    if (b->seen != at->sequence)
        model_warm_code(core, b->pc, b->end);
    b->seen = at->sequence;
    return b->count;
}

/* Caches have nothing left of what was touched earlier than so many bytes ago. */
static uint64_t bytes_kept(const struct machine *m)
{
    uint32_t most = m->l1d_size > m->l2_size ? m->l1d_size : m->l2_size;
    return 2 * (uint64_t)(most > m->l3_size ? most : m->l3_size);
}

/* How often a comparison is repeated is not known: up to the first difference, or not at all. */
static uint64_t elements_of(const struct slot *s, uint64_t repeat)
{
    uint64_t most = s->repeated ? REPEATED_MOST / s->size : 1;
    return repeat < most ? repeat : most;
}

static void touch(struct model_core *core, const struct simulate_warm *at, uint32_t slot,
                  uint64_t address)
{
    struct simulate_block *b = at->block;
    if (!b || slot >= b->slot_count || !b->slots[slot].size)
        return;
    const struct slot *s = &b->slots[slot];
    uint64_t size = elements_of(s, at->repeat) * s->size, kept = bytes_kept(model_machine(core));
    uint64_t left_out = size > kept ? size - kept : 0; /* elements are taken upwards */
    if (size)
        model_warm_data(core, s->pc, address + left_out, size - left_out, s->store);
}

/* The block that begins at words[0]; returns how many words it takes besides. */
static uint32_t take_definition(struct simulate_blocks **blocks, struct simulate_records records,
                                uint32_t vector_bytes, const uint64_t *words, uint32_t count)
{
    uint64_t rest = warm_rest(words[0]);
    uint32_t insns = (uint32_t)(rest >> WARM_COUNT_SHIFT), ids = (insns + 1) / 2;
    uint32_t number = (uint32_t)rest;
    if (insns && insns <= WARM_INSNS_MOST && ids < count && !find(*blocks, number))
        define(blocks, block_new(records, vector_bytes, words + 1, insns), number);
    return ids;
}

uint64_t simulate_warm_words(struct simulate_blocks **blocks, struct simulate_records records,
                             struct model_core *core, struct simulate_warm *at,
                             const uint64_t *words, uint32_t count)
{
    uint32_t vector_bytes = model_machine(core)->vector_bytes;
    uint64_t executed = 0;
    at->sequence++;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t rest = warm_rest(words[i]);
        switch (warm_top(words[i])) {
        case WARM_ENTER: executed += enter(core, at, find(*blocks, rest)); break;
        case WARM_REPEAT: at->repeat = rest; break;
        case WARM_DEFINE:
            i += take_definition(blocks, records, vector_bytes, &words[i], count - i);
            break;
        default: touch(core, at, warm_top(words[i]), rest); break;
        }
    }
    return executed;
}

void simulate_blocks_free(struct simulate_blocks *blocks)
{
    for (uint32_t i = 0; blocks && i < blocks->capacity; i++)
        free(blocks->blocks[i]);
    if (blocks)
        free(blocks->blocks);
    free(blocks);
}
