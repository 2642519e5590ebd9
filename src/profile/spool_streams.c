#include "profile/spool_streams.h"

#include <stdlib.h>

#include "base/saturate.h"

struct reader {
    struct spool_view *view;
    uint64_t *rows;
    bool (*row)(void *data, uint32_t id, const struct spool_stream *stream);
    void *data;
};

static bool get_chunk(struct reader *q, const struct spool_stream_chunk *chunk)
{
    struct spool_view *v = q->view;
    uint32_t first = __atomic_load_n(&chunk->first, __ATOMIC_RELAXED);
    const struct spool_stream *rows =
        spool_at(&v->spool, chunk->rows, STREAM_ROWS * sizeof *rows);
    if (!rows || first > COUNTS_IDS_MAX || *q->rows < STREAM_ROWS) {
        v->damage++;
        return true;
    }
    *q->rows -= STREAM_ROWS;
    bool ok = true;
    for (uint32_t i = 0; ok && i < STREAM_ROWS; i++) {
        struct spool_stream copy = rows[i];
        if (copy.count)
            ok = q->row(q->data, first + i, &copy);
    }
    return ok;
}

bool spool_streams_read(struct spool_view *v, const struct spool_counts *record, uint64_t *rows,
                        bool (*row)(void *data, uint32_t id, const struct spool_stream *stream),
                        void *data, uint64_t *missed)
{
    struct reader q = {v, rows, row, data};
    struct record_list threads = {0}, chunks = {0};
    bool ok = spool_view_list(v, &record->streams, sizeof(struct spool_streams), &threads);
    for (uint32_t i = 0; ok && i < threads.count; i++) {
        const struct spool_streams *s = threads.records[i];
        *missed = add_saturated(*missed, spool_view_count(v, &s->missed));
        ok = spool_view_list(v, &s->chunks, sizeof(struct spool_stream_chunk), &chunks);
        for (uint32_t k = 0; ok && k < chunks.count; k++)
            ok = get_chunk(&q, chunks.records[k]);
        free(chunks.records);
        chunks = (struct record_list){0};
    }
    free(chunks.records);
    free(threads.records);
    return ok;
}
