/* Named pieces of code: what the random ones do not reach often enough, and what was wrong once.
 *
 * Context: tests. Ownership: constant data. */
#ifndef PENUMBRA_TESTS_ASM_CASES_H
#define PENUMBRA_TESTS_ASM_CASES_H

#include "piece.h"

struct named {
    const char *name;
    const char *hex;  /* [rip + disp32] of 0x1043xx is in the arena's data */
    /* 1 + enum stop_reason that the engine must give, natively continued; 0: none */
    unsigned stop;
};
extern const struct named named[];

/* The piece with the seed of a state. */
void piece_of_case(struct piece *p, const struct named *n, uint64_t seed);

#endif
