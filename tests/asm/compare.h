/* Whether two outcomes of a piece of code are the same, and what to say when they are not.
 *
 * Context: tests; one thread. Ownership: the caller owns everything. */
#ifndef PENUMBRA_TESTS_ASM_COMPARE_H
#define PENUMBRA_TESTS_ASM_COMPARE_H

#include "run.h"

bool outcomes_differ(const struct batch *b, unsigned index, const struct mode *mode,
                     const struct outcome *native, const struct outcome *engine);

/* To standard error: the piece in bytes and text, where and how it ran, and each difference. */
void describe(const struct batch *b, unsigned index, const struct mode *mode,
              const struct outcome *native, const struct outcome *engine);

#endif
