#include "profile/spool_counts.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/saturate.h"
#include "profile/inst_modules.h"
#include "profile/table/table.h"
#include "sigsafe/tools.h"

static uint64_t load(const uint64_t *at)
{
    return __atomic_load_n(at, __ATOMIC_RELAXED);
}

static bool push_chunk(struct counts_chunks *c, const struct spool_things *chunk, uint32_t first)
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
static bool get_chunks(struct counts_process *q)
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
static bool find_thing(struct counts_process *q, uint32_t id, struct spool_thing *out)
{
    const struct counts_chunks *c = &q->chunks;
    /* the first chunk whose ids begin at or below id */
    uint32_t lo = ARRAY_LEADING(c->count, i, c->first[i] > id);
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

/* A program that has not ended yet (the collector was told to) goes on while it is read: what is
 * counted by now may be in a chunk that was made since. */
bool spool_counts_thing(struct counts_process *q, uint32_t id, struct spool_thing *out)
{
    return find_thing(q, id, out) ||
           (__atomic_load_n(&q->record->things, __ATOMIC_ACQUIRE) != q->chunks.newest &&
            get_chunks(q) && find_thing(q, id, out));
}

uint32_t spool_counts_image(uint64_t key)
{
    unsigned image = key_image(key);
    return image == 0 || image == KEY_IMAGE_PSEUDO ? PROFILE_IMAGE_NONE : image;
}

void *spool_counts_room(void *array, uint32_t count, uint32_t *capacity, size_t each)
{
    if (count < *capacity)
        return array;
    uint32_t more = *capacity ? *capacity * 2 : 1024;
    void *grown = *capacity > UINT32_MAX / 4 ? NULL : realloc(array, more * each);
    if (grown)
        *capacity = more;
    return grown;
}

bool spool_counts_is_of(const struct counts_process *q, const struct spool_thing *t, uint32_t kind)
{
    return !tools_several(q->r->tools) || t->tool == kind;
}

bool spool_counts_weighs(const struct counts_process *q, const struct spool_thing *t)
{
    uint32_t taken = tools_block_counter(q->r->tools);
    return taken == TOOL_KIND_COUNT || t->tool == taken;
}

/* Of edges, those of a tool that counts them all. */
static bool edge_weighs(const struct counts_process *q, const struct spool_thing *t)
{
    const struct tool_about *tool = tool_about(t->tool);
    return !tools_several(q->r->tools) || !tools_about(q->r->tools).transfers ||
           (tool && tool->transfers);
}

bool spool_counts_add_block(struct counts_process *q, const struct spool_thing *t, uint64_t count)
{
    struct profile_counts *c = q->to;
    uint32_t capacity = q->r->block_capacity;
    struct profile_block *blocks =
        spool_counts_room(c->blocks, c->block_count, &capacity, sizeof *blocks);
    if (!blocks)
        return false;
    q->r->block_capacity = capacity;
    c->blocks = blocks;
    count = spool_counts_weighs(q, t) ? count : 0;
    blocks[c->block_count++] = (struct profile_block){.image = spool_counts_image(t->key),
                                                      .process = q->process,
                                                      .offset = key_offset(t->key),
                                                      .bytes = t->block.bytes,
                                                      .instructions = t->block.instructions,
                                                      .count = count};
    c->instructions = add_saturated(c->instructions, count * t->block.instructions);
    c->counted = true;
    for (unsigned i = 0; i < CLASS_COUNT; i++) {
        c->classes[i] = add_saturated(c->classes[i], count * t->block.classes[i]);
        c->classified |= t->block.classes[i] != 0;
    }
    return true;
}

static bool add_edge(struct counts_process *q, const struct spool_thing *t, uint64_t count)
{
    struct profile_counts *c = q->to;
    uint32_t capacity = q->r->edge_capacity;
    struct profile_edge *edges =
        spool_counts_room(c->edges, c->edge_count, &capacity, sizeof *edges);
    if (!edges)
        return false;
    q->r->edge_capacity = capacity;
    c->edges = edges;
    edges[c->edge_count++] = (struct profile_edge){.from_image = spool_counts_image(t->key),
                                                   .to_image = spool_counts_image(t->edge.to),
                                                   .process = q->process,
                                                   .from = key_offset(t->key),
                                                   .to = key_offset(t->edge.to),
                                                   .count = count};
    return true;
}

/* Times a counter it still fits 64 bits after saturation at 2^63. */
#define BLOCK_INSTRUCTIONS_MAX 255u

bool spool_counts_is_block(const struct spool_thing *t)
{
    return t->kind == THING_BLOCK && t->block.instructions &&
           t->block.instructions <= BLOCK_INSTRUCTIONS_MAX;
}

bool spool_counts_is_access(const struct spool_thing *t)
{
    return t->kind == THING_ACCESS && t->access.way && t->access.way <= ACCESS_UPDATE;
}

/* ---- windows ---- */

static bool add_count(struct counts_process *q, const struct table_counter *c)
{
    uint64_t count = load(c->words);
    const struct spool_thing *thing = c->thing;
    bool mine = false;
    if (q->watcher && !q->watcher->counter(q, c, &mine))
        return false;
    if (!count || mine)
        return true;
    if (!thing || count > SPOOL_COUNTER_MAX ||
        !(thing->kind == THING_EDGE || spool_counts_is_block(thing))) {
        q->r->view->damage++;
        return true;
    }
    if (thing->kind == THING_BLOCK)
        return spool_counts_add_block(q, thing, count);
    return !edge_weighs(q, thing) || add_edge(q, thing, count);
}

static bool get_piece(struct counts_process *q, const struct spool_piece *piece)
{
    struct spool_view *v = q->r->view;
    uint32_t first = piece->first, count = piece->count, words = counts_words(q->record);
    uint64_t all = (uint64_t)count * words;
    const uint64_t *counters = words > COUNTS_WORDS_MAX
                                   ? NULL
                                   : spool_at(&v->spool, piece->counters, all * sizeof *counters);
    /* Honest pieces are pages of their own, so together they are no more than the spool. */
    if (!counters || all > q->r->counters || first > COUNTS_IDS_MAX) {
        v->damage++;
        return true;
    }
    q->r->counters -= all;
    for (uint32_t i = 0; i < count; i++) {
        struct spool_thing thing;
        struct table_counter c = {first, first + i, &counters[(uint64_t)i * words], words, NULL};
        if (!load(c.words) && !q->watcher)
            continue;
        if (spool_counts_thing(q, c.id, &thing))
            c.thing = &thing;
        if (!add_count(q, &c))
            return false;
    }
    return true;
}

static bool tables_see(struct counts_process *q, const struct spool_window *w)
{
    bool ok = true;
    for (const struct profile_table *const *t = profile_tables; ok && *t; t++)
        ok = !(*t)->window || (*t)->window(q, w);
    return ok;
}

static bool get_windows(struct counts_process *q, const struct spool_counts *record)
{
    struct spool_view *v = q->r->view;
    struct record_list windows = {0};
    bool ok = spool_view_list(v, &record->windows, sizeof(struct spool_window), &windows);
    for (uint32_t i = 0; ok && i < windows.count; i++) {
        const struct spool_window *w = windows.records[i];
        struct record_list pieces = {0};
        ok =
            tables_see(q, w) && spool_view_list(v, &w->pieces, sizeof(struct spool_piece), &pieces);
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

static bool get_tables(struct counts_process *q, const struct spool_counts *record)
{
    const struct profile_table *const *t;
    bool ok = true;
    for (t = profile_tables; ok && *t; t++) {
        ok = !(*t)->begin || (*t)->begin(q);
        if ((*t)->counter && q->state[t - profile_tables])
            q->watcher = *t;
    }
    ok = ok && get_windows(q, record);
    for (t = profile_tables; ok && *t; t++)
        ok = !(*t)->read || (*t)->read(q);
    for (t = profile_tables; *t; t++)
        if ((*t)->end)
            (*t)->end(q);
    return ok;
}

void spool_counts_close(struct spool_counts_reader *r)
{
    inst_modules_free(r->modules);
    r->modules = NULL;
}

bool spool_counts_read(struct spool_counts_reader *r, spool_ref ref,
                       const struct profile_process *process, uint32_t index,
                       struct profile *p)
{
    struct profile_counts *to = observed_code(p);
    struct counts_process q = {
        .r = r, .profile = p, .to = to, .process = index, .maps = process};
    const struct spool_counts *record =
        ref ? spool_view_visit(r->view, ref, sizeof *record) : NULL;
    if (!record)
        return true;
    q.record = record;
    get_totals(r, record, to);
    get_latencies(record, to);
    bool ok = get_chunks(&q) && get_tables(&q, record);
    free(q.chunks.list);
    free(q.chunks.first);
    return ok;
}
