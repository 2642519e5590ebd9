/* An unwind_index of the test's own process, with or without compiled tables.
 *
 * Context: ordinary code, before the unwinder under test runs.
 * Ownership: the index and the tables live until self_index_free. Build it after the last
 * dlopen. */
#ifndef PENUMBRA_TESTS_SELF_INDEX_H
#define PENUMBRA_TESTS_SELF_INDEX_H

#include <signal.h>
#include <stdbool.h>

#include "unwind/unwind.h"

struct self_index {
    struct unwind_index *index;
    const char **names; /* of images, by number - 1 */
    uint8_t *tables;    /* 16-byte aligned arena, NULL without tables */
    uint32_t *refs;
};

struct self_index self_index_build(bool with_tables);
void self_index_free(struct self_index *self);

/* The registers in a signal handler's third argument. */
struct unwind_regs self_regs(const void *ucontext);

#endif
