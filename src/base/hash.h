/* A hash of bytes, for tables in memory: another machine or version may have another one.
 *
 * Context: a pure function. */
#ifndef PENUMBRA_BASE_HASH_H
#define PENUMBRA_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* By eight bytes, the last ones filled up with zeros: bytes of different sizes are told apart
 * besides. */
static inline uint64_t hash_bytes(const void *bytes, size_t size)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325) + size, word;
    const uint8_t *at = bytes;
    for (; size >= sizeof word; size -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        h ^= h >> 32;
    }
    if (size) {
        word = 0;
        memcpy(&word, at, size);
        h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        h ^= h >> 32;
    }
    return h;
}

#endif
