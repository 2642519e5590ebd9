/* Where the basic blocks of functions lie, as clang -fbasic-block-address-map says (LLVM,
 * llvm/docs/Extensions.rst, SHT_LLVM_BB_ADDR_MAP, version 2):
 *
 *     version, features, [ranges], { start, blocks, { id, offset, size, properties } ... } ...
 *
 *     offset  from the end of the block before
 *
 * Context: ordinary code. Safe on any bytes.
 * Ownership: block_map_free releases the list. */
#ifndef PENUMBRA_SYMBOLS_BLOCK_MAP_H
#define PENUMBRA_SYMBOLS_BLOCK_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLOCK_MAP_SECTION ".llvm_bb_addr_map"

struct block_map_block {
    uint64_t start, end; /* link-time addresses; end: not its own */
    uint64_t function;   /* where its function begins */
    uint32_t id;         /* 0: the function's first */
};

struct block_map {
    struct block_map_block *blocks; /* by start */
    uint32_t count, capacity;
};

/* False: it is of another version, or cut off; or there is no memory (*failed). */
bool block_map_read(struct block_map *m, const uint8_t *data, size_t size, bool *failed);
void block_map_free(struct block_map *m);

/* The block around an address; NULL if there is none. */
const struct block_map_block *block_map_find(const struct block_map *m, uint64_t address);

#endif
