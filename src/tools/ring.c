#include "tools/ring.h"

#include <sys/mman.h>

#include "sigsafe/sys.h"

enum { RING = 1 << 16 };

bool ring_begin_as(void *data, struct engine_thread *t)
{
    (void)data;
    if (t->tool) {
        t->ring = (uint64_t)(uintptr_t)t->tool;
        return true;
    }
    /* A value that ends at the ring's last byte is not cut: the page behind belongs to us too. */
    long base = sys_call6_as(SYS_mmap, 0, 3 * RING, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base < 0 && base > -4096)
        return false;
    t->ring = ((uint64_t)base + RING - 1) & ~(uint64_t)(RING - 1);
    t->tool = (void *)(uintptr_t)t->ring;
    return true;
}
