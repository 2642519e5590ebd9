/* Random numbers: xorshift64 (Marsaglia, Xorshift RNGs, 2003). Uniform enough to break lockstep
 * with a program.
 *
 * Context: a pure function of its state; any context.
 * Ownership: the state is the caller's, any number but 0. */
#ifndef PENUMBRA_SIGSAFE_RANDOM_H
#define PENUMBRA_SIGSAFE_RANDOM_H

#include <stdint.h>

static inline uint64_t random_next(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}

#endif
