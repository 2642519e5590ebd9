/* What the processes of one program have together of a budget, one after the other or side by side:
 * what none of them has spent, or one has spent too much, is the next one's.
 *
 *      CPU time   ──process 1──┬──process 2──┬──process 3──┬──process 4──>
 *      fork       ────f────────────────────────f──────────────────f─────
 *      left       ╱╱╱╱╲______╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱╲____╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱╲____
 *
 * So many short processes are forked as rarely as one long one, and not each of them soon after it
 * has begun.
 *
 * Context: any; atomics. All that is here may be another process's at the same time.
 * Ownership: in the spool's header; nothing is given back. */
#ifndef PENUMBRA_SIGSAFE_SHADOW_COMMON_H
#define PENUMBRA_SIGSAFE_SHADOW_COMMON_H

#include <stdint.h>

enum { SHADOW_PROGRAMS = 32 };

struct shadow_common {
    uint64_t program; /* atomic; 0: nobody's yet */
    /* atomic: what all have earned, less what they have spent (shadow_budget_share) */
    int64_t left_ns;
    uint64_t fork_ns; /* atomic: what a fork has cost, on average; 0: not known yet */
    /* atomic: budget_facts.saved, for the next fork, whoever makes it; 0: not drawn yet */
    uint64_t saved;
};

/* The one of `program` (not 0) among SHADOW_PROGRAMS. NULL: there are as many others. */
struct shadow_common *shadow_common_find(struct shadow_common *among, uint64_t program);

/* A fork has cost so much in the end. */
void shadow_common_note(struct shadow_common *c, uint64_t fork_ns);

#endif
