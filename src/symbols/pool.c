#include "symbols/pool.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

enum { POOL_BLOCK = 64 * 1024, POOL_SLOTS_FIRST = 1024 };

struct pool_block {
    struct pool_block *next;
    size_t used, capacity;
    alignas(max_align_t) unsigned char bytes[];
};

void pool_free(struct pool *p)
{
    while (p->blocks) {
        struct pool_block *next = p->blocks->next;
        free(p->blocks);
        p->blocks = next;
    }
    free(p->slots);
    *p = (struct pool){ 0 };
}

void *pool_alloc(struct pool *p, size_t size)
{
    const size_t unit = alignof(max_align_t);
    if (p->failed || size > SIZE_MAX / 2)
        return NULL;
    size = (size + unit - 1) / unit * unit;
    struct pool_block *block = p->blocks;
    if (!block || block->capacity - block->used < size) {
        size_t capacity = size > POOL_BLOCK ? size : POOL_BLOCK;
        block = calloc(1, sizeof *block + capacity);
        if (!block) {
            p->failed = true;
            return NULL;
        }
        block->capacity = capacity;
        block->next = p->blocks;
        p->blocks = block;
    }
    void *result = block->bytes + block->used;
    block->used += size;
    return result;
}

/* FNV-1a, 64 bits. */
static size_t string_hash(const char *s)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * UINT64_C(0x100000001b3);
    return (size_t)(h ^ h >> 29);
}

static const char **pool_slot(const char **slots, size_t count, const char *string)
{
    size_t i = string_hash(string) & (count - 1);
    while (slots[i] && strcmp(slots[i], string) != 0)
        i = (i + 1) & (count - 1);
    return &slots[i];
}

static bool pool_grow(struct pool *p)
{
    size_t count = p->slot_count ? p->slot_count * 2 : POOL_SLOTS_FIRST;
    const char **slots = calloc(count, sizeof *slots);
    if (!slots) {
        p->failed = true;
        return false;
    }
    for (size_t i = 0; i < p->slot_count; i++)
        if (p->slots[i])
            *pool_slot(slots, count, p->slots[i]) = p->slots[i];
    free(p->slots);
    p->slots = slots;
    p->slot_count = count;
    return true;
}

const char *pool_intern(struct pool *p, const char *string)
{
    if (p->failed || !string[0])
        return "";
    if (p->used * 2 >= p->slot_count && !pool_grow(p))
        return "";
    const char **slot = pool_slot(p->slots, p->slot_count, string);
    if (!*slot) {
        size_t size = strlen(string) + 1;
        char *copy = pool_alloc(p, size);
        if (!copy)
            return "";
        memcpy(copy, string, size);
        *slot = copy;
        p->used++;
    }
    return *slot;
}
