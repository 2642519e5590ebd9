/* What is random about a burst: its length, and how far from the trigger it begins to observe; and
 * how often there is one.
 *
 * Context: pure functions of their state; any context.
 * Ownership: the state is the caller's, any number but 0. */
#ifndef PENUMBRA_RUNTIME_CARRIER_BURST_BURST_DRAW_H
#define PENUMBRA_RUNTIME_CARRIER_BURST_BURST_DRAW_H

#include <stdbool.h>
#include <stdint.h>

#include "sigsafe/random.h"

/* Each of 0 ... most is as likely. */
static inline uint64_t burst_draw(uint64_t *state, uint64_t most)
{
    return random_next(state) % (most + 1);
}

/* Instructions to skip: at most so many. The sum of two uniform numbers, so that in a loop of L
 * instructions each is begun at nearly as often as any other, whichever of them interrupts prefer:
 * what is left of their preference is its Fourier component at 1/L, times the square of that of one
 * uniform number. docs/values.md, "Bias". */
static inline uint32_t burst_skip(uint64_t *state, uint32_t most)
{
    return (uint32_t)(burst_draw(state, most / 2) + burst_draw(state, most - most / 2));
}

/* Far skips meet code that the engine has not made yet, and system calls, which end a burst before
 * it has observed anything. So each thread has a credit: a burst earns one block, and a far one
 * pays for the blocks made for it, and for BURST_VAIN more if nothing was observed. Without credit
 * bursts stay near. That is decided by the bursts before, not by what this one meets: an
 * instruction is not observed more often for being new. */
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

/* What a burst costs its program, of the time that it takes, in percent: the second return from a
 * signal, then caches, translation buffers and branch predictors that are the burst's. Measured
 * (docs/results/values-bursts.md): about 160 with cc1, less with sqlite3. */
enum { BURST_COST = 160 };

/* Triggers from one burst to the next, in parts of BURST_PARTS, so that bursts cost `ppm`
 * millionths of the CPU time: the next number, at least `least`, when a window of BURST_WINDOW
 * bursts took `ours` nanoseconds of `cpu`. */
enum { BURST_WINDOW = 32, BURST_PARTS = 16, BURST_INTERVAL_MOST = 1024 };

static inline uint64_t burst_interval(uint64_t interval, uint64_t least, uint64_t ours,
                                      uint64_t cpu, uint32_t ppm)
{
    enum { ONE = 256, STEP_DOWN = ONE / 2, STEP_UP = 4 * ONE };
    uint64_t allowed = cpu / 1000u * ppm / 1000u, cost = ours * BURST_COST / 100;
    uint64_t factor = cost < allowed * (STEP_UP / ONE) ? cost * ONE / allowed : STEP_UP;
    interval = interval * (factor > STEP_DOWN ? factor : STEP_DOWN) / ONE;
    if (interval > least * BURST_INTERVAL_MOST)
        interval = least * BURST_INTERVAL_MOST;
    return interval > least ? interval : least;
}

#endif
