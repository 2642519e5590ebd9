#include "profile/spool_rows.h"

#include <stdlib.h>

#include "base/saturate.h"

/* The chunk's fronts, and its first id; NULL: it is damaged, or more than there can be. */
static const uint8_t *rows_of(struct spool_view *v, const struct rows_chunk *chunk,
                              struct rows_layout layout, uint64_t *bytes, uint32_t *first)
{
    uint64_t all = rows_chunk_size(layout);
    const uint8_t *rows = spool_at(&v->spool, chunk->rows, all);
    *first = __atomic_load_n(&chunk->first, __ATOMIC_RELAXED);
    if (!rows || *first > COUNTS_IDS_MAX || *bytes < all) {
        v->damage++;
        return NULL;
    }
    *bytes -= all;
    return rows;
}

static bool list_chunks(struct spool_view *v, const struct spool_rows *record,
                        struct record_list *chunks, uint64_t *missed)
{
    *chunks = (struct record_list){0};
    *missed = add_saturated(*missed, spool_view_count(v, &record->missed));
    return spool_view_list(v, &record->chunks, sizeof(struct rows_chunk), chunks);
}

bool spool_rows_find(struct spool_view *v, const struct spool_rows *record,
                     struct rows_layout layout, uint64_t *bytes, struct spool_rows_table *to,
                     uint64_t *missed)
{
    struct record_list chunks;
    bool ok = list_chunks(v, record, &chunks, missed);
    *to = (struct spool_rows_table){0};
    for (uint32_t i = 0; ok && i < chunks.count; i++) {
        uint32_t first;
        const uint8_t *rows = rows_of(v, chunks.records[i], layout, bytes, &first);
        if (rows && first / ROWS_CHUNK < ROWS_CHUNKS)
            to->chunks[first / ROWS_CHUNK] = rows;
    }
    free(chunks.records);
    return ok;
}

bool spool_rows_read(struct spool_view *v, const uint32_t *list, struct rows_layout layout,
                     uint64_t *bytes, bool (*row)(void *data, uint32_t id, const void *row),
                     void *data, uint64_t *missed)
{
    struct record_list threads = {0}, chunks = {0};
    bool ok = spool_view_list(v, list, sizeof(struct spool_rows), &threads);
    for (uint32_t i = 0; ok && i < threads.count; i++) {
        ok = list_chunks(v, threads.records[i], &chunks, missed);
        for (uint32_t k = 0; ok && k < chunks.count; k++) {
            uint32_t first;
            const uint8_t *rows = rows_of(v, chunks.records[k], layout, bytes, &first);
            for (uint32_t n = 0; ok && rows && n < ROWS_CHUNK; n++)
                ok = row(data, first + n, rows + rows_offset(layout, n));
        }
        free(chunks.records);
    }
    free(threads.records);
    return ok;
}
