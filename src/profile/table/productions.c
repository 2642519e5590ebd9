/* What productions have found: from the spool, in a profile. kind/productions.c has its section. */
#include "profile/table/productions.h"

#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "base/sort.h"
#include "profile/frames.h"
#include "profile/table/table.h"
#include "sigsafe/key.h"
#include "sigsafe/settings.h"
#include "sigsafe/spool_productions.h"
#include "sigsafe/tools.h"

struct profile_productions *profile_productions_new(void)
{
    return calloc(1, sizeof(struct profile_productions));
}

void profile_productions_free(struct profile_productions *t)
{
    if (!t)
        return;
    free(t->groups);
    free(t->counts);
    free(t->streams);
    free(t->items);
    free(t);
}

static void free_table(void *table)
{
    profile_productions_free(table);
}

const char *production_value_name(uint32_t kind)
{
#define NAME(id, name) name,
    static const char *const names[] = {PRODUCTION_VALUES(NAME)};
#undef NAME
    return kind < VALUE_KINDS ? names[kind] : "?";
}

static bool is_of_code(uint32_t field)
{
    return field == FIELD_PC || field == FIELD_TARGET || field == FIELD_METHOD;
}

bool production_value_fits(uint32_t kind, uint32_t field)
{
    return is_of_code(field) ? kind == VALUE_CODE : kind < VALUE_KINDS;
}

bool profile_productions_add_group(struct profile_productions *t,
                                   const struct profile_production_group *g)
{
    void *groups =
        spool_counts_room(t->groups, t->group_count, &t->group_capacity, sizeof *t->groups);
    if (!groups)
        return false;
    t->groups = groups;
    t->groups[t->group_count++] = *g;
    return true;
}

bool profile_productions_add_count(struct profile_productions *t,
                                   const struct profile_production_count *c)
{
    void *counts = spool_counts_room(t->counts, t->count, &t->capacity, sizeof *t->counts);
    if (!counts)
        return false;
    t->counts = counts;
    t->counts[t->count++] = *c;
    return true;
}

bool profile_productions_add_stream(struct profile_productions *t,
                                    const struct profile_production_stream *s,
                                    const struct production_values *items)
{
    void *streams =
        spool_counts_room(t->streams, t->stream_count, &t->stream_capacity, sizeof *t->streams);
    if (!streams)
        return false;
    t->streams = streams;
    t->streams[t->stream_count] = *s;
    t->streams[t->stream_count].first = t->item_count;
    for (uint32_t i = 0; i < s->length; i++) {
        void *more =
            spool_counts_room(t->items, t->item_count, &t->item_capacity, sizeof *t->items);
        if (!more)
            return false;
        t->items = more;
        t->items[t->item_count++] = items[i];
    }
    t->stream_count++;
    return true;
}

/* ---- sites ---- */

static bool site(void *table, uint32_t at, struct profile_site *out)
{
    struct profile_productions *t = table;
    if (at >= t->count && at - t->count >= t->item_count)
        return false;
    struct production_values *v = at < t->count ? &t->counts[at].values : &t->items[at - t->count];
    out->kind = SITE_PRODUCTION;
    out->count = 0;
    for (unsigned i = 0; i < PRODUCTION_FIELDS; i++)
        if (v->of[i].kind == VALUE_CODE || v->of[i].kind == VALUE_IMAGE)
            out->of[out->count++] =
                (struct site_place){&v->of[i].image, &v->of[i].process, v->of[i].offset};
    return true;
}

static bool sampled(const void *table)
{
    return !((const struct profile_productions *)table)->exact;
}

/* ---- merging ---- */

#define ORDER(x, y)                                                                                \
    if ((x) != (y))                                                                                \
    return (x) < (y) ? -1 : 1

static int compare_groups(const struct profile_production_group *x,
                          const struct profile_production_group *y)
{
    int order = strcmp(x->name, y->name);
    if (order)
        return order;
    ORDER(x->kind, y->kind);
    ORDER(x->fields[0], y->fields[0]);
    ORDER(x->fields[1], y->fields[1]);
    return 0;
}

static int compare_values(const struct production_values *a, const struct production_values *b)
{
    for (unsigned i = 0; i < PRODUCTION_FIELDS; i++) {
        const struct production_value *x = &a->of[i], *y = &b->of[i];
        ORDER(x->kind, y->kind);
        ORDER(x->image + FRAME_IMAGE_FIRST, y->image + FRAME_IMAGE_FIRST);
        ORDER(x->process, y->process);
        ORDER(x->offset, y->offset);
    }
    return 0;
}

/* Its index, added if there is none; UINT32_MAX without memory. */
static uint32_t group_in(struct profile_productions *t, const struct profile_production_group *g)
{
    for (uint32_t i = 0; i < t->group_count; i++)
        if (!compare_groups(&t->groups[i], g)) {
            t->groups[i].done = add_saturated(t->groups[i].done, g->done);
            t->groups[i].lost = add_saturated(t->groups[i].lost, g->lost);
            return i;
        }
    return profile_productions_add_group(t, g) ? t->group_count - 1 : UINT32_MAX;
}

static void value_move(struct production_value *v, const struct table_append *how)
{
    if (v->kind == VALUE_CODE || v->kind == VALUE_IMAGE)
        v->image = profile_counts_image_in(how->image_of, v->image);
    if (v->kind == VALUE_CODE)
        v->process += how->first_process;
}

static struct production_values moved(const struct production_values *from,
                                      const struct table_append *how)
{
    struct production_values v = *from;
    for (unsigned i = 0; i < PRODUCTION_FIELDS; i++)
        value_move(&v.of[i], how);
    return v;
}

static bool append_streams(struct profile_productions *t, const struct profile_productions *added,
                           const uint32_t *group_of, const struct table_append *how)
{
    for (uint32_t i = 0; i < added->stream_count; i++) {
        struct production_values items[HOT_STREAM_MOST];
        struct profile_production_stream s = added->streams[i];
        for (uint32_t k = 0; k < s.length && k < HOT_STREAM_MOST; k++)
            items[k] = moved(&added->items[s.first + k], how);
        s.group = group_of[s.group];
        if (!profile_productions_add_stream(t, &s, items))
            return false;
    }
    return true;
}

static bool append(void **into, const void *from, const struct table_append *how)
{
    const struct profile_productions *added = from;
    bool first = !*into;
    struct profile_productions *t = first ? profile_productions_new() : *into;
    uint32_t *group_of = calloc((size_t)added->group_count + 1, sizeof *group_of);
    *into = t;
    bool ok = t && group_of;
    if (ok && first) {
        t->burst = added->burst;
        t->sparsity = added->sparsity;
        t->exact = added->exact;
    } else if (ok && (t->burst != added->burst || t->sparsity != added->sparsity ||
                      (!t->sparsity && t->exact != added->exact))) {
        t->burst = t->sparsity = 0;
    }
    if (ok)
        t->exact &= added->exact;
    if (ok)
        t->bursts = add_saturated(t->bursts, added->bursts);
    for (uint32_t i = 0; ok && i < added->group_count; i++)
        ok = (group_of[i] = group_in(t, &added->groups[i])) != UINT32_MAX;
    for (uint32_t i = 0; ok && i < added->count; i++) {
        struct profile_production_count c = added->counts[i];
        c.group = group_of[c.group];
        c.values = moved(&c.values, how);
        ok = profile_productions_add_count(t, &c);
    }
    ok = ok && append_streams(t, added, group_of, how);
    free(group_of);
    return ok;
}

/* ---- settling ---- */

static int compare_counts(const void *a, const void *b)
{
    const struct profile_production_count *x = a, *y = b;
    ORDER(x->group, y->group);
    return compare_values(&x->values, &y->values);
}

/* A stream with its items, while streams are sorted. */
struct settled {
    struct profile_production_stream stream;
    const struct production_values *items;
};

static int compare_streams(const void *a, const void *b)
{
    const struct settled *x = a, *y = b;
    ORDER(x->stream.group, y->stream.group);
    ORDER(x->stream.length, y->stream.length);
    for (uint32_t i = 0; i < x->stream.length; i++) {
        int order = compare_values(&x->items[i], &y->items[i]);
        if (order)
            return order;
    }
    return 0;
}

static void values_settle(struct production_values *v)
{
    for (unsigned i = 0; i < PRODUCTION_FIELDS; i++)
        if (v->of[i].kind != VALUE_CODE || !profile_is_private(v->of[i].image, v->of[i].offset))
            v->of[i].process = 0;
}

static void counts_settle(struct profile_productions *t)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < t->count; i++)
        values_settle(&t->counts[i].values);
    sort_runs(t->counts, t->count, sizeof *t->counts, compare_counts);
    for (uint32_t i = 0; i < t->count; i++) {
        struct profile_production_count *last = kept ? &t->counts[kept - 1] : NULL;
        if (last && compare_counts(last, &t->counts[i]) == 0)
            last->count = add_saturated(last->count, t->counts[i].count);
        else
            t->counts[kept++] = t->counts[i];
    }
    t->count = kept;
}

static bool streams_settle(struct profile_productions *t)
{
    struct settled *all = calloc((size_t)t->stream_count + 1, sizeof *all);
    struct production_values *items = calloc((size_t)t->item_count + 1, sizeof *items);
    uint32_t kept = 0, used = 0;
    for (uint32_t i = 0; i < t->item_count; i++)
        values_settle(&t->items[i]);
    if (!all || !items) {
        free(all);
        free(items);
        return false;
    }
    for (uint32_t i = 0; i < t->stream_count; i++)
        all[i] = (struct settled){t->streams[i], t->items + t->streams[i].first};
    sort_runs(all, t->stream_count, sizeof *all, compare_streams);
    for (uint32_t i = 0; i < t->stream_count; i++) {
        if (kept && compare_streams(&all[i - 1], &all[i]) == 0) {
            t->streams[kept - 1].frequency =
                add_saturated(t->streams[kept - 1].frequency, all[i].stream.frequency);
            continue;
        }
        t->streams[kept] = all[i].stream;
        t->streams[kept++].first = used;
        memcpy(items + used, all[i].items, all[i].stream.length * sizeof *items);
        used += all[i].stream.length;
    }
    free(t->items);
    free(all);
    t->items = items;
    t->item_capacity = t->item_count + 1;
    t->item_count = used;
    t->stream_count = kept;
    return true;
}

struct named_group {
    struct profile_production_group group;
    uint32_t index;
};

static int compare_named(const void *a, const void *b)
{
    return compare_groups(&((const struct named_group *)a)->group,
                          &((const struct named_group *)b)->group);
}

/* By name. */
static bool groups_settle(struct profile_productions *t)
{
    struct named_group *all = calloc((size_t)t->group_count + 1, sizeof *all);
    uint32_t *moved_to = calloc((size_t)t->group_count + 1, sizeof *moved_to);
    for (uint32_t i = 0; all && moved_to && i < t->group_count; i++)
        all[i] = (struct named_group){t->groups[i], i};
    if (all && moved_to) {
        sort_runs(all, t->group_count, sizeof *all, compare_named);
        for (uint32_t i = 0; i < t->group_count; i++) {
            t->groups[i] = all[i].group;
            moved_to[all[i].index] = i;
        }
        for (uint32_t i = 0; i < t->count; i++)
            t->counts[i].group = moved_to[t->counts[i].group];
        for (uint32_t i = 0; i < t->stream_count; i++)
            t->streams[i].group = moved_to[t->streams[i].group];
    }
    bool ok = all && moved_to;
    free(all);
    free(moved_to);
    return ok;
}

static bool settle(void *table, const uint32_t *new_index)
{
    struct profile_productions *t = table;
    (void)new_index;
    if (!groups_settle(t))
        return false;
    counts_settle(t);
    return streams_settle(t);
}

/* ---- from the spool ---- */

/* One process. */
struct reading {
    struct counts_process *q;
    struct profile_productions *to;
    const struct production_program *program;
    uint32_t group_of[PRODUCTION_GROUPS];
    uint32_t group_count;
};

/* What is nearer to the stack than this is on it; and below what is mapped is the heap. */
#define STACK_BELOW (UINT64_C(1) << 26)
#define STACK_ABOVE (UINT64_C(1) << 24)
#define MAPS_REACH (UINT64_C(1) << 40)

static struct production_value data_value(const struct reading *x,
                                          const struct spool_productions *s, uint64_t address)
{
    struct production_value v = {.image = PROFILE_IMAGE_NONE};
    for (uint32_t i = 0; i < x->q->maps->map_count; i++) {
        const struct profile_map *m = &x->q->maps->maps[i];
        if (address >= m->lo && address < m->hi)
            return (struct production_value){m->image, 0, address - m->bias, VALUE_IMAGE};
    }
    if (address - s->stack < STACK_ABOVE || s->stack - address < STACK_BELOW) {
        v.kind = VALUE_STACK;
        v.offset = address - s->stack;
    } else if (s->maps - address < MAPS_REACH || address - s->maps < MAPS_REACH) {
        v.kind = VALUE_MAPS;
        v.offset = address - s->maps;
    } else {
        v.kind = VALUE_HEAP;
        v.offset = address - s->heap;
    }
    return v;
}

static struct production_value value_of(const struct reading *x, const struct spool_productions *s,
                                        uint32_t field, uint64_t value)
{
    if (is_of_code(field))
        return (struct production_value){spool_counts_image(value), x->q->process,
                                         key_offset(value), VALUE_CODE};
    if (field == FIELD_ADDRESS)
        return data_value(x, s, value);
    return (struct production_value){PROFILE_IMAGE_NONE, 0, value,
                                     field == FIELD_NOTHING ? VALUE_NOTHING : VALUE_NUMBER};
}

static struct production_values values_of(const struct reading *x,
                                          const struct spool_productions *s, uint32_t group,
                                          struct hot_item item)
{
    const uint32_t *fields = x->to->groups[group].fields;
    return (struct production_values){
        {value_of(x, s, fields[0], item.a), value_of(x, s, fields[1], item.b)}};
}

static bool add_counts(struct reading *x, const struct spool_productions *s)
{
    struct spool_view *view = x->q->r->view;
    spool_ref ref = __atomic_load_n(&s->counts, __ATOMIC_ACQUIRE);
    const struct spool_production_counts *table = ref ? spool_at(&view->spool, ref, sizeof *table)
                                                      : NULL;
    uint32_t capacity = table ? table->capacity : 0;
    if (!capacity)
        return true;
    if (capacity > PRODUCTION_COUNTS_MOST ||
        !(table = spool_view_visit(view, ref,
                                   sizeof *table + capacity * sizeof *table->entries))) {
        view->damage++;
        return true;
    }
    for (uint32_t i = 0; i < capacity; i++) {
        struct spool_production_count e = table->entries[i];
        if (!e.count)
            continue;
        if (e.group >= x->group_count || e.count > SPOOL_COUNTER_MAX) {
            view->damage++;
            continue;
        }
        uint32_t group = x->group_of[e.group];
        struct profile_production_count c = {
            values_of(x, s, group, (struct hot_item){e.a, e.b}), group, e.count};
        if (!profile_productions_add_count(x->to, &c))
            return false;
    }
    return true;
}

static bool add_stream(struct reading *x, const struct spool_productions *s, uint32_t group,
                       const struct hot_item *items, uint32_t length, uint64_t frequency)
{
    struct production_values values[HOT_STREAM_MOST];
    struct profile_production_stream stream = {.group = x->group_of[group], .length = length,
                                               .frequency = frequency};
    for (uint32_t i = 0; i < length; i++)
        values[i] = values_of(x, s, stream.group, items[i]);
    return profile_productions_add_stream(x->to, &stream, values);
}

static bool add_chain(struct reading *x, const struct spool_productions *s, const uint32_t *head)
{
    struct spool_view *view = x->q->r->view;
    struct record_list list = {0};
    bool ok = spool_view_list(view, head, sizeof(struct spool_production_stream), &list);
    for (uint32_t i = 0; ok && i < list.count; i++) {
        const struct spool_production_stream *stream = list.records[i];
        uint32_t length = stream->length, group = stream->group;
        uint64_t frequency = stream->frequency;
        bool good = length <= HOT_STREAM_MOST && length >= HOT_STREAM_LEAST &&
                    group < x->group_count && frequency <= SPOOL_COUNTER_MAX;
        view->damage += !good;
        /* once only: records of a damaged spool may lie within each other */
        if (good && spool_view_visit(view, spool_ref_of(&view->spool, stream->items),
                                     length * sizeof *stream->items))
            ok = add_stream(x, s, group, stream->items, length, frequency);
    }
    free(list.records);
    return ok;
}

/* What a thread has appended since its buffer was searched last. */
struct rest {
    struct reading *x;
    const struct spool_productions *thread;
    const struct hot_item *items;
    uint32_t group;
    bool ok;
};

static void rest_found(void *data, const uint32_t *indices, uint32_t length, uint32_t frequency)
{
    struct rest *r = data;
    struct hot_item items[HOT_STREAM_MOST];
    for (uint32_t i = 0; i < length; i++)
        items[i] = r->items[indices[i]];
    r->ok = r->ok && add_stream(r->x, r->thread, r->group, items, length, frequency);
}

static bool add_rest(struct reading *x, const struct spool_productions *s, uint32_t group)
{
    struct spool_view *view = x->q->r->view;
    uint32_t count;
    const struct hot_item *there = production_items(&view->spool, &s->buffers[group], &count);
    if (!there || !spool_view_visit(view, s->buffers[group].items, count * sizeof *there))
        return true;
    /* a copy: the program may still write */
    struct hot_item *items = malloc(count * sizeof *items);
    void *memory = calloc(1, hot_streams_bytes(count));
    struct rest rest = {x, s, items, group, items && memory};
    if (rest.ok) {
        memcpy(items, there, count * sizeof *items);
        hot_streams_find(memory, items, count, rest_found, &rest);
    }
    free(items);
    free(memory);
    return rest.ok;
}

static bool add_thread(struct reading *x, const struct spool_productions *s)
{
    struct spool_view *view = x->q->r->view;
    x->to->bursts = add_saturated(x->to->bursts, spool_view_count(view, &s->overflows[0]));
    bool ok = add_counts(x, s);
    for (uint32_t i = 0; i < x->group_count; i++) {
        struct profile_production_group *g = &x->to->groups[x->group_of[i]];
        g->done = add_saturated(g->done, spool_view_count(view, &s->done[i]));
        g->lost = add_saturated(g->lost, spool_view_count(view, &s->lost[i]));
        if (g->kind == GROUP_STREAM)
            ok = ok && add_rest(x, s, i);
    }
    for (uint32_t i = 0; ok && i < PRODUCTION_CHAINS; i++)
        ok = add_chain(x, s, &s->streams[i]);
    return ok;
}

/* ---- what was to be done ---- */

static bool add_groups(struct reading *x)
{
    const struct production_program *p = x->program;
    x->group_count = p->group_count < PRODUCTION_GROUPS ? p->group_count : PRODUCTION_GROUPS;
    for (uint32_t i = 0; i < x->group_count; i++) {
        const struct production_group *from = &p->groups[i];
        struct profile_production_group g = {.kind = from->kind == GROUP_STREAM ? GROUP_STREAM
                                                                                : GROUP_COUNT};
        memcpy(g.name, from->name, sizeof g.name - 1);
        for (unsigned k = 0; k < PRODUCTION_FIELDS; k++)
            g.fields[k] = from->fields[k] < FIELD_END ? from->fields[k] : FIELD_NOTHING;
        if (g.fields[0] == FIELD_NOTHING)
            g.fields[0] = FIELD_IMMEDIATE; /* of a damaged spool */
        if ((x->group_of[i] = group_in(x->to, &g)) == UINT32_MAX)
            return false;
    }
    return true;
}

static bool is_exact(const struct production_program *p)
{
    bool conditional = false;
    for (uint32_t i = 0; i < p->count && i < PRODUCTIONS_MOST; i++)
        conditional |= p->productions[i].conditional.count != 0;
    return !p->sampled && (!conditional || !p->sparsity);
}

static bool add_process(struct counts_process *q)
{
    struct reading x = {.q = q, .to = observed_table(q->profile, TABLE_PRODUCTIONS)};
    const struct spool *spool = &q->r->view->spool;
    const struct production_settings_block *settings = settings_productions_as(spool);
    struct record_list list = {0};
    x.program = settings ? spool_at(spool, settings->program, sizeof *x.program) : NULL;
    if (!x.program || !__atomic_load_n(&q->record->tables[TABLE_PRODUCTIONS], __ATOMIC_ACQUIRE))
        return true;
    if (!x.to && (x.to = profile_productions_new())) {
        x.to->burst = x.program->burst;
        x.to->sparsity = x.program->sparsity;
        x.to->exact = is_exact(x.program);
        profile_observe(q->profile, OBSERVED_TABLES + TABLE_PRODUCTIONS, x.to);
    }
    bool ok = x.to && add_groups(&x) &&
              spool_view_list(q->r->view, &q->record->tables[TABLE_PRODUCTIONS],
                              sizeof(struct spool_productions), &list);
    for (uint32_t i = 0; ok && i < list.count; i++)
        ok = add_thread(&x, list.records[i]);
    free(list.records);
    return ok;
}

const struct profile_table table_productions = {
    .read = add_process,
    .free = free_table,
    .sampled = sampled,
    .site = site,
    .append = append,
    .settle = settle,
};
