/* Rows from a spool (sigsafe/spool_rows.h), for spool_counts.c. As hostile as all of it.
 *
 * Context: ordinary code. The spool may be written to concurrently.
 * Ownership: the caller's view. */
#ifndef PENUMBRA_PROFILE_READ_ROWS_H
#define PENUMBRA_PROFILE_READ_ROWS_H

#include "profile/spool_view.h"
#include "sigsafe/spool_rows.h"

/* Calls row() with each row of each record in the list. *bytes: how many may still be looked at;
 * *missed grows by what there was no room for. False without memory, or when row() says so. */
bool spool_rows_read(struct spool_view *v, const uint32_t *list, struct rows_layout layout,
                     uint64_t *bytes, bool (*row)(void *data, uint32_t id, const void *row),
                     void *data, uint64_t *missed);

/* The rows of one record, by id / ROWS_CHUNK: where the fronts of that chunk begin, with the rows
 * behind them; or NULL. */
struct spool_rows_table {
    const uint8_t *chunks[ROWS_CHUNKS];
};
/* The same bounds. False without memory. */
bool spool_rows_find(struct spool_view *v, const struct spool_rows *record,
                     struct rows_layout layout, uint64_t *bytes, struct spool_rows_table *to,
                     uint64_t *missed);

#endif
