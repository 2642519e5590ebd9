/* Results of instructions (the tool `results`): hotlists, as a module would emit them. A result's
 * first values are in its counter of two words and in a front, the rest in a row
 * (sigsafe/spool_results.h). */
#include <stddef.h>
#include <stdlib.h>

#include "base/saturate.h"
#include "profile/spool_rows.h"
#include "profile/spool_values.h"
#include "profile/table/table.h"
#include "sigsafe/spool_results.h"
#include "sigsafe/tools.h"

struct results {
    struct record_list records;   /* of the threads' rows */
    struct spool_rows_table rows; /* of the window that is read */
    uint64_t gated; /* executions of the block that is read; 0: its gate passed none over */
};

static uint64_t load(const uint64_t *at)
{
    return __atomic_load_n(at, __ATOMIC_RELAXED);
}

static bool add_result(struct counts_process *q, const struct spool_thing *t, uint32_t kind,
                       const struct hotlist *list)
{
    struct profile_values *values = observed_values(q->profile);
    struct profile_hotlist place = {.image = spool_counts_image(t->key),
                                    .offset = key_offset(t->key),
                                    .kind = kind,
                                    .site_image = PROFILE_IMAGE_PSEUDO};
    if (place.image == PROFILE_IMAGE_NONE)
        place.process = q->process;
    struct profile_hotlist *h;
    if (!spool_values_add(q->r->view, values, &place, list, &h))
        return false;
    if (h && kind != RESULTS_FLOAT && kind != RESULTS_DOUBLE)
        spool_values_name_addresses(q->maps, h->list);
    return true;
}

/* Of a word's values what one of its elements had: a sample of its stream, as good as the
 * word's. */
static void take_lane(union result_list *to, const struct hotlist *from, unsigned at,
                      unsigned bytes)
{
    const uint64_t mask = bytes < sizeof mask ? (UINT64_C(1) << 8 * bytes) - 1 : UINT64_MAX;
    struct hotlist *list = &to->list;
    *list = (struct hotlist){.observed = from->observed, .steps = from->steps};
    for (uint32_t i = 0; i < from->count && i <= HOTLIST_CONCISE_MAX; i++) {
        uint64_t bits = from->entries[i].bits >> 8 * at & mask;
        struct hotlist_entry *entry = hotlist_find(list, (struct hotlist_value){.bits = bits});
        if (entry)
            entry->count = add_saturated(entry->count, from->entries[i].count);
        else
            hotlist_append(list, (struct hotlist_value){.bits = bits}, from->entries[i].count);
    }
}

/* As many hotlists as the result has elements, which become one when values are settled: as a
 * module emits them. */
static bool add_results(struct counts_process *q, const struct spool_thing *t,
                        const struct hotlist *list)
{
    static const uint32_t kinds[] = {RESULTS_PLAIN, RESULTS_FLOAT, RESULTS_DOUBLE, RESULTS_PLAIN};
    uint32_t what = t->result.what, kind = kinds[what >> RESULT_FORM_SHIFT & RESULT_FORM_MASK];
    unsigned lane = what >> RESULT_LANE_SHIFT & RESULT_LANE_MASK,
             bytes = lane ? 1u << (lane - 1) : sizeof(uint64_t);
    struct profile_values *values = observed_values(q->profile);
    union result_list one;
    bool ok = true;
    if (what & (RESULT_DIVISOR | RESULT_COUNT))
        return add_result(q, t, what & RESULT_DIVISOR ? RESULTS_DIVISOR : RESULTS_COUNT, list);
    if (what & RESULT_SECOND)
        kind = RESULTS_SECOND;
    if (!(what & RESULT_REST))
        values->tuples = add_saturated(values->tuples, list->observed);
    if (bytes >= t->result.bytes)
        return add_result(q, t, kind, list);
    for (unsigned at = 0; ok && at + bytes <= t->result.bytes && at + bytes <= sizeof(uint64_t);
         at += bytes) {
        take_lane(&one, list, at, bytes);
        ok = add_result(q, t, kind, &one.list);
    }
    return ok;
}

/* The result of an id as the window's thread has it. */
static bool get_result(struct counts_process *q, uint32_t id, const struct spool_thing *t,
                       struct counts_lead lead)
{
    const struct results *s = q->state[TABLE_RESULTS];
    static const struct spool_result none;
    static const struct result_front no_front;
    union result_list result;
    const uint8_t *chunk = id / ROWS_CHUNK < ROWS_CHUNKS ? s->rows.chunks[id / ROWS_CHUNK] : NULL;
    const struct result_front *front =
        chunk ? (const void *)(chunk + id % ROWS_CHUNK * sizeof *front) : &no_front;
    const struct spool_result *row =
        chunk ? (const void *)(chunk + rows_offset(RESULT_LAYOUT, id)) : &none;
    bool ok = result_copy(&result, lead, front, row, s->gated);
    if (ok && result.list.observed)
        result.list.observed = s->gated > result.list.observed ? s->gated : result.list.observed;
    if (ok && result.list.observed <= SPOOL_COUNTER_MAX)
        return !result.list.observed || add_results(q, t, &result.list);
    q->r->view->damage++;
    return true;
}

/* Where in a gate's second word its steps are. */
enum { GATE_STEPS = 48 };
_Static_assert(offsetof(struct counts_gate, steps) == sizeof(uint64_t) + GATE_STEPS / 8,
               "the highest");

static bool counter(struct counts_process *q, const struct table_counter *c, bool *mine)
{
    struct results *s = q->state[TABLE_RESULTS];
    const struct spool_thing *thing = c->thing;
    uint64_t count = load(c->words);
    if (c->id == c->first)
        s->gated = 0;
    if (thing && thing->kind == THING_BLOCK && spool_counts_is_of(q, thing, TOOL_RESULTS))
        s->gated = c->count > 1 && load(c->words + 1) >> GATE_STEPS ? count : 0;
    if (thing && thing->kind == THING_RESULT) {
        uint64_t other = thing->result.copy_of;
        uint32_t own = result_is_copy(other, c->id) && other >= c->first ? (uint32_t)other : c->id;
        const uint64_t *lead = c->words - (uint64_t)(c->id - own) * c->count;
        *mine = true;
        return get_result(
            q, own, thing,
            (struct counts_lead){(int64_t)load(lead), c->count > 1 ? load(lead + 1) : 0});
    }
    if (thing && thing->kind == THING_UNOBSERVED && thing->unobserved.reason < UNOBSERVED_COUNT) {
        uint64_t *sum = &observed_values(q->profile)->unobserved[thing->unobserved.reason];
        *sum = add_saturated(*sum, count);
        *mine = true;
    }
    return true;
}

/* The rows of the thread that counts in the window: it may have none, not yet or not at all. */
static bool window(struct counts_process *q, const struct spool_window *w)
{
    struct results *s = q->state[TABLE_RESULTS];
    if (!s)
        return true;
    struct spool_view *v = q->r->view;
    const spool_ref ref = w->tables[TABLE_RESULTS];
    const struct spool_rows *rows = ref ? spool_at(&v->spool, ref, sizeof *rows) : NULL;
    for (uint32_t i = 0; rows && i < s->records.count; i++)
        if (s->records.records[i] == rows) {
            s->records.records[i] = NULL;
            return spool_rows_find(v, rows, RESULT_LAYOUT, &q->r->table_bytes, &s->rows,
                                   &observed_values(q->profile)->refused);
        }
    s->rows = (struct spool_rows_table){0};
    return true;
}

static bool begin(struct counts_process *q)
{
    if (!__atomic_load_n(&q->record->tables[TABLE_RESULTS], __ATOMIC_ACQUIRE))
        return true;
    struct results *s = q->state[TABLE_RESULTS] = calloc(1, sizeof *s);
    struct profile_values *values = observed_values(q->profile);
    if (!values && (values = spool_values_of_results()))
        profile_observe(q->profile, OBSERVED_VALUES, values);
    return s && values &&
           spool_view_list(q->r->view, &q->record->tables[TABLE_RESULTS], sizeof(struct spool_rows),
                           &s->records);
}

static void end(struct counts_process *q)
{
    struct results *s = q->state[TABLE_RESULTS];
    if (s)
        free(s->records.records);
    free(s);
}

const struct profile_table table_results = {
    .begin = begin,
    .window = window,
    .counter = counter,
    .end = end,
};
