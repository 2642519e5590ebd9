#include "sigsafe/own_map.h"

#include <stdbool.h>

#include "sigsafe/sys.h"

/* Below what the engine has at fixed places (engine/ring.c), above what a heap grows to. Each process begins somewhere in the first
 * SPREAD bytes. */
#define PLACE_FIRST UINT64_C(0x2e0000000000)
#define PLACE_SPREAD (UINT64_C(1) << 36)
enum { PAGE = 4096 };

static uint64_t next; /* atomic; 0: nothing was made yet */

static uint64_t place_of(uint64_t size)
{
    uint64_t none = 0, first = PLACE_FIRST + sys_ticks_as() * UINT64_C(0x9e3779b97f4a7c15) % PLACE_SPREAD / PAGE * PAGE;
    if (!__atomic_load_n(&next, __ATOMIC_RELAXED))
        __atomic_compare_exchange_n(&next, &none, first, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return __atomic_fetch_add(&next, (size + PAGE - 1) / PAGE * PAGE, __ATOMIC_RELAXED);
}

long own_map_as(uint64_t size, long protection, long flags, long fd)
{
    return sys_call6_as(SYS_mmap, (long)place_of(size), (long)size, protection, flags, fd, 0);
}
