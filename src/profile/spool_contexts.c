#include "profile/spool_contexts.h"

#include <stdlib.h>

#include "profile/spool_counts.h"

bool spool_contexts_add(struct spool_contexts *c, uint32_t thread, const spool_ref *refs)
{
    const struct profile_thread *t = &c->profile->threads[thread];
    uint32_t first = c->count;
    for (uint32_t i = 0; i < t->node_count; i++) {
        void *nodes = spool_counts_room(c->nodes, c->count, &c->capacity, sizeof *c->nodes);
        c->nodes = nodes ? nodes : c->nodes;
        void *more = spool_counts_room(c->refs, c->count, &c->refs_capacity, sizeof *c->refs);
        c->refs = more ? more : c->refs;
        if (!nodes || !more)
            return false;
        uint32_t caller = i ? first + t->nodes[i].parent : first;
        c->nodes[c->count] = (struct spool_context){thread, i, caller, 0};
        c->refs[c->count] = (struct spool_context_ref){refs[i], c->count};
        c->count++;
    }
    return true;
}

static int compare_refs(const void *a, const void *b)
{
    const struct spool_context_ref *x = a, *y = b;
    return (x->ref > y->ref) - (x->ref < y->ref);
}

uint32_t spool_contexts_find(struct spool_contexts *c, spool_ref ref)
{
    if (c->sorted != c->count)
        qsort(c->refs, c->count, sizeof *c->refs, compare_refs);
    c->sorted = c->count;
    const struct spool_context_ref key = {.ref = ref}, *found = NULL;
    if (c->count)
        found = bsearch(&key, c->refs, c->count, sizeof *c->refs, compare_refs);
    return found ? found->node : UINT32_MAX;
}

const struct profile_node *spool_contexts_node(const struct spool_contexts *c, uint32_t index)
{
    const struct spool_context *at = &c->nodes[index];
    return &c->profile->threads[at->thread].nodes[at->node];
}

void spool_contexts_free(struct spool_contexts *c)
{
    free(c->nodes);
    free(c->refs);
    *c = (struct spool_contexts){0};
}
