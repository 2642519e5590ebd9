#include "profile/spool_timeline.h"

#include <stdlib.h>

#include "profile/timeline.h"
#include "sigsafe/timeline.h"

enum { TRIES = 8 };

/* ---- copying ---- */

/* The side's slots, as far as they can be reached. */
static void slots_copy(struct spool_view *v, const struct spool_timeline_side *side,
                       struct spool_timeline_copy *to)
{
    uint32_t used = __atomic_load_n(&side->used, __ATOMIC_ACQUIRE);
    to->count = 0;
    to->shift = __atomic_load_n(&side->shift, __ATOMIC_RELAXED);
    if (used > TIMELINE_SLOTS || to->shift > TIMELINE_SHIFT_MAX) {
        v->damage++;
        return;
    }
    for (uint32_t chunk = 0; to->count < used; chunk++) {
        uint32_t slots = timeline_chunk_slots(chunk);
        const uint64_t *from =
            spool_at(&v->spool, __atomic_load_n(&side->chunks[chunk], __ATOMIC_RELAXED),
                     slots * sizeof *from);
        if (!from) {
            v->damage++;
            return;
        }
        for (uint32_t i = 0; i < slots && to->count < used; i++)
            to->slots[to->count++] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
    }
}

/* All that are copied together are no more than the spool, and one timeline. */
static bool timeline_copy(struct spool_view *v, struct spool_timeline_copy *to)
{
    const struct spool_timeline *from = spool_view_visit(v, to->ref, sizeof *from);
    if (!from)
        return true;
    uint64_t *slots = v->timelines ? malloc(TIMELINE_SLOTS * sizeof *slots) : NULL;
    if (!slots) {
        v->damage += !v->timelines;
        return !v->timelines;
    }
    to->slots = slots;
    uint32_t active = __atomic_load_n(&from->active, __ATOMIC_ACQUIRE), now;
    for (unsigned i = 0; i < TRIES; i++, active = now) {
        slots_copy(v, &from->sides[active % 2], to);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        now = __atomic_load_n(&from->active, __ATOMIC_RELAXED);
        if (now == active)
            break;
        to->count = 0; /* it was compacted meanwhile */
    }
    uint64_t size = to->count * sizeof *slots;
    v->timelines -= size < v->timelines ? size : v->timelines;
    uint64_t *fits = realloc(slots, size ? size : 1);
    to->slots = fits ? fits : slots;
    return true;
}

static int compare_owners(const void *a, const void *b)
{
    const struct spool_timeline_owner *x = a, *y = b;
    if (x->ref != y->ref)
        return x->ref < y->ref ? -1 : 1;
    return (x->thread > y->thread) - (x->thread < y->thread);
}

bool spool_timelines_copy(struct spool_view *v, const struct record_list *threads,
                          struct spool_timelines *out)
{
    *out = (struct spool_timelines){.thread_count = threads->count};
    out->owners = calloc((size_t)threads->count + 1, sizeof *out->owners);
    for (uint32_t i = 0; out->owners && i < threads->count; i++) {
        const struct spool_thread *t = threads->records[i];
        spool_ref ref = __atomic_load_n(&t->timeline, __ATOMIC_ACQUIRE);
        if (ref)
            out->owners[out->owner_count++] = (struct spool_timeline_owner){ref, i, t->which};
    }
    if (!out->owners || !out->owner_count)
        return out->owners != NULL;
    out->copies = calloc(out->owner_count, sizeof *out->copies);
    out->nodes = calloc((size_t)threads->count + 1, sizeof(spool_ref *));
    if (!out->copies || !out->nodes)
        return false;
    qsort(out->owners, out->owner_count, sizeof *out->owners, compare_owners);
    for (uint32_t i = 0, next; i < out->owner_count; i = next) {
        for (next = i + 1; next < out->owner_count && out->owners[next].ref == out->owners[i].ref;
             next++)
            ;
        struct spool_timeline_copy *copy = &out->copies[out->count++];
        *copy = (struct spool_timeline_copy){.ref = out->owners[i].ref, .first = i, .last = next};
        if (!timeline_copy(v, copy))
            return false;
    }
    return true;
}

spool_ref **spool_timelines_nodes(struct spool_timelines *t, uint32_t record)
{
    return t->nodes ? &t->nodes[record] : NULL;
}

void spool_timelines_free(struct spool_timelines *t)
{
    for (uint32_t i = 0; i < t->count; i++)
        free(t->copies[i].slots);
    for (uint32_t i = 0; t->nodes && i < t->thread_count; i++)
        free(t->nodes[i]);
    free(t->copies);
    free(t->owners);
    free(t->nodes);
}

/* ---- putting ---- */

/* A node of one of the thread's trees, and its weight that no moment has yet. */
struct place {
    spool_ref ref;
    uint32_t thread, node;
    uint64_t left;
};

/* A weight whose nodes are not known: of the tree that the trigger's moments before it are of. */
struct rest {
    uint32_t bin, span, which, near;
    uint64_t weight;
};

struct put {
    struct spool_view *v;
    const struct spool_timelines *t;
    struct profile_thread *threads; /* by record */
    const uint32_t *metric_of;      /* by trigger */
    uint32_t triggers;
    struct place *places;           /* by ref */
    uint32_t place_count;
    struct rest *rests;
    uint32_t rest_count;
    uint64_t *left; /* by owner: what no moment has */
};

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return (x->ref > y->ref) - (x->ref < y->ref);
}

/* Of the owner's record. Unknown triggers count in the first one's place (spool_read.c). */
static uint32_t metric_of(const struct put *x, uint32_t owner)
{
    uint32_t which = x->t->owners[owner].which;
    return x->metric_of[which < x->triggers ? which : 0];
}

static uint64_t weight_of(const struct profile_node *n, uint32_t metric)
{
    return metric ? n->more[metric - 1] : n->self;
}

static bool places_make(struct put *x, const struct spool_timeline_copy *copy)
{
    size_t all = 0;
    for (uint32_t i = copy->first; i < copy->last; i++)
        all += x->threads[x->t->owners[i].thread].node_count;
    x->place_count = 0;
    x->places = all < UINT32_MAX ? calloc(all + 1, sizeof *x->places) : NULL;
    for (uint32_t i = copy->first; x->places && i < copy->last; i++) {
        uint32_t thread = x->t->owners[i].thread, metric = metric_of(x, i);
        const spool_ref *refs = x->t->nodes[thread];
        for (uint32_t k = 0; refs && k < x->threads[thread].node_count; k++)
            x->places[x->place_count++] =
                (struct place){refs[k], i, k, weight_of(&x->threads[thread].nodes[k], metric)};
    }
    if (x->places)
        qsort(x->places, x->place_count, sizeof *x->places, compare_places);
    return x->places;
}

static bool add(const struct put *x, uint32_t owner, struct profile_moment *m, uint32_t shift)
{
    struct profile_thread *t = &x->threads[x->t->owners[owner].thread];
    m->metric = metric_of(x, owner);
    if (!profile_timeline_add(&t->timeline, m))
        return false;
    t->timeline->shift = shift;
    return true;
}

/* No node has more than its weight. near: by trigger, whose record had the last moment. */
static bool node_put(struct put *x, const struct spool_timeline_copy *copy, uint64_t slot,
                     struct profile_moment m, uint32_t near[TIMELINE_METRICS])
{
    const struct place key = {.ref = timeline_what(slot)};
    struct place *place =
        bsearch(&key, x->places, x->place_count, sizeof *x->places, compare_places);
    m.weight = timeline_weight(slot);
    if (!place || timeline_metric(slot) != x->t->owners[place->thread].which) {
        x->v->damage++;
        return true;
    }
    if (m.weight > place->left) {
        x->v->damage++;
        m.weight = place->left;
    }
    if (!m.weight)
        return true;
    place->left -= m.weight;
    m.node = place->node;
    near[timeline_metric(slot)] = place->thread;
    return add(x, place->thread, &m, copy->shift);
}

static bool slots_put(struct put *x, const struct spool_timeline_copy *copy)
{
    struct profile_moment m = {0};
    uint32_t near[TIMELINE_METRICS];
    bool ok = true;
    for (unsigned i = 0; i < TIMELINE_METRICS; i++)
        near[i] = copy->first;
    for (uint32_t i = 0; ok && i < copy->count; i++) {
        uint64_t slot = copy->slots[i];
        uint32_t what = timeline_what(slot), number = timeline_number(slot);
        if (what == TIMELINE_BIN && number >= m.bin &&
            (uint64_t)number < UINT64_C(1) << (62 - copy->shift)) {
            m.bin = number;
        } else if (what == TIMELINE_SPAN && number <= m.bin) {
            m.span = number;
        } else if (what == TIMELINE_REST && timeline_weight(slot)) {
            uint32_t which = timeline_metric(slot);
            x->rests[x->rest_count++] =
                (struct rest){m.bin, m.span, which, near[which], timeline_weight(slot)};
            m.span = 0;
        } else if (what >= TIMELINE_NODES) {
            ok = node_put(x, copy, slot, m, near);
            m.span = 0;
        } else {
            x->v->damage++;
            break;
        }
    }
    return ok;
}

/* Of which of the trigger's trees in this thread the nodes are is not known: that of the moments
 * before it, as long as that has weight without time, then any other. */
static bool rest_put(struct put *x, const struct spool_timeline_copy *copy, struct rest *rest)
{
    struct profile_moment m = {.bin = rest->bin, .span = rest->span, .node = PROFILE_REST};
    uint32_t owners = copy->last - copy->first;
    for (uint32_t i = 0; rest->weight && i < owners; i++) {
        uint32_t owner = copy->first + (rest->near - copy->first + i) % owners;
        uint64_t *left = &x->left[owner - copy->first];
        if (x->t->owners[owner].which != rest->which)
            continue;
        m.weight = rest->weight < *left ? rest->weight : *left;
        *left -= m.weight;
        rest->weight -= m.weight;
        if (m.weight && !add(x, owner, &m, copy->shift))
            return false;
    }
    x->v->damage += rest->weight != 0;
    return true;
}

static bool rests_put(struct put *x, const struct spool_timeline_copy *copy)
{
    bool ok = true;
    x->left = calloc(copy->last - copy->first, sizeof *x->left);
    for (uint32_t i = 0; x->left && i < x->place_count; i++) {
        uint64_t *left = &x->left[x->places[i].thread - copy->first];
        *left = x->places[i].left > UINT64_MAX - *left ? UINT64_MAX : *left + x->places[i].left;
    }
    for (uint32_t i = 0; x->left && ok && i < x->rest_count; i++)
        ok = rest_put(x, copy, &x->rests[i]);
    ok = ok && x->left;
    free(x->left);
    return ok;
}

static bool copy_put(struct put *x, const struct spool_timeline_copy *copy)
{
    x->rests = calloc((size_t)copy->count + 1, sizeof *x->rests);
    x->rest_count = 0;
    x->places = NULL;
    bool ok = x->rests && places_make(x, copy) && slots_put(x, copy) && rests_put(x, copy);
    free(x->places);
    free(x->rests);
    for (uint32_t i = copy->first; i < copy->last; i++)
        profile_timeline_settle(x->threads[x->t->owners[i].thread].timeline);
    return ok;
}

bool spool_timelines_put(struct spool_view *v, const struct spool_timelines *t, struct profile *p,
                         uint32_t first, const uint32_t *metric_of, uint32_t triggers)
{
    if (!t->count) /* there may be no thread, either */
        return true;
    struct put x = {.v = v, .t = t, .threads = p->threads + first,
                    .metric_of = metric_of, .triggers = triggers};
    for (uint32_t i = 0; i < t->count; i++)
        if (t->copies[i].count && !copy_put(&x, &t->copies[i]))
            return false;
    return true;
}
