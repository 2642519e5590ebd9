/* How often each transfer of control is executed, from the instruction that transfers to where it
 * goes: one counter for each way out of a block. Calls, jumps and both ways of a branch have a
 * counter in the code; where the target is only known when it is executed, each thread remembers
 * the counter that goes with it (tools/inline/target.c), and a function finds it the first time. */
#include <stddef.h>

#include "tools/inline/target.h"
#include "sigsafe/hash.h"
#include "tools/memory.h"
#include "tools/tools.h"
#include "x86/insn.h"

static void count_as(struct hooks *h, const struct hook_block *block, enum hook_point point,
                     uint64_t to)
{
    uint64_t from = block->next - block->insns[block->count - 1].length;
    struct spool_thing thing = { .key = hook_key_as(h, from), .edge.to = hook_key_as(h, to),
                                 .kind = THING_EDGE };
    uint32_t id = hook_counter_make_as(h, &thing);
    if (id != COUNTS_NONE)
        hook_count_as(h, point, 0, id, 1);
}

/* Where an indirect transfer went before: open addressing, of each thread its own. */
struct targets {
    uint64_t size; /* bytes of the mapping */
    uint32_t used, mask;
    struct target {
        uint64_t from, to;
        uint32_t counter, taken;
    } slots[];
};

enum { SLOTS_FIRST = 4096 };

static struct targets *targets_make_as(uint32_t slots)
{
    uint64_t size = sizeof(struct targets) + slots * sizeof(struct target);
    struct targets *made = memory_map_as(size);
    if (!made)
        return NULL;
    made->size = size;
    made->mask = slots - 1;
    return made;
}

static struct target *slot_find(struct targets *table, uint64_t from, uint64_t to)
{
    uint64_t at = hash_word(from * 31 + to) >> 32;
    for (;; at++) {
        struct target *slot = &table->slots[at & table->mask];
        if (!slot->taken || (slot->from == from && slot->to == to))
            return slot;
    }
}

/* Twice the slots; without memory it stays as it is, until it is full. */
static struct targets *targets_grow_as(struct engine_thread *t, struct targets *old)
{
    struct targets *table = targets_make_as(2 * (old->mask + 1));
    if (!table)
        return old;
    table->used = old->used;
    for (uint32_t i = 0; i <= old->mask; i++)
        if (old->slots[i].taken)
            *slot_find(table, old->slots[i].from, old->slots[i].to) = old->slots[i];
    t->tools[TOOL_EDGES] = table;
    own_unmap_as(old, old->size);
    return table;
}

static void indirect_as(struct engine_thread *t, uint64_t from, uint64_t to)
{
    struct targets *table = t->tools[TOOL_EDGES];
    struct target *slot = slot_find(table, from, to);
    if (!slot->taken) {
        if (table->used > table->mask / 2)
            table = targets_grow_as(t, table);
        uint32_t counter = target_counter_as(t, TOOL_EDGES, from, to);
        if (counter == COUNTS_NONE || table->used == table->mask)
            return;
        slot = slot_find(table, from, to);
        *slot = (struct target){ from, to, counter, 1 };
        table->used++;
    }
    target_remember_as(t, to, slot->counter);
    ++*hook_counter(t, slot->counter);
}

static bool thread_begin_as(struct engine_thread *t)
{
    if (!t->tools[TOOL_EDGES])
        t->tools[TOOL_EDGES] = targets_make_as(SLOTS_FIRST);
    return t->tools[TOOL_EDGES];
}

static void block_as(const struct hook_block *block, struct hooks *h)
{
    switch (block->end) {
    case END_JUMP:
    case END_CALL:
        count_as(h, block, HOOK_TAKEN, block->taken);
        break;
    case END_BRANCH:
        count_as(h, block, HOOK_TAKEN, block->taken);
        count_as(h, block, HOOK_FALL, block->next);
        break;
    case END_JUMP_INDIRECT:
    case END_CALL_INDIRECT:
    case END_RETURN:
        target_count_as(h, indirect_as,
                             block->next - block->insns[block->count - 1].length);
        break;
    default:
        break;
    }
}

const struct tool tool_edges = {
    .flags = TOOL_SHARED | TOOL_TARGETS | TOOL_LOOSE | TOOL_OWN, .block = block_as,
    .thread_begin = thread_begin_as,
};
