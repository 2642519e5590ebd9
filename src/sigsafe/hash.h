/* The hash of a word, for tables in memory: by the golden ratio (Knuth, The Art of Computer
 * Programming 3, section 6.4). Upper bits depend on all bits of the word: an index is taken from
 * them.
 *
 * Context: a pure function; any context. */
#ifndef PENUMBRA_SIGSAFE_HASH_H
#define PENUMBRA_SIGSAFE_HASH_H

#include <stdint.h>

static inline uint64_t hash_word(uint64_t word)
{
    return word * UINT64_C(0x9e3779b97f4a7c15);
}

#endif
