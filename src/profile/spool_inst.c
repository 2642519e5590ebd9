#include "profile/spool_inst.h"

#include <stdlib.h>

#include "base/saturate.h"
#include "penumbra/inst.h"
#include "profile/inst_modules.h"
#include "sigsafe/hash.h"
#include "sigsafe/key.h"
#include "sigsafe/tools.h"

/* Of a block, in all threads of the process. */
struct block_sums {
    uint64_t samples, weight, squares;
};

/* Accesses of one thread to a field. */
struct field_use {
    double reads, writes;
};

/* Of two fields of one cache line: by how much one thread's writes and its uses of the other go
 * together. */
struct line_pair {
    uint64_t both; /* first field, second field */
    double same;   /* sum over threads of writes of the first times uses of the second */
};

/* One process, one module. */
struct reading {
    struct counts_process *q;
    struct inst_module_view *m;
    struct profile_events *fields, *calls;
    struct block_sums *sums;     /* by block */
    struct field_use *all, *one; /* by field: of all threads; of the one that is read */
    struct line_pair *lines;     /* an open table */
    uint32_t line_count, line_capacity;
    bool uses; /* the thread that is read has some */
    bool ok;
};

enum { LINE_BITS = 512, LINES_MOST = 1 << 20 };

/* ---- entries of the tables ---- */

static struct profile_event event_of(uint64_t entity, uint32_t kind, const struct block_sums *s)
{
    return (struct profile_event){.image = PROFILE_IMAGE_NONE, .offset = entity, .kind = kind,
                                  .to_image = PROFILE_IMAGE_NONE, .samples = s->samples,
                                  .weight = s->weight, .squares = s->squares};
}

static void put(struct reading *r, struct profile_events *to, const struct profile_event *e)
{
    r->ok = r->ok && profile_events_add(to, e);
}

/* All members of a type, also those that nothing uses. */
static void type_put(struct reading *r, uint32_t type)
{
    struct counts_process *q = r->q;
    struct entity_batch *entities = &q->r->modules->entities;
    uint32_t first, count = inst_type_fields(r->m, type, &first), news;
    const struct block_sums none = {0};
    struct profile_event e = event_of(r->m->type[type], EVENT_TYPE, &none);
    put(r, r->fields, &e);
    for (uint32_t i = 0; r->ok && i < count; i++) {
        struct inst_member member;
        uint64_t entity = inst_field(r->m, entities, first + i, &news);
        if (!entity || !inst_member(r->m, entities, first + i, &member)) {
            q->r->view->damage++;
            continue;
        }
        e = event_of(entity, EVENT_MEMBER, &none);
        e.to = member.type;
        e.samples = member.align;
        e.weight = member.first_bit << 32 | member.bits;
        e.squares = member.flags;
        put(r, r->fields, &e);
    }
}

/* The field's entity; 0: it is damaged. */
static uint64_t field_entity(struct reading *r, uint32_t field)
{
    uint32_t news;
    uint64_t entity = inst_field(r->m, &r->q->r->modules->entities, field, &news);
    r->q->r->view->damage += !entity;
    if (news != UINT32_MAX)
        type_put(r, news);
    return entity;
}

static void call_put(struct reading *r, const struct inst_event_view *site,
                     const struct block_sums *s, uint64_t key)
{
    struct entity_batch *entities = &r->q->r->modules->entities;
    struct profile_entity from = {.kind = ENTITY_SITE, .name = (char *)(uintptr_t)site->caller,
                                  .scope = (char *)(uintptr_t)site->file, .at = site->line,
                                  .number = site->site};
    struct profile_entity to = {.kind = ENTITY_CALLEE, .scope = (char[]){""},
                                .name = (char *)(uintptr_t)site->callee};
    struct profile_event e = event_of(entity_batch_add(entities, &from),
                                      site->kind == PENUMBRA_INST_INLINED ? EVENT_INLINED
                                                                          : EVENT_CALL, s);
    e.process = r->q->process;
    e.to_image = site->callee ? PROFILE_IMAGE_NONE : spool_counts_image(key);
    e.to = site->callee ? entity_batch_add(entities, &to) : key_offset(key);
    r->ok = r->ok && e.offset && (e.to || !site->callee);
    put(r, r->calls, &e);
}

/* The branch is where it is left; the way on is told from others by its number in the function. */
static void edge_put(struct reading *r, const struct inst_event_view *way,
                     const struct block_sums *s)
{
    struct entity_batch *entities = &r->q->r->modules->entities;
    struct profile_entity from = {.kind = ENTITY_SITE, .name = (char *)(uintptr_t)way->caller,
                                  .scope = (char *)(uintptr_t)way->file, .at = way->from,
                                  .number = way->site};
    struct profile_entity to = from;
    to.at = way->line;
    to.number = way->edge;
    struct profile_event e = event_of(entity_batch_add(entities, &from), EVENT_EDGE, s);
    struct profile_events *table = profile_events_of(r->q->profile, TABLE_BRANCHES);
    e.to = entity_batch_add(entities, &to);
    r->ok = r->ok && table && e.offset && e.to && profile_events_add(table, &e);
}

static void access_put(struct reading *r, const struct inst_event_view *event,
                       const struct block_sums *s)
{
    uint64_t entity = field_entity(r, event->field);
    bool reads = event->kind == PENUMBRA_INST_READ;
    struct profile_event e = event_of(entity, reads ? EVENT_READ : EVENT_WRITE, s);
    if (entity)
        put(r, r->fields, &e);
}

/* ---- fields that are used together ---- */

static bool is_access(const struct inst_event_view *e)
{
    return e->kind == PENUMBRA_INST_READ || e->kind == PENUMBRA_INST_WRITE;
}

static void pair_put(struct reading *r, uint32_t a, uint32_t b, const struct block_sums *s)
{
    uint64_t x = field_entity(r, a), y = field_entity(r, b);
    if (!x || !y || x == y || r->m->field[a].type != r->m->field[b].type)
        return;
    struct profile_event e = event_of(x < y ? x : y, EVENT_PAIR, s);
    e.to = x < y ? y : x;
    put(r, r->fields, &e);
}

/* A field that one block uses, with those of another block of the burst, or of its own behind
 * it. product: of the weights in a burst, by which the squares of one field in both grow. */
static void fields_pair(struct reading *r, uint32_t a, uint32_t b, const struct block_sums *s,
                        uint64_t product)
{
    uint32_t na = inst_block_events(r->m, a), nb = inst_block_events(r->m, b);
    struct inst_event_view x, y;
    for (uint32_t i = 0; r->ok && i < na; i++) {
        if (!inst_event(r->m, a, i, &x) || !is_access(&x))
            continue;
        for (uint32_t k = a == b ? i + 1 : 0; r->ok && k < nb; k++) {
            if (!inst_event(r->m, b, k, &y) || !is_access(&y))
                continue;
            if (x.field != y.field)
                pair_put(r, x.field, y.field, s);
            else if (x.kind == y.kind)
                access_put(r, &x, &(struct block_sums){.squares = multiply_saturated(2, product)});
        }
    }
}

/* ---- fields of one cache line, of several threads ---- */

/* Where the pair is, or belongs: there is room. */
static struct line_pair *line_find(const struct reading *r, uint64_t both)
{
    uint64_t h = hash_word(both) >> 32;
    while (r->lines[h % r->line_capacity].same > 0 && r->lines[h % r->line_capacity].both != both)
        h++;
    return &r->lines[h % r->line_capacity];
}

/* False without memory, or if there are too many. */
static bool lines_grow(struct reading *r)
{
    uint32_t old = r->line_capacity, capacity = old ? old * 2 : 1024;
    struct line_pair *from = r->lines;
    struct line_pair *to = old >= LINES_MOST ? NULL : calloc(capacity, sizeof *to);
    if (!to)
        return false;
    r->lines = to;
    r->line_capacity = capacity;
    for (uint32_t i = 0; i < old; i++)
        if (from[i].same > 0)
            *line_find(r, from[i].both) = from[i];
    free(from);
    return true;
}

/* Visits the fields of a's type in a's cache line, if the type begins with one. */
static void line_visit(struct reading *r, uint32_t a,
                       void (*visit)(struct reading *r, uint32_t a, uint32_t b))
{
    const struct inst_field_view *f = r->m->field;
    uint32_t first, count = inst_type_fields(r->m, f[a].type, &first);
    for (uint32_t b = first; b < first + count; b++)
        if (f[b].entity && f[b].first_bit / LINE_BITS == f[a].first_bit / LINE_BITS)
            visit(r, a, b);
}

static uint64_t both_of(uint32_t a, uint32_t b)
{
    return (uint64_t)a << 32 | b;
}

static void same_thread(struct reading *r, uint32_t a, uint32_t b)
{
    double same = r->one[a].writes * (r->one[b].reads + r->one[b].writes);
    if (!(same > 0) || (r->line_count * 2 >= r->line_capacity && !lines_grow(r)))
        return;
    struct line_pair *pair = line_find(r, both_of(a, b));
    r->line_count += !(pair->same > 0);
    pair->both = both_of(a, b);
    pair->same += same;
}

/* The thread has been read. */
static void thread_close(struct reading *r)
{
    if (!r->uses)
        return;
    r->uses = false;
    for (uint32_t a = 0; a < r->m->fields; a++)
        if (r->one[a].writes > 0)
            line_visit(r, a, same_thread);
    for (uint32_t a = 0; a < r->m->fields; a++) {
        r->all[a].reads += r->one[a].reads;
        r->all[a].writes += r->one[a].writes;
        r->one[a] = (struct field_use){0, 0};
    }
}

/* Of W writes of the one and A uses of the other, W A - same of W A pairs are of two threads. */
static void shared_put(struct reading *r, uint32_t a, uint32_t b)
{
    double writes = r->all[a].writes, uses = r->all[b].reads + r->all[b].writes;
    double same = r->line_capacity ? line_find(r, both_of(a, b))->same : 0;
    double apart = uses > 0 ? 1 - same / (writes * uses) : 0;
    double weight = (writes < uses ? writes : uses) * apart;
    if (weight < 1)
        return;
    struct profile_event e = event_of(r->m->field[a].entity, EVENT_SHARED,
                                      &(struct block_sums){0});
    e.to = r->m->field[b].entity;
    e.weight = (uint64_t)weight;
    put(r, r->fields, &e);
}

/* ---- rows ---- */

static void row_read(struct reading *r, uint32_t block, const struct spool_inst_row *from)
{
    struct block_sums row = {from->samples, from->weight, from->squares};
    struct block_sums *to = &r->sums[block];
    struct inst_event_view e;
    if (!row.samples)
        return;
    if (row.weight > SPOOL_COUNTER_MAX || row.samples > SPOOL_COUNTER_MAX) {
        r->q->r->view->damage++;
        return;
    }
    to->samples = add_saturated(to->samples, row.samples);
    to->weight = add_saturated(to->weight, row.weight);
    to->squares = add_saturated(to->squares, row.squares);
    uint32_t n = inst_block_events(r->m, block);
    for (uint32_t i = 0; i < n; i++)
        if (inst_event(r->m, block, i, &e) && is_access(&e) && field_entity(r, e.field)) {
            double *use = e.kind == PENUMBRA_INST_READ ? &r->one[e.field].reads
                                                       : &r->one[e.field].writes;
            *use += (double)row.weight;
            r->uses = true;
        }
}

/* Chunks are bounded, those that are missing, too. */
static void rows_read(struct reading *r, const struct spool_rows_table *rows)
{
    for (uint32_t b = 0; b < r->m->blocks; b++) {
        uint32_t id = r->m->first + b;
        const uint8_t *chunk = id / ROWS_CHUNK < ROWS_CHUNKS ? rows->chunks[id / ROWS_CHUNK] : NULL;
        if (!r->q->r->counters) {
            r->q->r->view->damage++;
            return;
        }
        if (!chunk || id % ROWS_CHUNK == 0)
            r->q->r->counters--;
        if (!chunk)
            b += ROWS_CHUNK - 1 - id % ROWS_CHUNK;
        else
            row_read(r, b, (const void *)(chunk + rows_offset(INST_LAYOUT, id)));
    }
}

static void pair_read(struct reading *r, const struct spool_inst_pair *p)
{
    const struct inst_module_view *m = r->m;
    const struct block_sums s = {p->samples, p->weight, p->products};
    uint32_t id = (uint32_t)p->a - m->first;
    struct inst_event_view site;
    bool target = p->a & INST_TARGET;
    if (p->weight > SPOOL_COUNTER_MAX ||
        (target && (id < m->blocks || !inst_target(m, id - m->blocks, &site))))
        r->q->r->view->damage++;
    else if (target)
        call_put(r, &site, &s, p->b);
    else if (p->b - m->first < m->blocks && p->a != p->b)
        fields_pair(r, id, (uint32_t)(p->b - m->first), &s, p->products);
}

static void blocks_put(struct reading *r)
{
    struct inst_event_view e;
    for (uint32_t b = 0; r->ok && b < r->m->blocks; b++) {
        const struct block_sums *s = &r->sums[b];
        uint32_t n = s->samples ? inst_block_events(r->m, b) : 0;
        for (uint32_t i = 0; r->ok && i < n; i++) {
            if (!inst_event(r->m, b, i, &e))
                r->q->r->view->damage++;
            else if (is_access(&e))
                access_put(r, &e, s);
            else if (e.callee)
                call_put(r, &e, s, 0);
            else if (e.kind == PENUMBRA_INST_EDGE)
                edge_put(r, &e, s);
        }
        if (n > 1)
            fields_pair(r, b, b, s, s->squares);
    }
    for (uint32_t a = 0; r->ok && a < r->m->fields; a++)
        if (r->all[a].writes > 0 && r->m->field[a].entity)
            line_visit(r, a, shared_put);
}

/* ---- the process ---- */

static bool threads_view(struct counts_process *q, const struct record_list *list,
                         struct inst_thread_view *threads, struct profile_events *totals)
{
    struct spool_view *v = q->r->view;
    for (uint32_t i = 0; i < list->count; i++) {
        const struct spool_inst_thread *t = list->records[i];
        struct inst_thread_view *to = &threads[i];
        spool_ref ref = __atomic_load_n(&t->pairs, __ATOMIC_ACQUIRE);
        uint64_t missed = add_saturated(spool_view_count(v, &t->pairs_missed),
                                        spool_view_count(v, &t->targets_missed));
        to->rows = calloc(1, sizeof *to->rows);
        to->values = calloc(1, sizeof *to->values);
        if (!to->rows || !to->values ||
            !spool_rows_find(v, &t->rows, INST_LAYOUT, &q->r->table_bytes, to->rows,
                             &totals->missed) ||
            !spool_rows_find(v, &t->values, INST_VALUE_LAYOUT, &q->r->table_bytes, to->values,
                             &totals->missed))
            return false;
        to->pairs =
            ref ? spool_view_visit(v, ref, INST_PAIRS * sizeof(struct spool_inst_pair)) : NULL;
        to->values_missed = spool_view_count(v, &t->values_missed);
        totals->missed = add_saturated(totals->missed, missed);
        totals->bursts = add_saturated(totals->bursts, spool_view_count(v, &t->bursts));
        uint32_t most = t->most;
        totals->most = totals->most > most ? totals->most : most;
    }
    return true;
}

/* One for each module; to close. NULL without memory. */
static struct reading *readings_open(struct counts_process *q, struct profile_events *fields,
                                     struct profile_events *calls)
{
    const struct inst_modules *all = q->r->modules;
    struct reading *list = calloc((size_t)all->count + 1, sizeof *list);
    for (uint32_t i = 0; list && i < all->count; i++) {
        struct reading *r = &list[i];
        struct inst_module_view *m = &all->list[i];
        *r = (struct reading){.q = q, .m = m, .fields = fields, .calls = calls,
                              .sums = calloc((size_t)m->blocks + 1, sizeof *r->sums),
                              .all = calloc((size_t)m->fields + 1, sizeof *r->all),
                              .one = calloc((size_t)m->fields + 1, sizeof *r->one)};
        r->ok = r->sums && r->all && r->one;
    }
    return list;
}

/* False if any has failed. */
static bool readings_close(struct reading *list, uint32_t count)
{
    bool ok = list;
    for (uint32_t i = 0; list && i < count; i++) {
        ok = ok && list[i].ok;
        free(list[i].sums);
        free(list[i].all);
        free(list[i].one);
        free(list[i].lines);
    }
    free(list);
    return ok;
}

static void pairs_read(struct reading *readings, const struct spool_inst_pair *pairs)
{
    struct inst_modules *all = readings->q->r->modules;
    for (uint32_t i = 0; pairs && i < INST_PAIRS; i++) {
        const struct spool_inst_pair p = pairs[i];
        const struct inst_module_view *m = p.weight ? inst_modules_find(all, (uint32_t)p.a) : NULL;
        struct reading *r = m ? &readings[m - all->list] : NULL;
        if (r && r->ok)
            pair_read(r, &p);
    }
}

static bool threads_read(struct counts_process *q, const struct inst_thread_view *threads,
                         uint32_t count, struct profile_events *fields,
                         struct profile_events *calls)
{
    uint32_t modules = q->r->modules->count;
    struct reading *list = readings_open(q, fields, calls);
    for (uint32_t i = 0; list && i < count; i++)
        for (uint32_t k = 0; k < modules; k++)
            if (list[k].ok) {
                rows_read(&list[k], threads[i].rows);
                thread_close(&list[k]);
            }
    for (uint32_t k = 0; list && k < modules; k++)
        if (list[k].ok)
            blocks_put(&list[k]);
    for (uint32_t i = 0; list && modules && i < count; i++)
        pairs_read(list, threads[i].pairs);
    return readings_close(list, modules);
}

/* What is said of all tables alike. */
static void totals_copy(struct profile *p, const struct profile_events *from)
{
    static const uint32_t others[] = {TABLE_CALLSITES, TABLE_NAMED, TABLE_ALLOCATIONS,
                                      TABLE_BRANCHES};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct profile_events *to = observed_table(p, others[i]);
        if (!to)
            continue;
        to->most = from->most;
        to->bursts = from->bursts;
        to->missed = from->missed;
    }
}

static void threads_free(struct inst_thread_view *threads, uint32_t count)
{
    for (uint32_t i = 0; threads && i < count; i++) {
        free(threads[i].rows);
        free(threads[i].values);
    }
    free(threads);
}

bool spool_inst_read(struct counts_process *q)
{
    struct spool_view *v = q->r->view;
    struct record_list list = {0};
    if (!tools_of_compiled(q->r->tools))
        return true;
    struct profile_events *fields = profile_events_of(q->profile, TABLE_FIELDS),
                          *calls = profile_events_of(q->profile, TABLE_CALLSITES);
    if (!q->r->modules)
        q->r->modules = inst_modules_read(v);
    bool ok = fields && calls && q->r->modules &&
              spool_view_list(v, &q->record->tables[TABLE_FIELDS], sizeof(struct spool_inst_thread),
                              &list);
    struct inst_thread_view *threads = ok ? calloc((size_t)list.count + 1, sizeof *threads) : NULL;
    ok = threads && threads_view(q, &list, threads, fields);
    ok = ok && threads_read(q, threads, list.count, fields, calls) &&
         spool_inst_values(q, threads, list.count) &&
         entity_batch_merge(&q->r->modules->entities, q->profile);
    threads_free(threads, list.count);
    free(list.records);
    if (ok)
        totals_copy(q->profile, fields);
    return ok;
}
