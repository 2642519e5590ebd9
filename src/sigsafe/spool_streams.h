/* Address streams: how the addresses of each load and store of a thread follow one another, in the
 * spool and in a profile, which adds up threads. The row (spool_rows.h) of a THING_ACCESS is a
 * summary of what was accessed. Of a block's row, a THING_BLOCK's, only `count` is used.
 *
 * Strides, the differences of successive addresses, are kept in a table of the most frequent ones:
 * a stride that is met moves up when it has become more frequent than the one above, and one that
 * is not there takes the last place. So a stride that makes more than a few percent is found, and
 * its number is too small at most by what it had each time it lost the last place (`others` counts
 * these).
 *
 * Context: of rows, the owning thread, general registers only; of profiles, ordinary code.
 * Ownership: rows are the spool's; a struct profile owns its streams. */
#ifndef PENUMBRA_SIGSAFE_SPOOL_STREAMS_H
#define PENUMBRA_SIGSAFE_SPOOL_STREAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "sigsafe/spool_rows.h"

enum {
    STREAM_STRIDES = 4,
    STREAM_LINE = 64,  /* bytes of a cache line */
};

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
#define STREAM_LAYOUT ((struct rows_layout){.row = sizeof(struct spool_stream)})

static inline void stream_exchange(struct spool_stream *row, unsigned a, unsigned b)
{
    int64_t stride = row->strides[a];
    uint64_t times = row->times[a];
    row->strides[a] = row->strides[b];
    row->times[a] = row->times[b];
    row->strides[b] = stride;
    row->times[b] = times;
}

static inline void stream_stride_note(struct spool_stream *row, int64_t stride)
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
        stream_exchange(row, i, i - 1);
}

/* One access more. */
static inline void stream_access_as(struct spool_stream *row, uint64_t address)
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
    stream_stride_note(row, stride);
}

/* ---- in a profile ---- */

/* image, process: as in struct profile_block. */
struct profile_stream {
    uint32_t image, process;
    uint64_t offset;     /* of the instruction: link-time address */
    uint32_t bytes;      /* accessed at once */
    uint32_t kind;       /* enum access_way */
    uint64_t count;      /* accesses */
    uint64_t span;       /* bytes between the lowest and the highest address; of several threads or
                            processes the widest */
    uint64_t runs;       /* of equal strides */
    uint64_t same_line;  /* accesses in the cache line of the one before */
    uint64_t others;     /* strides that are not among the most frequent */
    int64_t strides[STREAM_STRIDES]; /* the most frequent first */
    uint64_t times[STREAM_STRIDES];  /* 0: no more */
};

struct profile_streams {
    struct profile_stream *list; /* by (image + 2, process, offset, kind, bytes) */
    uint32_t count, capacity;
    uint64_t missed; /* accesses for which there was no memory */
};

struct profile_streams *profile_streams_new(void);
void profile_streams_free(struct profile_streams *s);

/* False without memory. */
bool profile_streams_add(struct profile_streams *s, const struct profile_stream *stream);

/* "load", "store", "update". */
const char *profile_stream_kind(uint32_t kind);

#endif
