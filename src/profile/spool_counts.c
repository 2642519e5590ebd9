#include "profile/spool_counts.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/saturate.h"
#include "profile/spool_paths.h"
#include "profile/spool_rows.h"
#include "profile/spool_values.h"

/* The chunks of one process's things, newest first: what an id means is in the first one that
 * begins at or below it. */
struct chunks {
    spool_ref newest;
    const struct spool_things **list;
    uint32_t *first; /* read once: the program may change it */
    uint32_t count, capacity;
};

struct reader {
    struct spool_counts_reader *r;
    const struct spool_counts *record;
    struct profile_counts *to;
    uint32_t process; /* its number */
    const struct profile_process *maps; /* the process itself: its maps */
    struct profile_values **values;
    struct chunks chunks;
    uint32_t *block_of; /* of paths: by id, 1 + the index of the block; 0: not looked at yet */
    uint32_t ids;       /* room in it */
    struct record_list results;    /* of the tool `results`: the records of the threads' rows */
    struct spool_rows_table *rows; /* of the window that is read; NULL: there are no results */
    uint64_t gated; /* executions of the block that is read, if its gate has passed some over; else 0 */
};

static uint64_t load(const uint64_t *at)
{
    return __atomic_load_n(at, __ATOMIC_RELAXED);
}

static bool push_chunk(struct chunks *c, const struct spool_things *chunk, uint32_t first)
{
    if (c->count == c->capacity) {
        uint32_t capacity = c->capacity ? c->capacity * 2 : 16;
        void *list = realloc(c->list, capacity * sizeof(void *));
        if (list)
            c->list = list;
        uint32_t *firsts = realloc(c->first, capacity * sizeof *firsts);
        if (firsts)
            c->first = firsts;
        if (!list || !firsts)
            return false;
        c->capacity = capacity;
    }
    c->list[c->count] = chunk;
    c->first[c->count++] = first;
    return true;
}

/* A forked child shares its parent's chunks, so they may be seen more than once; what bounds the
 * walk is that ids must fall, and that all walks together have so many steps. */
static bool get_chunks(struct reader *q)
{
    struct spool_view *v = q->r->view;
    uint32_t last = COUNTS_IDS_MAX;
    spool_ref ref = q->chunks.newest = __atomic_load_n(&q->record->things, __ATOMIC_ACQUIRE);
    q->chunks.count = 0;
    while (ref) {
        const struct spool_things *chunk = spool_at(&v->spool, ref, sizeof *chunk);
        uint32_t first = chunk ? __atomic_load_n(&chunk->first, __ATOMIC_RELAXED) : 0;
        if (!chunk || first >= last || !q->r->steps) {
            v->damage++;
            return true;
        }
        q->r->steps--;
        if (!push_chunk(&q->chunks, chunk, first))
            return false;
        last = first;
        ref = __atomic_load_n(&chunk->next, __ATOMIC_ACQUIRE);
    }
    return true;
}

/* A copy of the record of an id. False if there is none that is complete. */
static bool find_thing(struct reader *q, uint32_t id, struct spool_thing *out)
{
    const struct chunks *c = &q->chunks;
    uint32_t lo = 0, hi = c->count; /* the first chunk whose ids begin at or below id */
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        if (c->first[middle] <= id)
            hi = middle;
        else
            lo = middle + 1;
    }
    if (lo == c->count)
        return false;
    const struct spool_thing *thing = &c->list[lo]->things[id - c->first[lo]];
    uint64_t offset = (uint64_t)((const uint8_t *)thing - q->r->view->spool.base);
    if (id - c->first[lo] >= c->list[lo]->capacity ||
        offset > q->r->view->spool.mapped - sizeof *thing ||
        __atomic_load_n(&thing->kind, __ATOMIC_ACQUIRE) == THING_NONE)
        return false;
    *out = *thing;
    return true;
}

/* A program that has not ended yet (the collector was told to) goes on while it is read: what is counted by now may
 * be in a chunk that was made since. */
static bool get_thing(struct reader *q, uint32_t id, struct spool_thing *out)
{
    return find_thing(q, id, out) ||
           (__atomic_load_n(&q->record->things, __ATOMIC_ACQUIRE) != q->chunks.newest && get_chunks(q) &&
            find_thing(q, id, out));
}

/* Images are session numbers for now (spool_read.c). */
static uint32_t image_of(uint64_t key)
{
    unsigned image = key_image(key);
    return image == 0 || image == KEY_IMAGE_PSEUDO ? PROFILE_IMAGE_NONE : image;
}

static void *room_for_one(void *array, uint32_t count, uint32_t *capacity, size_t each)
{
    if (count < *capacity)
        return array;
    uint32_t more = *capacity ? *capacity * 2 : 1024;
    void *grown = *capacity > UINT32_MAX / 4 ? NULL : realloc(array, more * each);
    if (grown)
        *capacity = more;
    return grown;
}

static bool add_block(struct reader *q, const struct spool_thing *t, uint64_t count)
{
    struct profile_counts *c = q->to;
    uint32_t capacity = q->r->block_capacity;
    struct profile_block *blocks =
        room_for_one(c->blocks, c->block_count, &capacity, sizeof *blocks);
    if (!blocks)
        return false;
    q->r->block_capacity = capacity;
    c->blocks = blocks;
    blocks[c->block_count++] = (struct profile_block){.image = image_of(t->key),
                                                      .process = q->process,
                                                      .offset = key_offset(t->key),
                                                      .bytes = t->bytes,
                                                      .instructions = t->instructions,
                                                      .count = count};
    c->instructions = add_saturated(c->instructions, count * t->instructions);
    c->counted = true;
    for (unsigned i = 0; i < CLASS_COUNT; i++) {
        c->classes[i] = add_saturated(c->classes[i], count * t->classes[i]);
        c->classified |= t->classes[i] != 0;
    }
    return true;
}

static bool add_edge(struct reader *q, const struct spool_thing *t, uint64_t count)
{
    struct profile_counts *c = q->to;
    uint32_t capacity = q->r->edge_capacity;
    struct profile_edge *edges = room_for_one(c->edges, c->edge_count, &capacity, sizeof *edges);
    if (!edges)
        return false;
    q->r->edge_capacity = capacity;
    c->edges = edges;
    edges[c->edge_count++] = (struct profile_edge){.from_image = image_of(t->key),
                                                   .to_image = image_of(t->to),
                                                   .process = q->process,
                                                   .from = key_offset(t->key),
                                                   .to = key_offset(t->to),
                                                   .count = count};
    return true;
}

/* No honest counter exceeds this: at a thousand million a second it takes a year. */
#define COUNTER_MAX (UINT64_C(1) << 55)
/* ... and times the instructions of a block it still fits 64 bits after saturation at 2^63. */
#define BLOCK_INSTRUCTIONS_MAX 255u

/* ---- paths ---- */

static bool is_block(const struct spool_thing *t)
{
    return t->kind == THING_BLOCK && t->instructions && t->instructions <= BLOCK_INSTRUCTIONS_MAX;
}

static bool path_block(void *data, uint32_t id, uint32_t *index)
{
    struct reader *q = data;
    struct spool_thing thing;
    *index = UINT32_MAX;
    if (id < q->ids && q->block_of[id]) {
        *index = q->block_of[id] - 1;
        return true;
    }
    if (!get_thing(q, id, &thing) || !is_block(&thing))
        return true;
    while (id >= q->ids) {
        uint32_t old = q->ids;
        uint32_t *grown = room_for_one(q->block_of, q->ids, &q->ids, sizeof *grown);
        if (!grown)
            return false;
        q->block_of = grown;
        for (uint32_t i = old; i < q->ids; i++)
            grown[i] = 0;
    }
    *index = q->to->block_count;
    q->block_of[id] = *index + 1;
    return add_block(q, &thing, 0);
}

/* The path's executions are its blocks'. */
static void path_count(void *data, uint32_t index, uint64_t count)
{
    struct profile_block *block = &((struct reader *)data)->to->blocks[index];
    block->count = add_saturated(block->count, count);
}

/* What a block's executions add to instructions and classes, now that they are known. */
static void weigh(struct reader *q, uint32_t id)
{
    struct profile_counts *c = q->to;
    struct spool_thing thing;
    if (!q->block_of[id] || !get_thing(q, id, &thing) || !is_block(&thing))
        return;
    uint64_t count = c->blocks[q->block_of[id] - 1].count;
    if (count > COUNTER_MAX)
        count = COUNTER_MAX;
    c->instructions = add_saturated(c->instructions, count * thing.instructions);
    for (unsigned i = 0; i < CLASS_COUNT; i++)
        c->classes[i] = add_saturated(c->classes[i], count * thing.classes[i]);
}

static bool get_paths(struct reader *q, const struct spool_counts *record)
{
    const struct spool_paths_user user = {path_block, path_count, q};
    struct profile_paths *paths = q->to->paths;
    if (!__atomic_load_n(&record->paths, __ATOMIC_ACQUIRE))
        return true;
    if (!paths)
        paths = q->to->paths = profile_paths_new();
    if (!paths)
        return false;
    uint64_t others = add_saturated(paths->dropped_instructions, paths->cut_instructions);
    bool ok = spool_paths_read(q->r->view, record, &q->r->paths, &user, paths);
    for (uint32_t id = 0; ok && id < q->ids; id++)
        weigh(q, id);
    uint64_t all = add_saturated(paths->dropped_instructions, paths->cut_instructions);
    q->to->instructions = add_saturated(q->to->instructions, all - others);
    return ok;
}

/* ---- streams ---- */

static bool add_stream(struct reader *q, const struct spool_thing *t, const struct spool_stream *s)
{
    struct profile_stream stream = {.image = image_of(t->key), .process = q->process,
                                    .offset = key_offset(t->key), .bytes = t->bytes,
                                    .kind = t->instructions, .count = s->count,
                                    .span = s->hi > s->lo ? s->hi - s->lo : 0, .runs = s->runs,
                                    .same_line = s->same_line, .others = s->others};
    for (unsigned i = 0; i < STREAM_STRIDES; i++) {
        stream.strides[i] = s->strides[i];
        stream.times[i] = s->times[i];
    }
    return profile_streams_add(q->to->streams, &stream);
}

static bool stream_row(void *data, uint32_t id, const void *row)
{
    struct reader *q = data;
    struct spool_thing thing;
    struct spool_stream s = *(const struct spool_stream *)row;
    if (!s.count)
        return true;
    bool known = get_thing(q, id, &thing) && s.count <= COUNTER_MAX;
    if (known && is_block(&thing))
        return add_block(q, &thing, s.count);
    if (known && thing.kind == THING_ACCESS && thing.instructions <= STREAM_UPDATE)
        return add_stream(q, &thing, &s);
    q->r->view->damage++;
    return true;
}

static bool get_streams(struct reader *q, const struct spool_counts *record)
{
    if (!__atomic_load_n(&record->streams, __ATOMIC_ACQUIRE))
        return true;
    if (!q->to->streams)
        q->to->streams = profile_streams_new();
    return q->to->streams &&
           spool_rows_read(q->r->view, &record->streams, STREAM_LAYOUT, &q->r->rows, stream_row, q,
                           &q->to->streams->missed);
}

/* ---- results ---- */

/* A number that lies in a mapped image, not at its link-time address, is one of the image, as in hotlists that a
 * module fills: it means the same in another process. */
static void name_addresses(const struct profile_process *p, struct hotlist *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        for (uint32_t k = 0; k < p->map_count; k++) {
            const struct profile_map *m = &p->maps[k];
            struct hotlist_entry *e = &list->entries[i];
            if (e->space || !m->bias || e->bits < m->lo || e->bits >= m->hi || m->image >= PROFILE_IMAGE_PSEUDO)
                continue;
            e->bits -= m->bias;
            e->space = HOTLIST_IMAGE + m->image;
        }
}

static bool add_result(struct reader *q, const struct spool_thing *t, uint32_t kind, const struct hotlist *list)
{
    struct profile_values *values = *q->values;
    struct profile_hotlist place = {.image = image_of(t->key), .offset = key_offset(t->key), .kind = kind,
                                    .site_image = PROFILE_IMAGE_PSEUDO};
    if (place.image == PROFILE_IMAGE_NONE)
        place.process = q->process;
    struct profile_hotlist *h;
    if (!spool_values_add(q->r->view, values, &place, list, &h))
        return false;
    if (h && kind != RESULTS_FLOAT && kind != RESULTS_DOUBLE)
        name_addresses(q->maps, h->list);
    return true;
}

/* Of a word's values what one of its elements had: a sample of its stream, as good as the word's. */
static void take_lane(union result_list *to, const struct hotlist *from, unsigned at, unsigned bytes)
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

/* As many hotlists as the result has elements, which become one when values are settled: as a module emits them. */
static bool add_results(struct reader *q, const struct spool_thing *t, const struct hotlist *list)
{
    static const uint32_t kinds[] = {RESULTS_PLAIN, RESULTS_FLOAT, RESULTS_DOUBLE, RESULTS_PLAIN};
    uint32_t what = t->instructions, kind = kinds[what >> RESULT_FORM_SHIFT & RESULT_FORM_MASK];
    unsigned lane = what >> RESULT_LANE_SHIFT & RESULT_LANE_MASK, bytes = lane ? 1u << (lane - 1) : sizeof(uint64_t);
    union result_list one;
    bool ok = true;
    if (what & (RESULT_DIVISOR | RESULT_COUNT))
        return add_result(q, t, what & RESULT_DIVISOR ? RESULTS_DIVISOR : RESULTS_COUNT, list);
    if (what & RESULT_SECOND)
        kind = RESULTS_SECOND;
    if (!(what & RESULT_REST))
        (*q->values)->tuples = add_saturated((*q->values)->tuples, list->observed);
    if (bytes >= t->bytes)
        return add_result(q, t, kind, list);
    for (unsigned at = 0; ok && at + bytes <= t->bytes && at + bytes <= sizeof(uint64_t); at += bytes) {
        take_lane(&one, list, at, bytes);
        ok = add_result(q, t, kind, &one.list);
    }
    return ok;
}

/* The result of an id as the window's thread has it. */
static bool get_result(struct reader *q, uint32_t id, const struct spool_thing *t, struct counts_lead lead)
{
    static const struct spool_result none;
    static const struct result_front no_front;
    union result_list result;
    const uint8_t *chunk = id / ROWS_CHUNK < ROWS_CHUNKS ? q->rows->chunks[id / ROWS_CHUNK] : NULL;
    const struct result_front *front = chunk ? (const void *)(chunk + id % ROWS_CHUNK * sizeof *front) : &no_front;
    const struct spool_result *row = chunk ? (const void *)(chunk + rows_offset(RESULT_LAYOUT, id)) : &none;
    bool ok = result_copy(&result, lead, front, row, q->gated);
    if (ok && result.list.observed)
        result.list.observed = q->gated > result.list.observed ? q->gated : result.list.observed;
    if (ok && result.list.observed <= COUNTER_MAX)
        return !result.list.observed || add_results(q, t, &result.list);
    q->r->view->damage++;
    return true;
}

/* ---- windows ---- */

/* Where in a gate's second word its steps are. */
enum { GATE_STEPS = 48 };
_Static_assert(offsetof(struct counts_gate, steps) == sizeof(uint64_t) + GATE_STEPS / 8, "the highest");

/* counter: of one or two words, with those of the ids from `first` on before it. */
static bool add_count(struct reader *q, uint32_t first, uint32_t id, const uint64_t *counter, uint32_t words)
{
    uint64_t count = load(counter);
    struct spool_thing thing;
    bool known = get_thing(q, id, &thing);
    bool block = known && thing.kind == THING_BLOCK;
    if (block)
        q->gated = words > 1 && load(counter + 1) >> GATE_STEPS ? count : 0;
    if (known && q->rows && thing.kind == THING_RESULT) {
        uint32_t own = result_is_copy(thing.to, id) && thing.to >= first ? (uint32_t)thing.to : id;
        const uint64_t *lead = counter - (uint64_t)(id - own) * words;
        return get_result(q, own, &thing, (struct counts_lead){(int64_t)load(lead), words > 1 ? load(lead + 1) : 0});
    }
    if (!count)
        return true;
    if (known && *q->values && thing.kind == THING_UNOBSERVED && thing.instructions < UNOBSERVED_COUNT) {
        uint64_t *sum = &(*q->values)->unobserved[thing.instructions];
        *sum = add_saturated(*sum, count);
        return true;
    }
    if (!known || (!block && thing.kind != THING_EDGE) || count > COUNTER_MAX ||
        (block && (thing.instructions > BLOCK_INSTRUCTIONS_MAX || !thing.instructions))) {
        q->r->view->damage++;
        return true;
    }
    return block ? add_block(q, &thing, count) : add_edge(q, &thing, count);
}

static bool get_piece(struct reader *q, const struct spool_piece *piece)
{
    struct spool_view *v = q->r->view;
    uint32_t first = piece->first, count = piece->count, words = counts_words(q->record);
    uint64_t all = (uint64_t)count * words;
    const uint64_t *counters = words > COUNTS_WORDS_MAX ? NULL : spool_at(&v->spool, piece->counters, all * sizeof *counters);
    /* Honest pieces are pages of their own, so together they are no more than the spool. */
    if (!counters || all > q->r->counters || first > COUNTS_IDS_MAX) {
        v->damage++;
        return true;
    }
    q->r->counters -= all;
    q->gated = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t *counter = &counters[(uint64_t)i * words];
        if ((load(counter) || q->rows) && !add_count(q, first, first + i, counter, words))
            return false;
    }
    return true;
}

/* The rows of the thread that counts in the window: it may have none, not yet or not at all. */
static bool get_rows(struct reader *q, const struct spool_window *w)
{
    struct spool_view *v = q->r->view;
    const struct spool_rows *rows = w->tool ? spool_at(&v->spool, w->tool, sizeof *rows) : NULL;
    for (uint32_t i = 0; rows && i < q->results.count; i++)
        if (q->results.records[i] == rows) {
            q->results.records[i] = NULL;
            return spool_rows_find(v, rows, RESULT_LAYOUT, &q->r->rows, q->rows, &(*q->values)->refused);
        }
    *q->rows = (struct spool_rows_table){0};
    return true;
}

static bool get_results(struct reader *q, const struct spool_counts *record)
{
    if (!__atomic_load_n(&record->results, __ATOMIC_ACQUIRE))
        return true;
    if (!*q->values)
        *q->values = spool_values_of_results();
    q->rows = malloc(sizeof *q->rows);
    return *q->values && q->rows && spool_view_list(q->r->view, &record->results, sizeof(struct spool_rows), &q->results);
}

static bool get_windows(struct reader *q, const struct spool_counts *record)
{
    struct spool_view *v = q->r->view;
    struct record_list windows = {0}, pieces = {0};
    bool ok = spool_view_list(v, &record->windows, sizeof(struct spool_window), &windows);
    for (uint32_t i = 0; ok && i < windows.count; i++) {
        const struct spool_window *w = windows.records[i];
        ok = (!q->rows || get_rows(q, w)) && spool_view_list(v, &w->pieces, sizeof(struct spool_piece), &pieces);
        for (uint32_t k = 0; ok && k < pieces.count; k++)
            ok = get_piece(q, pieces.records[k]);
        free(pieces.records);
    }
    free(windows.records);
    return ok;
}

static uint64_t to_ns(const struct spool_counts_reader *r, const uint64_t *ticks)
{
    uint64_t hz = r->tsc_hz;
    unsigned __int128 ns = hz ? (unsigned __int128)load(ticks) * 1000000000u / hz : 0;
    return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

static void get_totals(const struct spool_counts_reader *r, const struct spool_counts *s,
                       struct profile_counts *c)
{
    uint64_t instructions = load(&s->instructions);
    for (unsigned i = 0; i < STOP_COUNT; i++)
        c->stopped[i] = add_saturated(c->stopped[i], load(&s->stopped[i]));
    c->counted |= instructions != 0;
    c->instructions = add_saturated(c->instructions, instructions);
    c->bursts = add_saturated(c->bursts, load(&s->bursts));
    c->burst_instructions = add_saturated(c->burst_instructions, load(&s->burst_instructions));
    c->burst_ns = add_saturated(c->burst_ns, to_ns(r, &s->burst_ticks));
    c->translated = add_saturated(c->translated, load(&s->blocks));
    c->code_bytes = add_saturated(c->code_bytes, load(&s->code_bytes));
    c->translation_ns = add_saturated(c->translation_ns, to_ns(r, &s->translation_ticks));
    c->dispatches = add_saturated(c->dispatches, load(&s->dispatches));
    c->dispatch_ns = add_saturated(c->dispatch_ns, to_ns(r, &s->dispatch_ticks));
}

static void get_latencies(const struct spool_counts *s, struct profile_counts *c)
{
    for (unsigned k = 0; k < LATENCY_KIND_COUNT; k++) {
        struct latency *to = &c->latencies[k];
        to->sum_ns = add_saturated(to->sum_ns, load(&s->latencies[k].sum_ns));
        for (unsigned i = 0; i < LATENCY_BUCKETS; i++)
            to->counts[i] = add_saturated(to->counts[i], load(&s->latencies[k].counts[i]));
    }
}

bool spool_counts_read(struct spool_counts_reader *r, spool_ref ref, const struct profile_process *process, uint32_t index,
                       struct profile_counts *to, struct profile_values **values)
{
    struct reader q = {.r = r, .to = to, .process = index, .maps = process, .values = values};
    const struct spool_counts *record =
        ref ? spool_view_visit(r->view, ref, sizeof *record) : NULL;
    if (!record)
        return true;
    q.record = record;
    get_totals(r, record, to);
    get_latencies(record, to);
    bool ok = get_chunks(&q) && get_results(&q, record) && get_windows(&q, record) && get_paths(&q, record) &&
              get_streams(&q, record);
    free(q.results.records);
    free(q.rows);
    free(q.block_of);
    free(q.chunks.list);
    free(q.chunks.first);
    return ok;
}
