/* What a processor model has found (profile/simulate.h), by function or by line.
 *
 * Context: ordinary code.
 * Ownership: lists are to free(); texts are the symbols'. */
#ifndef PENUMBRA_REPORT_SIMULATED_PLACES_H
#define PENUMBRA_REPORT_SIMULATED_PLACES_H

#include "profile/simulate.h"
#include "report/view.h"

/* A function, or a line of one. */
struct simulated_place {
    const char *name, *file;
    uint32_t line;         /* 0: all of it, or not known */
    uint32_t image, first; /* an instruction of it */
    struct profile_cost sum;
};

struct simulated_places {
    struct simulated_place *list;
    uint32_t count;
    struct profile_cost all;
};

/* One entry for each function, or for each line where the innermost function has lines; an empty
 * list without memory. */
struct simulated_places simulated_places_make(const struct view *v,
                                              const struct profile_simulated *s, bool lines);

#endif
