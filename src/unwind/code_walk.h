/* All paths through one region of code, and the layout before each instruction (layout.h).
 *
 * Context: ordinary code, any thread.
 * Ownership: a code_walk owns its arrays, which one region after the other uses. */
#ifndef PENUMBRA_UNWIND_CODE_WALK_H
#define PENUMBRA_UNWIND_CODE_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/layout.h"

enum {
    CODE_REGION_MAX = 1 << 18, /* bytes */
    CODE_LAYOUTS_MAX = 1 << 14,
    CODE_LAYOUT_ENTRY = 1, /* the number of that of a function's beginning; 0 is none */
};

struct code_walk {
    const uint8_t *code;
    uint32_t size;
    uint32_t *at;     /* by offset: the number of the layout before the instruction there; 0: not
                         reached */
    uint8_t *length;  /* of the instruction there */
    uint8_t *waiting; /* it is in work[] */
    uint32_t *work;   /* offsets to visit */
    uint32_t works;
    struct layout *layout;
    uint16_t *known; /* by layout: registers whose value is known, as a mask */
    uint32_t layouts;
    uint64_t steps; /* how many more instructions may be visited, in this region and all others */
    bool given_up;  /* nothing is known about this region */
    /* Where control leaves the region otherwise than as into a function. */
    void (*leaves)(void *context, int64_t offset);
    void *context;
};

/* False: out of memory. */
bool code_walk_make(struct code_walk *w, uint64_t steps);
void code_walk_free(struct code_walk *w);

/* Begins a region of at most CODE_REGION_MAX bytes. */
void code_walk_start(struct code_walk *w, const uint8_t *code, uint32_t size);

/* A function begins at `offset`. */
void code_walk_enter(struct code_walk *w, uint32_t offset);

/* Visits everything that can be reached. False: too much; nothing is known. */
bool code_walk_run(struct code_walk *w);

#endif
