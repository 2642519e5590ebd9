#include "sigsafe/spool_streams.h"

#include <stddef.h>

bool streams_begin_as(struct stream_store *s, const struct spool *spool, struct spool_counts *c,
                      int32_t tid)
{
    struct spool_streams *record = spool_alloc_as(spool, sizeof *record);
    s->spool = spool;
    s->record = record;
    for (uint32_t i = 0; i < STREAM_CHUNKS; i++)
        s->rows[i] = NULL;
    if (!record)
        return false;
    record->tid = tid;
    spool_push_as(spool, &c->streams, record);
    return true;
}

bool streams_resume_as(struct stream_store *s, const struct spool *spool, spool_ref ref, int32_t tid)
{
    struct spool_streams *record = ref ? spool_at(spool, ref, sizeof *record) : NULL;
    if (!record)
        return false;
    s->spool = spool;
    s->record = record;
    record->tid = tid;
    struct spool_stream_chunk *chunk = spool_at(spool, record->chunks, sizeof *chunk);
    for (uint32_t i = 0; chunk && i < STREAM_CHUNKS; i++) {
        if (chunk->first / STREAM_ROWS < STREAM_CHUNKS)
            s->rows[chunk->first / STREAM_ROWS] =
                spool_at(spool, chunk->rows, STREAM_ROWS * sizeof(struct spool_stream));
        chunk = chunk->next ? spool_at(spool, chunk->next, sizeof *chunk) : NULL;
    }
    return true;
}

struct spool_stream *streams_row_make_as(struct stream_store *s, uint32_t id)
{
    if (id / STREAM_ROWS >= STREAM_CHUNKS)
        return NULL;
    struct spool_stream_chunk *chunk = spool_alloc_as(s->spool, sizeof *chunk);
    struct spool_stream *rows =
        chunk ? spool_alloc_as(s->spool, STREAM_ROWS * sizeof *rows) : NULL;
    if (!rows)
        return NULL;
    chunk->first = id / STREAM_ROWS * STREAM_ROWS;
    chunk->rows = spool_ref_of(s->spool, rows);
    spool_push_as(s->spool, &s->record->chunks, chunk);
    s->rows[id / STREAM_ROWS] = rows;
    return &rows[id % STREAM_ROWS];
}

static void exchange(struct spool_stream *row, unsigned a, unsigned b)
{
    int64_t stride = row->strides[a];
    uint64_t times = row->times[a];
    row->strides[a] = row->strides[b];
    row->times[a] = row->times[b];
    row->strides[b] = stride;
    row->times[b] = times;
}

static void stride_note(struct spool_stream *row, int64_t stride)
{
    unsigned i = 0;
    while (i < STREAM_STRIDES && row->times[i] && row->strides[i] != stride)
        i++;
    if (i == STREAM_STRIDES) {
        i--;
        row->others += row->times[i];
        row->times[i] = 0;
    }
    row->strides[i] = stride;
    row->times[i]++;
    if (i && row->times[i] > row->times[i - 1])
        exchange(row, i, i - 1);
}

void stream_access_as(struct spool_stream *row, uint64_t address)
{
    int64_t stride = (int64_t)(address - row->last);
    if (!row->count++) {
        row->lo = row->hi = row->last = address;
        return;
    }
    row->runs += row->count == 2 || stride != row->stride;
    row->same_line += address / STREAM_LINE == row->last / STREAM_LINE;
    row->stride = stride;
    row->last = address;
    if (address < row->lo)
        row->lo = address;
    if (address > row->hi)
        row->hi = address;
    stride_note(row, stride);
}
