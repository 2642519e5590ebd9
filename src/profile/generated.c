#include "profile/generated.h"

#include <stdlib.h>

#include "profile/merge.h"

const struct profile_jit_symbol *profile_jit_find(const struct profile_process *process,
                                                  uint64_t address)
{
    uint32_t lo = 0, hi = process->jit_count;
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        if (process->jit[middle].address <= address)
            lo = middle + 1;
        else
            hi = middle;
    }
    if (!lo || address - process->jit[lo - 1].address >= process->jit[lo - 1].size)
        return NULL;
    return &process->jit[lo - 1];
}

/* Entities that are made, some of them several times; their names are the symbols'. */
struct made {
    struct profile_entity *list;
    uint32_t count, capacity;
};

static int compare_ids(const void *a, const void *b)
{
    const struct profile_entity *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

/* Each once, in order. */
static void settle(struct made *m)
{
    uint32_t kept = 0;
    if (m->count)
        qsort(m->list, m->count, sizeof *m->list, compare_ids);
    for (uint32_t i = 0; i < m->count; i++)
        if (!kept || m->list[i].id != m->list[kept - 1].id)
            m->list[kept++] = m->list[i];
    m->count = kept;
}

/* Room for one more: in what is there, or in twice as much. */
static bool reserve(struct made *m)
{
    if (m->count < m->capacity)
        return true;
    settle(m);
    if (m->count < m->capacity / 2)
        return true;
    uint32_t capacity = m->capacity ? m->capacity * 2 : 1024;
    struct profile_entity *grown =
        capacity > m->capacity ? reallocarray(m->list, capacity, sizeof *grown) : NULL;
    if (!grown)
        return false;
    m->list = grown;
    m->capacity = capacity;
    return true;
}

static char no_scope[] = "";

/* *named: whether any node has become an entity. */
static bool name_nodes(struct made *m, const struct profile_process *process,
                       struct profile_thread *t, bool *named)
{
    for (uint32_t i = 0; i < t->node_count; i++) {
        struct profile_node *n = &t->nodes[i];
        const struct profile_jit_symbol *symbol =
            profile_is_private(n->image, n->offset) ? profile_jit_find(process, n->offset) : NULL;
        if (!symbol)
            continue;
        if (!reserve(m))
            return false;
        struct profile_entity entity = {.kind = ENTITY_GENERATED,
                                        .name = symbol->name,
                                        .scope = no_scope,
                                        .at = n->offset - symbol->address};
        n->offset = entity.id = entity_id(&entity);
        m->list[m->count++] = entity;
        *named = true;
    }
    return true;
}

bool profile_generated_name(struct profile *p)
{
    struct made m = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < p->thread_count; i++) {
        struct profile_thread *t = &p->threads[i];
        bool named = false;
        if (p->processes[t->process].jit_count)
            ok = name_nodes(&m, &p->processes[t->process], t, &named);
        /* Code that was generated anew has other addresses, and the same name. */
        ok = ok && (!named || profile_thread_settle(p, t));
    }
    settle(&m);
    ok = ok && profile_entities_merge(p, m.list, m.count);
    free(m.list);
    return ok;
}
