/* Results of productions by function, for reports and comparisons.
 *
 * Context: ordinary code.
 * Ownership: lists are the caller's, to free(). */
#ifndef PENUMBRA_REPORT_TABLE_PRODUCTIONS_H
#define PENUMBRA_REPORT_TABLE_PRODUCTIONS_H

#include "profile/table/productions.h"
#include "report/report.h"

struct production_row {
    struct production_values values;
    uint64_t start;  /* of a method: where the function begins, or a place of it */
    uint64_t weight; /* the count; of a stream length times frequency */
    uint32_t index;  /* of a count or stream of the group */
};

/* Those of a group, greatest first; of methods one a function. NULL without memory. */
struct production_row *production_rows(const struct view *v, const struct profile_productions *t,
                                       uint32_t group, uint32_t *count);

#endif
