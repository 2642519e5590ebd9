/* Makes a profile of what the database has of a range of time. */
#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "database/answer.h"
#include "database/digest.h"
#include "database/fold.h"
#include "database/internal.h"
#include "profile/kind/kind.h"

/* Periods that have little in common are rounded to this. */
#define UNIT_NS 1000

struct asking {
    struct answer to;
    struct store *s;
    const struct store_query *q;
    uint32_t nodes_most; /* of the trees after each part, for a digest; 0: no bound */
    bool shortened;      /* a digest was read */
    struct err *e;
};

static bool no_memory(const struct asking *a)
{
    return err_set(a->e, ERR_INTERNAL, "out of memory");
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

uint64_t store_common(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* What all periods are multiples of: a daemon that has to save doubles its own. Frees the rows. */
static bool unit_of(struct asking *a, sqlite3_stmt *rows, struct err *problem)
{
    uint64_t unit = 0;
    while (sql_next(a->s->db, rows, problem))
        unit = store_common((uint64_t)sqlite3_column_int64(rows, 0), unit);
    sql_free(rows);
    a->to.unit_ns = unit < UNIT_NS ? UNIT_NS : unit;
    return !problem->code || err_set(a->e, problem->code, "%s", problem->message);
}

static bool unit_find(struct asking *a)
{
    struct err problem = {0};
    return unit_of(a, sql_prepare(a->s->db, &problem,
                                  "SELECT DISTINCT period_ns FROM slot WHERE period_ns > 0 AND"
                                  IN_RANGE, "ii", a->q->from_ns, a->q->to_ns), &problem);
}

/* ---- a day ---- */

/* Of its nodes: those that samples of one service are in. */
struct day {
    struct asking *a;
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
    struct asking *a = d->a;
    if (!store_words(a->s, part, &d->words, a->e))
        return false;
    d->image_of = calloc((size_t)d->words.p->image_count + 1, sizeof *d->image_of);
    struct merger m = {.into = a->to.p, .from = d->words.p, .image_of = d->image_of};
    return (d->image_of && kind_images.merge(&m) &&
            profile_entities_merge(a->to.p, d->words.p->entities, d->words.p->entity_count) &&
            fold_make(&d->fold, &d->words, d->image_of, a->q) && day_room(d)) ||
           no_memory(a);
}

/* Where the answer has a name of the dictionary. UINT32_MAX without memory. */
static uint32_t name_take(struct day *d, const struct profile_name *from)
{
    const struct profile_names *names = d->words.p->names;
    struct profile_names *into = d->a->to.p->names;
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
    struct answer *to = &d->a->to;
    uint32_t *slot = answer_place(to, f->image, f->offset);
    if (!slot || *slot)
        return slot;
    const struct answer_place place = {.image = f->image, .offset = f->offset,
                                       .name = name_take(d, f->name)};
    return place.name != UINT32_MAX && answer_place_fill(to, slot, &place);
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
    struct asking *a = d->a;
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
        uint64_t scale = (uint64_t)sqlite3_column_int64(rows, 0) / a->to.unit_ns;
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
    struct asking *a = d->a;
    struct err problem = {0};
    const char *service = text(a->q->service), *program = text(a->q->program);
    sqlite3_stmt *rows = sql_prepare(a->s->db, &problem,
                                     "SELECT id, name, program FROM service WHERE part = ? AND "
                                     "(? = '' OR name = ?) AND (? = '' OR program = ?) "
                                     "ORDER BY id", "issss",
                                     part, service, service, program, program);
    bool ok = true;
    while (ok && !problem.code && sql_next(a->s->db, rows, &problem)) {
        struct group *g = answer_group(&a->to, sql_text_at(rows, 1), sql_text_at(rows, 2));
        ok = g ? service_read(d, g, sqlite3_column_int64(rows, 0)) : no_memory(a);
    }
    sql_free(rows);
    return ok && (!problem.code || err_set(a->e, problem.code, "%s", problem.message));
}

/* Reads the parts that the rows name: their number, whether all of it is wanted, their day, and
 * whether it is a digest. Frees them. */
static bool parts_read(struct asking *a, sqlite3_stmt *rows, struct err *problem)
{
    bool ok = true;
    while (ok && !problem->code && sql_next(a->s->db, rows, problem)) {
        struct day d = {.a = a, .whole = sqlite3_column_int(rows, 1)};
        int64_t part = sqlite3_column_int64(rows, 0);
        a->shortened |= sqlite3_column_int(rows, 3);
        ok = day_open(&d, part) && services_read(&d, part);
        day_fini(&d);
        if (ok && a->nodes_most)
            ok = digest_bound(a->to.groups, a->to.group_count, a->nodes_most) || no_memory(a);
    }
    sql_free(rows);
    return ok && (!problem->code || err_set(a->e, problem->code, "%s", problem->message));
}

/* Where a query wants no more of a day than its digest has, that is read instead of its parts. */
static bool days_read(struct asking *a)
{
    struct err problem = {0};
    const struct store_query *q = a->q;
    const char *host = text(q->host);
    sqlite3_stmt *rows = sql_prepare(
        a->s->db, &problem,
        "WITH short AS (SELECT id, host, day FROM part AS digest WHERE ? AND sealed = 2 AND "
        "NOT EXISTS (SELECT 1 FROM part JOIN slot ON slot.part = part.id WHERE part.day = "
        "digest.day AND part.host = digest.host AND sealed < 2 AND NOT (" IN_RANGE "))) "
        "SELECT id, 1, day, 1 FROM short AS part WHERE 1" OF_HOST "UNION ALL "
        "SELECT id, summed AND NOT EXISTS (SELECT 1 FROM slot WHERE slot.part = part.id AND NOT ("
        IN_RANGE ")), day, 0 FROM part WHERE sealed < 2 AND NOT EXISTS (SELECT 1 FROM short WHERE "
        "short.day = part.day AND short.host = part.host) AND EXISTS (SELECT 1 FROM slot WHERE "
        "slot.part = part.id AND" IN_RANGE ")" OF_HOST "ORDER BY 3, 1", "iiissiiiiss",
        (int64_t)(q->fold && !q->function && !q->binary), q->from_ns, q->to_ns, host, host,
        q->from_ns, q->to_ns, q->from_ns, q->to_ns, host, host);
    bool ok = parts_read(a, rows, &problem);
    /* What is rare differs from day to day, and is not told apart either. */
    return ok && (!a->shortened ||
                  digest_bound(a->to.groups, a->to.group_count, 2 * DIGEST_NODES) || no_memory(a));
}

static bool cpus_find(struct asking *a, int64_t *cpus)
{
    return sql_number(a->s->db, a->e, 1, cpus, "SELECT max(cpus) FROM slot WHERE" IN_RANGE, "ii",
                      a->q->from_ns, a->q->to_ns);
}

static const struct answer_source source = {
    "a profile database", "call paths too rare to be kept in days that are over: their callees are "
                          "below [folded], and totals of functions between may be too low by as "
                          "much"};

struct profile *store_get(struct store *s, const struct store_query *q, struct store_range *range,
                          struct err *e)
{
    struct asking a = {.s = s, .q = q, .e = e};
    int64_t cpus = 0;
    struct profile *p = NULL;
    /* One state of the database, whatever others write meanwhile. */
    bool ok = sql_script(s->db, e, "BEGIN") && store_range(s, q, range, e) &&
         (range->slots || err_set(e, ERR_NOT_FOUND, "the database has nothing of this range "
                                                    "(intervals are written when they are over)"));
    ok = ok && (answer_init(&a.to) || no_memory(&a)) && unit_find(&a) && days_read(&a) &&
         cpus_find(&a, &cpus);
    if (ok)
        p = answer_finish(&a.to, &source, range, (uint32_t)cpus, e);
    sql_end(s->db, false, NULL);
    answer_fini(&a.to);
    return p;
}

struct profile *store_day_get(struct store *s, const char *host, int64_t day, uint32_t nodes_most,
                              uint64_t *unit_ns, struct err *e)
{
    static const struct store_query all = {.from_ns = INT64_MIN, .to_ns = INT64_MAX, .fold = true};
    static const struct store_range none = {0};
    struct asking a = {.s = s, .q = &all, .nodes_most = nodes_most, .e = e};
    struct err problem = {0};
    struct profile *p = NULL;
    bool ok = answer_init(&a.to) || no_memory(&a);
    ok = ok && unit_of(&a, sql_prepare(s->db, &problem,
                                       "SELECT DISTINCT period_ns FROM slot JOIN part ON part.id = "
                                       "slot.part WHERE period_ns > 0 AND host = ? AND day = ?",
                                       "si", host, day), &problem);
    static const char parts[] = "SELECT id, 1, day, 0 FROM part WHERE host = ? AND day = ? AND "
                                "sealed < 2 ORDER BY id";
    ok = ok && parts_read(&a, sql_prepare(s->db, &problem, parts, "si", host, day), &problem);
    *unit_ns = a.to.unit_ns;
    if (ok)
        p = answer_finish(&a.to, &source, &none, 1, e);
    answer_fini(&a.to);
    return p;
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
