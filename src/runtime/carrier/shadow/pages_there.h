/* Which pages of the process there are, and of what kind, as the kernel tells (PAGEMAP_SCAN, Linux
 * 6.7 or later).
 *
 * Context: any; raw system calls.
 * Ownership: a descriptor that pages_open_as has opened is the caller's. */
#ifndef PENUMBRA_RUNTIME_CARRIER_SHADOW_PAGES_THERE_H
#define PENUMBRA_RUNTIME_CARRIER_SHADOW_PAGES_THERE_H

#include <stdint.h>

/* linux/fs.h since Linux 6.7. */
enum { PAGES_FILE = 1 << 2, PAGES_PRESENT = 1 << 3, PAGES_ZERO = 1 << 5, PAGES_HUGE = 1 << 6 };

struct pages_range {
    uint64_t lo, hi;
};

/* linux/fs.h, struct page_region. */
struct pages_region {
    uint64_t lo, hi, categories;
};

enum { PAGES_FOUND = 64 }; /* regions that one look finds at most */

long pages_open_as(void);
/* Pages there of all categories `wanted` and none `unwanted`: their ranges in order, PAGES_FOUND at
 * most. Negative: not known. */
long pages_scan_as(long fd, const struct pages_range *where, uint64_t wanted, uint64_t unwanted,
                   struct pages_region *found);

#endif
