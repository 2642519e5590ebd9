#include "report/loads.h"

#include <stdlib.h>
#include <string.h>

#include "penumbra/module.h"
#include "profile/values.h"

static const struct profile_values *values_of(const struct view *v)
{
    return observed_values(v->profile);
}

static uint32_t role_of(const struct profile_values *values, const struct profile_hotlist *h)
{
    return h->kind < values->kind_count ? values->kinds[h->kind].role : PENUMBRA_ROLE_OTHER;
}

static int place_compare(const struct load_place *a, const struct load_place *b)
{
    if (a->image != b->image)
        return a->image < b->image ? -1 : 1;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

static struct load_place place_of(const struct profile_hotlist *h)
{
    return (struct load_place){ h->image, h->process, h->offset };
}

/* ---- loads ---- */

/* Ticks of a load from the level with this name, as the module says: its fact "L2 median", for
 * "L2/L3" too, plus what no load takes less than. */
static double ticks_of(const struct profile_values *values, const char *name)
{
    char fact[64];
    int length = (int)strcspn(name, "/");
    snprintf(fact, sizeof fact, "%.*s median", length < 40 ? length : 40, name);
    for (uint32_t i = 0; i < values->fact_count; i++)
        if (!strcmp(values->facts[i].name, fact))
            return (double)values->facts[i].value;
    return 0;
}

static void load_add(struct loads *l, const struct profile_values *values,
                     const struct profile_hotlist *h)
{
    struct load_place at = place_of(h);
    const struct profile_value_kind *kind = &values->kinds[h->kind];
    struct load *load = &l->loads[l->load_count];
    if (l->load_count && !place_compare(&load[-1].at, &at)) {
        load--;
    } else {
        *load = (struct load){ .at = at, .p = 1 };
        l->load_count++;
    }
    l->level_names = kind->names;
    l->level_count = kind->name_count < LOAD_LEVELS_MAX ? kind->name_count : LOAD_LEVELS_MAX;
    load->observed += h->list->observed;
    double p = hotlist_probability(h->list);
    load->p = p < load->p ? p : load->p;
    for (uint32_t i = 0; i < h->list->count; i++) {
        const struct hotlist_entry *entry = &h->list->entries[i];
        if (entry->space == HOTLIST_PLAIN && entry->bits < l->level_count)
            load->share[entry->bits] += hotlist_share(h->list, entry) * (double)h->list->observed;
    }
}

static void load_finish(struct loads *l, const struct profile_values *values, struct load *load)
{
    for (uint32_t i = 0; i < l->level_count; i++) {
        load->kept += load->share[i] > 0;
        load->ticks += load->share[i] * ticks_of(values, l->level_names[i]);
        load->share[i] = load->observed ? load->share[i] / (double)load->observed : 0;
    }
}

static int load_compare(const void *x, const void *y)
{
    const struct load *a = x, *b = y;
    if (a->ticks != b->ticks)
        return a->ticks < b->ticks ? 1 : -1;
    if (a->observed != b->observed)
        return a->observed < b->observed ? 1 : -1;
    return place_compare(&a->at, &b->at);
}

/* ---- conflicts ---- */

static struct load_place store_of(const struct hotlist_entry *entry,
                                  const struct profile_hotlist *h)
{
    if (entry->space >= HOTLIST_IMAGE)
        return (struct load_place){ entry->space - HOTLIST_IMAGE, h->process, entry->bits };
    return (struct load_place){ PROFILE_IMAGE_NONE, h->process, entry->bits };
}

static void conflicts_add(struct loads *l, const struct profile_hotlist *h)
{
    double p = hotlist_probability(h->list);
    for (uint32_t i = 0; i < h->list->count; i++) {
        const struct hotlist_entry *entry = &h->list->entries[i];
        l->conflicts[l->conflict_count++] = (struct load_conflict){
            .store = store_of(entry, h), .load = place_of(h), .kind = h->kind,
            .count = (double)entry->count / p,
        };
    }
}

static int pair_compare(const void *x, const void *y)
{
    const struct load_conflict *a = x, *b = y;
    int by = place_compare(&a->load, &b->load);
    by = by ? by : place_compare(&a->store, &b->store);
    return by ? by : (a->kind > b->kind) - (a->kind < b->kind);
}

static int conflict_compare(const void *x, const void *y)
{
    const struct load_conflict *a = x, *b = y;
    if (a->count != b->count)
        return a->count < b->count ? 1 : -1;
    return pair_compare(x, y);
}

/* One of those that differ by their site only. */
static void conflicts_join(struct loads *l)
{
    uint32_t kept = 0;
    qsort(l->conflicts, l->conflict_count, sizeof *l->conflicts, pair_compare);
    for (uint32_t i = 0; i < l->conflict_count; i++)
        if (kept && !pair_compare(&l->conflicts[kept - 1], &l->conflicts[i]))
            l->conflicts[kept - 1].count += l->conflicts[i].count;
        else
            l->conflicts[kept++] = l->conflicts[i];
    l->conflict_count = kept;
    qsort(l->conflicts, kept, sizeof *l->conflicts, conflict_compare);
}

/* ---- all ---- */

static void room_make(struct loads *l, const struct profile_values *values)
{
    size_t loads = 1, conflicts = 1;
    for (uint32_t i = 0; i < values->hotlist_count; i++) {
        uint32_t role = role_of(values, &values->hotlists[i]);
        loads += role == PENUMBRA_ROLE_LATENCY;
        conflicts += role == PENUMBRA_ROLE_CONFLICT ? values->hotlists[i].list->count : 0;
    }
    l->loads = calloc(loads, sizeof *l->loads);
    l->conflicts = calloc(conflicts, sizeof *l->conflicts);
}

struct loads *loads_of(const struct view *v, struct err *e)
{
    const struct profile_values *values = values_of(v);
    struct loads *l = calloc(1, sizeof *l);
    if (l && values)
        room_make(l, values);
    if (!l || (values && (!l->loads || !l->conflicts))) {
        loads_free(l);
        err_set(e, ERR_INTERNAL, "loads cannot be listed: out of memory");
        return NULL;
    }
    l->view = v;
    for (uint32_t i = 0; values && i < values->hotlist_count; i++) {
        uint32_t role = role_of(values, &values->hotlists[i]);
        if (role == PENUMBRA_ROLE_LATENCY)
            load_add(l, values, &values->hotlists[i]);
        else if (role == PENUMBRA_ROLE_CONFLICT)
            conflicts_add(l, &values->hotlists[i]);
    }
    for (uint32_t i = 0; i < l->load_count; i++)
        load_finish(l, values, &l->loads[i]);
    if (l->load_count)
        qsort(l->loads, l->load_count, sizeof *l->loads, load_compare);
    if (l->conflict_count)
        conflicts_join(l);
    return l;
}

void loads_free(struct loads *l)
{
    if (!l)
        return;
    free(l->loads);
    free(l->conflicts);
    free(l);
}
