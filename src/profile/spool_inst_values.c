#include "profile/spool_inst.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/saturate.h"
#include "penumbra/inst.h"
#include "profile/inst_modules.h"
#include "profile/spool_values.h"
#include "sigsafe/tools.h"

/* One process, one module. */
struct reading {
    struct counts_process *q;
    struct inst_module_view *m;
};

/* Its name says where it is, too: entities of values are by line, and lines may have several
 * functions, by macros and templates. 0 without memory. */
static uint64_t value_entity(struct reading *r, const struct inst_value_view *v)
{
    enum { NAME_MOST = 8192 };
    char name[NAME_MOST];
    snprintf(name, sizeof name, *v->name ? "%s: %s" : "%s", v->caller, v->name);
    struct profile_entity e = {.kind = ENTITY_VALUE, .name = name,
                               .scope = (char *)(uintptr_t)v->file, .at = v->line,
                               .number = (uint64_t)v->index << 8 | v->kind};
    return entity_batch_add(&r->q->r->modules->entities, &e);
}

static uint64_t site_entity(struct reading *r, const struct inst_value_view *v)
{
    struct profile_entity e = {.kind = ENTITY_SITE, .name = (char *)(uintptr_t)v->caller,
                               .scope = (char *)(uintptr_t)v->file, .at = v->line,
                               .number = v->index};
    return entity_batch_add(&r->q->r->modules->entities, &e);
}

/* What is allocated: the type, or where it is not known who allocates. */
static uint64_t allocated_entity(struct reading *r, const struct inst_value_view *v)
{
    struct entity_batch *entities = &r->q->r->modules->entities;
    uint64_t type = v->type != UINT32_MAX ? inst_type(r->m, entities, v->type) : 0;
    struct profile_entity e = {.kind = ENTITY_CALLEE, .name = (char *)(uintptr_t)v->name,
                               .scope = (char[]){""}};
    return type ? type : entity_batch_add(entities, &e);
}

/* Tables of what does not happen are not made. */
static bool put(struct reading *r, uint32_t table, uint32_t kind, uint64_t at, uint64_t what,
                const struct spool_inst_row *row)
{
    struct profile_event e = {.image = PROFILE_IMAGE_NONE, .offset = at, .kind = kind,
                              .to_image = PROFILE_IMAGE_NONE, .to = what,
                              .samples = row->samples, .weight = row->weight,
                              .squares = row->squares};
    struct profile_events *to = profile_events_of(r->q->profile, table);
    return at && to && profile_events_add(to, &e);
}

/* `of`: NULL: there was no room for it. */
static bool allocation_put(struct reading *r, const struct inst_value_view *v,
                           const struct spool_inst_row *row, const struct spool_inst_value *of)
{
    struct spool_inst_row bytes = {.samples = row->samples, .weight = of ? of->bytes : 0,
                                   .squares = of ? of->squares : 0};
    uint64_t site = site_entity(r, v), what = allocated_entity(r, v);
    return what && put(r, TABLE_ALLOCATIONS, EVENT_ALLOCATED, site, what, row) &&
           put(r, TABLE_ALLOCATIONS, EVENT_BYTES, site, what, &bytes);
}

/* NULL without memory. */
static struct profile_values *hotlists_of(struct profile *p)
{
    struct profile_values *values = observed_values(p);
    if (!values && (values = spool_values_of_named()))
        profile_observe(p, OBSERVED_VALUES, values);
    return values;
}

static bool hotlist_put(struct reading *r, const struct inst_value_view *v, uint64_t entity,
                        const struct spool_inst_value *of)
{
    struct profile_hotlist place = {.image = PROFILE_IMAGE_NONE, .offset = entity,
                                    .kind = v->kind - PENUMBRA_INST_TARGET,
                                    .site_image = PROFILE_IMAGE_PSEUDO};
    struct profile_hotlist *h;
    if (!of->list.observed)
        return true;
    struct profile_values *values = hotlists_of(r->q->profile);
    if (!values || !spool_values_add(r->q->r->view, values, &place, &of->list, &h))
        return false;
    if (h)
        values->tuples = add_saturated(values->tuples, h->list->observed);
    if (h && (place.kind == NAMED_TARGET || place.kind == NAMED_ARGUMENT))
        spool_values_name_addresses(r->q->maps, h->list);
    return true;
}

static bool value_put(struct reading *r, uint32_t value, const struct spool_inst_row *row,
                      const struct spool_inst_value *of)
{
    struct inst_value_view v;
    if (row->weight > SPOOL_COUNTER_MAX || row->samples > SPOOL_COUNTER_MAX ||
        !inst_value(r->m, value, &v) || v.kind - 1u >= NAMED_KINDS) {
        r->q->r->view->damage++;
        return true;
    }
    if (v.kind == PENUMBRA_INST_ALLOC && !allocation_put(r, &v, row, of))
        return false;
    uint64_t entity = value_entity(r, &v);
    return put(r, TABLE_NAMED, EVENT_VALUE, entity, 0, row) &&
           (!of || hotlist_put(r, &v, entity, of));
}

static const void *row_of(const struct spool_rows_table *rows, struct rows_layout layout,
                          uint32_t id)
{
    const uint8_t *chunk = id / ROWS_CHUNK < ROWS_CHUNKS ? rows->chunks[id / ROWS_CHUNK] : NULL;
    return chunk ? chunk + rows_offset(layout, id) : NULL;
}

/* Chunks are bounded, those that are missing, too. */
static bool thread_read(struct reading *r, const struct inst_thread_view *t)
{
    bool ok = true;
    for (uint32_t n = 0; ok && n < r->m->values; n++) {
        uint32_t id = r->m->first + r->m->blocks + n;
        const struct spool_inst_row *at = row_of(t->rows, INST_LAYOUT, id);
        if (!r->q->r->counters) {
            r->q->r->view->damage++;
            return true;
        }
        if (!at || id % ROWS_CHUNK == 0)
            r->q->r->counters--;
        if (!at) {
            n += ROWS_CHUNK - 1 - id % ROWS_CHUNK;
            continue;
        }
        struct spool_inst_row row = *at;
        if (row.samples)
            ok = value_put(r, n, &row, row_of(t->values, INST_VALUE_LAYOUT, id));
    }
    return ok;
}

bool spool_inst_values(struct counts_process *q, const struct inst_thread_view *threads,
                       uint32_t count)
{
    struct inst_modules *modules = q->r->modules;
    struct profile_values *hotlists = NULL;
    uint64_t missed = 0;
    bool ok = true;
    for (uint32_t i = 0; ok && i < count; i++) {
        missed = add_saturated(missed, threads[i].values_missed);
        for (uint32_t k = 0; ok && k < modules->count; k++) {
            struct reading r = {q, &modules->list[k]};
            ok = thread_read(&r, &threads[i]);
        }
    }
    if (ok && missed && (hotlists = hotlists_of(q->profile)))
        hotlists->refused = add_saturated(hotlists->refused, missed);
    return ok && (hotlists || !missed);
}
