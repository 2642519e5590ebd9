/* Waste of loads and stores: from the spool, in a profile, in its file. */
#include "sigsafe/spool_waste.h"

#include <stdlib.h>

#include "base/saturate.h"
#include "base/sort.h"
#include "profile/kind/kind.h"
#include "profile/spool_rows.h"
#include "profile/table/table.h"
#include "profile/table/waste_paths.h"
#include "sigsafe/tools.h"

struct profile_waste *profile_waste_new(void)
{
    return calloc(1, sizeof(struct profile_waste));
}

void profile_waste_free(struct profile_waste *w)
{
    if (!w)
        return;
    free(w->sites);
    free(w->pairs);
    free(w->paths.calls);
    free(w->paths.list);
    free(w);
}

bool profile_waste_add_site(struct profile_waste *w, const struct profile_waste_site *site)
{
    struct profile_waste_site *list =
        spool_counts_room(w->sites, w->site_count, &w->site_capacity, sizeof *list);
    if (!list)
        return false;
    w->sites = list;
    w->sites[w->site_count++] = *site;
    return true;
}

bool profile_waste_add_pair(struct profile_waste *w, const struct profile_waste_pair *pair)
{
    struct profile_waste_pair *list =
        spool_counts_room(w->pairs, w->pair_count, &w->pair_capacity, sizeof *list);
    if (!list)
        return false;
    w->pairs = list;
    w->pairs[w->pair_count++] = *pair;
    return true;
}

const char *profile_waste_access(uint32_t kind)
{
    return kind == ACCESS_LOAD ? "load" : kind == ACCESS_STORE ? "store" : "update";
}

const char *profile_waste_kind(uint32_t kind)
{
#define NAME(id, name, what) name,
    static const char *const names[] = {WASTE_KINDS(NAME)};
#undef NAME
    return names[kind < WASTE_KIND_COUNT ? kind : 0];
}

static void free_table(void *table)
{
    profile_waste_free(table);
}

static bool sampled(const void *table)
{
    return ((const struct profile_waste *)table)->sums.windows != 0;
}

static bool pair_site(struct profile_waste_pair *p, struct profile_site *out)
{
    *out = (struct profile_site){
        SITE_PAIR, 2, {{&p->image, &p->process, p->offset}, {&p->to_image, &p->to_process, p->to}}};
    return true;
}

/* Accesses, pairs, pairs with call paths, then the calls of these. */
static bool site(void *table, uint32_t at, struct profile_site *out)
{
    struct profile_waste *w = table;
    if (at < w->site_count) {
        struct profile_waste_site *s = &w->sites[at];
        *out = (struct profile_site){SITE_ACCESS, 1, {{&s->image, &s->process, s->offset}}};
        return true;
    }
    at -= w->site_count;
    if (at < w->pair_count)
        return pair_site(&w->pairs[at], out);
    at -= w->pair_count;
    if (at < w->paths.count)
        return pair_site(&w->paths.list[at].pair, out);
    at -= w->paths.count;
    if (at >= w->paths.call_count)
        return false;
    struct profile_waste_call *c = &w->paths.calls[at];
    *out = (struct profile_site){SITE_CALL, 1, {{&c->image, &c->process, c->offset}}};
    return true;
}

static void waste_sums_add(struct waste_sums *to, const struct waste_sums *from)
{
#define ADD(name) to->name = add_saturated(to->name, from->name);
    WASTE_SUMS(ADD)
#undef ADD
}

void profile_waste_figures_add(struct waste_figures *to, const struct waste_figures *from)
{
#define ADD(name) to->name = add_saturated(to->name, from->name);
    WASTE_FIGURES(ADD)
#undef ADD
}

struct profile_waste_pair waste_pair_moved(const struct profile_waste_pair *from,
                                           const struct table_append *how)
{
    struct profile_waste_pair pair = *from;
    pair.image = profile_counts_image_in(how->image_of, pair.image);
    pair.to_image = profile_counts_image_in(how->image_of, pair.to_image);
    pair.process += how->first_process;
    pair.to_process += how->first_process;
    return pair;
}

static bool append(void **into, const void *from, const struct table_append *how)
{
    const struct profile_waste *added = from;
    struct profile_waste *w = *into ? *into : profile_waste_new();
    *into = w;
    for (uint32_t i = 0; w && i < added->site_count; i++) {
        struct profile_waste_site site = added->sites[i];
        site.image = profile_counts_image_in(how->image_of, site.image);
        site.process += how->first_process;
        if (!profile_waste_add_site(w, &site))
            return false;
    }
    for (uint32_t i = 0; w && i < added->pair_count; i++) {
        struct profile_waste_pair pair = waste_pair_moved(&added->pairs[i], how);
        if (!profile_waste_add_pair(w, &pair))
            return false;
    }
    if (w) {
        waste_sums_add(&w->sums, &added->sums);
        w->missed = add_saturated(w->missed, added->missed);
    }
    return w && waste_paths_append(&w->paths, &added->paths, how);
}

#define ORDER(x, y)                                                                                \
    if ((x) != (y))                                                                                \
    return (x) < (y) ? -1 : 1

static int compare_sites(const void *a, const void *b)
{
    const struct profile_waste_site *x = a, *y = b;
    ORDER(x->image + FRAME_IMAGE_FIRST, y->image + FRAME_IMAGE_FIRST);
    ORDER(x->process, y->process);
    ORDER(x->offset, y->offset);
    ORDER(x->kind, y->kind);
    ORDER(x->bytes, y->bytes);
    return 0;
}

int profile_waste_pairs_compare(const void *a, const void *b)
{
    const struct profile_waste_pair *x = a, *y = b;
    ORDER(x->image + FRAME_IMAGE_FIRST, y->image + FRAME_IMAGE_FIRST);
    ORDER(x->process, y->process);
    ORDER(x->offset, y->offset);
    ORDER(x->to_image + FRAME_IMAGE_FIRST, y->to_image + FRAME_IMAGE_FIRST);
    ORDER(x->to_process, y->to_process);
    ORDER(x->to, y->to);
    ORDER(x->kind, y->kind);
    return 0;
}

static void settle_sites(struct profile_waste *w)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < w->site_count; i++)
        if (!profile_is_private(w->sites[i].image, w->sites[i].offset))
            w->sites[i].process = 0;
    sort_runs(w->sites, w->site_count, sizeof *w->sites, compare_sites);
    for (uint32_t i = 0; i < w->site_count; i++) {
        struct profile_waste_site *last = kept ? &w->sites[kept - 1] : NULL;
        if (last && compare_sites(last, &w->sites[i]) == 0)
            profile_waste_figures_add(&last->figures, &w->sites[i].figures);
        else
            w->sites[kept++] = w->sites[i];
    }
    w->site_count = kept;
}

void waste_pair_settle(struct profile_waste_pair *p)
{
    p->process = profile_is_private(p->image, p->offset) ? p->process : 0;
    p->to_process = profile_is_private(p->to_image, p->to) ? p->to_process : 0;
}

static bool settle(void *table, const uint32_t *new_index)
{
    struct profile_waste *w = table;
    uint32_t kept = 0;
    (void)new_index;
    settle_sites(w);
    for (uint32_t i = 0; i < w->pair_count; i++)
        waste_pair_settle(&w->pairs[i]);
    sort_runs(w->pairs, w->pair_count, sizeof *w->pairs, profile_waste_pairs_compare);
    for (uint32_t i = 0; i < w->pair_count; i++) {
        struct profile_waste_pair *last = kept ? &w->pairs[kept - 1] : NULL, *p = &w->pairs[i];
        if (last && profile_waste_pairs_compare(last, p) == 0) {
            last->count = add_saturated(last->count, p->count);
            last->bytes = add_saturated(last->bytes, p->bytes);
        } else {
            w->pairs[kept++] = *p;
        }
    }
    w->pair_count = kept;
    return waste_paths_settle(&w->paths);
}

/* ---- from the spool ---- */

bool waste_pair_make(struct counts_process *q, uint32_t id, const struct waste_pair *p,
                     struct profile_waste_pair *out)
{
    struct spool_thing at, with;
    if (!spool_counts_thing(q, id, &at) || !spool_counts_is_access(&at) ||
        !spool_counts_thing(q, p->with - 1, &with) || !spool_counts_is_access(&with) ||
        p->kind >= WASTE_KIND_COUNT) {
        q->r->view->damage++;
        return false;
    }
    *out = (struct profile_waste_pair){.image = spool_counts_image(at.key),
                                       .process = q->process,
                                       .offset = key_offset(at.key),
                                       .to_image = spool_counts_image(with.key),
                                       .to_process = q->process,
                                       .to = key_offset(with.key),
                                       .kind = p->kind,
                                       .count = p->count,
                                       .bytes = p->bytes};
    return true;
}

/* Bursts and shadows know them without the tool, and so do tools beside it that count blocks, or
 * transfers from which blocks follow. */
static bool add_instructions(struct counts_process *q, uint64_t count)
{
    struct tool_about set = tools_about(q->r->tools);
    bool known = set.blocks || set.transfers ||
                 __atomic_load_n(&q->record->instructions, __ATOMIC_RELAXED);
    if (!known) {
        q->to->instructions = add_saturated(q->to->instructions, count);
        q->to->counted = true;
    }
    return true;
}

/* What the cell counts of an access. */
static void add_figures(struct counts_process *q, struct waste_figures *f,
                        const struct waste_cell *c)
{
    const struct {
        uint64_t *count, *bytes, *others;
    } of[WASTE_CELL_KINDS] = {
        [WASTE_DEAD] = {&f->dead, &f->dead_bytes, &f->other_dead},
        [WASTE_SILENT] = {&f->silent, &f->silent_bytes, &f->other_silent},
        [WASTE_REDUNDANT] = {&f->redundant, &f->redundant_bytes, &f->other_redundant},
        [WASTE_LOADS] = {&f->loads, &f->load_bytes, NULL},
        [WASTE_STORES] = {&f->stores, &f->store_bytes, NULL},
        [WASTE_FRAME] = {&f->frame, &f->frame_bytes, NULL},
    };
    if (c->kind >= WASTE_CELL_KINDS) {
        q->r->view->damage++;
        return;
    }
    *of[c->kind].count = add_saturated(*of[c->kind].count, c->count);
    *of[c->kind].bytes = add_saturated(*of[c->kind].bytes, c->bytes);
    if (of[c->kind].others && !c->with)
        *of[c->kind].others = add_saturated(*of[c->kind].others, c->count);
}

static bool add_pair(struct counts_process *q, uint32_t id, const struct waste_cell *c)
{
    struct waste_pair p = {c->with, c->kind, c->count, c->bytes};
    struct profile_waste_pair pair;
    return !p.with || p.kind >= WASTE_KIND_COUNT || !waste_pair_make(q, id, &p, &pair) ||
           profile_waste_add_pair(observed_table(q->profile, TABLE_WASTE), &pair);
}

static bool add_access(struct counts_process *q, uint32_t id, spool_ref first,
                       const struct spool_thing *thing)
{
    struct spool_view *v = q->r->view;
    struct profile_waste_site site = {.image = spool_counts_image(thing->key),
                                      .process = q->process,
                                      .offset = key_offset(thing->key),
                                      .bytes = thing->access.bytes,
                                      .kind = thing->access.way};
    const struct waste_cell *at = spool_view_visit(v, first, sizeof *at);
    while (at) {
        struct waste_cell c = *at;
        add_figures(q, &site.figures, &c);
        if (!add_pair(q, id, &c))
            return false;
        at = spool_view_visit(v, c.next, sizeof *at);
    }
    return profile_waste_add_site(observed_table(q->profile, TABLE_WASTE), &site);
}

static bool waste_row(void *data, uint32_t id, const void *at)
{
    struct counts_process *q = data;
    struct profile_waste *w = observed_table(q->profile, TABLE_WASTE);
    spool_ref first = __atomic_load_n(&((const struct spool_waste *)at)->first, __ATOMIC_ACQUIRE);
    struct spool_thing thing;
    if (!first)
        return true;
    bool known = spool_counts_thing(q, id, &thing);
    if (known && thing.kind == THING_TOTALS) {
        const struct waste_totals *t = spool_view_visit(q->r->view, first, sizeof *t);
        struct waste_sums sums = t ? t->sums : (struct waste_sums){0};
        waste_sums_add(&w->sums, &sums);
        return add_instructions(q, sums.instructions);
    }
    if (known && spool_counts_is_access(&thing))
        return add_access(q, id, first, &thing);
    q->r->view->damage++;
    return true;
}

static bool add_process(struct counts_process *q)
{
    const uint32_t *list = &q->record->tables[TABLE_WASTE];
    struct profile_waste *w = observed_table(q->profile, TABLE_WASTE);
    if (!__atomic_load_n(list, __ATOMIC_ACQUIRE))
        return true;
    if (!w && (w = profile_waste_new()))
        profile_observe(q->profile, OBSERVED_TABLES + TABLE_WASTE, w);
    return w &&
           spool_rows_read(q->r->view, list, WASTE_LAYOUT, &q->r->table_bytes, waste_row, q,
                           &w->missed) &&
           waste_paths_read(q, &w->paths);
}

const struct profile_table table_waste = {
    .read = add_process,
    .free = free_table,
    .sampled = sampled,
    .site = site,
    .append = append,
    .settle = settle,
};

/* ---- in the file ---- */

PROFILE_PLACE_FIRST(struct profile_waste_site);
PROFILE_PLACE_FIRST(struct profile_waste_pair);

static bool section_needed(const struct profile *p)
{
    return observed_table(p, TABLE_WASTE);
}

/* Columns of plain numbers, in the order of the file. */
#define PAIR_COLUMNS(X)                                                                            \
    X(kind, WASTE_KIND_COUNT - 1, "which waste")                                                   \
    X(count, UINT64_MAX, "instances of a pair")                                                    \
    X(bytes, UINT64_MAX, "bytes of a pair")

static struct profile_waste_pair *pair_at(const void *first, uint32_t i, size_t each)
{
    return (struct profile_waste_pair *)(uintptr_t)((const char *)first + i * each);
}

void waste_pairs_put(struct buf *b, const void *first, uint32_t n, size_t each)
{
    write_places(b, first, n, each);
    for (uint32_t i = 0; i < n; i++)
        buf_put_uleb(b, pair_at(first, i, each)->to_image + FRAME_IMAGE_FIRST);
    for (uint32_t i = 0; i < n; i++)
        buf_put_uleb(b, pair_at(first, i, each)->to_process);
    for (uint32_t i = 0; i < n; i++)
        buf_put_sleb(b, (int64_t)(pair_at(first, i, each)->to - pair_at(first, i, each)->offset));
#define PUT(name, most, what)                                                                      \
    for (uint32_t i = 0; i < n; i++)                                                               \
        buf_put_uleb(b, pair_at(first, i, each)->name);
    PAIR_COLUMNS(PUT)
#undef PUT
}

bool waste_pairs_good(const struct profile *p, const void *first, uint32_t n, size_t each)
{
    bool good = true;
    for (uint32_t i = 0; good && i < n; i++) {
        const struct profile_waste_pair *at = pair_at(first, i, each);
        good = places_good(p, at, i ? pair_at(first, i - 1, each) : NULL) &&
               image_exists(p, at->to_image) && at->to_process < p->process_count;
    }
    return good;
}

static void section_put(struct buf *b, const struct encoder *x)
{
    const struct profile_waste *w = observed_table(x->p, TABLE_WASTE);
    uint32_t n = w->site_count, m = w->pair_count;
    buf_put_uleb(b, w->missed);
#define PUT(name) buf_put_uleb(b, w->sums.name);
    WASTE_SUMS(PUT)
#undef PUT
    buf_put_uleb(b, n);
    buf_put_uleb(b, m);
    write_places(b, w->sites, n, sizeof *w->sites);
    for (uint32_t i = 0; i < n; i++)
        buf_put_uleb(b, w->sites[i].kind);
    for (uint32_t i = 0; i < n; i++)
        buf_put_uleb(b, w->sites[i].bytes);
#define PUT(name)                                                                                  \
    for (uint32_t i = 0; i < n; i++)                                                               \
        buf_put_uleb(b, w->sites[i].figures.name);
    WASTE_FIGURES(PUT)
#undef PUT
    waste_pairs_put(b, w->pairs, m, sizeof *w->pairs);
}

static bool section_check(const struct profile *p, struct err *e)
{
    const struct profile_waste *w = observed_table(p, TABLE_WASTE);
    bool good = true;
    for (uint32_t i = 0; good && i < w->site_count; i++)
        good = places_good(p, &w->sites[i], i ? &w->sites[i - 1] : NULL);
    good = good && waste_pairs_good(p, w->pairs, w->pair_count, sizeof *w->pairs);
    return good || err_set(e, ERR_INTERNAL,
                           "the profile cannot be written: an access is of no image or process, or "
                           "out of order");
}

static void get_sites(struct decoder *d, struct cursor *c, struct profile_waste_site *at,
                      uint32_t n)
{
    read_places(d, c, at, n, sizeof *at);
    for (uint32_t i = 0; i < n && !c->failed; i++)
        at[i].kind = (uint32_t)cursor_uleb(c, ACCESS_UPDATE, "whether an access loads or stores");
    for (uint32_t i = 0; i < n && !c->failed; i++)
        at[i].bytes = read_u32(c, "the bytes of an access");
#define GET(name)                                                                                  \
    for (uint32_t i = 0; i < n && !c->failed; i++)                                                 \
        at[i].figures.name = read_u64(c, "a figure of an access");
    WASTE_FIGURES(GET)
#undef GET
}

void waste_pairs_get(struct decoder *d, struct cursor *c, void *first, uint32_t n, size_t each)
{
    read_places(d, c, first, n, each);
    read_images(d, c, &pair_at(first, 0, each)->to_image, n, each, "the image of a pair, not 0");
    for (uint32_t i = 0; i < n && !c->failed; i++)
        pair_at(first, i, each)->to_process = read_process(d, c);
    for (uint32_t i = 0; i < n && !c->failed; i++) {
        struct profile_waste_pair *p = pair_at(first, i, each);
        p->to = p->offset + (uint64_t)cursor_sleb(c, "the distance of a pair");
    }
#define GET(name, most, what)                                                                      \
    for (uint32_t i = 0; i < n && !c->failed; i++)                                                 \
        pair_at(first, i, each)->name =                                                            \
            (__typeof__(pair_at(first, i, each)->name))cursor_uleb(c, most, what);
    PAIR_COLUMNS(GET)
#undef GET
}

static void section_get(struct decoder *d, struct cursor *c)
{
    struct profile_waste *w = profile_waste_new();
    if (w)
        profile_observe(d->p, OBSERVED_TABLES + TABLE_WASTE, w);
    if (!w) {
        read_no_memory(c);
        return;
    }
    enum { SITE = 5 + sizeof(struct waste_figures) / 8 };
    w->missed = read_u64(c, "the number of accesses missed");
#define GET(name) w->sums.name = read_u64(c, "a sum of all accesses");
    WASTE_SUMS(GET)
#undef GET
    w->site_count = cursor_count(c, SITE, "a number of accesses that fits the section");
    w->pair_count = cursor_count(c, WASTE_PAIR_LEAST, "a number of pairs that fits the section");
    w->sites = read_array(c, w->site_count, sizeof *w->sites);
    w->pairs = read_array(c, w->pair_count, sizeof *w->pairs);
    w->site_capacity = w->site_count;
    w->pair_capacity = w->pair_count;
    if (w->sites && w->pairs) {
        get_sites(d, c, w->sites, w->site_count);
        waste_pairs_get(d, c, w->pairs, w->pair_count, sizeof *w->pairs);
    }
    if (c->failed)
        w->site_count = w->pair_count = 0;
}

const struct section_kind kind_waste = {
    .type = {42, "waste", 0},
    .within = 24,
    .about = "optional, with 24: stores in vain, loads of what was loaded",
    .needed = section_needed,
    .check = section_check,
    .put = section_put,
    .get = section_get,
};
