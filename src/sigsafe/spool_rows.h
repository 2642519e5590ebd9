/* Rows in the spool, of one size, by id: what a thread knows of each thing that it has met.
 *
 *      spool_counts.tables[TABLE] ─> spool_rows ─> ...     one a thread, newest first
 *                                          └ chunks ─> chunk ─> ...  rows of ROWS_CHUNK ids each
 *                                                       └ rows ─> [ front | front | ... | row | row | ... ]   by id
 *
 * Ids are things (spool_counts.h). A front is what of a row is touched most often, apart from the
 * rest: what is in use at a time is then in fewer pages. There may be none.
 *
 * Context: _as functions: the owning thread, general registers only.
 * Ownership: records live in the spool and are never freed. */
#ifndef PENUMBRA_SIGSAFE_SPOOL_ROWS_H
#define PENUMBRA_SIGSAFE_SPOOL_ROWS_H

#include "sigsafe/spool_counts.h"

enum {
    ROWS_CHUNK = 256,
    ROWS_CHUNKS = 1 << 14,
};

struct rows_chunk {
    spool_ref next;
    uint32_t first; /* id of row 0 */
    spool_ref rows; /* ROWS_CHUNK fronts and as many rows, behind this */
};

/* bytes from a chunk to its rows, which begin with a cache line */
enum { ROWS_BEGIN = 16, ROWS_ALIGN = 64 };

struct spool_rows {
    spool_ref next;
    int32_t tid;
    uint32_t chunks; /* atomic spool_ref, newest first */
    uint32_t reserved;
    uint64_t missed; /* things met for which there was no room */
};

/* Sizes in bytes. */
struct rows_layout {
    uint32_t front; /* 0: there are none */
    uint32_t row;
};

static inline uint64_t rows_chunk_size(struct rows_layout l)
{
    return (uint64_t)ROWS_CHUNK * (l.front + l.row);
}

/* Where in its chunk the row of an id is. */
static inline uint64_t rows_offset(struct rows_layout l, uint32_t id)
{
    return (uint64_t)ROWS_CHUNK * l.front + (uint64_t)(id % ROWS_CHUNK) * l.row;
}

/* A thread's view. */
struct rows_store {
    const struct spool *spool;
    struct spool_rows *record; /* NULL: nothing is kept */
    const struct spool_counts *counts; /* that the record belongs to: a forked child has its own */
    struct rows_layout layout;
    uint8_t *chunks[ROWS_CHUNKS]; /* by id / ROWS_CHUNK: its rows, the first front */
};

/* Makes the store one of these counts, whose `list` of records of such rows is given: the record
 * `ref` (0: none; a shadow's, on whose seat the thread sits), or a new one. False: the spool is
 * full. */
bool rows_begin_as(struct rows_store *s, const struct spool *spool,
                   const struct spool_counts *counts, uint32_t *list, spool_ref ref,
                   struct rows_layout layout, int32_t tid);

/* Makes the chunk that the id is in, zeroed; the id's row. NULL: no room, and nothing was taken of
 * what there is. */
void *rows_make_as(struct rows_store *s, uint32_t id);

/* NULL: not made yet. */
static inline uint8_t *rows_chunk(const struct rows_store *s, uint32_t id)
{
    return id / ROWS_CHUNK < ROWS_CHUNKS ? s->chunks[id / ROWS_CHUNK] : NULL;
}

static inline void *rows_row(const struct rows_store *s, uint8_t *chunk, uint32_t id)
{
    return chunk + rows_offset(s->layout, id);
}

static inline void *rows_at_as(struct rows_store *s, uint32_t id)
{
    uint8_t *chunk = rows_chunk(s, id);
    return chunk ? rows_row(s, chunk, id) : rows_make_as(s, id);
}

#endif
