#include "profile/spool_values.h"

#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "penumbra/module.h"
#include "sigsafe/spool_counts.h"
#include "sigsafe/tuples.h"

enum { NAMES_MOST = 4096, FACTS_MOST = 64 };

static bool get_names(struct spool_view *v, const struct spool_value_kind *from,
                      struct profile_value_kind *to)
{
    uint32_t count = from->name_count;
    const spool_ref *names =
        count <= NAMES_MOST ? spool_at(&v->spool, from->names, count * sizeof *names) : NULL;
    if (!count || !names) {
        v->damage += count != 0;
        return true;
    }
    to->names = calloc(count, sizeof *to->names);
    if (!to->names)
        return false;
    for (; to->name_count < count; to->name_count++) {
        to->names[to->name_count] = spool_view_string(v, names[to->name_count]);
        if (!to->names[to->name_count])
            return false;
    }
    return true;
}

static bool get_kinds(struct spool_view *v, const struct spool_values *s, struct profile_values *to)
{
    uint32_t count = s->kind_count;
    const struct spool_value_kind *kinds =
        count <= PENUMBRA_KINDS_MAX ? spool_at(&v->spool, s->kinds, count * sizeof *kinds) : NULL;
    if (!kinds) {
        v->damage++;
        return true;
    }
    for (uint32_t i = 0; i < count; i++) {
        char *name = spool_view_string(v, kinds[i].name);
        struct profile_value_kind *kind = name ? profile_values_add_kind(to, name) : NULL;
        free(name);
        if (!kind)
            return false;
        kind->format = kinds[i].format;
        kind->role = kinds[i].role;
        if (!get_names(v, &kinds[i], kind))
            return false;
    }
    return true;
}

static bool get_facts(struct spool_view *v, const struct spool_values *s, struct profile_values *to)
{
    struct record_list list;
    bool ok = spool_view_list(v, &s->facts, sizeof(struct spool_fact), &list);
    for (uint32_t i = 0; ok && i < list.count && i < FACTS_MOST; i++) {
        const struct spool_fact *fact = list.records[i];
        char *name = spool_view_string(v, fact->name);
        struct profile_fact *at = name ? profile_values_add_fact(to, name) : NULL;
        free(name);
        ok = at != NULL;
        if (ok)
            at->value = __atomic_load_n(&fact->value, __ATOMIC_RELAXED);
    }
    free(list.records);
    return ok;
}

static bool get_texts(struct spool_view *v, const struct spool_values *s, struct profile_values *to)
{
    struct record_list list;
    bool ok = spool_view_list(v, &s->texts, sizeof(struct spool_text), &list);
    for (uint32_t i = 0; ok && i < list.count; i++) {
        const struct spool_text *text = list.records[i];
        if (text->kind >= to->kind_count) {
            v->damage++;
            continue;
        }
        char *copy = spool_view_string(v, text->text);
        struct profile_text *at = copy ? profile_values_add_text(to, copy) : NULL;
        free(copy);
        ok = at != NULL;
        if (ok) {
            at->kind = text->kind;
            at->value = (struct hotlist_value){.bits = text->bits, .space = text->space};
        }
    }
    free(list.records);
    return ok;
}

/* What it was when somebody read it: who adds to it may be killed anywhere. One more entry than
 * there may be is thinned away, and one that is counted but not yet observed is. */
static bool copy_list(struct hotlist *to, const struct hotlist *from, enum hotlist_kind kind)
{
    enum {
        SIZE = sizeof(struct hotlist) + (HOTLIST_TNV_MAX + 1) * sizeof(struct hotlist_entry)
    };
    union {
        struct hotlist list;
        uint64_t room[SIZE / 8];
    } copy;
    struct hotlist *list = &copy.list;
    struct hotlist_random r;
    uint64_t sum = 0;
    uint32_t count = __atomic_load_n(&from->count, __ATOMIC_RELAXED), kept = 0;
    *list = (struct hotlist){.observed = __atomic_load_n(&from->observed, __ATOMIC_RELAXED),
                             .steps = __atomic_load_n(&from->steps, __ATOMIC_RELAXED)};
    if (count > hotlist_room(kind) || list->steps > HOTLIST_STEPS_MAX ||
        list->observed > SPOOL_COUNT_MAX)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        struct hotlist_entry entry = from->entries[i];
        if (!entry.count || entry.count > SPOOL_COUNT_MAX)
            continue;
        sum = add_saturated(sum, entry.count);
        list->entries[kept++] = entry;
    }
    list->count = kept;
    list->observed = sum > list->observed ? sum : list->observed;
    hotlist_random_seed(&r, list->observed);
    hotlist_merge(to, list, kind, &r);
    return hotlist_check(to, kind);
}

static uint32_t process_of(const struct spool_value_processes *processes, spool_ref ref)
{
    for (uint32_t i = 0; i < processes->count; i++)
        if (processes->refs[i] == ref)
            return i;
    return UINT32_MAX;
}

static uint32_t image_of(uint64_t key)
{
    unsigned image = key_image(key);
    return image == 0 || image == KEY_IMAGE_PSEUDO ? PROFILE_IMAGE_NONE : image;
}

bool spool_values_add(struct spool_view *v, struct profile_values *to,
                      const struct profile_hotlist *place, const struct hotlist *list,
                      struct profile_hotlist **out)
{
    enum hotlist_kind kind = (enum hotlist_kind)to->summary;
    struct profile_hotlist *h =
        profile_values_add_hotlist(to, hotlist_most(kind) + hotlist_room(kind));
    *out = h;
    if (!h)
        return false;
    struct hotlist *room = h->list;
    *h = *place;
    h->list = room;
    if (h->kind < to->kind_count && h->process != UINT32_MAX && copy_list(h->list, list, kind))
        return true;
    v->damage++;
    free(h->list);
    to->hotlist_count--;
    *out = NULL;
    return true;
}

struct kind_row {
    const char *name;
    uint32_t format, role;
};

/* Without a module. NULL without memory. */
static struct profile_values *values_of_kinds(const struct kind_row *rows, unsigned count)
{
    struct profile_values *values = profile_values_new("");
    for (unsigned i = 0; values && i < count; i++) {
        struct profile_value_kind *kind = profile_values_add_kind(values, rows[i].name);
        if (!kind) {
            profile_values_free(values);
            return NULL;
        }
        kind->format = rows[i].format;
        kind->role = rows[i].role;
    }
    return values;
}

struct profile_values *spool_values_of_results(void)
{
    static const struct kind_row kinds[RESULTS_KINDS] = {
        [RESULTS_PLAIN] = {"result", PENUMBRA_SHOW_GUESS, PENUMBRA_ROLE_RESULT},
        [RESULTS_FLOAT] = {"result float", PENUMBRA_SHOW_FLOAT, PENUMBRA_ROLE_RESULT},
        [RESULTS_DOUBLE] = {"result double", PENUMBRA_SHOW_DOUBLE, PENUMBRA_ROLE_RESULT},
        [RESULTS_SECOND] = {"second result", PENUMBRA_SHOW_GUESS, PENUMBRA_ROLE_RESULT},
        [RESULTS_DIVISOR] = {"divisor", PENUMBRA_SHOW_GUESS, PENUMBRA_ROLE_DIVISOR},
        [RESULTS_COUNT] = {"shift count", PENUMBRA_SHOW_DECIMAL, PENUMBRA_ROLE_SHIFT},
    };
    return values_of_kinds(kinds, RESULTS_KINDS);
}

struct profile_values *spool_values_of_named(void)
{
    static const struct kind_row kinds[NAMED_KINDS] = {
        [NAMED_TARGET] = {"target", PENUMBRA_SHOW_CODE, PENUMBRA_ROLE_TARGET},
        [NAMED_ARGUMENT] = {"argument", PENUMBRA_SHOW_GUESS, PENUMBRA_ROLE_ARGUMENT},
        [NAMED_DIVISOR] = {"divisor", PENUMBRA_SHOW_SIGNED, PENUMBRA_ROLE_DIVISOR},
        [NAMED_LENGTH] = {"length", PENUMBRA_SHOW_DECIMAL, PENUMBRA_ROLE_ARGUMENT},
        [NAMED_TRIPS] = {"trips", PENUMBRA_SHOW_DECIMAL, PENUMBRA_ROLE_OTHER},
        [NAMED_SIZE] = {"allocation", PENUMBRA_SHOW_DECIMAL, PENUMBRA_ROLE_OTHER},
    };
    return values_of_kinds(kinds, NAMED_KINDS);
}

void spool_values_name_addresses(const struct profile_process *p, struct hotlist *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        for (uint32_t k = 0; k < p->map_count; k++) {
            const struct profile_map *m = &p->maps[k];
            struct hotlist_entry *e = &list->entries[i];
            if (e->space || !m->bias || e->bits < m->lo || e->bits >= m->hi ||
                m->image >= PROFILE_IMAGE_PSEUDO)
                continue;
            e->bits -= m->bias;
            e->space = HOTLIST_IMAGE + m->image;
        }
}

static bool get_hotlist(struct spool_view *v, const struct spool_value_processes *processes,
                        const struct spool_hotlist *s, struct profile_values *to)
{
    uint64_t key = s->key, site = s->site;
    struct profile_hotlist *h, place = {
        .image = image_of(key), .offset = key_offset(key), .kind = s->kind,
        .site_image = site ? image_of(site) : PROFILE_IMAGE_PSEUDO, .site = key_offset(site),
        .process = s->process ? process_of(processes, s->process) : 0,
    };
    return spool_values_add(v, to, &place, &s->list, &h);
}

static bool get_hotlists(struct spool_view *v, const struct spool_value_processes *processes,
                         const struct spool_values *s, struct profile_values *to)
{
    struct record_list list;
    enum hotlist_kind kind = (enum hotlist_kind)to->summary;
    bool ok = spool_view_list(v, &s->chunks, SPOOL_HOTLISTS_SIZE, &list);
    for (uint32_t i = 0; ok && i < list.count; i++) {
        const struct spool_hotlists *chunk = list.records[i];
        uint32_t count = __atomic_load_n(&chunk->count, __ATOMIC_ACQUIRE);
        const uint8_t *at = (const uint8_t *)(chunk + 1);
        if (count > spool_hotlists_capacity(kind)) {
            v->damage++;
            continue;
        }
        for (uint32_t k = 0; ok && k < count; k++, at += spool_hotlist_size(kind))
            ok = get_hotlist(v, processes, (const void *)at, to);
    }
    free(list.records);
    return ok;
}

/* A burst in which nothing was observed is no loss. */
static uint64_t sum_drops(struct spool_view *v, const uint64_t dropped[TUPLE_DROP_COUNT])
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < TUPLE_DROP_COUNT; i++)
        if (i != TUPLE_DROP_EMPTY)
            sum = add_saturated(sum, spool_view_count(v, &dropped[i]));
    return sum;
}

/* Sequences of one process that were not published; *published: those that were. */
static bool get_lost(struct spool_view *v, spool_ref process, uint64_t *published, uint64_t *lost)
{
    const struct spool_process *p = spool_at(&v->spool, process, sizeof *p);
    spool_ref at = p ? __atomic_load_n(&p->counts, __ATOMIC_ACQUIRE) : 0;
    const struct spool_counts *counts = at ? spool_at(&v->spool, at, sizeof *counts) : NULL;
    at = counts ? __atomic_load_n(&counts->tuples, __ATOMIC_ACQUIRE) : 0;
    const struct spool_tuples *tuples = at ? spool_view_visit(v, at, sizeof *tuples) : NULL;
    struct record_list list = {0};
    if (!tuples)
        return true;
    bool ok = spool_view_list(v, &tuples->rings, sizeof(struct tuple_ring), &list);
    *lost = add_saturated(*lost, sum_drops(v, tuples->dropped));
    for (uint32_t i = 0; ok && i < list.count; i++) {
        const struct tuple_ring *ring = list.records[i];
        *lost = add_saturated(*lost, sum_drops(v, ring->dropped));
        *published = add_saturated(*published, spool_view_count(v, &ring->sequences));
    }
    free(list.records);
    return ok;
}

/* What the module did not see of what was published is lost too. */
static bool get_all_lost(struct spool_view *v, const struct spool_value_processes *processes,
                         struct profile_values *to)
{
    uint64_t published = 0;
    for (uint32_t i = 0; i < processes->count; i++)
        if (!get_lost(v, processes->refs[i], &published, &to->lost))
            return false;
    if (published > to->sequences)
        to->lost = add_saturated(to->lost, published - to->sequences);
    return true;
}

static bool get_all(struct spool_view *v, const struct spool_value_processes *processes,
                    const struct spool_values *s, struct profile_values *to)
{
    to->summary = s->summary == HOTLIST_TNV ? HOTLIST_TNV : HOTLIST_CONCISE;
    to->redacted = s->redacted != 0;
    to->module_end = __atomic_load_n(&s->module_end, __ATOMIC_RELAXED);
    to->module_detail = s->module_detail;
    to->sequences = spool_view_count(v, &s->sequences);
    to->tuples = spool_view_count(v, &s->tuples);
    to->refused = spool_view_count(v, &s->refused);
    for (unsigned i = 0; i < UNOBSERVED_COUNT; i++)
        to->unobserved[i] = spool_view_count(v, &s->unobserved[i]);
    return get_kinds(v, s, to) && get_facts(v, s, to) && get_texts(v, s, to) &&
           get_hotlists(v, processes, s, to) && get_all_lost(v, processes, to);
}

bool spool_values_read(struct spool_view *v, const struct spool_value_processes *processes,
                       struct profile_values **out)
{
    spool_ref ref = __atomic_load_n(&spool_header(&v->spool)->values, __ATOMIC_ACQUIRE);
    const struct spool_values *s = ref ? spool_view_visit(v, ref, sizeof *s) : NULL;
    *out = NULL;
    if (!s)
        return true;
    char *module = spool_view_string(v, s->module);
    struct profile_values *values = module ? profile_values_new(module) : NULL;
    free(module);
    if (!values)
        return false;
    *out = values;
    return get_all(v, processes, s, values);
}

/* False: there is no such image. */
static bool resolve_image(uint32_t *image, const uint32_t *index_of)
{
    if (*image >= PROFILE_IMAGE_PSEUDO)
        return true;
    *image = *image <= KEY_IMAGE_MAX ? index_of[*image] : UINT32_MAX;
    return *image != UINT32_MAX;
}

static bool resolve_space(uint32_t *space, const uint32_t *index_of)
{
    uint32_t image = *space - HOTLIST_IMAGE;
    if (*space < HOTLIST_IMAGE)
        return true;
    bool known = resolve_image(&image, index_of) && image < PROFILE_IMAGE_PSEUDO;
    *space = HOTLIST_IMAGE + image;
    return known;
}

bool spool_values_resolve(struct spool_view *v, struct profile_values *values,
                          const uint32_t *index_of)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < values->hotlist_count; i++) {
        struct profile_hotlist *h = &values->hotlists[i];
        bool known = resolve_image(&h->image, index_of) && resolve_image(&h->site_image, index_of);
        for (uint32_t k = 0; k < h->list->count; k++)
            known = resolve_space(&h->list->entries[k].space, index_of) && known;
        if (known) {
            values->hotlists[kept++] = *h;
            continue;
        }
        v->damage++;
        free(h->list);
    }
    values->hotlist_count = kept;
    kept = 0;
    for (uint32_t i = 0; i < values->text_count; i++) {
        if (resolve_space(&values->texts[i].value.space, index_of))
            values->texts[kept++] = values->texts[i];
        else
            free(values->texts[i].text);
    }
    values->text_count = kept;
    return profile_values_settle(values);
}
