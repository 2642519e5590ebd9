/* A shadow that will live long makes the memory that it shares with its program its own at once: a
 * page is copied by who writes to it first, and what the shadow has copied costs the program less
 * than half as much when it writes to it.
 *
 *      forked                      all is its own
 *      |▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒|··|--|·······|--|········
 *       pages are copied here       runs
 *       the program's first write to a page:
 *       copies it, or not          does not copy it
 *
 * Of what is private, can be written to, and is there (PAGEMAP_SCAN, Linux 6.7 or later): no page
 * is made that was not. A huge page of the program's stays one. Where that would be more than half
 * of what a shadow may change (is_too_large_as), nothing is copied: it is to have room for its own.
 *
 * Context: a shadow, before it runs.
 * Ownership: everything ends with the process. */
#include "runtime/carrier/shadow/shadow_self.h"

#include <sys/mman.h>

#include "engine/mappings.h"
#include "sigsafe/memory_used.h"
#include "runtime/carrier/shadow/pages_there.h"
#include "sigsafe/sys.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define PIECE (4ull << 20)

/* Piece by piece: somebody may want it to end. */
static bool copy_as(uint64_t lo, uint64_t hi)
{
    for (uint64_t at = lo; at < hi; at += PIECE) {
        uint64_t size = hi - at < PIECE ? hi - at : PIECE;
        shadow_look_about_as();
        if (sys_call3_as(SYS_madvise, (long)at, (long)size, MADV_POPULATE_WRITE) != 0)
            return false;
    }
    return true;
}

static bool own_as(void *data, const struct mapping *m)
{
    const long fd = *(const long *)data;
    struct pages_region found[PAGES_FOUND];
    struct pages_range rest = {m->lo, m->hi};
    long n = m->shared || !m->writable ? 0 : PAGES_FOUND;
    while (n == PAGES_FOUND) {
        n = pages_scan_as(fd, &rest, PAGES_PRESENT, PAGES_FILE | PAGES_ZERO, found);
        for (long i = 0; i < n; i++)
            if (!copy_as(found[i].lo, found[i].hi))
                return false;
        if (n > 0)
            rest.lo = found[n - 1].hi;
    }
    return n >= 0;
}

static bool has_room_as(void)
{
    uint64_t most = shadow_pages_most();
    return !most || memory_used_pages_as() <= most / 2;
}

void shadow_apart_as(long pagemap)
{
    if (pagemap < 0)
        return;
    if (has_room_as() && mappings_each_as(own_as, &pagemap))
        __atomic_store_n(&shadow_self.seat->apart, 1, __ATOMIC_RELAXED);
    sys_call3_as(SYS_close, pagemap, 0, 0);
}
