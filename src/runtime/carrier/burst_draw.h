/* What is random about a burst: its length, and how far from the trigger it begins to observe; and how often there is one.
 *
 * Context: pure functions of their state; any context.
 * Ownership: the state is the caller's, any number but 0. */
#ifndef PENUMBRA_RUNTIME_CARRIER_BURST_DRAW_H
#define PENUMBRA_RUNTIME_CARRIER_BURST_DRAW_H

#include <stdbool.h>
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

/* Far skips meet code that the engine has not made yet, and system calls, which end a burst before it has observed
 * anything. So each thread has a credit: a burst earns one block, and a far one pays for the blocks made for it, and for
 * BURST_VAIN more if nothing was observed. Without credit bursts stay near. That is decided by the bursts before, not by
 * what this one meets: an instruction is not observed more often for being new. */
enum { BURST_NEAR = 62, BURST_VAIN = 16, BURST_CREDIT_MOST = 16 };

/* How many instructions a burst skips at most, where the user wants `most`. */
static inline uint32_t burst_reach(int64_t credit, uint32_t most)
{
    return credit < 0 && most > BURST_NEAR ? BURST_NEAR : most;
}

/* The credit after a burst that skipped up to `reach`. */
static inline int64_t burst_credit(int64_t credit, uint32_t reach, uint64_t made, bool in_vain)
{
    credit++;
    if (reach > BURST_NEAR)
        credit -= (int64_t)made + (in_vain ? BURST_VAIN : 0);
    return credit < BURST_CREDIT_MOST ? credit : BURST_CREDIT_MOST;
}

/* Bursts come this many times more seldom than was asked for, so that they take at most `ppm` millionths of the CPU
 * time: the next number, when a window of BURST_WINDOW bursts took `ours` nanoseconds of `cpu`. By steps of two, with a margin. */
enum { BURST_WINDOW = 64, BURST_TIMES_MOST = 1024 };

static inline uint32_t burst_times(uint32_t times, uint64_t ours, uint64_t cpu, uint32_t ppm)
{
    uint64_t allowed = cpu / 1000u * ppm / 1000u;
    if (ours > allowed)
        return times < BURST_TIMES_MOST ? times * 2 : times;
    return times > 1 && ours < allowed / 20 * 9 ? times / 2 : times;
}

#endif
