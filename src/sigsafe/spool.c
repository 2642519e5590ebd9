#include "sigsafe/spool.h"

#include <linux/futex.h>

#include "sigsafe/sys.h"

/* The collector is woken when less than this is ready ahead of the allocations. */
#define SPOOL_LOW_WATER (UINT64_C(2) << 20)

void spool_wake_as(const struct spool *s, uint32_t *word)
{
    __atomic_fetch_add(word, 1, __ATOMIC_RELEASE);
    if (__atomic_load_n(&s->quiet, __ATOMIC_RELAXED))
        return;
    sys_call6_as(SYS_futex, (long)word, FUTEX_WAKE, 1, 0, 0, 0);
}

void spool_ring_as(const struct spool *s)
{
    spool_wake_as(s, &spool_header(s)->bell);
}

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

/* Of the collector, which is asleep or behind. */
static void ask_as(const struct spool *s, uint64_t size)
{
    uint32_t pages = (uint32_t)(size / SPOOL_PAGE) + 1, *wanted = &spool_header(s)->wanted_pages;
    if (pages > __atomic_load_n(wanted, __ATOMIC_RELAXED))
        __atomic_store_n(wanted, pages, __ATOMIC_RELAXED);
    spool_ring_as(s);
}

/* `unit`: both the alignment and what the size is a multiple of. */
static void *alloc_as(const struct spool *s, uint64_t size, uint64_t unit)
{
    struct spool_header *h = spool_header(s);
    if (size > s->mapped)
        return NULL;
    size = round_up(size, unit);
    uint64_t old = __atomic_load_n(&h->next, __ATOMIC_RELAXED);
    uint64_t limit, start;
    do {
        limit = __atomic_load_n(&h->limit, __ATOMIC_ACQUIRE);
        if (limit > s->mapped)
            limit = s->mapped;
        start = round_up(old, unit);
        if (old < SPOOL_HEADER_SIZE || old > limit || start > limit || size > limit - start) {
            ask_as(s, size);
            return NULL;
        }
    } while (!__atomic_compare_exchange_n(&h->next, &old, start + size, true, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    if (limit - old >= SPOOL_LOW_WATER && limit - start - size < SPOOL_LOW_WATER)
        spool_ring_as(s);
    return s->base + start;
}

bool spool_can_grow_as(const struct spool *s)
{
    return __atomic_load_n(&spool_header(s)->limit, __ATOMIC_ACQUIRE) < s->mapped;
}

bool spool_ready_as(const struct spool *s, uint64_t size)
{
    const struct spool_header *h = spool_header(s);
    uint64_t limit = __atomic_load_n(&h->limit, __ATOMIC_ACQUIRE),
             next = __atomic_load_n(&h->next, __ATOMIC_RELAXED);
    bool ready = next <= limit && limit - next >= size;
    if (!ready)
        ask_as(s, size);
    return ready;
}

bool spool_wait_as(const struct spool *s, uint64_t size, uint32_t ms)
{
    static const uint64_t pause[2] = {0, 1000000}; /* nanoseconds */
    while (!spool_ready_as(s, size)) {
        if (!ms-- || !spool_can_grow_as(s))
            return false;
        sys_call3_as(SYS_nanosleep, (long)pause, 0, 0);
    }
    return true;
}

void *spool_alloc_as(const struct spool *s, uint64_t size)
{
    return alloc_as(s, size, SPOOL_UNIT);
}

void *spool_alloc_pages_as(const struct spool *s, uint64_t size)
{
    return alloc_as(s, size, SPOOL_PAGE);
}

void spool_push_as(const struct spool *s, uint32_t *head, void *record)
{
    spool_ref *next = record;
    spool_ref ref = spool_ref_of(s, record);
    uint32_t old = __atomic_load_n(head, __ATOMIC_RELAXED);
    do
        *next = old;
    while (!__atomic_compare_exchange_n(head, &old, ref, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED));
}

spool_ref spool_string_as(const struct spool *s, const char *bytes, uint64_t length)
{
    if (length > SPOOL_PATH_MAX * 4)
        length = SPOOL_PATH_MAX * 4;
    struct spool_string *string = spool_alloc_as(s, sizeof *string + length);
    if (!string)
        return 0;
    for (uint64_t i = 0; i < length; i++)
        string->bytes[i] = bytes[i];
    string->length = (uint32_t)length;
    return spool_ref_of(s, string);
}
