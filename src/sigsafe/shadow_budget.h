/* Whether a budget allows a fork, and what forks and the triggers that ask for them have cost: at
 * no time more than the budget of PLACE_WINDOW_S seconds and a quarter within so much CPU time of
 * the program.
 *
 *      CPU time  ──┬──┬──┬──┬──┬── ... ──┬──┬──┐        one part: PLACE_WINDOW_S / BUDGET_PARTS
 *      costs       │  │▒▒│  │░░│         │░░│▒▒│ now    ▒ pauses, ░ pages copied afterwards
 *                     └────── the window ───┘─── + the worst that a fork now can cost, and triggers <= budget + 1/4
 *
 * After a fork each page that the program has is copied once at most, however many shadows share
 * it, and however long they live: so the worst of the last fork is all that can still come.
 *
 * Context: pure functions; the state is one thread's at a time.
 * Ownership: the state is the caller's; all zeroes are a beginning. */
#ifndef PENUMBRA_SIGSAFE_SHADOW_BUDGET_H
#define PENUMBRA_SIGSAFE_SHADOW_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "sigsafe/shadow_place.h"

/* What a program loses is more than what it can see of that itself, at times: caches and branch
 * predictors are disturbed by forks, and by shadows that run beside it; and memory that grows makes
 * a fork cost more than the one before. And starting, and having a perf event at all, costs 0.2 to
 * 0.5% of a program of some seconds. So on average half of the budget is spent. */
enum { BUDGET_SPENT = 1, BUDGET_WHOLE = 2 };

enum { BUDGET_SHARES = 1024, BUDGET_PARTS = 40,
      BUDGET_CREDIT = 32, /* a fork on credit costs this part of a window's budget at most */
      BUDGET_PART_NS = PLACE_WINDOW_S * 1000000000ll / BUDGET_PARTS };

struct shadow_budget {
    uint64_t part;                    /* the current one, counted from CPU time 0 */
    /* ns, by part modulo their number: of any window that ends now */
    uint64_t costs[BUDGET_PARTS + 1];
    uint64_t worst_ns;                /* the greatest sum that these have had */
    uint64_t all_ns;
    /* what may be spent of the budget's share of the CPU time, ahead of all_ns by that of a window
     * at most */
    uint64_t earned_ns;
    uint64_t earned_cpu_ns;           /* ... until then */
    /* of what is left (earned_ns - all_ns), what other processes of the program know, ... */
    int64_t told_ns;
    int64_t others_ns;                /* ... and what they have left, or owe */
};

struct budget_facts {
    uint64_t ppm;         /* the budget; 0: none */
    uint64_t cpu_ns;      /* of the program, now */
    uint64_t fork_cpu_ns; /* at the last fork */
    /* what a fork now is expected to cost: what that one and the triggers since have */
    uint64_t last_ns;
    /* how much of that is to be saved before, of BUDGET_SHARES; the rest is paid for afterwards */
    uint64_t saved;
    bool credit;          /* nothing is to be saved, if it is expected to cost little */
    uint64_t worst_ns;    /* what a fork now can cost at most, at the simple price of copies */
    /* what it will be charged if as much of the memory is copied as after the last one */
    uint64_t likely_ns;
};

struct copies_facts {
    uint64_t pages;      /* of memory, now */
    uint64_t fork_pages; /* at the last fork */
    uint64_t copied;     /* of these, since then */
};

/* Pages that will be copied after a fork now. Likely, where no more may be: the same share as of
 * those that there were at the last fork. Expected, on average: of those that there were not then
 * half at most, since what was small, at a program's beginning, was all written to. */
uint64_t shadow_copies_likely(const struct copies_facts *f);
uint64_t shadow_copies_expected(const struct copies_facts *f);

/* A beginning. Piece by piece: to assign a fresh one the compiler may call memset. */
void shadow_budget_clear(struct shadow_budget *b);

/* The budget of a window. */
static inline uint64_t shadow_budget_limit_ns(uint64_t ppm)
{
    return ppm * PLACE_WINDOW_S * 1000;
}

/* So much was spent since the last call. */
void shadow_budget_charge(struct shadow_budget *b, uint64_t cpu_ns, uint64_t cost_ns);

/* Spent in the last PLACE_WINDOW_S seconds of CPU time, and up to a part more. */
uint64_t shadow_budget_spent(struct shadow_budget *b, uint64_t cpu_ns);

/* What is left of the budget is that of all processes of the program (shadow_common.left_ns): tells
 * the others, and looks what they have left. */
void shadow_budget_share(struct shadow_budget *b, int64_t *left_ns, uint64_t ppm, uint64_t cpu_ns);

/* A fork now is within the budget: on average, as some of what it will cost is saved, which is to
 * be drawn from all shares for each fork: so whenever the program ends its shadows have cost as
 * much too much as too little, and not every run of it forks at the same places; and in every
 * window, if it costs the most that it can, as much as the last one, or what is likely; where that
 * may be too much, one a window is. Saved is no more than a window's budget: so that is what a
 * process has that was attached to. Without a budget the program has at least as much time for
 * itself as shadows cost it. */
bool shadow_budget_allows(struct shadow_budget *b, const struct budget_facts *f);

#endif
