/* Results in the spool: the most frequent values of each instruction that writes a general register, of a thread.
 * A row (spool_rows.h) of a THING_RESULT has a concise sample of them; of a THING_BLOCK only `list.observed`
 * is used: its executions.
 *
 * How many values are passed over until one is added again is drawn beforehand, so what is passed over costs the
 * counting down of a number.
 *
 * Context: the owning thread, general registers only.
 * Ownership: the spool's. */
#ifndef PENUMBRA_SIGSAFE_SPOOL_RESULTS_H
#define PENUMBRA_SIGSAFE_SPOOL_RESULTS_H

#include "sigsafe/concise.h"
#include "sigsafe/spool_rows.h"

struct spool_result {
    uint32_t gap;  /* values that are not added, from the next one on */
    uint32_t open; /* 1: the gap was cut, and what follows it is to be drawn too */
    struct hotlist list; /* one more entry than are kept; the first is not less frequent than when it came there */
};

enum { RESULT_ROW_SIZE = 448 }; /* seven cache lines; of most additions, only the first is touched */
_Static_assert(sizeof(struct spool_result) + (HOTLIST_CONCISE_MAX + 1) * sizeof(struct hotlist_entry) <=
                   RESULT_ROW_SIZE, "the entries fit");

/* What is not simple: see result_add_as. */
void result_draw_as(struct spool_result *row, uint64_t value, struct hotlist_random *r);

/* One value more. */
static inline void result_add_as(struct spool_result *row, uint64_t value, struct hotlist_random *r)
{
    row->list.observed++;
    if (row->gap)
        row->gap--;
    else if (!row->list.steps && row->list.count && row->list.entries[0].bits == value)
        row->list.entries[0].count++;
    else
        result_draw_as(row, value, r);
}

#endif
