/* Functions to run under the engine: between them they use every kind of transfer and much of libc.
 * Each gives a number that depends on all that it did.
 *
 * Context: ordinary code. Ownership: constant data. */
#ifndef PENUMBRA_TESTS_ENGINE_FUNCTIONS_H
#define PENUMBRA_TESTS_ENGINE_FUNCTIONS_H

#include <stdint.h>

struct function {
    const char *name;
    uint64_t (*call)(uint64_t n);
    uint64_t most;  /* n is below */
    uint64_t steps; /* an n for which it is short; 0: it uses static data, so that it
                       must not run in several threads, nor be left in its middle */
};

extern const struct function functions[]; /* ends with name NULL */

#endif
