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

unsigned classify_results(const struct x86_insn *insn, struct x86_definition out[CLASSIFY_RESULTS])
{
    struct x86_definition written[X86_DEFINITIONS_MAX];
    unsigned count = x86_definitions_as(insn, written), results = 0;
    for (unsigned i = 0; i < count; i++) {
        if (x86_moves_stack(insn, &written[i]))
            continue;
        if (results < CLASSIFY_RESULTS)
            out[results] = written[i];
        results++;
    }
    return results;
}

bool classify_result(const struct x86_insn *insn, struct x86_definition *out)
{
    struct x86_definition results[CLASSIFY_RESULTS];
    unsigned count = classify_results(insn, results);
    if (count)
        *out = results[0];
    return count;
}
