/* Address streams in the spool: how the addresses of each load and store of a thread follow one another. The
 * row (spool_rows.h) of an access, a THING_ACCESS, is a summary of what was accessed; of a block's, a THING_BLOCK's,
 * only `count` is used.
 *
 * Strides, the differences of successive addresses, are kept in a table of the most frequent ones: a
 * stride that is met moves up when it has become more frequent than the one above, and one that is not
 * there takes the last place. So a stride that makes more than a few percent is found, and its number is
 * too small at most by what it had each time it lost the last place (`others` counts these).
 *
 * Context: the owning thread, general registers only.
 * Ownership: the spool's. */
#ifndef PENUMBRA_SIGSAFE_SPOOL_STREAMS_H
#define PENUMBRA_SIGSAFE_SPOOL_STREAMS_H

#include "sigsafe/spool_rows.h"

enum {
    STREAM_STRIDES = 4,
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
#define STREAM_LAYOUT ((struct rows_layout){.row = sizeof(struct spool_stream)})

/* One access more. */
void stream_access_as(struct spool_stream *row, uint64_t address);

#endif
