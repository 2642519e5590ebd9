/* What is mapped where, as the unwinder looks it up: an index of images, sorted by address.
 *
 * Context: any: an index is immutable once it is published.
 * Ownership: the caller owns all memory; an image borrows what the loader has mapped. */
#ifndef PENUMBRA_SIGSAFE_UNWIND_INDEX_H
#define PENUMBRA_SIGSAFE_UNWIND_INDEX_H

#include <stdbool.h>
#include <stdint.h>

/* One mapped image. Addresses are run-time addresses unless called vaddr (link-time). */
struct unwind_image {
    uint64_t lo, hi;  /* all of its mapped segments lie in [lo, hi) */
    uint64_t bias;    /* run-time minus link-time address */
    uint32_t number;  /* for keys */
    bool hidden;      /* frames of this image are walked through but not reported (our runtime) */
    const uint8_t *eh_frame_hdr; /* PT_GNU_EH_FRAME as mapped, or NULL */
    uint64_t eh_frame_hdr_size;
    uint64_t readable_lo, readable_hi; /* the readable mapped range that holds .eh_frame_hdr and
                                          .eh_frame; the interpreter never reads outside it */
    const uint8_t *readable_copy; /* of another process's image: these bytes here; else NULL */
    /* The compiled table appears while the program runs: *table_ref becomes nonzero, and the table
     * is at table_base + 16 * *table_ref. Both NULL where there never is one. */
    const uint32_t *table_ref;
    const uint8_t *table_base;
    uint64_t table_limit; /* bytes readable from table_base */
    uint64_t vm_structs;  /* of HotSpot: where gHotSpotVMStructs is (hotspot.h), else 0 */
};

/* Immutable once published; a new one replaces it when images come or go. */
struct unwind_index {
    uint32_t generation; /* differs from every earlier index of the process */
    uint32_t count;
    struct unwind_image image[]; /* sorted by lo, disjoint */
};

/* The image that an address is in; NULL: none. */
const struct unwind_image *unwind_index_find_as(const struct unwind_index *index, uint64_t pc);

#endif
