#include "engine/area.h"

#include <sys/mman.h>

#include "sigsafe/own_memory.h"
#include "sigsafe/sys.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

enum { HUGE = 2 << 20, STEP = 64 << 10 };

/* Begins the area at a multiple of 2 MB, and gives back what was reserved for that. */
static void align_huge_as(struct area *a)
{
    uint64_t base = (uint64_t)(uintptr_t)a->base,
             aligned = (base + HUGE - 1) & ~(uint64_t)(HUGE - 1);
    uint64_t end = base + a->size, size = a->size - HUGE;
    if (aligned > base)
        own_unmap_as((const void *)base, aligned - base);
    if (end > aligned + size)
        own_unmap_as((const void *)(aligned + size), end - aligned - size);
    *a = (struct area){ .base = (uint8_t *)aligned, .size = size };
}

static bool map_as(struct area *a, uint64_t size, unsigned how)
{
    long prot = PROT_READ | PROT_WRITE | (how & AREA_CODE ? PROT_EXEC : 0);
    long flags = MAP_ANONYMOUS | MAP_NORESERVE | (how & AREA_SHARED ? MAP_SHARED : MAP_PRIVATE) |
                 (how & AREA_LOW ? MAP_32BIT : 0);
    uint64_t huge = how & (AREA_HUGE | AREA_GROWS) ? HUGE : 0, from = how & AREA_GROWS ? HUGE : 0;
    long base = own_map_as(0, size + huge, prot, flags, -1);
    if (sys_failed(base))
        return false;
    *a = (struct area){ .base = (uint8_t *)base, .size = size + huge };
    if (!huge)
        return true;
    align_huge_as(a);
    /* Shared memory is in huge pages where they begin with those of the file that it is. */
    if (how & AREA_SHARED &&
        sys_failed(own_map_as((uint64_t)(uintptr_t)a->base, size, prot, flags | MAP_FIXED, -1))) {
        area_unmap_as(a);
        return false;
    }
    if (from < size)
        sys_call3_as(SYS_madvise, (long)(a->base + from), (long)(size - from), MADV_HUGEPAGE);
    return true;
}

bool area_map_as(struct area *a, uint64_t size, unsigned how)
{
    if (!map_as(a, size, how))
        return false;
    /* Of shared memory a core file has what was never touched, too: its pages are made for that. */
    sys_call3_as(SYS_madvise, (long)a->base, (long)a->size, MADV_DONTDUMP);
    return true;
}

void area_unmap_as(struct area *a)
{
    if (a->base)
        own_unmap_as(a->base, a->size);
    *a = (struct area){ 0 };
}

void area_populate_as(const struct area *a, uint64_t from, uint64_t to)
{
    from &= ~UINT64_C(4095);
    to = (to + 4095) & ~UINT64_C(4095);
    if (from < to)
        sys_call3_as(SYS_madvise, (long)(a->base + from), (long)(to - from), MADV_POPULATE_WRITE);
}

bool area_collapse_as(const struct area *a, uint64_t from, uint64_t bytes)
{
    area_populate_as(a, from, from + 1); /* of nothing none are made */
    return !sys_call3_as(SYS_madvise, (long)(a->base + from), (long)bytes, MADV_COLLAPSE);
}

bool area_grow_as(struct area *a, uint64_t to)
{
    if (to > a->size)
        return false;
    uint64_t page = to + STEP < HUGE ? 4096 : HUGE, end = (to + STEP + page - 1) & ~(page - 1);
    if (end > a->size)
        end = a->size;
    area_populate_as(a, a->ready, end);
    a->ready = end;
    return true;
}
