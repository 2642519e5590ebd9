/* What productions (production.h) have found, in the spool:
 *
 *      spool_counts.tables[TABLE_PRODUCTIONS] ─> spool_productions ─> ...   one a thread
 *                          ├ counts ─> [ capacity | count | free | ... ]    open addressing; it grows
 *                          ├ buffers[] ─> [ item | item | break | item ... ]   what is appended
 *                          └ streams[] ─> stream ─> stream ...              by hash: hot ones
 *
 * A buffer that is full is searched for hot streams (hot_streams.h), which are counted in
 * `streams`, and begins anew; what is in it at the end the reader searches. So memory is bounded,
 * and nothing is lost with a thread that is killed. (If that is while its buffer is searched, some
 * streams of the buffer count twice.)
 *
 * Context: _as functions: the owning thread, general registers only.
 * Ownership: records live in the spool and are never freed. */
#ifndef PENUMBRA_SIGSAFE_SPOOL_PRODUCTIONS_H
#define PENUMBRA_SIGSAFE_SPOOL_PRODUCTIONS_H

#include "sigsafe/hot_streams.h"
#include "sigsafe/production.h"
#include "sigsafe/spool_counts.h"

enum {
    PRODUCTION_COUNTS_FIRST = 1 << 8,
    PRODUCTION_COUNTS_MOST = 1 << 20, /* entries; 32 MB */
    PRODUCTION_BUFFER_FIRST = 1 << 10,
    PRODUCTION_BUFFER_MOST = 1 << 17, /* items, 2 MB: at a time one grammar's */
    PRODUCTION_CHAINS = 1 << 10,
    PRODUCTION_STREAMS_MOST = 1 << 15, /* of a thread */
};

/* Values of fields: keys (key.h) of code, addresses of data, numbers. */
struct spool_production_count {
    uint64_t a, b;
    uint64_t count; /* 0: free. Written last */
    uint32_t group, reserved;
};
_Static_assert(sizeof(struct spool_production_count) == 32, "two entries a cache line");

struct spool_production_counts {
    uint32_t capacity; /* entries that follow: a power of two */
    uint32_t reserved[7];
    struct spool_production_count entries[];
};

struct spool_production_buffer {
    spool_ref items;   /* struct hot_item[capacity] */
    uint32_t capacity;
    uint32_t count;
    uint32_t group;
};

struct spool_production_stream {
    spool_ref next;
    uint32_t group, length, reserved;
    uint64_t hash, frequency;
    struct hot_item items[]; /* length of them */
};

struct spool_productions {
    spool_ref next;
    int32_t tid;
    uint32_t counts; /* atomic spool_ref of a struct spool_production_counts */
    uint32_t counts_used;
    uint32_t stream_count;
    spool_ref window;     /* the thread's struct spool_window: its ring of tuples has the same */
    uint64_t overflows[PRODUCTION_COUNTERS];   /* times that the flag was set */
    uint64_t done[PRODUCTION_GROUPS];          /* actions of each group */
    uint64_t lost[PRODUCTION_GROUPS];          /* of these: there was no room */
    /* where the process has its memory, so that addresses mean the same in another run */
    uint64_t stack, heap, maps;
    struct spool_production_buffer buffers[PRODUCTION_GROUPS]; /* of groups that are streams */
    uint32_t streams[PRODUCTION_CHAINS]; /* atomic spool_ref */
};

/* A thread's view. */
struct production_store {
    const struct spool *spool;
    struct spool_productions *record; /* NULL: nothing is kept */
    struct spool_production_counts *counts;
};

/* A new record. False: the spool is full. */
bool production_store_begin_as(struct production_store *p, const struct spool *s, uint32_t *list,
                               int32_t tid);
/* NO_ROOM: another try may succeed when the spool has some. */
enum production_put { PRODUCTION_PUT, PRODUCTION_NO_ROOM, PRODUCTION_FULL };
/* One more. FULL: there are too many others. */
enum production_put production_count_as(struct production_store *p, uint32_t group, uint64_t a,
                                        uint64_t b);
/* Where that is counted; NULL: nowhere yet. It moves when the counts grow. */
struct spool_production_count *production_counted_as(const struct production_store *p,
                                                     uint32_t group, uint64_t a, uint64_t b);
/* FULL: the buffer is as large as it gets, and has to be searched first. */
enum production_put production_append_as(struct production_store *p, uint32_t group,
                                         struct hot_item item);
/* The buffer's items, which are not those of an honest program if the spool is damaged; NULL: there
 * are none. */
const struct hot_item *production_items(const struct spool *s,
                                        const struct spool_production_buffer *b, uint32_t *count);
/* Searches a full buffer, and empties it. `memory`: of hot_streams_bytes(its count), zeroed. */
void production_search_as(struct production_store *p, uint32_t group, void *memory);

/* Bit n: the image of that number (struct spool_image) has a file that is called as
 * p->images[n]. */
uint32_t production_image_bits_as(const struct spool *s, const struct production_program *p,
                                  unsigned number);

#endif
