#include "sigsafe/own_memory.h"

#include <sys/mman.h>

#include "sigsafe/hash.h"
#include "sigsafe/sys.h"

/* What is beyond that is the program's, as far as locks go. */
enum { RANGES = 16384, PAGE = 4096 };

static struct range {
    uint64_t lo, hi; /* atomic; lo 0: free */
} ranges[RANGES];
static uint32_t used;     /* atomic high-water mark */
static bool future_locks; /* atomic */

/* Below what the engine has at fixed places (engine/ring.c), above what a heap grows to. Each
 * process begins somewhere in the first PLACE_SPREAD bytes. */
#define PLACE_FIRST UINT64_C(0x2e0000000000)
#define PLACE_SPREAD (UINT64_C(1) << 36)
static uint64_t next_place; /* atomic; 0: nothing was mapped yet */

static bool failed(long at)
{
    return at < 0 && at > -PAGE;
}

static uint64_t page_up(uint64_t at)
{
    return (at + PAGE - 1) & -(uint64_t)PAGE;
}

static void used_raise_as(uint32_t to)
{
    uint32_t known = __atomic_load_n(&used, __ATOMIC_RELAXED);
    while (known < to && !__atomic_compare_exchange_n(&used, &known, to, true, __ATOMIC_ACQ_REL,
                                                      __ATOMIC_RELAXED))
        ;
}

void own_memory_note_as(uint64_t lo, uint64_t hi)
{
    uint64_t known_lo, known_hi;
    lo &= -(uint64_t)PAGE;
    hi = page_up(hi);
    if (own_memory_find_as(lo, hi, &known_lo, &known_hi) && known_lo == lo && known_hi == hi)
        return;
    for (uint32_t i = 0; i < RANGES; i++) {
        uint64_t none = 0;
        if (__atomic_load_n(&ranges[i].lo, __ATOMIC_RELAXED) ||
            !__atomic_compare_exchange_n(&ranges[i].lo, &none, lo, false, __ATOMIC_ACQ_REL,
                                         __ATOMIC_RELAXED))
            continue;
        __atomic_store_n(&ranges[i].hi, hi, __ATOMIC_RELEASE);
        used_raise_as(i + 1);
        return;
    }
}

/* Mapped without access, nothing is made of it though it is locked; that is undone before it can be
 * used. */
static long map_unlocked_as(uint64_t at, uint64_t size, long protection, long flags, int fd)
{
    long got = sys_call6_as(SYS_mmap, (long)at, (long)size, PROT_NONE, flags, fd, 0);
    if (failed(got))
        return got;
    sys_call3_as(SYS_munlock, got, (long)size, 0);
    long opened = sys_call3_as(SYS_mprotect, got, (long)size, protection);
    if (!failed(opened))
        return got;
    sys_call3_as(SYS_munmap, got, (long)size, 0);
    return opened;
}

static uint64_t place_of(uint64_t size)
{
    uint64_t none = 0, first = PLACE_FIRST + hash_word(sys_ticks_as()) %
                                                 PLACE_SPREAD / PAGE * PAGE;
    if (!__atomic_load_n(&next_place, __ATOMIC_RELAXED))
        __atomic_compare_exchange_n(&next_place, &none, first, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
    return __atomic_fetch_add(&next_place, page_up(size), __ATOMIC_RELAXED);
}

long own_map_as(uint64_t at, uint64_t size, long protection, long flags, int fd)
{
    if (!at && !(flags & MAP_32BIT))
        at = place_of(size);
    long got = own_memory_is_locked_as()
                   ? map_unlocked_as(at, size, protection, flags, fd)
                   : sys_call6_as(SYS_mmap, (long)at, (long)size, protection, flags, fd, 0);
    if (!failed(got))
        own_memory_note_as((uint64_t)got, (uint64_t)got + size);
    return got;
}

/* What is left of r without [lo, hi), which takes all of it or one end. */
static void range_cut_as(struct range *r, uint64_t lo, uint64_t hi)
{
    uint64_t from = __atomic_load_n(&r->lo, __ATOMIC_ACQUIRE),
             to = __atomic_load_n(&r->hi, __ATOMIC_ACQUIRE);
    if (!from || from >= hi || to <= lo)
        return;
    if (lo <= from && hi >= to) {
        __atomic_store_n(&r->hi, 0, __ATOMIC_RELEASE);
        __atomic_store_n(&r->lo, 0, __ATOMIC_RELEASE);
    } else if (lo <= from) {
        __atomic_store_n(&r->lo, hi, __ATOMIC_RELEASE);
    } else {
        __atomic_store_n(&r->hi, lo, __ATOMIC_RELEASE);
    }
}

void own_unmap_as(const void *at, uint64_t size)
{
    uint64_t lo = (uint64_t)(uintptr_t)at, hi = page_up(lo + size);
    uint32_t count = __atomic_load_n(&used, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count; i++)
        range_cut_as(&ranges[i], lo, hi);
    sys_call3_as(SYS_munmap, (long)lo, (long)size, 0);
}

bool own_memory_find_as(uint64_t from, uint64_t to, uint64_t *lo, uint64_t *hi)
{
    uint32_t count = __atomic_load_n(&used, __ATOMIC_ACQUIRE);
    *lo = UINT64_MAX;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t begin = __atomic_load_n(&ranges[i].lo, __ATOMIC_ACQUIRE);
        uint64_t end = __atomic_load_n(&ranges[i].hi, __ATOMIC_ACQUIRE);
        if (!begin || begin >= to || end <= from)
            continue;
        begin = begin < from ? from : begin;
        if (begin >= *lo)
            continue;
        *lo = begin;
        *hi = end < to ? end : to;
    }
    return *lo != UINT64_MAX;
}

uint64_t own_memory_bytes_as(void)
{
    uint32_t count = __atomic_load_n(&used, __ATOMIC_ACQUIRE);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t lo = __atomic_load_n(&ranges[i].lo, __ATOMIC_ACQUIRE),
                 hi = __atomic_load_n(&ranges[i].hi, __ATOMIC_ACQUIRE);
        bytes += lo && hi > lo ? hi - lo : 0;
    }
    return bytes;
}

void own_memory_locks_as(bool future)
{
    __atomic_store_n(&future_locks, future, __ATOMIC_RELEASE);
}

bool own_memory_is_locked_as(void)
{
    return __atomic_load_n(&future_locks, __ATOMIC_ACQUIRE);
}
