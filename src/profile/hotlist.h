/* The most frequent values of a stream, in constant space. Two ways of keeping them:
 *
 * Concise samples: sigsafe/concise.h.
 *
 * Top-N-value tables (Calder, Feller and Eustace, Value Profiling, section 3): N = 50 counters. A
 * value that has none gets one while there is room; every TNV_INTERVAL values the lower half is
 * flushed, so that new ones get in. What a value was seen while it had no counter is lost: counts
 * are too small, by an unknown amount.
 *
 * Context: ordinary code. An add is a few stores, and a hotlist that it was killed in is a good one
 * but for that value (hotlist_check).
 * Ownership: plain memory, which may be shared between processes; zeroes are an empty hotlist. */
#ifndef PENUMBRA_PROFILE_HOTLIST_H
#define PENUMBRA_PROFILE_HOTLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sigsafe/concise.h"

/* The numbers are the files' (docs/format.md). */
enum hotlist_kind { HOTLIST_CONCISE = 0, HOTLIST_TNV = 1, HOTLIST_KINDS };

enum {
    HOTLIST_TNV_MAX = 50,
    HOTLIST_TNV_INTERVAL = 2000,
};

/* What a value is: numbers of different spaces are different values. */
enum hotlist_space {
    HOTLIST_PLAIN = 0,  /* a number */
    HOTLIST_HASH = 1,   /* with --redact: a keyed hash of it, whose key is gone */
    /* with --redact: the kind of memory that an address is in (enum hotlist_region) */
    HOTLIST_REGION = 2,
    HOTLIST_IMAGE = 3,  /* and more: link-time address in image number (space - 3) */
};

enum hotlist_region { REGION_OTHER, REGION_STACK, REGION_HEAP, REGION_MAPPED, REGION_COUNT };

/* Entries that a hotlist keeps at most, and that it needs room for: one more while a value is
 * added. */
static inline uint32_t hotlist_most(enum hotlist_kind kind)
{
    return kind == HOTLIST_TNV ? HOTLIST_TNV_MAX : HOTLIST_CONCISE_MAX;
}

static inline uint32_t hotlist_room(enum hotlist_kind kind)
{
    return hotlist_most(kind) + 1;
}

static inline size_t hotlist_size(uint32_t entries)
{
    return sizeof(struct hotlist) + entries * sizeof(struct hotlist_entry);
}

void hotlist_add(struct hotlist *h, enum hotlist_kind kind, struct hotlist_value value,
                 struct hotlist_random *r);

/* Adds the stream of `from`, whose entries are not changed. Of two concise samples the one with the
 * greater p is thinned to the other's first; the result is one of both streams. `into` must have
 * room for hotlist_most(kind) + from->count entries while this runs. */
void hotlist_merge(struct hotlist *into, const struct hotlist *from, enum hotlist_kind kind,
                   struct hotlist_random *r);

/* Most frequent first; equal ones by space and bits. */
void hotlist_sort(struct hotlist *h);

/* The probability that a value was kept with; 1 for tables. */
double hotlist_probability(const struct hotlist *h);

/* The estimated share of the stream that an entry's value has, 0 to 1. In a concise sample it is
 * the entry's share of all that was kept. Its count by p and by the stream's length would have the
 * same mean, but the chance in how many of all values were kept besides: 3 times the deviation
 * where the share is 0.9. */
double hotlist_share(const struct hotlist *h, const struct hotlist_entry *entry);

/* The greatest of these: the invariance of the instruction (Calder et al.: Inv-Top). 0 without
 * entries. */
double hotlist_invariance(const struct hotlist *h);

/* Whether there were more values than fit, and of those kept none was kept twice: then shares and
 * invariance are those of how many were kept, not of the stream. */
bool hotlist_is_spread(const struct hotlist *h);

/* Whether it can be one of this kind, with all counters. */
bool hotlist_check(const struct hotlist *h, enum hotlist_kind kind);

/* Whether a value can be of that space in a profile with so many images. */
static inline bool hotlist_space_good(uint32_t space, uint32_t images)
{
    return space < HOTLIST_IMAGE || space - HOTLIST_IMAGE < images;
}

#endif
