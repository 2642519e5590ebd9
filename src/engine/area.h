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
    AREA_HUGE = 4,   /* in huge pages, where the kernel gives them */
    AREA_SHARED = 8, /* with the processes that are forked later */
    AREA_GROWS = 16, /* huge pages but for the first 2 MB: where little is used little is taken */
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

/* Makes huge pages of [from, from + bytes), which are multiples of one. False: the kernel does
 * not. */
bool area_collapse_as(const struct area *a, uint64_t from, uint64_t bytes);

/* Memory for more than is ready; false if the area ends before. */
bool area_grow_as(struct area *a, uint64_t to);

/* Memory for the bytes up to `to`, with a step in hand; false if the area ends before. */
static inline bool area_need_as(struct area *a, uint64_t to)
{
    return to <= a->ready || area_grow_as(a, to);
}

#endif
