/* What is random about a burst: its length, and how far from the trigger it begins to observe.
 *
 * Context: pure functions of their state; any context.
 * Ownership: the state is the caller's, any number but 0. */
#ifndef PENUMBRA_RUNTIME_CARRIER_BURST_DRAW_H
#define PENUMBRA_RUNTIME_CARRIER_BURST_DRAW_H

#include <stdint.h>

/* xorshift: each of 0 ... most is as likely. */
static inline uint64_t burst_draw(uint64_t *state, uint64_t most)
{
    uint64_t x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    *state = x;
    return x % (most + 1);
}

/* Instructions to skip: at most so many. The sum of two uniform numbers, so that in a loop of L instructions
 * each is begun at nearly as often as any other, whichever of them interrupts prefer: what is left of
 * their preference is its Fourier component at 1/L, times the square of that of one uniform number.
 * docs/values.md, "Bias". */
static inline uint32_t burst_skip(uint64_t *state, uint32_t most)
{
    return (uint32_t)(burst_draw(state, most / 2) + burst_draw(state, most - most / 2));
}

#endif
