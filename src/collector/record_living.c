#include "collector/record_living.h"

#include <stdlib.h>

#include "base/array.h"

enum { LIST_MOST = 1 << 20, BACK = 64 };

static uint32_t state_of(const struct spool_process *p)
{
    return __atomic_load_n(&p->state, __ATOMIC_RELAXED);
}

/* The record that an executed program replaces came shortly before. That of a program which failed
 * to execute another stays: nothing follows it under its number. */
static bool is_replaced(const struct record_living *l, uint32_t index)
{
    const struct spool_process *p = l->list[index].record;
    if (state_of(p) != PROCESS_EXECING)
        return false;
    for (uint32_t i = index + 1; i < l->count && i <= index + BACK; i++)
        if (l->list[i].record->pid == p->pid)
            return true;
    return false;
}

/* Of the first `old`, how many are left. */
static uint32_t ended_drop(struct record_living *l, uint32_t old)
{
    uint32_t kept = 0, kept_old = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        if (state_of(l->list[i].record) != PROCESS_EXITED && !is_replaced(l, i))
            l->list[kept++] = l->list[i];
        if (i < old)
            kept_old = kept;
    }
    l->count = kept;
    return kept_old;
}

/* The newest come first in the spool, and last here. */
static void begun_add(struct record_living *l, const struct spool *s)
{
    spool_ref newest = __atomic_load_n(&spool_header(s)->processes, __ATOMIC_ACQUIRE), ref = newest;
    uint32_t first = l->count;
    struct spool_process *p;
    for (unsigned n = 0; ref != l->seen && n < LIST_MOST; n++, ref = p->next) {
        p = spool_at(s, ref, sizeof *p);
        if (!p || !ARRAY_ROOM(l->list, l->count, l->capacity))
            break;
        l->list[l->count++] = (struct record_life){.record = p};
    }
    l->seen = newest;
    for (uint32_t i = first, j = l->count; i + 1 < j; i++) {
        struct record_life swapped = l->list[i];
        l->list[i] = l->list[--j];
        l->list[j] = swapped;
    }
}

uint32_t record_living_poll(struct record_living *l, const struct spool *s)
{
    uint32_t old = l->count;
    begun_add(l, s);
    return ended_drop(l, old);
}

void record_living_free(struct record_living *l)
{
    free(l->list);
    *l = (struct record_living){0};
}
