#include "symbols/block_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum {
    VERSION = 2,
    FEATURE_RANGES = 8, /* a function may lie in several places */
};

struct reader {
    const uint8_t *data;
    size_t size, at;
    bool wrong;
};

static uint8_t take_byte(struct reader *r)
{
    if (r->at < r->size)
        return r->data[r->at++];
    r->wrong = true;
    return 0;
}

static uint64_t take_address(struct reader *r)
{
    uint64_t value = 0;
    if (r->size - r->at < sizeof value) {
        r->wrong = true;
        return 0;
    }
    memcpy(&value, r->data + r->at, sizeof value);
    r->at += sizeof value;
    return value;
}

/* ULEB128 of 32 bits at most: sizes and numbers within a function. */
static uint32_t take_number(struct reader *r)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
        uint8_t byte = take_byte(r);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            r->wrong |= value > UINT32_MAX;
            return (uint32_t)value;
        }
    }
    r->wrong = true;
    return 0;
}

static bool add(struct block_map *m, const struct block_map_block *block)
{
    if (m->count == m->capacity) {
        uint32_t larger = m->capacity ? m->capacity * 2 : 1024;
        void *grown = larger > m->capacity ? reallocarray(m->blocks, larger, sizeof *m->blocks)
                                           : NULL;
        if (!grown)
            return false;
        m->blocks = grown;
        m->capacity = larger;
    }
    m->blocks[m->count++] = *block;
    return true;
}

/* The blocks of one place; *function: where the function begins, 0 until it is known. */
static bool take_blocks(struct block_map *m, struct reader *r, uint64_t *function)
{
    uint64_t at = take_address(r);
    uint32_t count = take_number(r);
    if (!*function)
        *function = at;
    for (uint32_t i = 0; i < count && !r->wrong; i++) {
        struct block_map_block block = { .function = *function, .id = take_number(r) };
        block.start = at + take_number(r);
        block.end = at = block.start + take_number(r);
        take_number(r); /* properties */
        if (!r->wrong && block.end > block.start && !add(m, &block))
            return false;
    }
    return true;
}

static int compare(const void *a, const void *b)
{
    const struct block_map_block *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

bool block_map_read(struct block_map *m, const uint8_t *data, size_t size, bool *failed)
{
    struct reader r = { data, size, 0, false };
    *m = (struct block_map){ 0 };
    *failed = false;
    while (r.at < size && !r.wrong && !*failed) {
        uint8_t version = take_byte(&r), features = take_byte(&r);
        uint64_t function = 0;
        r.wrong |= version != VERSION || features & (uint8_t)~FEATURE_RANGES;
        uint32_t places = !r.wrong && features & FEATURE_RANGES ? take_number(&r) : 1;
        for (uint32_t i = 0; i < places && !r.wrong && !*failed; i++)
            *failed = !take_blocks(m, &r, &function);
    }
    if (m->count)
        qsort(m->blocks, m->count, sizeof *m->blocks, compare);
    if (!r.wrong && !*failed)
        return true;
    block_map_free(m);
    return false;
}

void block_map_free(struct block_map *m)
{
    free(m->blocks);
    *m = (struct block_map){ 0 };
}

const struct block_map_block *block_map_find(const struct block_map *m, uint64_t address)
{
    uint32_t low = ARRAY_LEADING(m->count, i, m->blocks[i].start <= address);
    return low && address < m->blocks[low - 1].end ? &m->blocks[low - 1] : NULL;
}
