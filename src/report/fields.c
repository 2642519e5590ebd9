#include "report/fields.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profile/profile.h"

/* ---- members ---- */

static int compare_members(const void *a, const void *b)
{
    const struct field_member *x = a, *y = b;
    int scope = strcmp(x->entity->scope, y->entity->scope);
    if (scope)
        return scope;
    if (x->entity->at != y->entity->at)
        return x->entity->at < y->entity->at ? -1 : 1;
    if (x->first_bit != y->first_bit)
        return x->first_bit < y->first_bit ? -1 : 1;
    return (x->entity->id > y->entity->id) - (x->entity->id < y->entity->id);
}

static void member_note(const struct profile *p, const struct profile_event *e,
                        struct field_member *m)
{
    double weight = (double)e->weight;
    if (e->kind == EVENT_MEMBER) {
        const struct profile_entity *type = profile_entity_find(p, e->to);
        m->type = type ? type->name : "";
        m->align = EVENT_MEMBER_ALIGN(e) && EVENT_MEMBER_ALIGN(e) < 1 << 16 ? EVENT_MEMBER_ALIGN(e)
                                                                            : 1;
        m->bits = EVENT_MEMBER_BITS(e);
        m->first_bit = EVENT_MEMBER_FIRST_BIT(e);
        return;
    }
    m->reads += e->kind == EVENT_READ ? weight : 0;
    m->writes += e->kind == EVENT_WRITE ? weight : 0;
    m->squares += (double)e->squares;
}

static bool is_member(const struct profile_event *e)
{
    return e->kind == EVENT_MEMBER || e->kind == EVENT_READ || e->kind == EVENT_WRITE;
}

/* Events of one place stand together. */
static void members_collect(const struct profile *p, const struct profile_events *events,
                            struct field_types *out)
{
    uint64_t last = 0;
    for (uint32_t i = 0; i < events->count; i++) {
        const struct profile_event *e = &events->list[i];
        const struct profile_entity *entity = profile_entity_find(p, e->offset);
        if (!is_member(e) || !entity || entity->kind != ENTITY_FIELD)
            continue;
        if (!out->member_count || last != e->offset)
            out->members[out->member_count++] =
                (struct field_member){.entity = entity, .type = "", .align = 1};
        last = e->offset;
        member_note(p, e, &out->members[out->member_count - 1]);
    }
    qsort(out->members, out->member_count, sizeof *out->members, compare_members);
}

/* ---- types ---- */

static double uses_of(const struct field_member *m)
{
    return m->reads + m->writes;
}

static int compare_used(const void *a, const void *b, void *types)
{
    const struct field_types *t = types;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    double p = uses_of(&t->members[x]), q = uses_of(&t->members[y]);
    if (p > q || p < q)
        return p > q ? -1 : 1;
    return x < y ? -1 : x > y;
}

static uint64_t aligned(uint64_t at, uint64_t align)
{
    return align ? (at + align - 1) / align * align : at;
}

/* Members that lie in one place, as in a union. */
static bool has_overlaps(const struct field_types *t, const struct field_type *type)
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < type->count; i++) {
        const struct field_member *m = &t->members[type->first + i];
        if (!m->bits && m->entity->at < end)
            return true;
        end = m->bits ? end : m->entity->at + m->entity->number;
    }
    return false;
}

/* How many members the type begins with that are the compiler's to place: bases of a class, which
 * have no names, and the pointer to its virtual table. */
static uint32_t fixed_members(const struct field_types *t, const struct field_type *type)
{
    uint32_t n = 0;
    while (n < type->count) {
        const char *name = t->members[type->first + n].entity->name;
        if (*name && strncmp(name, "_vptr", strlen("_vptr")) != 0)
            break;
        n++;
    }
    return n;
}

enum { ALIGN_MOST = 64 };

static uint64_t align_of(const struct field_member *m)
{
    return m->align < ALIGN_MOST ? m->align : ALIGN_MOST;
}

/* Bit fields that lie side by side share their words: a layout moves them together, as one that is
 * aligned as the strictest. */
static void runs_find(const struct field_types *t, const struct field_type *type)
{
    uint64_t end = 0;
    for (uint32_t i = type->first; i < type->first + type->count; i++) {
        struct field_member *m = &t->members[i];
        bool joins = i > type->first && m->bits && m[-1].bits && m->entity->at <= end;
        uint64_t own_end = m->entity->at + m->entity->number;
        end = joins && end > own_end ? end : own_end;
        m->run = joins ? m[-1].run : i;
        struct field_member *first = &t->members[m->run];
        first->bytes = end - first->entity->at;
        first->align = align_of(first) > align_of(m) ? align_of(first) : align_of(m);
    }
}

/* The next member of the layout, with its run. */
static void layout_add(const struct field_types *t, struct field_type *type, uint32_t member)
{
    uint32_t run = t->members[member].run;
    struct field_member *first = &t->members[run];
    if (first->is_placed)
        return;
    uint64_t at = aligned(type->proposed, align_of(first));
    first->is_placed = true;
    type->layout[type->placed++] = (struct field_place){run, at};
    type->proposed = at + first->bytes;
}

/* Hot members first, each where its alignment allows; of the others those of the greatest alignment
 * first. */
static void layout_propose(const struct field_types *t, struct field_type *type)
{
    uint32_t fixed = type->first + fixed_members(t, type);
    uint64_t greatest = 1;
    if (has_overlaps(t, type)) {
        type->proposed = type->size;
        return;
    }
    for (uint32_t i = 0; i < type->count; i++) {
        uint64_t own = align_of(&t->members[type->first + i]);
        greatest = greatest > own ? greatest : own;
    }
    for (uint32_t i = type->first; i < fixed; i++)
        layout_add(t, type, i);
    for (uint32_t i = 0; i < type->hot; i++)
        if (type->order[i] >= fixed)
            layout_add(t, type, type->order[i]);
    for (uint64_t align = ALIGN_MOST; align; align /= 2)
        for (uint32_t i = type->hot; i < type->count; i++)
            if (type->order[i] >= fixed && align_of(&t->members[type->order[i]]) == align)
                layout_add(t, type, type->order[i]);
    type->proposed = aligned(type->proposed, greatest);
}

static void type_settle(struct field_types *t, struct field_type *type)
{
    double sum = 0;
    type->order = t->orders + type->first;
    for (uint32_t i = 0; i < type->count; i++) {
        type->order[i] = type->first + i;
        type->uses += uses_of(&t->members[type->first + i]);
    }
    qsort_r(type->order, type->count, sizeof *type->order, compare_used, t);
    while (type->hot < type->count && sum < FIELDS_HOT * type->uses)
        sum += uses_of(&t->members[type->order[type->hot++]]);
    type->layout = t->places + type->first;
    runs_find(t, type);
    layout_propose(t, type);
    t->uses += type->uses;
}

static int compare_types(const void *a, const void *b)
{
    const struct field_type *x = a, *y = b;
    if (x->uses > y->uses || x->uses < y->uses)
        return x->uses > y->uses ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void types_collect(struct field_types *out)
{
    for (uint32_t i = 0; i < out->member_count; i++) {
        const char *scope = out->members[i].entity->scope;
        struct field_type *last = out->type_count ? &out->types[out->type_count - 1] : NULL;
        if (!last || strcmp(last->name, scope) != 0) {
            last = &out->types[out->type_count++];
            *last = (struct field_type){.name = scope, .file = "", .first = i};
        }
        last->count++;
    }
}

static void types_describe(const struct profile *p, const struct profile_events *events,
                           struct field_types *out)
{
    for (uint32_t i = 0; i < events->count; i++) {
        const struct profile_event *e = &events->list[i];
        const struct profile_entity *of =
            e->kind == EVENT_TYPE ? profile_entity_find(p, e->offset) : NULL;
        for (uint32_t k = 0; of && k < out->type_count; k++)
            if (strcmp(out->types[k].name, of->name) == 0) {
                out->types[k].file = of->scope;
                out->types[k].line = of->at <= UINT32_MAX ? (uint32_t)of->at : 0;
                out->types[k].size = of->number;
            }
    }
}

/* ---- pairs ---- */

static int compare_ids(const void *a, const void *b, void *members)
{
    const struct field_member *m = members;
    uint64_t x = m[*(const uint32_t *)a].entity->id, y = m[*(const uint32_t *)b].entity->id;
    return (x > y) - (x < y);
}

static uint32_t member_find(const struct field_types *t, const uint32_t *by_id, uint64_t id)
{
    uint32_t low = ARRAY_LEADING(t->member_count, i, t->members[by_id[i]].entity->id < id);
    bool found = low < t->member_count && t->members[by_id[low]].entity->id == id;
    return found ? by_id[low] : UINT32_MAX;
}

static int compare_pairs(const void *a, const void *b)
{
    const struct field_pair *x = a, *y = b;
    if (x->weight > y->weight || x->weight < y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->a != y->a ? (x->a < y->a ? -1 : 1) : x->b < y->b ? -1 : x->b > y->b;
}

static bool pairs_collect(const struct profile_events *events, struct field_types *out)
{
    uint32_t *by_id = calloc((size_t)out->member_count + 1, sizeof *by_id);
    for (uint32_t i = 0; by_id && i < out->member_count; i++)
        by_id[i] = i;
    if (by_id)
        qsort_r(by_id, out->member_count, sizeof *by_id, compare_ids, out->members);
    for (uint32_t i = 0; by_id && i < events->count; i++) {
        const struct profile_event *e = &events->list[i];
        if (e->kind != EVENT_PAIR && e->kind != EVENT_SHARED)
            continue;
        struct field_pair pair = {member_find(out, by_id, e->offset),
                                  member_find(out, by_id, e->to), (double)e->weight};
        if (pair.a == UINT32_MAX || pair.b == UINT32_MAX)
            continue;
        if (e->kind == EVENT_PAIR)
            out->together[out->together_count++] = pair;
        else
            out->shared[out->shared_count++] = pair;
    }
    qsort(out->together, out->together_count, sizeof *out->together, compare_pairs);
    qsort(out->shared, out->shared_count, sizeof *out->shared, compare_pairs);
    free(by_id);
    return by_id;
}

bool fields_build(const struct profile *p, const struct profile_events *events,
                  struct field_types *out)
{
    size_t n = (size_t)events->count + 1;
    *out = (struct field_types){.types = calloc(n, sizeof *out->types),
                                .members = calloc(n, sizeof *out->members),
                                .together = calloc(n, sizeof *out->together),
                                .shared = calloc(n, sizeof *out->shared),
                                .orders = calloc(n, sizeof *out->orders),
                                .places = calloc(n, sizeof *out->places)};
    if (!out->types || !out->members || !out->together || !out->shared || !out->orders ||
        !out->places)
        return false;
    members_collect(p, events, out);
    types_collect(out);
    types_describe(p, events, out);
    for (uint32_t i = 0; i < out->type_count; i++)
        type_settle(out, &out->types[i]);
    qsort(out->types, out->type_count, sizeof *out->types, compare_types);
    return pairs_collect(events, out);
}

void fields_free(struct field_types *t)
{
    free(t->types);
    free(t->members);
    free(t->together);
    free(t->shared);
    free(t->orders);
    free(t->places);
}
