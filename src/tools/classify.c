#include "tools/classify.h"

struct spool_thing classify_block_as(const struct hooks *h, const struct hook_block *block)
{
    struct spool_thing thing = {
        .key = hook_key_as(h, block->pc), .kind = THING_BLOCK,
        .block = {.bytes = (uint16_t)(block->next - block->pc),
                  .instructions = (uint16_t)block->count},
    };
    for (uint32_t i = 0; i < block->count; i++)
        thing.block.classes[classify(&block->insns[i])]++;
    return thing;
}

void classify_count_as(const struct hook_block *block, struct hooks *h)
{
    struct spool_thing thing = classify_block_as(h, block);
    uint32_t id = hook_counter_make_as(h, &thing);
    if (id != COUNTS_NONE)
        hook_count_as(h, HOOK_ENTRY, 0, id, 1);
}
