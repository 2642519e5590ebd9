/* How much of the CPU time of what was recorded its samples stand for, and what they cannot.
 *
 * Context: ordinary code. Safe on any profile.
 * Ownership: nothing is kept. */
#ifndef PENUMBRA_PROFILE_COVERAGE_H
#define PENUMBRA_PROFILE_COVERAGE_H

#include "profile/profile.h"

struct profile_coverage {
    /* that the kernel accounts to the program and what it has waited for; more if threads had
     * more */
    double all_ns;
    double sampled_ns; /* that samples stand for */
    double early_ns;   /* before the trigger was set: exec, loader, the runtime's own beginning */
    double beyond_ns;  /* in no thread's account: ends of processes, and what is not recorded */
    bool lacking;      /* much is missing, and more than chance explains */
};

/* False if it is not known, or no samples of CPU time were taken. */
bool profile_coverage(const struct profile *p, const struct profile_totals *t,
                      struct profile_coverage *out);

#endif
