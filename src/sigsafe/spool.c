#include "sigsafe/spool.h"

#include <linux/futex.h>

#include "sigsafe/sys.h"

/* The collector is woken when less than this is ready ahead of the allocations. */
#define SPOOL_LOW_WATER (UINT64_C(2) << 20)

void spool_ring_as(const struct spool *s)
{
    struct spool_header *h = spool_header(s);
    __atomic_fetch_add(&h->bell, 1, __ATOMIC_RELEASE);
    if (__atomic_load_n(&s->quiet, __ATOMIC_RELAXED))
        return;
    sys_call6_as(SYS_futex, (long)&h->bell, FUTEX_WAKE, 1, 0, 0, 0);
}

void *spool_alloc_as(const struct spool *s, uint64_t size)
{
    struct spool_header *h = spool_header(s);
    if (size > s->mapped)
        return NULL;
    size = (size + SPOOL_UNIT - 1) / SPOOL_UNIT * SPOOL_UNIT;
    uint64_t old = __atomic_load_n(&h->next, __ATOMIC_RELAXED);
    uint64_t limit;
    do {
        limit = __atomic_load_n(&h->limit, __ATOMIC_ACQUIRE);
        if (limit > s->mapped)
            limit = s->mapped;
        if (old < SPOOL_HEADER_SIZE || old > limit || size > limit - old) {
            spool_ring_as(s);
            return NULL;
        }
    } while (!__atomic_compare_exchange_n(&h->next, &old, old + size, true, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    if (limit - old >= SPOOL_LOW_WATER && limit - old - size < SPOOL_LOW_WATER)
        spool_ring_as(s);
    return s->base + old;
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
