#include "profile/hotlist.h"

#include <stdlib.h>

#include "base/saturate.h"
#include "base/sort.h"

double hotlist_probability(const struct hotlist *h)
{
    double p = 1, power = 15.0 / 16;
    for (uint32_t steps = h->steps; steps; steps >>= 1, power *= power)
        p *= steps & 1 ? power : 1;
    return p;
}

static int compare_entries(const void *a, const void *b)
{
    const struct hotlist_entry *x = a, *y = b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    if (x->space != y->space)
        return x->space < y->space ? -1 : 1;
    return x->bits < y->bits ? -1 : x->bits > y->bits;
}

void hotlist_sort(struct hotlist *h)
{
    sort_runs(h->entries, h->count, sizeof *h->entries, compare_entries);
}

static void add_tnv(struct hotlist *h, struct hotlist_value value)
{
    struct hotlist_entry *entry = hotlist_find(h, value);
    if (entry)
        entry->count++;
    else if (h->count < HOTLIST_TNV_MAX)
        hotlist_append(h, value, 1);
    if (h->observed % HOTLIST_TNV_INTERVAL == 0 && h->count > HOTLIST_TNV_MAX / 2) {
        hotlist_sort(h);
        h->count = HOTLIST_TNV_MAX / 2;
    }
}

void hotlist_add(struct hotlist *h, enum hotlist_kind kind, struct hotlist_value value,
                 struct hotlist_random *r)
{
    h->observed++;
    if (kind == HOTLIST_TNV)
        add_tnv(h, value);
    else if (hotlist_is_kept(h, r))
        hotlist_add_kept(h, value, 1, false, r);
}

/* The counts of `from` at its own p, thinned to that of `into`. */
static void add_entries(struct hotlist *into, const struct hotlist *from, struct hotlist_random *r)
{
    for (uint32_t i = 0; i < from->count; i++) {
        const struct hotlist_entry *at = &from->entries[i];
        uint64_t count = hotlist_keep_evenly(at->count, into->steps - from->steps, r);
        struct hotlist_value value = {.bits = at->bits, .space = at->space};
        struct hotlist_entry *entry = hotlist_find(into, value);
        if (entry)
            entry->count = add_saturated(entry->count, count);
        else if (count)
            hotlist_append(into, value, count);
    }
}

void hotlist_merge(struct hotlist *into, const struct hotlist *from, enum hotlist_kind kind,
                   struct hotlist_random *r)
{
    if (into->steps < from->steps && kind == HOTLIST_CONCISE)
        hotlist_thin_evenly(into, from->steps - into->steps, r);
    add_entries(into, from, r);
    into->observed = add_saturated(into->observed, from->observed);
    while (kind == HOTLIST_CONCISE && into->count > HOTLIST_CONCISE_MAX)
        hotlist_thin_evenly(into, 1, r);
    if (into->count > hotlist_most(kind)) {
        hotlist_sort(into);
        into->count = hotlist_most(kind);
    }
}

double hotlist_share(const struct hotlist *h, const struct hotlist_entry *entry)
{
    double all = (double)h->observed, kept = 0;
    if (!h->steps)
        return (double)entry->count < all ? (double)entry->count / all : 1;
    for (uint32_t i = 0; i < h->count; i++)
        kept += (double)h->entries[i].count;
    return (double)entry->count / kept;
}

double hotlist_invariance(const struct hotlist *h)
{
    double greatest = 0;
    for (uint32_t i = 0; i < h->count; i++) {
        double share = hotlist_share(h, &h->entries[i]);
        greatest = share > greatest ? share : greatest;
    }
    return greatest;
}

bool hotlist_is_spread(const struct hotlist *h)
{
    for (uint32_t i = 0; i < h->count; i++)
        if (h->entries[i].count > 1)
            return false;
    return h->steps && h->count;
}

bool hotlist_check(const struct hotlist *h, enum hotlist_kind kind)
{
    uint64_t sum = 0;
    if (h->count > hotlist_most(kind) || h->steps > HOTLIST_STEPS_MAX ||
        (kind == HOTLIST_TNV && h->steps))
        return false;
    for (uint32_t i = 0; i < h->count; i++) {
        if (!h->entries[i].count)
            return false;
        sum = add_saturated(sum, h->entries[i].count);
    }
    return sum <= h->observed;
}
