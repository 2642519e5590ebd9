#include "profile/generated.h"

#include "base/array.h"
#include "profile/entity_batch.h"
#include "profile/merge.h"

const struct profile_jit_symbol *profile_jit_find(const struct profile_process *process,
                                                  uint64_t address)
{
    uint32_t lo = ARRAY_LEADING(process->jit_count, i, process->jit[i].address <= address);
    if (!lo || address - process->jit[lo - 1].address >= process->jit[lo - 1].size)
        return NULL;
    return &process->jit[lo - 1];
}

static char no_scope[] = "";

/* *named: whether any node has become an entity. */
static bool name_nodes(struct entity_batch *made, const struct profile_process *process,
                       struct profile_thread *t, bool *named)
{
    for (uint32_t i = 0; i < t->node_count; i++) {
        struct profile_node *n = &t->nodes[i];
        const struct profile_jit_symbol *symbol =
            profile_is_private(n->image, n->offset) ? profile_jit_find(process, n->offset) : NULL;
        if (!symbol)
            continue;
        struct profile_entity entity = {.kind = ENTITY_GENERATED,
                                        .name = symbol->name,
                                        .scope = no_scope,
                                        .at = n->offset - symbol->address};
        n->offset = entity_batch_add(made, &entity);
        if (!n->offset)
            return false;
        *named = true;
    }
    return true;
}

bool profile_generated_name(struct profile *p)
{
    struct entity_batch made = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < p->thread_count; i++) {
        struct profile_thread *t = &p->threads[i];
        bool named = false;
        if (p->processes[t->process].jit_count)
            ok = name_nodes(&made, &p->processes[t->process], t, &named);
        /* Code that was generated anew has other addresses, and the same name. */
        ok = ok && (!named || profile_thread_settle(p, t));
    }
    ok = ok && entity_batch_merge(&made, p);
    entity_batch_free(&made);
    return ok;
}
