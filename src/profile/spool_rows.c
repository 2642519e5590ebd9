#include "profile/spool_rows.h"

#include <stdlib.h>

#include "base/saturate.h"

struct reader {
    struct spool_view *view;
    uint64_t *bytes;
    struct rows_layout layout;
    bool (*row)(void *data, uint32_t id, const void *lead, const void *row);
    void *data;
};

static bool get_chunk(struct reader *q, const struct rows_chunk *chunk)
{
    struct spool_view *v = q->view;
    uint64_t size = rows_chunk_size(q->layout);
    uint32_t first = __atomic_load_n(&chunk->first, __ATOMIC_RELAXED);
    const uint8_t *leads = spool_at(&v->spool, chunk->rows, size);
    if (!leads || first > COUNTS_IDS_MAX || *q->bytes < size) {
        v->damage++;
        return true;
    }
    *q->bytes -= size;
    const uint8_t *rows = leads + (uint64_t)ROWS_CHUNK * q->layout.lead;
    bool ok = true;
    for (uint32_t i = 0; ok && i < ROWS_CHUNK; i++)
        ok = q->row(q->data, first + i, leads + (uint64_t)i * q->layout.lead, rows + (uint64_t)i * q->layout.row);
    return ok;
}

bool spool_rows_read(struct spool_view *v, const uint32_t *list, struct rows_layout layout, uint64_t *bytes,
                     bool (*row)(void *data, uint32_t id, const void *lead, const void *row), void *data, uint64_t *missed)
{
    struct reader q = {v, bytes, layout, row, data};
    struct record_list threads = {0}, chunks = {0};
    bool ok = spool_view_list(v, list, sizeof(struct spool_rows), &threads);
    for (uint32_t i = 0; ok && i < threads.count; i++) {
        const struct spool_rows *s = threads.records[i];
        *missed = add_saturated(*missed, spool_view_count(v, &s->missed));
        ok = spool_view_list(v, &s->chunks, sizeof(struct rows_chunk), &chunks);
        for (uint32_t k = 0; ok && k < chunks.count; k++)
            ok = get_chunk(&q, chunks.records[k]);
        free(chunks.records);
        chunks = (struct record_list){0};
    }
    free(chunks.records);
    free(threads.records);
    return ok;
}
