/* The carrier `auto`: is a process observed in shadows, or by bursts in place?
 *
 * A fork is affordable if it costs no more than the budget of PLACE_WINDOW_S seconds, and at the
 * worst, with triggers, no more than a quarter more than that (shadow_budget.h). Before the first
 * one that is predicted from the memory in use; afterwards it is what the last one cost, more or
 * less as the memory has grown or shrunk since. What has once been too much must be half as much to
 * be tried again.
 *
 * Context: any; pure.
 * Ownership: none. */
#ifndef PENUMBRA_SIGSAFE_SHADOW_PLACE_H
#define PENUMBRA_SIGSAFE_SHADOW_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "sigsafe/reasons.h"

enum {
    PLACE_WINDOW_S = 10,
    SHADOW_TRIGGERS = 8,        /* triggers may cost this part of the budget of a window; ... */
    /* ... this part of its share of CPU time, as long as the copies of much memory are to come,
     * ... */
    SHADOW_TRIGGERS_WATCH = 4,
    SHADOW_TRIGGERS_CALM = 32,  /* ... and this part otherwise */
};

/* With this budget of a window: what it may have cost at the end of it, less what triggers still
 * can. */
static inline uint64_t shadow_most_ns(uint64_t limit_ns)
{
    return limit_ns + limit_ns / 4 - limit_ns / SHADOW_TRIGGERS;
}

struct place_facts {
    uint64_t budget_ppm;
    uint64_t pages;      /* of memory that a fork has to describe anew */
    uint64_t fork_pages; /* the same at the last fork; 0: there was none */
    uint64_t fork_ns;    /* what that one cost, its copies of pages included */
    uint64_t cow_ns;     /* of one copy of a page */
    uint64_t refused;    /* forks in a row that the kernel refused */
    uint64_t ended;      /* shadows */
    uint64_t faulted;    /* of these, by a fault */
    uint32_t processors; /* that shadows may use */
};

/* What a fork is expected to cost, and what it can cost at most: the program writes to every
 * page. */
uint64_t shadow_fork_ns(const struct place_facts *f);
uint64_t shadow_worst_ns(const struct place_facts *f);

enum shadow_place shadow_place_choose(const struct place_facts *f, enum shadow_place now);

static inline bool shadow_place_is_burst(uint32_t place)
{
    return place > PLACE_SHADOWS;
}

#endif
