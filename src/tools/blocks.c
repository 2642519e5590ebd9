/* How often each block is executed; with it what its instructions are, so that instructions by class
 * are a matter of multiplication. */
#include "tools/classify.h"
#include "tools/tools.h"

static void block_as(void *data, const struct hook_block *block, struct hooks *h)
{
    (void)data;
    struct spool_thing thing = classify_block_as(h, block);
    uint32_t id = hook_counter_make_as(h, &thing);
    if (id != COUNTS_NONE)
        hook_count_as(h, HOOK_ENTRY, 0, id, 1);
}

const struct tool tool_blocks = { .name = "blocks", .flags = TOOL_SHARED | TOOL_LOOSE, .block = block_as };

/* The same counters; only what is made of them differs. */
const struct tool tool_count = { .name = "count", .flags = TOOL_SHARED | TOOL_LOOSE, .block = block_as };
