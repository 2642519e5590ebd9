/* Makes a profile of what the database has of a range of time. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/saturate.h"
#include "database/counts.h"
#include "database/fold.h"
#include "database/internal.h"
#include "profile/kind/kind.h"

/* Periods that have little in common are rounded to this. */
#define UNIT_NS 1000

/* ---- the answer ---- */

struct group {
    char *service, *program;
    struct tree_sum tree;
    struct counts totals; /* its list is empty */
};

struct place {
    uint32_t image, name; /* of the answer */
    uint64_t offset;
};

/* Each is there once. */
struct places {
    struct place *list;
    size_t count, capacity;
    uint32_t *slots; /* index + 1, or 0 */
    size_t slot_count; /* a power of two, at least twice as many as places; 0: none yet */
};

struct answer {
    struct store *s;
    const struct store_query *q;
    struct profile *p;
    struct group *groups;
    uint32_t group_count, group_capacity;
    struct places places;
    uint64_t unit_ns; /* a weight of 1 */
    struct err *e;
};

static bool no_memory(const struct answer *a)
{
    return err_set(a->e, ERR_INTERNAL, "out of memory");
}

static struct group *group_find(struct answer *a, const char *service, const char *program)
{
    for (uint32_t i = 0; i < a->group_count; i++)
        if (!strcmp(a->groups[i].service, service) && !strcmp(a->groups[i].program, program))
            return &a->groups[i];
    if (!ARRAY_ROOM(a->groups, a->group_count, a->group_capacity))
        return NULL;
    struct group *g = &a->groups[a->group_count];
    *g = (struct group){.service = strdup(service), .program = strdup(program)};
    a->group_count++;
    return g->service && g->program ? g : NULL;
}

static void answer_fini(struct answer *a)
{
    for (uint32_t i = 0; i < a->group_count; i++) {
        free(a->groups[i].service);
        free(a->groups[i].program);
        tree_sum_fini(&a->groups[i].tree);
    }
    free(a->groups);
    free(a->places.list);
    free(a->places.slots);
}

/* ---- the range ---- */

static const char *text(const char *given)
{
    return given ? given : "";
}

bool store_range(struct store *s, const struct store_query *q, struct store_range *r,
                 struct err *e)
{
    struct err problem = {0};
    const char *host = text(q->host);
    *r = (struct store_range){0};
    sqlite3_stmt *rows = sql_prepare(
        s->db, &problem,
        "SELECT min(begin_ns), max(end_ns), count(*), total(covered_ns), total(missed_ns), "
        "total(lost), total(cost_ns) FROM slot JOIN part ON part.id = slot.part "
        "WHERE" IN_RANGE OF_HOST, "iiss", q->from_ns, q->to_ns, host, host);
    if (sql_next(s->db, rows, &problem)) {
        r->begin_ns = store_moment_at(rows, 0);
        r->end_ns = store_moment_at(rows, 1);
        r->slots = (uint64_t)sqlite3_column_int64(rows, 2);
        r->covered_ns = (uint64_t)sqlite3_column_int64(rows, 3);
        r->missed_ns = (uint64_t)sqlite3_column_int64(rows, 4);
        r->lost = (uint64_t)sqlite3_column_int64(rows, 5);
        r->cost_ns = (uint64_t)sqlite3_column_int64(rows, 6);
    }
    sql_free(rows);
    int64_t unclean = 0;
    bool ok = !problem.code || err_set(e, problem.code, "%s", problem.message);
    /* The last one of a host may still run. */
    ok = ok && sql_number(s->db, e, 0, &unclean,
                          "SELECT count(*) FROM run WHERE clean = 0 AND last_ns >= ? AND "
                          "last_ns < ? AND (? = '' OR host = ?) AND EXISTS (SELECT 1 FROM run "
                          "AS later WHERE later.host = run.host AND later.id > run.id)", "iiss",
                          q->from_ns, q->to_ns, host, host);
    r->unclean = (uint64_t)unclean;
    return ok;
}

static uint64_t common(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* What all periods are multiples of: a daemon that has to save doubles its own. */
static bool unit_find(struct answer *a)
{
    struct err problem = {0};
    uint64_t unit = 0;
    sqlite3_stmt *rows = sql_prepare(a->s->db, &problem,
                                     "SELECT DISTINCT period_ns FROM slot WHERE period_ns > 0 AND"
                                     IN_RANGE, "ii", a->q->from_ns, a->q->to_ns);
    while (sql_next(a->s->db, rows, &problem))
        unit = common((uint64_t)sqlite3_column_int64(rows, 0), unit);
    sql_free(rows);
    a->unit_ns = unit < UNIT_NS ? UNIT_NS : unit;
    return !problem.code || err_set(a->e, problem.code, "%s", problem.message);
}

/* ---- a day ---- */

/* Of its nodes: those that samples of one service are in. */
struct day {
    struct answer *a;
    bool whole; /* the range has all of it, and its totals are known */
    struct dictionary words;
    struct fold fold;
    uint32_t *image_of;
    uint32_t *name_of; /* 1 + where a name of the dictionary is in the answer's; 0: not yet */
    uint32_t *place;   /* by node: 1 + where it is in the group's tree; 0: not chosen */
    uint32_t *chosen, count; /* nodes */
    uint32_t *path;
};

static bool day_room(struct day *d)
{
    size_t n = (size_t)d->words.count + 1;
    d->name_of = calloc((size_t)d->words.p->names->name_count + 1, sizeof *d->name_of);
    d->place = calloc(n, sizeof *d->place);
    d->chosen = reallocarray(NULL, n, sizeof *d->chosen);
    d->path = reallocarray(NULL, n, sizeof *d->path);
    return d->name_of && d->place && d->chosen && d->path;
}

static void day_fini(struct day *d)
{
    fold_fini(&d->fold);
    dictionary_fini(&d->words);
    free(d->image_of);
    free(d->name_of);
    free(d->place);
    free(d->chosen);
    free(d->path);
}

static bool day_open(struct day *d, int64_t part)
{
    struct answer *a = d->a;
    if (!store_words(a->s, part, &d->words, a->e))
        return false;
    d->image_of = calloc((size_t)d->words.p->image_count + 1, sizeof *d->image_of);
    struct merger m = {.into = a->p, .from = d->words.p, .image_of = d->image_of};
    return (d->image_of && kind_images.merge(&m) &&
            profile_entities_merge(a->p, d->words.p->entities, d->words.p->entity_count) &&
            fold_make(&d->fold, &d->words, d->image_of, a->q) && day_room(d)) ||
           no_memory(a);
}

static uint32_t *place_find(const struct places *all, uint32_t image, uint64_t offset)
{
    uint64_t h = (offset ^ (uint64_t)image << 40) * UINT64_C(0x9e3779b97f4a7c15);
    size_t mask = all->slot_count - 1, at = (h >> 32) & mask;
    for (; all->slots[at]; at = (at + 1) & mask) {
        const struct place *p = &all->list[all->slots[at] - 1];
        if (p->offset == offset && p->image == image)
            break;
    }
    return &all->slots[at];
}

static bool places_grow(struct places *all)
{
    enum { FIRST = 1024 };
    size_t wanted = all->slot_count ? all->slot_count * 2 : FIRST;
    uint32_t *slots = calloc(wanted, sizeof *slots);
    if (!slots)
        return false;
    free(all->slots);
    all->slots = slots;
    all->slot_count = wanted;
    for (size_t i = 0; i < all->count; i++)
        *place_find(all, all->list[i].image, all->list[i].offset) = (uint32_t)i + 1;
    return true;
}

/* Where the answer has a name of the dictionary. UINT32_MAX without memory. */
static uint32_t name_take(struct day *d, const struct profile_name *from)
{
    const struct profile_names *names = d->words.p->names;
    struct profile_names *into = d->a->p->names;
    uint32_t *known = &d->name_of[from - names->names];
    if (!*known) {
        struct profile_name name = {.start = from->start};
        name.function = profile_names_string(into, names->strings[from->function]);
        uint32_t index =
            name.function == UINT32_MAX ? UINT32_MAX : profile_names_add(into, &name);
        if (index == UINT32_MAX)
            return UINT32_MAX;
        *known = index + 1;
    }
    return *known - 1;
}

/* Of two names of one place (a function that was renamed under one build-id) the first stays. */
static bool place_take(struct day *d, const struct folded *f)
{
    struct places *all = &d->a->places;
    if (all->count * 2 >= all->slot_count && !places_grow(all))
        return false;
    uint32_t *slot = place_find(all, f->image, f->offset);
    if (*slot)
        return true;
    struct place place = {.image = f->image, .offset = f->offset, .name = name_take(d, f->name)};
    if (place.name == UINT32_MAX || !ARRAY_ROOM(all->list, all->count, all->capacity))
        return false;
    all->list[all->count++] = place;
    *slot = (uint32_t)all->count;
    return true;
}

/* Takes a node into the group's tree, after those above it. */
static bool choose(struct day *d, struct group *g, uint32_t node)
{
    uint32_t depth = 0;
    for (; node != UINT32_MAX && !d->place[node]; node = d->fold.list[node].parent)
        d->path[depth++] = node;
    uint32_t at = node == UINT32_MAX ? UINT32_MAX : d->place[node] - 1;
    while (depth) {
        node = d->path[--depth];
        const struct folded *f = &d->fold.list[node];
        const struct profile_node n = {.image = f->image, .offset = f->offset,
                                       .guessed = f->guessed};
        uint32_t before = g->tree.count;
        at = tree_sum_node(&g->tree, at, &n);
        if (at == UINT32_MAX || (at == before && f->name && !place_take(d, f)))
            return false;
        d->place[node] = at + 1;
        d->chosen[d->count++] = node;
    }
    return true;
}

/* The samples of a service in a slot. */
static bool counts_take(struct day *d, struct group *g, const struct counts *c, uint64_t scale)
{
    struct counts *t = &g->totals;
    uint64_t kept = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        uint32_t node = c->list[i].node;
        if (!d->fold.list[node].kept)
            continue;
        if (!choose(d, g, node))
            return no_memory(d->a);
        struct profile_node *to = &g->tree.nodes[d->place[node] - 1];
        to->self = add_saturated(to->self, c->list[i].weight * scale);
        kept = add_saturated(kept, c->list[i].weight);
    }
    bool all = kept == c->weight;
    t->weight = add_saturated(t->weight, kept * scale);
    t->taken = add_saturated(t->taken, all ? c->taken : kept);
    t->squares = add_saturated(t->squares, (all ? c->squares : kept) * scale * scale);
    for (unsigned i = 0; i < TRUNC_COUNT; i++)
        t->truncated[i] = add_saturated(t->truncated[i], all ? c->truncated[i] : 0);
    t->guessed = add_saturated(t->guessed, all ? c->guessed : 0);
    return true;
}

static bool service_read(struct day *d, struct group *g, int64_t service)
{
    struct answer *a = d->a;
    struct err problem = {0};
    sqlite3_stmt *rows =
        d->whole ? sql_prepare(a->s->db, &problem,
                               "SELECT period_ns, bytes FROM total WHERE service = ?", "i", service)
                 : sql_prepare(a->s->db, &problem,
                               "SELECT slot.period_ns, samples.bytes FROM samples JOIN slot "
                               "ON slot.id = samples.slot WHERE samples.service = ? AND" IN_RANGE,
                               "iii", service, a->q->from_ns, a->q->to_ns);
    bool ok = true;
    while (ok && !problem.code && sql_next(a->s->db, rows, &problem)) {
        uint64_t scale = (uint64_t)sqlite3_column_int64(rows, 0) / a->unit_ns;
        struct sql_blob blob = sql_blob_at(rows, 1);
        struct counts c;
        if (counts_decode(&c, blob.data, blob.size, d->words.count, &problem))
            ok = counts_take(d, g, &c, scale);
        counts_fini(&c);
    }
    sql_free(rows);
    for (uint32_t i = 0; i < d->count; i++)
        d->place[d->chosen[i]] = 0;
    d->count = 0;
    return ok && (!problem.code || err_set(a->e, problem.code, "%s", problem.message));
}

static bool services_read(struct day *d, int64_t part)
{
    struct answer *a = d->a;
    struct err problem = {0};
    const char *service = text(a->q->service), *program = text(a->q->program);
    sqlite3_stmt *rows = sql_prepare(a->s->db, &problem,
                                     "SELECT id, name, program FROM service WHERE part = ? AND "
                                     "(? = '' OR name = ?) AND (? = '' OR program = ?) "
                                     "ORDER BY id", "issss",
                                     part, service, service, program, program);
    bool ok = true;
    while (ok && !problem.code && sql_next(a->s->db, rows, &problem)) {
        struct group *g = group_find(a, sql_text_at(rows, 1), sql_text_at(rows, 2));
        ok = g ? service_read(d, g, sqlite3_column_int64(rows, 0)) : no_memory(a);
    }
    sql_free(rows);
    return ok && (!problem.code || err_set(a->e, problem.code, "%s", problem.message));
}

static bool days_read(struct answer *a)
{
    struct err problem = {0};
    const char *host = text(a->q->host);
    sqlite3_stmt *rows = sql_prepare(
        a->s->db, &problem,
        "SELECT id, summed AND NOT EXISTS (SELECT 1 FROM slot WHERE slot.part = part.id AND NOT ("
        IN_RANGE ")) FROM part WHERE EXISTS (SELECT 1 FROM slot WHERE slot.part = part.id AND"
        IN_RANGE ")" OF_HOST "ORDER BY day, id", "iiiiss", a->q->from_ns, a->q->to_ns,
        a->q->from_ns, a->q->to_ns, host, host);
    bool ok = true;
    while (ok && !problem.code && sql_next(a->s->db, rows, &problem)) {
        struct day d = {.a = a, .whole = sqlite3_column_int(rows, 1)};
        int64_t part = sqlite3_column_int64(rows, 0);
        ok = day_open(&d, part) && services_read(&d, part);
        day_fini(&d);
    }
    sql_free(rows);
    return ok && (!problem.code || err_set(a->e, problem.code, "%s", problem.message));
}

/* ---- the profile ---- */

static int compare_places(const void *x, const void *y)
{
    const struct place *a = x, *b = y;
    if (a->image != b->image)
        return a->image < b->image ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

static bool places_put(struct answer *a)
{
    struct profile_names *names = a->p->names;
    const struct places *all = &a->places;
    if (all->count)
        qsort(all->list, all->count, sizeof *all->list, compare_places);
    for (size_t i = 0; i < all->count; i++) {
        const struct place *p = &all->list[i];
        names->images[p->image].level = NAMES_SYMBOLS;
        if (!profile_names_place(names, p->image, p->offset, p->name))
            return no_memory(a);
    }
    return true;
}

static bool names_begin(struct answer *a)
{
    a->p->names = profile_names_new(0);
    return a->p->names || no_memory(a);
}

/* Makes room for all images: they are known by now. */
static bool names_widen(struct answer *a)
{
    struct profile_names *none = profile_names_new(0);
    bool ok = none && profile_names_merge(a->p->names, none, NULL, a->p->image_count);
    profile_names_free(none);
    return ok || no_memory(a);
}

static bool group_put(struct answer *a, struct group *g, const struct store_range *r)
{
    struct profile *p = a->p;
    uint32_t index = p->process_count;
    struct profile_process *process = &p->processes[p->process_count++];
    struct profile_thread *t = &p->threads[p->thread_count++];
    uint32_t *place = calloc((size_t)g->tree.count + 1, sizeof *place);
    *process = (struct profile_process){.pid = (int32_t)index + 1, .epochs = 1,
                                        .end_ns = r->covered_ns, .end = PROFILE_END_RUNNING,
                                        .name = strdup(g->program), .command = strdup(g->service)};
    *t = (struct profile_thread){.process = index, .tid = process->pid, .name = strdup(g->program),
                                 .end_ns = r->covered_ns,
                                 .cpu_ns = g->totals.weight * a->unit_ns,
                                 .taken = g->totals.taken, .weight = g->totals.weight,
                                 .weight_squares = g->totals.squares,
                                 .guessed = g->totals.guessed, .node_count = g->tree.count};
    memcpy(t->truncated, g->totals.truncated, sizeof t->truncated);
    t->nodes = place ? tree_sum_preorder(&g->tree, place) : NULL;
    free(place);
    if (!t->nodes)
        t->node_count = 0;
    return (process->name && process->command && t->name && t->nodes) || no_memory(a);
}

static bool string_put(char **to, char *value)
{
    free(*to);
    *to = value;
    return value;
}

static char *hours_note(const struct store_range *r)
{
    struct buf b = {0};
    size_t size;
    buf_printf(&b, "of a profile database: %" PRIu64 " intervals, %.0f s of %.0f s\n", r->slots,
               (double)r->covered_ns / 1e9, (double)(r->end_ns - r->begin_ns) / 1e9);
    if (r->unclean)
        buf_printf(&b, "%" PRIu64 " time%s the daemon ended without notice: at most one interval "
                       "is missing of each\n", r->unclean, r->unclean == 1 ? "" : "s");
    if (r->missed_ns)
        buf_printf(&b, "%.0f s are missing, as they could not be written\n",
                   (double)r->missed_ns / 1e9);
    buf_printf(&b, "the daemon used %.3f s of CPU time\n", (double)r->cost_ns / 1e9);
    buf_put_u8(&b, '\0');
    return (char *)buf_detach(&b, &size);
}

static bool describe(struct answer *a, const struct store_range *r)
{
    struct profile *p = a->p;
    int64_t cpus;
    struct profile_metric *m = &p->metrics[0];
    bool ok = string_put(&m->name, strdup("cpu")) && string_put(&m->trigger, strdup("cpu")) &&
              string_put(&m->unit, strdup("nanoseconds")) &&
              string_put(&p->command, strdup("the machine")) &&
              string_put(&p->notes, hours_note(r));
    m->period = a->unit_ns;
    m->how = METRIC_REGULAR;
    p->start_realtime_ns = r->begin_ns > 0 ? (uint64_t)r->begin_ns : 0;
    p->duration_ns = r->covered_ns;
    p->exit_status = -1;
    p->drops[DROP_LOST] = r->lost;
    if (!ok)
        return no_memory(a);
    ok = sql_number(a->s->db, a->e, 1, &cpus, "SELECT max(cpus) FROM slot WHERE" IN_RANGE, "ii",
                    a->q->from_ns, a->q->to_ns);
    p->cpus = (uint32_t)cpus;
    return ok;
}

static bool groups_put(struct answer *a, const struct store_range *r)
{
    struct profile *p = a->p;
    p->processes = calloc((size_t)a->group_count + 1, sizeof *p->processes);
    p->threads = calloc((size_t)a->group_count + 1, sizeof *p->threads);
    if (!p->processes || !p->threads)
        return no_memory(a);
    for (uint32_t i = 0; i < a->group_count; i++)
        if (a->groups[i].tree.count && a->groups[i].totals.weight &&
            !group_put(a, &a->groups[i], r))
            return false;
    return p->process_count ||
           err_set(a->e, ERR_NOT_FOUND, "nothing was sampled there: the database has no such "
                                        "service, program, binary or function in this range");
}

struct profile *store_get(struct store *s, const struct store_query *q, struct store_range *range,
                          struct err *e)
{
    struct answer a = {.s = s, .q = q, .p = profile_new(), .e = e};
    if (!a.p) {
        no_memory(&a);
        return NULL;
    }
    /* One state of the database, whatever others write meanwhile. */
    bool ok = sql_script(s->db, e, "BEGIN") && store_range(s, q, range, e) &&
         (range->slots || err_set(e, ERR_NOT_FOUND, "the database has nothing of this range "
                                                    "(intervals are written when they are over)"));
    ok = ok && unit_find(&a) && names_begin(&a) && days_read(&a) && names_widen(&a) &&
         places_put(&a) && describe(&a, range) && groups_put(&a, range);
    sql_end(s->db, false, NULL);
    answer_fini(&a);
    if (ok)
        return a.p;
    profile_free(a.p);
    return NULL;
}

bool store_services(struct store *s, const struct store_query *q,
                    void (*tell)(void *context, const struct store_service *service),
                    void *context, struct store_range *range, struct err *e)
{
    struct err problem = {0};
    const char *host = text(q->host);
    if (!store_range(s, q, range, e))
        return false;
    sqlite3_stmt *rows = sql_prepare(
        s->db, &problem,
        "SELECT part.host, service.name, service.program, sum(samples.taken), "
        "total(samples.weight * slot.period_ns) AS spent FROM slot "
        "JOIN part ON part.id = slot.part JOIN service ON service.part = part.id "
        "JOIN samples ON samples.service = service.id AND samples.slot = slot.id WHERE" IN_RANGE
        OF_HOST "GROUP BY 1, 2, 3 ORDER BY spent DESC", "iiss", q->from_ns, q->to_ns, host, host);
    while (sql_next(s->db, rows, &problem)) {
        const struct store_service of = {.host = sql_text_at(rows, 0),
                                         .service = sql_text_at(rows, 1),
                                         .program = sql_text_at(rows, 2),
                                         .samples = (uint64_t)sqlite3_column_int64(rows, 3),
                                         .weight_ns = (uint64_t)sqlite3_column_int64(rows, 4)};
        tell(context, &of);
    }
    sql_free(rows);
    return !problem.code || err_set(e, problem.code, "%s", problem.message);
}
