/* The time axis of one thread: on which nodes of its trees samples fell, and when, in a bounded
 * amount of shared memory, grown inside a signal handler. docs/timeline.md has the whole picture.
 *
 *   thread record ─> spool_timeline: active ─┐
 *                                            v
 *      sides[0]: used, shift, chunks ──> slots:  BIN 7 | node w | node w | BIN 9 | SPAN 3 | node w
 *      sides[1]: (the other half, for the next compaction)
 *
 * A slot is 8 bytes: what, and a number. A bin's slots follow it. A bin is 2^shift nanoseconds
 * wide; bins count from the start of the recording. SPAN says that the next slot's weight is spread
 * evenly over so many bins more, before this one. REST is the weight of nodes that are not listed.
 * A thread's triggers share its timeline: a weight says of which of them it is.
 *
 * When a side is full, it is compacted into the other one: bins become wider, and equal nodes in
 * one bin one slot; if that does not suffice, each bin keeps its heaviest nodes, and the others
 * become its REST. One store of `active` then makes the other side the one that is read. So the
 * timeline is well formed between any two instructions: a slot is complete before `used` covers it,
 * a weight changes by one store, and a side is complete before `active` names it.
 *
 * Context: _as functions: the one thread that owns the timeline. A reader copies the active side,
 * and looks whether it is still the active one.
 * Ownership: slots live in the spool and are never freed; struct timeline is the owner's. */
#ifndef PENUMBRA_SIGSAFE_TIMELINE_H
#define PENUMBRA_SIGSAFE_TIMELINE_H

#include "sigsafe/spool.h"

enum {
    TIMELINE_SLOTS = 4096,   /* of a side: two sides take 64 kB */
    TIMELINE_KEPT = 3072,    /* of a side that has just been compacted, at most */
    TIMELINE_FIRST = 16,     /* slots of a side's first chunk; each further one doubles the side */
    TIMELINE_CHUNKS = 9,
    TIMELINE_SHIFT = 20,     /* bins begin 2^20 ns wide, about a millisecond */
    TIMELINE_BINS = 256,     /* bins get wider as long as there are more when a side is full */
    TIMELINE_RECENT = 256,
    TIMELINE_METRICS = 16,
};
_Static_assert(TIMELINE_FIRST << (TIMELINE_CHUNKS - 1) == TIMELINE_SLOTS, "chunks make a side");

/* What a slot is: one of these, or the spool_ref of a node. */
enum timeline_what { TIMELINE_NONE, TIMELINE_BIN, TIMELINE_SPAN, TIMELINE_REST };
enum { TIMELINE_NODES = SPOOL_HEADER_SIZE / SPOOL_UNIT }; /* nodes lie behind the header */

/* The number of BIN is the bin's, that of SPAN bins; others have a weight, and the metric that it
 * is of (in a spool: the number of the trigger):
 *
 *      63            36 35      32 31                        0
 *     +----------------+----------+---------------------------+
 *     | weight         | metric   | what                      |
 *     +----------------+----------+---------------------------+ */
#define TIMELINE_WEIGHT_MAX ((UINT64_C(1) << 28) - 1)

static inline uint64_t timeline_slot(uint32_t what, uint32_t number)
{
    return (uint64_t)number << 32 | what;
}

static inline uint64_t timeline_weighted(uint32_t what, uint32_t metric, uint64_t weight)
{
    return weight << 36 | (uint64_t)metric << 32 | what;
}

static inline uint32_t timeline_what(uint64_t slot)
{
    return (uint32_t)slot;
}

static inline uint32_t timeline_number(uint64_t slot)
{
    return (uint32_t)(slot >> 32);
}

static inline uint32_t timeline_metric(uint64_t slot)
{
    return (uint32_t)(slot >> 32) % TIMELINE_METRICS;
}

static inline uint64_t timeline_weight(uint64_t slot)
{
    return slot >> 36;
}

/* The chunk that slot i of a side is in, and where in it. */
static inline uint32_t timeline_chunk(uint32_t i)
{
    return i < TIMELINE_FIRST ? 0 : 28 - (uint32_t)__builtin_clz(i);
}

static inline uint32_t timeline_chunk_slots(uint32_t chunk)
{
    return chunk ? (uint32_t)TIMELINE_FIRST << (chunk - 1) : TIMELINE_FIRST;
}

static inline uint32_t timeline_chunk_at(uint32_t i)
{
    uint32_t chunk = timeline_chunk(i);
    return chunk ? i - timeline_chunk_slots(chunk) : i;
}

struct spool_timeline {
    uint32_t active; /* atomic: times that the side was changed; its lowest bit is the side */
    uint32_t reserved;
    struct spool_timeline_side {
        uint32_t used;  /* atomic: slots */
        uint32_t shift; /* bins are 2^shift nanoseconds wide */
        spool_ref chunks[TIMELINE_CHUNKS]; /* 0: none yet */
    } sides[2];
};

/* What its owner keeps. All zero: nothing was added yet. */
struct timeline {
    struct spool_timeline *record;
    uint32_t side;   /* that is written */
    uint32_t used;   /* slots of it */
    uint32_t bins;   /* in them */
    uint32_t shift;
    uint32_t bin;    /* the last one */
    uint32_t bin_at; /* the slot after its BIN */
    /* a compaction has left more than TIMELINE_KEPT slots: another one is of no use */
    uint32_t full;
    uint64_t *next, *end; /* slots to be filled, of one chunk */
    uint32_t *published;  /* spool_timeline_side.used */
    uint64_t *chunks[2][TIMELINE_CHUNKS];
    uint16_t recent[TIMELINE_RECENT]; /* by hash: a slot of this bin that may have the same node */
};

struct timeline_moment {
    uint64_t ns;      /* since the start of the recording */
    uint64_t span_ns; /* the weight is of so much time until then; 0: of that moment */
    uint64_t weight;
    uint32_t metric;
    spool_ref node;
};

/* The thread is another one, or in another process: what was added is left alone. */
static inline void timeline_begin(struct timeline *t)
{
    t->record = NULL;
    t->next = t->end = NULL;
}

/* Adds the weight of one sample. *link: where the timeline's spool_ref goes when it is made. False
 * if the spool is full: then it has no time. */
bool timeline_add_as(struct timeline *t, const struct spool *spool, uint32_t *link,
                     const struct timeline_moment *moment);

/* The same for what nearly all samples are: one period, at a moment of its own.
 * False: nothing was done, timeline_add_as has to. */
bool timeline_add_one_as(struct timeline *t, uint64_t ns, uint32_t metric, spool_ref node);

/* Nanoseconds since the start of the recording, by a time stamp counter. */
static inline uint64_t timeline_ns(const struct spool_header *h, uint64_t ticks)
{
    if (ticks <= h->start_ticks)
        return 0;
    return (uint64_t)((unsigned __int128)(ticks - h->start_ticks) * h->tick_fraction >> 32);
}

#endif
