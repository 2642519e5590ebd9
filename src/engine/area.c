#include "engine/area.h"

#include <sys/mman.h>

#include "sigsafe/sys.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

bool area_map_as(struct area *a, uint64_t size, unsigned how)
{
    long prot = PROT_READ | PROT_WRITE | (how & AREA_CODE ? PROT_EXEC : 0);
    long flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (how & AREA_LOW ? MAP_32BIT : 0);
    long base = sys_call6_as(SYS_mmap, 0, (long)size, prot, flags, -1, 0);
    if (base < 0 && base > -4096)
        return false;
    *a = (struct area){ .base = (uint8_t *)base, .size = size };
    return true;
}

void area_unmap_as(struct area *a)
{
    if (a->base)
        sys_call3_as(SYS_munmap, (long)a->base, (long)a->size, 0);
    *a = (struct area){ 0 };
}

void area_populate_as(const struct area *a, uint64_t from, uint64_t to)
{
    from &= ~UINT64_C(4095);
    to = (to + 4095) & ~UINT64_C(4095);
    if (from < to)
        sys_call3_as(SYS_madvise, (long)(a->base + from), (long)(to - from), MADV_POPULATE_WRITE);
}
