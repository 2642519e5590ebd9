#include "report/compare_values.h"

#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "penumbra/module.h"
#include "profile/compare.h"

uint64_t compare_observed(const struct profile_values *v, uint32_t first, uint32_t *next)
{
    const struct profile_hotlist *h = &v->hotlists[first];
    uint64_t of_kind[PENUMBRA_KINDS_MAX] = { 0 }, most = 0;
    uint32_t i = first;
    for (; i < v->hotlist_count; i++) {
        const struct profile_hotlist *other = &v->hotlists[i];
        if (other->image != h->image || other->process != h->process || other->offset != h->offset)
            break;
        uint64_t *sum = &of_kind[other->kind % PENUMBRA_KINDS_MAX];
        *sum = add_saturated(*sum, other->list->observed);
        most = *sum > most ? *sum : most;
    }
    *next = i;
    return most;
}

/* A hotlist of results, by what is the same in both profiles. */
struct result {
    uint64_t image, offset, site_image, site;
    const char *kind;
    unsigned side;
    const struct hotlist *list;
};

#define ORDER(x, y)                                                                                \
    if ((x) != (y))                                                                                \
    return (x) < (y) ? -1 : 1

static int compare_places(const struct result *x, const struct result *y)
{
    ORDER(x->image, y->image);
    ORDER(x->offset, y->offset);
    ORDER(x->site_image, y->site_image);
    ORDER(x->site, y->site);
    return strcmp(x->kind, y->kind);
}

static int compare_results(const void *a, const void *b)
{
    const struct result *x = a, *y = b;
    int order = compare_places(x, y);
    return order ? order : (int)x->side - (int)y->side;
}

static uint64_t image_id(const uint64_t *images, uint32_t image)
{
    return image < PROFILE_IMAGE_PSEUDO ? images[image] : image;
}

bool compare_is_result(const struct profile_values *v, const struct profile_hotlist *h)
{
    return v->kinds[h->kind].role == PENUMBRA_ROLE_RESULT && h->image != PROFILE_IMAGE_NONE;
}

static size_t put_results(const struct profile_values *v, const uint64_t *images, unsigned side,
                          struct result *to)
{
    size_t count = 0;
    for (uint32_t i = 0; i < v->hotlist_count; i++) {
        const struct profile_hotlist *h = &v->hotlists[i];
        if (!compare_is_result(v, h))
            continue;
        to[count++] = (struct result){.image = image_id(images, h->image),
                                      .offset = h->offset,
                                      .site_image = image_id(images, h->site_image),
                                      .site = h->site,
                                      .kind = v->kinds[h->kind].name,
                                      .side = side,
                                      .list = h->list};
    }
    return count;
}

/* More draws for one instruction change its invariance by less than that of a concise sample is
 * known. */
enum { DRAWS_MOST = 1 << 16 };

struct drawing {
    enum hotlist_kind kind;
    struct hotlist_random random;
    struct hotlist *into;
    uint64_t fresh; /* values that no hotlist has */
};

/* A value of the stream that `from` is of. What a concise sample that was thinned has only once
 * stands for all values that it does not have. */
static struct hotlist_value draw(struct drawing *d, const struct hotlist *from, uint64_t all)
{
    uint64_t at = hotlist_random_next(&d->random) % all;
    uint32_t i = 0;
    while (at >= from->entries[i].count)
        at -= from->entries[i++].count;
    if (from->steps && from->entries[i].count == 1)
        return (struct hotlist_value){ .bits = d->fresh++, .space = UINT32_MAX };
    return (struct hotlist_value){ .bits = from->entries[i].bits, .space = from->entries[i].space };
}

static double drawn_invariance(struct drawing *d, const struct hotlist *from, uint64_t draws)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < from->count; i++)
        all = add_saturated(all, from->entries[i].count);
    memset(d->into, 0, hotlist_size(hotlist_room(d->kind)));
    for (uint64_t n = draws < DRAWS_MOST ? draws : DRAWS_MOST; all && n; n--)
        hotlist_add(d->into, d->kind, draw(d, from, all), &d->random);
    return hotlist_invariance(d->into);
}

/* Results that are in both profiles; of these, *drawn: with what chance makes of the perfect
 * side. */
static size_t pair_results(const struct result *list, size_t count, struct compare_value *both,
                           struct compare_value *drawn, struct drawing *d)
{
    size_t pairs = 0;
    for (size_t i = 1; i < count; i++) {
        if (list[i].side == list[i - 1].side || compare_places(&list[i - 1], &list[i]) != 0)
            continue;
        const struct hotlist *perfect = list[i - 1].list, *sampled = list[i].list;
        both[pairs] = (struct compare_value){ .executions = (double)perfect->observed,
                                              .invariance_perfect = hotlist_invariance(perfect),
                                              .invariance_sampled = hotlist_invariance(sampled) };
        drawn[pairs] = both[pairs];
        if (d)
            drawn[pairs].invariance_sampled = drawn_invariance(d, perfect, sampled->observed);
        pairs++;
    }
    return pairs;
}

bool compare_diff_top(const struct profile_values *const values[2], uint64_t *const images[2],
                      double *out, double *chance)
{
    *out = -1;
    if (!values[0] || !values[1])
        return true;
    size_t most = (size_t)values[0]->hotlist_count + values[1]->hotlist_count + 1;
    struct result *list = calloc(most, sizeof *list);
    struct compare_value *both = calloc(most, sizeof *both), *drawn = calloc(most, sizeof *drawn);
    struct drawing d = { .kind = (enum hotlist_kind)values[1]->summary };
    d.into = calloc(1, hotlist_size(hotlist_room(d.kind)));
    hotlist_random_seed(&d.random, most);
    bool ok = list && both && drawn && d.into;
    size_t count = ok ? put_results(values[0], images[0], 0, list) : 0;
    count += ok ? put_results(values[1], images[1], 1, list + count) : 0;
    if (count)
        qsort(list, count, sizeof *list, compare_results);
    size_t pairs = ok ? pair_results(list, count, both, drawn, chance ? &d : NULL) : 0;
    if (ok)
        *out = compare_values(both, pairs);
    if (ok && chance)
        *chance = compare_values(drawn, pairs);
    free(list);
    free(both);
    free(drawn);
    free(d.into);
    return ok;
}
