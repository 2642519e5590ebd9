#include "profile/hits.h"

#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "profile/profile.h"

static int compare(const void *a, const void *b)
{
    const struct profile_hit *x = a, *y = b;
    return (x->entity > y->entity) - (x->entity < y->entity);
}

bool profile_hits_add(struct profile *p, const struct profile_hit *list, uint32_t count)
{
    uint32_t kept = 0;
    if (!count)
        return true;
    if (count > UINT32_MAX - p->hit_count)
        return false;
    struct profile_hit *all = reallocarray(p->hits, (size_t)p->hit_count + count, sizeof *all);
    if (!all)
        return false;
    memcpy(all + p->hit_count, list, count * sizeof *all);
    qsort(all, p->hit_count + count, sizeof *all, compare);
    for (uint32_t i = 0; i < p->hit_count + count; i++)
        if (kept && all[kept - 1].entity == all[i].entity)
            all[kept - 1].weight = add_saturated(all[kept - 1].weight, all[i].weight);
        else
            all[kept++] = all[i];
    p->hits = all;
    p->hit_count = kept;
    return true;
}
