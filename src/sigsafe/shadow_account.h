/* What forks cost the program that is forked, as far as it sees it itself, charged to its budget
 * (docs/shadow.md, "Budget").
 *
 *      CPU time  ──┬────────────────────────────────────┬──>
 *      fork: pause │░░░░░░░░░▒▒▒▒▒▒▒▒▒░ ░    ░          │ the next one
 *                  │ a shadow is there   none any more  │
 *                  │ ░ page faults: copies  reused      │
 *
 * The first write to a page after a fork faults. While a shadow is there the page is copied;
 * afterwards it is the program's alone again, and is reused, which is cheaper. Such faults are
 * those above the program's own rate.
 *
 * Context: pure functions; the state is one thread's at a time.
 * Ownership: the state is the caller's. */
#ifndef PENUMBRA_SIGSAFE_SHADOW_ACCOUNT_H
#define PENUMBRA_SIGSAFE_SHADOW_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "sigsafe/shadow_budget.h"

/* Of the program, at some time. */
struct shadow_usage {
    uint64_t faults, cpu_ns, pages;
};

/* Of a first write to a page, as the collector has measured it. */
struct shadow_prices {
    uint64_t copy_ns, reuse_ns;
};

struct shadow_account {
    struct shadow_budget budget;
    struct shadow_usage last;         /* at the last fork */
    /* where the window began in which page faults are counted now, and what had grown by then */
    struct shadow_usage window;
    uint64_t window_grown;
    /* page faults a second of CPU time in the window that had fewest: since the last fork, and
     * before it */
    uint64_t calmest, calmest_before;
    uint64_t fork_pages;              /* of memory at the last fork; 0: not known */
    /* at the last look, and how many have come since the fork, each by a page fault of its own */
    uint64_t pages, grown;
    uint64_t pause_ns;                /* CPU time of the last fork */
    /* page faults charged that it has caused, and how many of these were not copied */
    uint64_t copies, reused;
    uint64_t huge_ns;                 /* charged since then for huge pages put together, ... */
    uint64_t triggers_ns;             /* ... for triggers */
    uint64_t signals_ns;              /* of all triggers */
};

#define SHADOW_NO_RATE UINT64_MAX
#define SHADOW_ACCOUNT_BEGIN {.calmest = SHADOW_NO_RATE, .calmest_before = SHADOW_NO_RATE}

void shadow_account_clear(struct shadow_account *a);

/* A fork comes; its pause is charged once it is known. */
void shadow_account_fork(struct shadow_account *a, const struct shadow_usage *now);
void shadow_account_pause(struct shadow_account *a, const struct shadow_usage *now, uint64_t ns);

/* The signal is in the account of its thread, too. */
void shadow_account_trigger(struct shadow_account *a, const struct shadow_usage *now,
                            uint64_t signal_ns, uint64_t work_ns);
void shadow_account_huge(struct shadow_account *a, const struct shadow_usage *now, uint64_t ns);

/* What no other account has, of all costs. */
static inline uint64_t shadow_own_cost_ns(uint64_t cost_ns, uint64_t signals_ns)
{
    return cost_ns > signals_ns ? cost_ns - signals_ns : 0;
}

/* A look at the program's own page faults: those that made the pages which there were not at the
 * last look, if `small`, that is, if each makes one; and the rate of all others, that of a moment
 * in which nothing was left to be copied. Copies come soon after a fork, so the first window after
 * one does not count, nor the first of all, when the program makes its memory. Without a budget
 * there may be another fork before the copies of the last one have come: none so early counts. */
void shadow_account_look(struct shadow_account *a, const struct shadow_usage *now, bool budget,
                         bool small);

/* Page faults since the last fork that the program would not have had without it. */
uint64_t shadow_account_copied(const struct shadow_account *a, const struct shadow_usage *now);

/* At this price, with what cold caches cost afterwards. */
uint64_t shadow_copies_ns(uint64_t copies, uint64_t price_ns);

struct copies_charged {
    uint64_t pages, ns;
};

/* What the last fork has caused since this was asked last; shared: a shadow is there. */
struct copies_charged shadow_account_copies(struct shadow_account *a,
                                            const struct shadow_usage *now,
                                            const struct shadow_prices *p, bool shared);

/* What the last fork has cost so far, triggers aside; and the most that it can have, for all that
 * is known: no page fault was the program's own. */
uint64_t shadow_account_cost(const struct shadow_account *a, const struct shadow_usage *now,
                             const struct shadow_prices *p);
uint64_t shadow_account_cost_most(const struct shadow_account *a, const struct shadow_usage *now,
                                  const struct shadow_prices *p);

/* What a page that was written to since the last fork has cost on average. None: what a copy
 * does. */
uint64_t shadow_account_page_ns(const struct shadow_account *a, const struct shadow_prices *p);

/* The shadows have to end now if the budget of these ten seconds is not to be exceeded by more than
 * a quarter, of which half is left for what cannot be foreseen: by the time that they are gone as
 * many pages may be copied as `lately`, which was since the last trigger; and the program goes on
 * to write to others as it has since the fork, but to no more than it has so far, which are reused
 * then. */
bool shadow_account_overdrawn(struct shadow_account *a, const struct shadow_usage *now,
                              const struct shadow_prices *p, uint64_t ppm, uint64_t lately);

#endif
