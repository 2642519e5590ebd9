#include "profile/table/waste_paths.h"

#include <stdlib.h>

#include "base/saturate.h"
#include "profile/spool_contexts.h"
#include "sigsafe/spool_waste_paths.h"

bool waste_paths_add(struct profile_waste_paths *w, const struct profile_waste_path *path)
{
    void *list = spool_counts_room(w->list, w->count, &w->capacity, sizeof *w->list);
    if (!list)
        return false;
    w->list = list;
    w->list[w->count++] = *path;
    return true;
}

bool waste_paths_add_call(struct profile_waste_paths *w, const struct profile_waste_call *call)
{
    void *calls = spool_counts_room(w->calls, w->call_count, &w->call_capacity, sizeof *w->calls);
    if (!calls)
        return false;
    w->calls = calls;
    w->calls[w->call_count++] = *call;
    return true;
}

/* ---- from the spool ---- */

static bool is_code(const struct profile_node *n)
{
    return n->image != PROFILE_IMAGE_PSEUDO;
}

/* The nodes from `at` up that have no call yet, into `chain`; how many there are. Without a chain
 * they are counted. */
static uint32_t chain_to(const struct spool_contexts *c, uint32_t at, uint32_t *chain)
{
    uint32_t count = 0;
    for (;; at = c->nodes[at].caller) {
        if (c->nodes[at].made || c->nodes[at].caller == at)
            return count;
        if (chain)
            chain[count] = at;
        count++;
    }
}

/* Makes the calls from the root to the node. False without memory. */
static bool calls_make(struct spool_contexts *c, uint32_t at, struct profile_waste_paths *to)
{
    uint32_t count = chain_to(c, at, NULL);
    uint32_t *chain = count ? calloc(count, sizeof *chain) : NULL;
    bool ok = chain || !count;
    if (chain)
        chain_to(c, at, chain);
    while (ok && count--) {
        struct spool_context *node = &c->nodes[chain[count]];
        const struct profile_node *n = spool_contexts_node(c, chain[count]);
        struct profile_waste_call call = {.image = n->image,
                                          .process = c->profile->threads[node->thread].process,
                                          .offset = n->offset,
                                          .caller = c->nodes[node->caller].made};
        ok = !is_code(n) || waste_paths_add_call(to, &call);
        node->made = is_code(n) ? to->call_count : call.caller;
    }
    free(chain);
    return ok;
}

/* What of a path's end is known. */
struct end {
    uint32_t call; /* 1 + its index */
    bool known, folded;
};

static bool end_find(struct spool_contexts *c, spool_ref ref, struct profile_waste_paths *to,
                     struct end *end)
{
    uint32_t at = ref ? spool_contexts_find(c, ref) : UINT32_MAX;
    *end = (struct end){.known = at != UINT32_MAX};
    if (!end->known)
        return true;
    const struct profile_node *n = spool_contexts_node(c, at);
    end->folded = !is_code(n) && n->offset != KEY_ROOT;
    if (!calls_make(c, at, to))
        return false;
    end->call = c->nodes[at].made;
    return true;
}

static bool add_entry(struct counts_process *q, const struct waste_path *entry,
                      struct profile_waste_paths *to)
{
    struct waste_path p = *entry;
    struct waste_pair pair = {p.with, p.kind, p.count, p.bytes};
    struct profile_waste_path made = {0};
    struct end from, other;
    if (!p.access || !waste_pair_make(q, p.access - 1, &pair, &made.pair))
        return true;
    if (!end_find(q->r->contexts, p.from, to, &from) || !end_find(q->r->contexts, p.to, to, &other))
        return false;
    if (!from.known || !other.known)
        to->unknown = add_saturated(to->unknown, p.count);
    made.from = from.call;
    made.to = other.call;
    made.folded = (uint32_t)from.folded | (uint32_t)other.folded << 1;
    return waste_paths_add(to, &made);
}

static bool add_table(struct counts_process *q, const struct spool_waste_paths *table,
                      struct profile_waste_paths *to)
{
    enum { CHUNKS = WASTE_PATH_SETS / WASTE_PATH_CHUNK };
    bool ok = true;
    for (uint32_t i = 0; ok && i < CHUNKS; i++) {
        spool_ref ref = __atomic_load_n(&table->chunks[i], __ATOMIC_ACQUIRE);
        const struct waste_path_set *sets =
            ref ? spool_view_visit(q->r->view, ref, WASTE_PATH_CHUNK * sizeof *sets) : NULL;
        for (uint32_t k = 0; ok && sets && k < WASTE_PATH_CHUNK * WASTE_PATH_WAYS; k++)
            ok = add_entry(q, &sets[k / WASTE_PATH_WAYS].ways[k % WASTE_PATH_WAYS], to);
    }
    return ok;
}

bool waste_paths_read(struct counts_process *q, struct profile_waste_paths *to)
{
    struct record_list list = {0};
    if (!q->r->contexts)
        return true;
    to->kept = true;
    bool ok = spool_view_list(q->r->view, &q->record->tables[WASTE_PATHS_TABLE],
                              sizeof(struct spool_waste_paths), &list);
    for (uint32_t i = 0; ok && i < list.count; i++) {
        const struct spool_waste_paths *table = list.records[i];
        to->evicted = add_saturated(to->evicted, spool_view_count(q->r->view, &table->evicted));
        ok = add_table(q, table, to);
    }
    free(list.records);
    return ok;
}

/* ---- merging ---- */

static uint32_t call_moved(uint32_t call, uint32_t first)
{
    return call ? call + first : 0;
}

bool waste_paths_append(struct profile_waste_paths *into, const struct profile_waste_paths *added,
                        const struct table_append *how)
{
    uint32_t first = into->call_count;
    for (uint32_t i = 0; i < added->call_count; i++) {
        struct profile_waste_call call = added->calls[i];
        call.image = profile_counts_image_in(how->image_of, call.image);
        call.process += how->first_process;
        call.caller = call_moved(call.caller, first);
        if (!waste_paths_add_call(into, &call))
            return false;
    }
    for (uint32_t i = 0; i < added->count; i++) {
        struct profile_waste_path path = added->list[i];
        path.pair = waste_pair_moved(&path.pair, how);
        path.from = call_moved(path.from, first);
        path.to = call_moved(path.to, first);
        if (!waste_paths_add(into, &path))
            return false;
    }
    into->kept |= added->kept;
    into->evicted = add_saturated(into->evicted, added->evicted);
    into->unknown = add_saturated(into->unknown, added->unknown);
    return true;
}

#define ORDER(x, y)                                                                                \
    if ((x) != (y))                                                                                \
    return (x) < (y) ? -1 : 1

/* A call on its way to its place. */
struct settled {
    struct profile_waste_call call;
    uint32_t depth, index; /* it was call `index` */
};

static int compare_depths(const void *a, const void *b)
{
    const struct settled *x = a, *y = b;
    ORDER(x->depth, y->depth);
    return 0;
}

static int compare_calls(const void *a, const void *b)
{
    const struct settled *x = a, *y = b;
    ORDER(x->call.caller, y->call.caller);
    ORDER(x->call.image + FRAME_IMAGE_FIRST, y->call.image + FRAME_IMAGE_FIRST);
    ORDER(x->call.process, y->call.process);
    ORDER(x->call.offset, y->call.offset);
    return 0;
}

static int compare_paths(const void *a, const void *b)
{
    const struct profile_waste_path *x = a, *y = b;
    int order = profile_waste_pairs_compare(&x->pair, &y->pair);
    if (order)
        return order;
    ORDER(x->from, y->from);
    ORDER(x->to, y->to);
    ORDER(x->folded, y->folded);
    return 0;
}

/* Level by level, so that callers have their places first; equal ones become one. moved[1 + i]: 1 +
 * where call i is. */
static void calls_settle(struct profile_waste_paths *w, struct settled *all, uint32_t *moved)
{
    uint32_t kept = 0, end;
    for (uint32_t i = 0; i < w->call_count; i++) {
        const struct profile_waste_call *c = &w->calls[i];
        all[i] = (struct settled){*c, c->caller ? all[c->caller - 1].depth + 1 : 0, i};
        if (!profile_is_private(c->image, c->offset))
            all[i].call.process = 0;
    }
    qsort(all, w->call_count, sizeof *all, compare_depths);
    for (uint32_t i = 0; i < w->call_count; i = end) {
        for (end = i; end < w->call_count && all[end].depth == all[i].depth; end++)
            all[end].call.caller = moved[all[end].call.caller];
        qsort(all + i, end - i, sizeof *all, compare_calls);
        for (uint32_t k = i; k < end; k++) {
            if (k == i || compare_calls(&all[k], &all[k - 1]) != 0)
                w->calls[kept++] = all[k].call;
            moved[1 + all[k].index] = kept;
        }
    }
    w->call_count = kept;
}

bool waste_paths_settle(struct profile_waste_paths *w)
{
    struct settled *all = calloc((size_t)w->call_count + 1, sizeof *all);
    uint32_t *moved = calloc((size_t)w->call_count + 1, sizeof *moved), kept = 0;
    bool ok = all && moved;
    if (ok)
        calls_settle(w, all, moved);
    for (uint32_t i = 0; ok && i < w->count; i++) {
        struct profile_waste_path *p = &w->list[i];
        waste_pair_settle(&p->pair);
        p->from = moved[p->from];
        p->to = moved[p->to];
    }
    if (ok && w->count)
        qsort(w->list, w->count, sizeof *w->list, compare_paths);
    for (uint32_t i = 0; ok && i < w->count; i++) {
        struct profile_waste_path *last = kept ? &w->list[kept - 1] : NULL, *p = &w->list[i];
        if (last && compare_paths(last, p) == 0) {
            last->pair.count = add_saturated(last->pair.count, p->pair.count);
            last->pair.bytes = add_saturated(last->pair.bytes, p->pair.bytes);
        } else {
            w->list[kept++] = *p;
        }
    }
    w->count = ok ? kept : w->count;
    free(all);
    free(moved);
    return ok;
}
