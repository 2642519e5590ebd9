/* Hot data streams: sequences of items that come again and again (Chilimbi, Efficient
 * Representations and Abstractions for Quantifying and Exploiting Data Reference Locality, 2001).
 *
 * The items become a grammar (sequitur.h). A rule stands for a sequence; its *heat* is its length
 * times how often it comes, where it is no part of a longer one that is hot (Chilimbi and Hirzel,
 * 2002, Figure 5). Those are hot that have 2 to 100 items and at least the heat of the highest
 * threshold at which they cover 90% of all items. Thresholds are the number of items halved again
 * and again, as long as they are more than an item has on average, or a thousandth of all items
 * have.
 *
 * Context: any, general registers only; no allocation.
 * Ownership: the caller's memory. */
#ifndef PENUMBRA_SIGSAFE_HOT_STREAMS_H
#define PENUMBRA_SIGSAFE_HOT_STREAMS_H

#include <stdbool.h>
#include <stdint.h>

enum { HOT_STREAM_LEAST = 2, HOT_STREAM_MOST = 100, HOT_STREAM_COVERED = 90 /* percent */ };

struct hot_item {
    uint64_t a, b;
};
/* No stream goes on over it. */
#define HOT_BREAK ((struct hot_item){ UINT64_MAX, UINT64_MAX })

static inline bool hot_is_break(const struct hot_item *i)
{
    return i->a == UINT64_MAX && i->b == UINT64_MAX;
}

/* Bytes for so many items, breaks included. */
uint64_t hot_streams_bytes(uint32_t count);

/* What is found: `length` indices of items, and how often they come. */
typedef void hot_stream_found(void *data, const uint32_t *indices, uint32_t length,
                              uint32_t frequency);

/* `memory` is all zeroes, of hot_streams_bytes(count), and aligned to 8 bytes. Returns the heat of
 * all that are found. */
uint64_t hot_streams_find(void *memory, const struct hot_item *items, uint32_t count,
                          hot_stream_found *found, void *data);

#endif
