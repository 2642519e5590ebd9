#include "report/json_shares.h"

#include <stdlib.h>

#include "base/saturate.h"

static int compare(const void *a, const void *b)
{
    const struct json_share *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return x->thread < y->thread ? -1 : x->thread > y->thread;
}

/* Equal ones become one. */
static void settle(struct json_shares *s)
{
    size_t kept = 0;
    if (s->count)
        qsort(s->list, s->count, sizeof *s->list, compare);
    for (size_t i = 0; i < s->count; i++) {
        struct json_share *last = kept ? &s->list[kept - 1] : NULL;
        if (!last || compare(last, &s->list[i]) != 0) {
            s->list[kept++] = s->list[i];
            continue;
        }
        last->self = add_saturated(last->self, s->list[i].self);
        last->below = add_saturated(last->below, s->list[i].below);
    }
    s->count = kept;
}

bool json_shares_make(struct json_shares *s, const struct view *v,
                      bool (*shown)(const struct view *v, uint32_t node, const void *arg),
                      const void *arg)
{
    *s = (struct json_shares){ 0 };
    if (!v->share_count || view_is_refined(v))
        return true;
    /* the node itself, or the one above that is shown */
    uint32_t *to = calloc((size_t)v->tree.count + 1, sizeof *to);
    s->list = calloc(v->share_count, sizeof *s->list);
    if (!to || !s->list) {
        free(to);
        json_shares_free(s);
        return false;
    }
    for (uint32_t i = 1; i < v->tree.count; i++) {
        uint32_t parent = v->tree.nodes[i].parent;
        to[i] = to[parent] == parent && shown(v, i, arg) ? i : to[parent];
    }
    for (size_t i = 0; i < v->share_count; i++) {
        const struct view_share *share = &v->shares[i];
        bool own = to[share->node] == share->node;
        s->list[s->count++] = (struct json_share){.node = to[share->node],
                                                  .thread = share->thread,
                                                  .self = own ? share->self : 0,
                                                  .below = own ? 0 : share->self};
    }
    free(to);
    settle(s);
    return true;
}

void json_shares_free(struct json_shares *s)
{
    free(s->list);
    *s = (struct json_shares){ 0 };
}

static size_t first_of(const struct json_shares *s, uint32_t node)
{
    size_t lo = 0, hi = s->count;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (s->list[middle].node < node)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

void json_shares_write(struct json *j, const struct json_shares *s, uint32_t node)
{
    size_t i = first_of(s, node);
    if (i == s->count || s->list[i].node != node)
        return;
    json_key(j, "threads");
    json_open(j, '[');
    for (; i < s->count && s->list[i].node == node; i++) {
        json_open(j, '[');
        json_u64(j, s->list[i].thread);
        json_u64(j, s->list[i].self);
        if (s->list[i].below)
            json_u64(j, s->list[i].below);
        json_close(j, ']');
    }
    json_close(j, ']');
}
