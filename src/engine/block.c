#include "engine/block.h"

enum {
    HEADS_FIRST = 1 << 13,
    /* A block of four instructions takes about 40 bytes of code. */
    CODE_PER_BLOCK = 32,
    AT_ONCE = 64, /* blocks that blocks_reserve_as makes room for */
    SPANS_AT_ONCE = 4096,
};

bool blocks_map_as(struct blocks *b, uint64_t cache_size)
{
    uint64_t most = cache_size / CODE_PER_BLOCK;
    uint64_t heads = HEADS_FIRST;
    while (heads < most)
        heads *= 2;
    *b = (struct blocks){ .used = 1, .exits_used = 1, .spans_used = 1, .mask = HEADS_FIRST - 1 };
    if (area_map_as(&b->blocks, most * sizeof(struct block), AREA_PLAIN) &&
        area_map_as(&b->exits, most * 2 * sizeof(struct exit), AREA_PLAIN) &&
        area_map_as(&b->spans, most * 4 * sizeof(struct span), AREA_PLAIN) &&
        area_map_as(&b->heads, heads * sizeof(uint32_t), AREA_PLAIN) &&
        area_need_as(&b->heads, HEADS_FIRST * sizeof(uint32_t)))
        return true;
    blocks_unmap_as(b);
    return false;
}

void blocks_unmap_as(struct blocks *b)
{
    area_unmap_as(&b->blocks);
    area_unmap_as(&b->exits);
    area_unmap_as(&b->spans);
    area_unmap_as(&b->heads);
}

static inline uint32_t *head_of(const struct blocks *b, uint64_t pc)
{
    uint64_t hash = pc * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t *)(void *)b->heads.base + (hash >> 32 & b->mask);
}

/* Twice the heads: the new bit of the hash decides for each block where it goes. */
static void heads_grow_as(struct blocks *b)
{
    uint64_t count = (uint64_t)b->mask + 1;
    if (!area_need_as(&b->heads, count * 2 * sizeof(uint32_t)))
        return;
    uint32_t *heads = (uint32_t *)(void *)b->heads.base;
    b->mask = (uint32_t)(count * 2 - 1);
    for (uint64_t i = 0; i < count; i++) {
        uint32_t number = heads[i];
        heads[i] = heads[i + count] = BLOCK_NONE;
        while (number) {
            struct block *block = block_at(b, number);
            uint32_t next = block->hash_next;
            uint32_t *head = head_of(b, block->pc);
            block->hash_next = *head;
            *head = number;
            number = next;
        }
    }
}

bool blocks_reserve_as(struct blocks *b)
{
    if (b->used > b->mask)
        heads_grow_as(b);
    return area_need_as(&b->blocks, (b->used + (uint64_t)AT_ONCE) * sizeof(struct block)) &&
           area_need_as(&b->exits, (b->exits_used + (uint64_t)AT_ONCE * 2) * sizeof(struct exit)) &&
           area_need_as(&b->spans, (b->spans_used + (uint64_t)SPANS_AT_ONCE) * sizeof(struct span));
}

struct block *block_find_as(const struct blocks *b, uint64_t pc, uint32_t tail)
{
    uint32_t number = *head_of(b, pc);
    while (number) {
        struct block *block = block_at(b, number);
        if (block->pc == pc && block->tail == tail)
            return block;
        number = block->hash_next;
    }
    return NULL;
}

void block_publish_as(struct blocks *b, uint32_t number)
{
    struct block *block = block_at(b, number);
    uint32_t *head = head_of(b, block->pc);
    block->hash_next = *head;
    *head = number;
}

void block_unpublish_as(struct blocks *b, uint32_t number)
{
    uint32_t *link = head_of(b, block_at(b, number)->pc);
    while (*link && *link != number)
        link = &block_at(b, *link)->hash_next;
    if (*link)
        *link = block_at(b, number)->hash_next;
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
