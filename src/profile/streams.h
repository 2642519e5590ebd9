/* Address streams: how the addresses of a load or store followed one another, summed over threads. Each
 * thread's accesses are a stream of their own (sigsafe/spool_streams.h says what is kept of one).
 *
 * Context: ordinary code.
 * Ownership: a struct profile_counts owns its streams. */
#ifndef PENUMBRA_PROFILE_STREAMS_H
#define PENUMBRA_PROFILE_STREAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "sigsafe/spool_streams.h"

/* image, process: as in struct profile_block. */
struct profile_stream {
    uint32_t image, process;
    uint64_t offset;     /* of the instruction: link-time address */
    uint32_t bytes;      /* accessed at once */
    uint32_t kind;       /* enum stream_kind */
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

/* Adds all of `from`, as profile_counts_merge does. False without memory. */
bool profile_streams_append(struct profile_streams *s, const struct profile_streams *from,
                            const uint32_t *image_of, uint32_t first_process);

/* Sorts them, and makes one of those of the same operand. */
void profile_streams_settle(struct profile_streams *s);

/* "load", "store", "update". */
const char *profile_stream_kind(uint32_t kind);

#endif
