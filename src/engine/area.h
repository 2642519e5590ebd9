/* Address space that is reserved as a whole and gets memory in steps, ahead of its use: on the path
 * of a cold program page faults cost more than all else that the engine does.
 *
 *      base          used        ready                        size
 *      |-------------|-----------|-----------------------------|
 *       in use        populated   reserved only
 *
 * Context: any; raw system calls.
 * Ownership: whoever maps an area unmaps it. */
#ifndef PENUMBRA_ENGINE_AREA_H
#define PENUMBRA_ENGINE_AREA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct area {
    uint8_t *base;
    uint64_t size;
    uint64_t ready; /* bytes from base that have been populated */
};

enum {
    AREA_PLAIN = 0,
    AREA_CODE = 1,
    AREA_LOW = 2, /* below 2 GB */
    AREA_HUGE = 4,
    AREA_SHARED = 8, /* with the processes that are forked later */
};

/* Reserves `size` bytes; false without address space. */
bool area_map_as(struct area *a, uint64_t size, unsigned how);
void area_unmap_as(struct area *a);

static inline bool area_holds(const struct area *a, uint64_t address)
{
    return address - (uint64_t)(uintptr_t)a->base < a->size;
}

/* Asks the kernel for the memory of [from, to), where it is able to give much at once. Never fails:
 * what is not populated is faulted in when it is touched. */
void area_populate_as(const struct area *a, uint64_t from, uint64_t to);

/* Memory for the bytes up to `to`, with a step in hand; false if the area ends before. */
static inline bool area_need_as(struct area *a, uint64_t to)
{
    enum { STEP = 64 << 10 };
    if (to <= a->ready)
        return true;
    if (to > a->size)
        return false;
    uint64_t end = to + STEP < a->size ? (to + STEP) & ~UINT64_C(4095) : a->size;
    area_populate_as(a, a->ready, end);
    a->ready = end;
    return true;
}

#endif
