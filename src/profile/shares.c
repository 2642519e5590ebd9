#include "profile/shares.h"

#include <stdlib.h>

struct profile_shares *profile_shares_new(void)
{
    return calloc(1, sizeof(struct profile_shares));
}

bool profile_share_add(struct profile_shares **s, const struct profile_share *share)
{
    struct profile_shares *at = *s;
    if (at->count == at->capacity) {
        uint32_t capacity = at->capacity ? at->capacity + at->capacity / 2 : 16;
        struct profile_shares *grown =
            capacity > at->capacity ? realloc(at, sizeof *at + capacity * sizeof *at->list) : NULL;
        if (!grown)
            return false;
        grown->capacity = capacity;
        *s = at = grown;
    }
    at->list[at->count++] = *share;
    return true;
}

static int compare(const void *a, const void *b)
{
    const struct profile_share *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return (x->metric > y->metric) - (x->metric < y->metric);
}

void profile_shares_place(struct profile_shares *s, const uint32_t *place)
{
    for (uint32_t i = 0; i < s->count; i++)
        s->list[i].node = place[s->list[i].node];
    qsort(s->list, s->count, sizeof *s->list, compare);
}

void profile_shares_renumber(struct profile *p, const uint32_t *to)
{
    for (uint32_t i = 0; i < p->thread_count; i++) {
        struct profile_shares *s = p->threads[i].shares;
        for (uint32_t k = 0; s && k < s->count; k++)
            s->list[k].metric = to[s->list[k].metric];
    }
}
