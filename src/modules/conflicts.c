/* The paper's vreplay (section 3.2): one window of 128 instructions every 128 triggers. */
#include <string.h>

#include "modules/builtin.h"
#include "modules/conflict.h"
#include "sigsafe/hash.h"

enum { KNOWN = 1 << 14, PAIRS = 4 * CONFLICT_WINDOW };

static const struct penumbra_kind kinds[CONFLICT_KINDS] = {
    [CONFLICT_ORDER] = { "order", PENUMBRA_SHOW_CODE, PENUMBRA_ROLE_CONFLICT, NULL },
    [CONFLICT_SIZE] = { "size", PENUMBRA_SHOW_CODE, PENUMBRA_ROLE_CONFLICT, NULL },
    [CONFLICT_SPLIT] = { "split", PENUMBRA_SHOW_CODE, PENUMBRA_ROLE_CONFLICT, NULL },
    [CONFLICT_SYNONYM] = { "synonym", PENUMBRA_SHOW_CODE, PENUMBRA_ROLE_CONFLICT, NULL },
};

/* Instructions that were looked at before, by address; the bytes may have changed. */
static struct known {
    uint8_t code[15], length; /* 0: empty */
    bool valid;
    struct conflict_insn insn;
} known[KNOWN];

static const struct conflict_insn *describe(const struct penumbra_tuple *t)
{
    struct known *k = &known[hash_word(t->pc) >> 50 & (KNOWN - 1)];
    if (!t->length || t->length > sizeof k->code)
        return NULL;
    if (k->length != t->length || memcmp(k->code, t->code, t->length) != 0) {
        memcpy(k->code, t->code, t->length);
        k->length = t->length;
        k->valid = conflict_describe(t->code, t->length, &k->insn);
    }
    return k->valid ? &k->insn : NULL;
}

static uint32_t capture(const struct penumbra_opcode *opcode)
{
    (void)opcode;
    return PENUMBRA_ADDRESS;
}

static struct conflict_step step_of(const struct penumbra_tuple *t)
{
    struct conflict_step step = { .insn = describe(t) };
    for (uint32_t i = 0; i < t->count; i++) {
        const struct penumbra_item *item = &t->items[i];
        if (item->what != PENUMBRA_ADDRESS || item->index >= X86_MEMORY_MAX)
            continue;
        step.address[item->index] = item->value;
        step.known[item->index] = true;
    }
    return step;
}

static void sequence(struct penumbra_host *host, const struct penumbra_sequence *s)
{
    static struct conflict_insn insns[CONFLICT_WINDOW]; /* two addresses may share a place of
                                                           `known` */
    struct conflict_step steps[CONFLICT_WINDOW];
    struct conflict found[PAIRS];
    uint32_t count = s->count < CONFLICT_WINDOW ? s->count : CONFLICT_WINDOW;
    for (uint32_t i = 0; i < count; i++) {
        steps[i] = step_of(&s->tuples[i]);
        if (!steps[i].insn)
            continue;
        insns[i] = *steps[i].insn;
        steps[i].insn = &insns[i];
    }
    uint32_t pairs = conflicts_find(steps, count, found, PAIRS);
    for (uint32_t i = 0; i < pairs; i++) {
        const struct penumbra_tuple *load = &s->tuples[found[i].load];
        penumbra_emit(host, load->pc, found[i].kind, load->return_address,
                      s->tuples[found[i].store].pc);
    }
}

const struct penumbra_module module_conflicts = {
    .abi = PENUMBRA_MODULE_ABI,
    .size = sizeof(struct penumbra_module),
    .name = "conflicts",
    .kinds = kinds,
    .kind_count = CONFLICT_KINDS,
    .length = CONFLICT_WINDOW,
    .every = 128,
    .capture = capture,
    .sequence = sequence,
};
