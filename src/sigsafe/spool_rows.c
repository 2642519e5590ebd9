#include "sigsafe/spool_rows.h"

#include <stddef.h>

static void chunks_find_as(struct rows_store *s)
{
    const struct spool *spool = s->spool;
    struct rows_chunk *chunk = spool_at(spool, s->record->chunks, sizeof *chunk);
    for (uint32_t i = 0; chunk && i < ROWS_CHUNKS; i++) {
        if (chunk->first / ROWS_CHUNK < ROWS_CHUNKS)
            s->chunks[chunk->first / ROWS_CHUNK] =
                spool_at(spool, chunk->rows, rows_chunk_size(s->layout));
        chunk = chunk->next ? spool_at(spool, chunk->next, sizeof *chunk) : NULL;
    }
}

bool rows_begin_as(struct rows_store *s, const struct spool *spool,
                   const struct spool_counts *counts, uint32_t *list, spool_ref ref,
                   struct rows_layout layout, int32_t tid)
{
    struct spool_rows *record = ref ? spool_at(spool, ref, sizeof *record) : NULL;
    bool found = record != NULL;
    if (!found)
        record = spool_alloc_as(spool, sizeof *record);
    s->spool = spool;
    s->record = record;
    s->counts = counts;
    s->layout = layout;
    for (uint32_t i = 0; i < ROWS_CHUNKS; i++)
        s->chunks[i] = NULL;
    if (!record)
        return false;
    record->tid = tid;
    if (found)
        chunks_find_as(s);
    else
        spool_push_as(spool, list, record);
    return true;
}

void *rows_make_as(struct rows_store *s, uint32_t id)
{
    if (id / ROWS_CHUNK >= ROWS_CHUNKS)
        return NULL;
    struct rows_chunk *chunk =
        spool_alloc_as(s->spool, ROWS_BEGIN + ROWS_ALIGN + rows_chunk_size(s->layout));
    if (!chunk)
        return NULL;
    uint8_t *rows = (uint8_t *)chunk + ROWS_BEGIN;
    rows += -(uint64_t)(uintptr_t)rows % ROWS_ALIGN;
    chunk->first = id / ROWS_CHUNK * ROWS_CHUNK;
    chunk->rows = spool_ref_of(s->spool, rows);
    spool_push_as(s->spool, &s->record->chunks, chunk);
    s->chunks[id / ROWS_CHUNK] = rows;
    return rows_row(s, rows, id);
}
