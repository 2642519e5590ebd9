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
    double observed, invariance;
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

static size_t put_results(const struct profile_values *v, const uint64_t *images, unsigned side,
                          struct result *to)
{
    size_t count = 0;
    for (uint32_t i = 0; i < v->hotlist_count; i++) {
        const struct profile_hotlist *h = &v->hotlists[i];
        if (v->kinds[h->kind].role != PENUMBRA_ROLE_RESULT || h->image == PROFILE_IMAGE_NONE)
            continue;
        to[count++] = (struct result){ .image = image_id(images, h->image), .offset = h->offset,
                                       .site_image = image_id(images, h->site_image), .site = h->site,
                                       .kind = v->kinds[h->kind].name, .side = side,
                                       .observed = (double)h->list->observed,
                                       .invariance = hotlist_invariance(h->list) };
    }
    return count;
}

bool compare_diff_top(const struct profile_values *const values[2], uint64_t *const images[2], double *out)
{
    *out = -1;
    if (!values[0] || !values[1])
        return true;
    size_t most = (size_t)values[0]->hotlist_count + values[1]->hotlist_count + 1, pairs = 0;
    struct result *list = calloc(most, sizeof *list);
    struct compare_value *both = calloc(most, sizeof *both);
    bool ok = list && both;
    size_t count = ok ? put_results(values[0], images[0], 0, list) : 0;
    count += ok ? put_results(values[1], images[1], 1, list + count) : 0;
    if (count)
        qsort(list, count, sizeof *list, compare_results);
    for (size_t i = 1; i < count; i++)
        if (list[i].side != list[i - 1].side && compare_places(&list[i - 1], &list[i]) == 0)
            both[pairs++] = (struct compare_value){ .executions = list[i - 1].observed,
                                                    .invariance_perfect = list[i - 1].invariance,
                                                    .invariance_sampled = list[i].invariance };
    if (ok)
        *out = compare_values(both, pairs);
    free(list);
    free(both);
    return ok;
}
