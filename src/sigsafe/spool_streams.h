/* Address streams in the spool: how the addresses of each load and store of a thread follow one another.
 *
 *      spool_counts.streams ─> spool_streams ─> ...        one a thread, newest first
 *                                └ chunks ─> chunk ─> ...  rows of STREAM_ROWS ids each
 *                                             └ rows ─> [ stream | stream | ... ]   by id
 *
 * Ids are things (spool_counts.h): an access is a THING_ACCESS, its row a summary of what was accessed; a
 * block is a THING_BLOCK, of whose row only `count` is used.
 *
 * Strides, the differences of successive addresses, are kept in a table of the most frequent ones: a
 * stride that is met moves up when it has become more frequent than the one above, and one that is not
 * there takes the last place. So a stride that makes more than a few percent is found, and its number is
 * too small at most by what it had each time it lost the last place (`others` counts these).
 *
 * Context: _as functions: the owning thread, general registers only.
 * Ownership: records live in the spool and are never freed. */
#ifndef PENUMBRA_SIGSAFE_SPOOL_STREAMS_H
#define PENUMBRA_SIGSAFE_SPOOL_STREAMS_H

#include "sigsafe/spool_counts.h"

enum {
    STREAM_STRIDES = 4,
    STREAM_ROWS = 256, /* 32 kB a chunk */
    STREAM_CHUNKS = 1 << 14,
    STREAM_LINE = 64,  /* bytes of a cache line */
};

enum stream_kind { STREAM_LOAD = 1, STREAM_STORE = 2, STREAM_UPDATE = 3 };

struct spool_stream {
    uint64_t count;
    uint64_t lo, hi;  /* lowest and highest address */
    uint64_t last;    /* the address before */
    int64_t stride;   /* the last one */
    uint64_t runs;    /* times that the stride was another one than before */
    uint64_t same_line; /* accesses in the line of the access before */
    uint64_t others;  /* strides that are not in the table */
    int64_t strides[STREAM_STRIDES]; /* the most frequent first */
    uint64_t times[STREAM_STRIDES];  /* 0: free */
};
_Static_assert(sizeof(struct spool_stream) == 128, "two cache lines");

struct spool_stream_chunk {
    spool_ref next;
    uint32_t first; /* id of rows[0] */
    spool_ref rows; /* struct spool_stream[STREAM_ROWS] */
};

struct spool_streams {
    spool_ref next;
    int32_t tid;
    uint32_t chunks; /* atomic spool_ref, newest first */
    uint32_t reserved;
    uint64_t missed; /* accesses for which there was no room */
};

/* A thread's view. */
struct stream_store {
    const struct spool *spool;
    struct spool_streams *record; /* NULL: nothing is kept */
    struct spool_stream *rows[STREAM_CHUNKS]; /* by id / STREAM_ROWS */
};

/* A new record for a thread. False: the spool is full. */
bool streams_begin_as(struct stream_store *s, const struct spool *spool, struct spool_counts *c,
                      int32_t tid);

/* The same record again, for a thread that goes on where another was (a shadow's seat). False: it is none. */
bool streams_resume_as(struct stream_store *s, const struct spool *spool, spool_ref record, int32_t tid);

/* Makes the rows of the chunk that the id is in; NULL: no room. */
struct spool_stream *streams_row_make_as(struct stream_store *s, uint32_t id);

static inline struct spool_stream *streams_row_as(struct stream_store *s, uint32_t id)
{
    struct spool_stream *rows = id / STREAM_ROWS < STREAM_CHUNKS ? s->rows[id / STREAM_ROWS] : NULL;
    return rows ? &rows[id % STREAM_ROWS] : streams_row_make_as(s, id);
}

/* One access more. */
void stream_access_as(struct spool_stream *row, uint64_t address);

#endif
