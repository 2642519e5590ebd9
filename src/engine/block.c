#include "engine/block.h"

#include "sigsafe/hash.h"
#include "sigsafe/prefetch.h"

enum {
    SLOTS_FIRST = 1 << 13,
    /* A block of four instructions takes about 40 bytes of code. */
    CODE_PER_BLOCK = 32,
    AT_ONCE = 64, /* blocks that blocks_reserve_as makes room for */
    SPANS_AT_ONCE = 4096,
    EXITS_SOON = 8,
};

bool blocks_map_as(struct blocks *b, uint64_t cache_size, unsigned how)
{
    uint64_t most = cache_size / CODE_PER_BLOCK;
    how |= AREA_GROWS;
    uint64_t slots = SLOTS_FIRST;
    while (slots < 2 * most)
        slots *= 2;
    *b = (struct blocks){ .used = 1, .exits_used = 1, .spans_used = 1, .mask = SLOTS_FIRST - 1 };
    if (area_map_as(&b->blocks, most * sizeof(struct block), how) &&
        area_map_as(&b->exits, most * 2 * sizeof(struct exit), how) &&
        area_map_as(&b->spans, most * 4 * sizeof(struct span), how) &&
        area_map_as(&b->slots, slots * sizeof(struct slot), how) &&
        area_need_as(&b->slots, SLOTS_FIRST * sizeof(struct slot)))
        return true;
    blocks_unmap_as(b);
    return false;
}

void blocks_unmap_as(struct blocks *b)
{
    area_unmap_as(&b->blocks);
    area_unmap_as(&b->exits);
    area_unmap_as(&b->spans);
    area_unmap_as(&b->slots);
}

static inline uint64_t hash_of(uint64_t pc)
{
    return hash_word(pc);
}

static inline struct slot *slots_of(const struct blocks *b)
{
    return (struct slot *)(void *)b->slots.base;
}

/* Most questions are about code that has not been translated: the tag answers them without a look
 * at any record. */
static inline uint32_t tag_of(uint64_t hash)
{
    return (uint32_t)hash | 1;
}

/* Puts the block into the first slot that is free, or a dead block's: that one's place in the
 * sequence is kept. */
static void slot_take(struct blocks *b, uint64_t pc, uint32_t number)
{
    uint64_t hash = hash_of(pc);
    uint64_t at = hash >> 32 & b->mask;
    while (slots_of(b)[at].tag)
        at = (at + 1) & b->mask;
    b->taken += !slots_of(b)[at].number;
    slots_of(b)[at] = (struct slot){ tag_of(hash), number };
}

/* Twice the slots, without those of dead blocks. */
static void slots_grow_as(struct blocks *b)
{
    uint64_t count = (uint64_t)b->mask + 1;
    if (!area_need_as(&b->slots, count * 2 * sizeof(struct slot)))
        return;
    for (uint64_t i = 0; i < count * 2; i++)
        slots_of(b)[i] = (struct slot){ 0 };
    b->mask = (uint32_t)(count * 2 - 1);
    b->taken = 0;
    for (uint32_t i = 1; i < b->used; i++)
        if (!(block_at(b, i)->flags & (BLOCK_DEAD | BLOCK_FORGOTTEN)))
            slot_take(b, block_at(b, i)->pc, i);
}

bool blocks_reserve_as(struct blocks *b)
{
    if (b->taken + AT_ONCE > b->mask / 4 * 3)
        slots_grow_as(b);
    return area_need_as(&b->blocks, (b->used + (uint64_t)AT_ONCE) * sizeof(struct block)) &&
           area_need_as(&b->exits, (b->exits_used + (uint64_t)AT_ONCE * 2) * sizeof(struct exit)) &&
           area_need_as(&b->spans, (b->spans_used + (uint64_t)SPANS_AT_ONCE) * sizeof(struct span));
}

void blocks_prefetch(const struct blocks *b, uint64_t pc)
{
    __builtin_prefetch(&slots_of(b)[hash_of(pc) >> 32 & b->mask]);
}

void blocks_prefetch_end(const struct blocks *b)
{
    prefetch_write(block_at(b, b->used));
    prefetch_write(block_at(b, b->used + 1));
    for (uint32_t i = 0; i < EXITS_SOON; i += 2) /* of 24 bytes each: two share a line, about */
        prefetch_write(exit_at(b, b->exits_used + i));
    prefetch_write(span_at(b, b->spans_used));
}

struct block *block_find_as(const struct blocks *b, uint64_t pc, uint32_t tail)
{
    uint64_t hash = hash_of(pc);
    uint32_t tag = tag_of(hash);
    for (uint64_t at = hash >> 32 & b->mask;; at = (at + 1) & b->mask) {
        struct slot slot = slots_of(b)[at];
        if (!slot.number)
            return NULL;
        if (slot.tag != tag)
            continue;
        struct block *block = block_at(b, slot.number);
        if (block->pc == pc && block->tail == tail)
            return block;
    }
}

void block_publish_as(struct blocks *b, uint32_t number)
{
    slot_take(b, block_at(b, number)->pc, number);
}

void block_unpublish_as(struct blocks *b, uint32_t number)
{
    uint64_t at = hash_of(block_at(b, number)->pc) >> 32 & b->mask;
    while (slots_of(b)[at].number && slots_of(b)[at].number != number)
        at = (at + 1) & b->mask;
    slots_of(b)[at].tag = 0; /* matches nothing; the number keeps the sequence together */
}

void blocks_forget_as(struct blocks *b)
{
    for (uint32_t i = 1; i < b->used; i++)
        block_at(b, i)->flags |= BLOCK_FORGOTTEN;
    for (uint64_t i = 0; i <= b->mask; i++)
        slots_of(b)[i] = (struct slot){ 0 };
    b->taken = 0;
}

struct block *block_of_code_as(const struct blocks *b, uint32_t offset)
{
    /* Bodies ascend with the numbers: the last one that begins at or before the offset. */
    uint32_t lo = 0, hi = __atomic_load_n(&b->used, __ATOMIC_ACQUIRE) - 1;
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo + 1) / 2;
        if (block_at(b, middle)->body <= offset)
            lo = middle;
        else
            hi = middle - 1;
    }
    if (!lo)
        return NULL;
    struct block *block = block_at(b, lo);
    return offset - block->body < block->code_size ? block : NULL;
}
