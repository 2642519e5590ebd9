/* What is known of the bytes of a line, a bit for each: for waste.c.
 *
 * Context: any. */
#ifndef PENUMBRA_TOOLS_WASTE_BITS_H
#define PENUMBRA_TOOLS_WASTE_BITS_H

#include <stdint.h>

enum { WASTE_LINE = 64 }; /* bytes */

static inline unsigned count_bits(uint64_t v)
{
    v -= v >> 1 & 0x5555555555555555;
    v = (v & 0x3333333333333333) + (v >> 2 & 0x3333333333333333);
    return (unsigned)(((v + (v >> 4)) & 0x0f0f0f0f0f0f0f0f) * 0x0101010101010101 >> 56);
}

/* Of `count` bytes from byte `first` of a line. */
static inline uint64_t mask_of(unsigned first, unsigned count)
{
    return (count == WASTE_LINE ? UINT64_MAX : (UINT64_C(1) << count) - 1) << first;
}

/* Bytes in which the two differ: bits. */
static inline uint64_t differing(const uint64_t a[WASTE_LINE / 8], const uint64_t b[WASTE_LINE / 8])
{
    uint64_t bits = 0, any = 0;
    for (unsigned i = 0; i < WASTE_LINE / 8; i++)
        any |= a[i] ^ b[i];
    for (unsigned i = 0; any && i < WASTE_LINE / 8; i++) {
        uint64_t x = a[i] ^ b[i];
        if (!x)
            continue;
        x |= x >> 4;
        x |= x >> 2;
        x |= x >> 1;
        bits |= (x & 0x0101010101010101) * 0x0102040810204080 >> 56 << 8 * i;
    }
    return bits;
}

#endif
