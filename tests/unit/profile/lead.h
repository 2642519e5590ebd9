/* A result as translated code takes it: counted, if it is passed over or the same as before
 * (src/tools/inline/lead.c), or in the front (src/tools/results_line.S); else drawn. */
#ifndef PENUMBRA_TESTS_LEAD_H
#define PENUMBRA_TESTS_LEAD_H

#include "sigsafe/spool_results.h"
#include "tools/results_layout.h"

/* The count of the value's entry, or of one that becomes its. */
static inline int64_t *front_count(struct result_front *front, uint64_t value)
{
    for (unsigned i = 0; i < RESULT_FRONT; i++)
        if (front->of[i].value == value)
            return (uint64_t)front->of[i].count >= FRONT_MOST ? NULL : &front->of[i].count;
    for (unsigned i = 0; i < RESULT_FRONT; i++)
        if (!front->of[i].value && !front->of[i].count) {
            front->of[i].value = value;
            return &front->of[i].count;
        }
    return NULL;
}

static inline void result_add_most(struct counts_lead *lead, struct result_front *front,
                                   struct spool_result *row, uint64_t value, uint64_t most,
                                   struct hotlist_random *random)
{
    if (--lead->left >= 0 || value == lead->bits || result_first(lead, value))
        return;
    bool same = lead->left < -1;
    int64_t *before = same ? front_count(front, lead->bits) : NULL;
    if (before) {
        int64_t more = -lead->left - 1;
        lead->left = -1;
        *before += more;
    }
    int64_t *now = same && !before ? NULL : front_count(front, value);
    if (!now) {
        result_draw_as(lead, front, row, value, most, random);
        return;
    }
    *lead = (struct counts_lead){.bits = same ? lead->bits : value};
    ++*now;
}

static inline void result_add(struct counts_lead *lead, struct result_front *front,
                              struct spool_result *row, uint64_t value,
                              struct hotlist_random *random)
{
    result_add_most(lead, front, row, value, UINT64_MAX, random);
}

#endif
