/* What a processor model has found: from the spool, in a profile, in its file. */
#include "profile/simulate.h"

#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "base/sort.h"
#include "profile/kind/kind.h"
#include "profile/table/simulate_contexts.h"
#include "sigsafe/tools.h"

struct profile_simulated *profile_simulated_new(void)
{
    return calloc(1, sizeof(struct profile_simulated));
}

void profile_simulated_free(struct profile_simulated *s)
{
    if (!s)
        return;
    free(s->list);
    free(s->machine);
    free(s);
}

bool profile_simulated_add(struct profile_simulated *s, const struct profile_cost *cost)
{
    if (s->count >= s->capacity) {
        uint32_t capacity = s->count ? s->count * 2 : 256;
        struct profile_cost *list =
            s->count > UINT32_MAX / 4 ? NULL : reallocarray(s->list, capacity, sizeof *list);
        if (!list)
            return false;
        s->list = list;
        s->capacity = capacity;
    }
    s->list[s->count++] = *cost;
    return true;
}

void profile_cost_sum(struct profile_cost *to, const struct profile_cost *from)
{
    to->count = add_saturated(to->count, from->count);
    for (unsigned i = 0; i < COST_CAUSE_COUNT; i++)
        to->cost.parts[i] = add_saturated(to->cost.parts[i], from->cost.parts[i]);
    for (unsigned i = 0; i < COST_EVENT_COUNT; i++)
        to->cost.events[i] = add_saturated(to->cost.events[i], from->cost.events[i]);
}

/* NULL: not known. */
static bool add_machine(struct profile_simulated *s, const char *name)
{
    if (!name || (s->machine && !strcmp(s->machine, name)))
        return true;
    char *copy = strdup(s->machine ? "several machines" : name);
    if (copy) {
        free(s->machine);
        s->machine = copy;
    }
    return copy;
}

static void free_table(void *table)
{
    profile_simulated_free(table);
}

static bool site(void *table, uint32_t at, struct profile_site *out)
{
    struct profile_simulated *s = table;
    if (at >= s->count)
        return false;
    struct profile_cost *c = &s->list[at];
    *out = (struct profile_site){SITE_INSTRUCTION, 1, {{&c->image, &c->process, c->offset}}};
    return true;
}

static bool append(void **into, const void *from, const struct table_append *how)
{
    const struct profile_simulated *added = from;
    struct profile_simulated *s = *into ? *into : profile_simulated_new();
    *into = s;
    for (uint32_t i = 0; s && i < added->count; i++) {
        struct profile_cost cost = added->list[i];
        cost.image = profile_counts_image_in(how->image_of, cost.image);
        cost.process += how->first_process;
        if (!profile_simulated_add(s, &cost))
            return false;
    }
    return s && add_machine(s, added->machine);
}

#define ORDER(x, y)                                                                                \
    if ((x) != (y))                                                                                \
    return (x) < (y) ? -1 : 1

static int compare_costs(const void *a, const void *b)
{
    const struct profile_cost *x = a, *y = b;
    ORDER(x->image + FRAME_IMAGE_FIRST, y->image + FRAME_IMAGE_FIRST);
    ORDER(x->process, y->process);
    ORDER(x->offset, y->offset);
    return 0;
}

static bool settle(void *table, const uint32_t *new_index)
{
    struct profile_simulated *s = table;
    uint32_t kept = 0;
    (void)new_index;
    for (uint32_t i = 0; i < s->count; i++)
        if (!profile_is_private(s->list[i].image, s->list[i].offset))
            s->list[i].process = 0;
    sort_runs(s->list, s->count, sizeof *s->list, compare_costs);
    for (uint32_t i = 0; i < s->count; i++) {
        struct profile_cost *last = kept ? &s->list[kept - 1] : NULL;
        if (last && compare_costs(last, &s->list[i]) == 0)
            profile_cost_sum(last, &s->list[i]);
        else
            s->list[kept++] = s->list[i];
    }
    s->count = kept;
    return true;
}

/* ---- from the spool ---- */

static bool is_honest(const struct spool_cost *row)
{
    bool good = row->count <= SPOOL_COUNTER_MAX;
    for (unsigned i = 0; i < COST_CAUSE_COUNT; i++)
        good &= row->cost.parts[i] <= SIMULATED_PARTS_MOST;
    for (unsigned i = 0; i < COST_EVENT_COUNT; i++)
        good &= row->cost.events[i] <= SPOOL_COUNTER_MAX;
    return good;
}

static bool add_chunk(struct counts_process *q, struct profile_simulated *s,
                      const struct spool_costs *chunk)
{
    uint32_t count = __atomic_load_n(&chunk->count, __ATOMIC_ACQUIRE);
    char *machine = spool_view_string(q->r->view, chunk->machine);
    bool ok = machine && add_machine(s, *machine ? machine : NULL);
    free(machine);
    if (count > SPOOL_COSTS_MOST) {
        q->r->view->damage++;
        return ok;
    }
    for (uint32_t i = 0; ok && i < count; i++) {
        struct spool_cost row = chunk->rows[i];
        if (!is_honest(&row)) {
            q->r->view->damage++;
            continue;
        }
        ok = profile_simulated_add(
            s, &(struct profile_cost){.image = spool_counts_image(row.key), .process = q->process,
                                      .offset = key_offset(row.key), .count = row.count,
                                      .cost = row.cost});
    }
    return ok;
}

static bool add_process(struct counts_process *q)
{
    const uint32_t *head = &q->record->tables[TABLE_SIMULATE];
    struct profile_simulated *s = observed_table(q->profile, TABLE_SIMULATE);
    struct record_list list = {0};
    if (!__atomic_load_n(head, __ATOMIC_ACQUIRE))
        return true;
    if (!s && (s = profile_simulated_new()))
        profile_observe(q->profile, OBSERVED_TABLES + TABLE_SIMULATE, s);
    bool ok = s && spool_view_list(q->r->view, head, SPOOL_COSTS_SIZE, &list);
    struct spool_costs **contexts = calloc((size_t)list.count + 1, sizeof *contexts);
    uint32_t count = 0;
    for (uint32_t i = 0; ok && contexts && i < list.count; i++) {
        struct spool_costs *chunk = list.records[i];
        if (chunk->first)
            contexts[count++] = chunk;
        else
            ok = add_chunk(q, s, chunk);
    }
    ok = ok && contexts && simulate_contexts_read(q, contexts, count);
    free(contexts);
    free(list.records);
    return ok;
}

const struct profile_table table_simulate = {
    .read = add_process,
    .free = free_table,
    .site = site,
    .append = append,
    .settle = settle,
};

/* ---- metrics ---- */

bool profile_simulated_metrics(struct profile *p)
{
#define NAME(id, name, ...) #name,
    static const char *const names[] = {SIMULATED_TRIGGER, "instructions", COST_CAUSES(NAME)};
#undef NAME
    bool ok = true;
    for (unsigned i = SIMULATED_INSTRUCTIONS; ok && i < SIMULATED_METRICS; i++) {
        struct profile_metric m = p->metrics[0];
        m.name = (char *)(uintptr_t)names[i];
        ok = profile_metric_add(p, &m);
    }
    return ok;
}
_Static_assert((unsigned)SIMULATED_METRICS <= METRICS_MAX, "there is room for a metric a cause");

bool profile_is_simulated(const struct profile *p)
{
    return observed_table(p, TABLE_SIMULATE) && p->metric_count == SIMULATED_METRICS &&
           !strcmp(p->metrics[0].trigger, SIMULATED_TRIGGER) &&
           p->metrics[0].how == METRIC_EXACT;
}

/* ---- in the file ---- */

PROFILE_PLACE_FIRST(struct profile_cost);

static bool section_needed(const struct profile *p)
{
    return observed_table(p, TABLE_SIMULATE);
}

/* The names of the columns are in the file: other versions have others. */
static void put_names(struct buf *b)
{
#define PUT_NAME(id, name, ...) buf_put_string(b, #name);
    buf_put_uleb(b, COST_CAUSE_COUNT);
    COST_CAUSES(PUT_NAME)
    buf_put_uleb(b, COST_EVENT_COUNT);
    COST_EVENTS(PUT_NAME)
#undef PUT_NAME
}

static void section_put(struct buf *b, const struct encoder *x)
{
    const struct profile_simulated *s = observed_table(x->p, TABLE_SIMULATE);
    const struct profile_cost *at = s->list;
    buf_put_string(b, s->machine ? s->machine : "");
    put_names(b);
    buf_put_uleb(b, s->count);
    write_places(b, at, s->count, sizeof *at);
    for (uint32_t i = 0; i < s->count; i++)
        buf_put_uleb(b, at[i].count);
    for (unsigned k = 0; k < COST_CAUSE_COUNT; k++)
        for (uint32_t i = 0; i < s->count; i++)
            buf_put_uleb(b, at[i].cost.parts[k]);
    for (unsigned k = 0; k < COST_EVENT_COUNT; k++)
        for (uint32_t i = 0; i < s->count; i++)
            buf_put_uleb(b, at[i].cost.events[k]);
}

static bool section_check(const struct profile *p, struct err *e)
{
    const struct profile_simulated *s = observed_table(p, TABLE_SIMULATE);
    for (uint32_t i = 0; i < s->count; i++)
        if (!places_good(p, &s->list[i], i ? &s->list[i - 1] : NULL))
            return err_set(e, ERR_INTERNAL,
                           "the profile cannot be written: a simulated instruction is of no image "
                           "or process, or out of order");
    return true;
}

enum { NAMES_MOST = 64 };

/* Which column each name of the file is; -1: none of this version's. */
static uint32_t get_names(struct cursor *c, const char *const *known, unsigned known_count,
                          int columns[NAMES_MOST])
{
    uint32_t count = (uint32_t)cursor_uleb(c, NAMES_MOST, "a number of columns up to 64");
    for (uint32_t i = 0; i < count && !c->failed; i++) {
        char *name = cursor_string(c, "a name");
        columns[i] = -1;
        for (unsigned k = 0; name && k < known_count; k++)
            if (!strcmp(name, known[k]))
                columns[i] = (int)k;
        free(name);
    }
    return c->failed ? 0 : count;
}

struct shape {
    int causes[NAMES_MOST], events[NAMES_MOST];
    uint32_t cause_count, event_count;
};

static void get_shape(struct cursor *c, struct shape *shape)
{
#define NAME(id, name, ...) #name,
    static const char *const causes[] = {COST_CAUSES(NAME)};
    static const char *const events[] = {COST_EVENTS(NAME)};
#undef NAME
    shape->cause_count = get_names(c, causes, COST_CAUSE_COUNT, shape->causes);
    shape->event_count = get_names(c, events, COST_EVENT_COUNT, shape->events);
}

static void get_columns(struct cursor *c, struct profile_simulated *s, const struct shape *shape)
{
    uint32_t n = s->count;
    for (uint32_t i = 0; i < n && !c->failed; i++)
        s->list[i].count = cursor_uleb(c, UINT64_MAX, "executions");
    for (uint32_t k = 0; k < shape->cause_count; k++)
        for (uint32_t i = 0; i < n && !c->failed; i++) {
            uint64_t parts = cursor_uleb(c, UINT64_MAX, "parts of cycles");
            if (shape->causes[k] >= 0)
                s->list[i].cost.parts[shape->causes[k]] = parts;
        }
    for (uint32_t k = 0; k < shape->event_count; k++)
        for (uint32_t i = 0; i < n && !c->failed; i++) {
            uint64_t events = cursor_uleb(c, UINT64_MAX, "events");
            if (shape->events[k] >= 0)
                s->list[i].cost.events[shape->events[k]] = events;
        }
}

static void section_get(struct decoder *d, struct cursor *c)
{
    struct profile_simulated *s = profile_simulated_new();
    struct shape shape = {0};
    if (s)
        profile_observe(d->p, OBSERVED_TABLES + TABLE_SIMULATE, s);
    if (!s) {
        read_no_memory(c);
        return;
    }
    enum { PLACE_COLUMNS = 4 };
    s->machine = cursor_string(c, "a name");
    get_shape(c, &shape);
    s->count = cursor_count(c, PLACE_COLUMNS + shape.cause_count + shape.event_count,
                            "a number of instructions that fits the section");
    s->list = read_array(c, s->count, sizeof *s->list);
    if (s->list) {
        read_places(d, c, s->list, s->count, sizeof *s->list);
        get_columns(c, s, &shape);
    }
    if (c->failed)
        s->count = 0;
}

const struct section_kind kind_simulate = {
    .type = {58, "simulate", 0},
    .within = 24,
    .about = "optional, with 24: what each instruction cost in a processor model",
    .needed = section_needed,
    .check = section_check,
    .put = section_put,
    .get = section_get,
};
