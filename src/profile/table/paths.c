/* Interprocedural acyclic paths: in a profile, from the spool, in the file. */
#include "profile/paths.h"

#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "profile/kind/kind.h"
#include "profile/table/table.h"
#include "sigsafe/spool_paths.h"
#include "sigsafe/tools.h"

struct profile_paths *profile_paths_new(void)
{
    return calloc(1, sizeof(struct profile_paths));
}

void profile_paths_free(struct profile_paths *p)
{
    if (!p)
        return;
    free(p->paths);
    free(p->sequence);
    free(p);
}

/* Room for `more` behind `count`. The array as it was where there is no memory, and false. */
static bool reserve(void **array, uint32_t *capacity, uint32_t count, uint32_t more, size_t each)
{
    if (more > UINT32_MAX / 2 - count)
        return false;
    if (count + more <= *capacity)
        return true;
    uint32_t wanted = *capacity ? *capacity : 1024;
    while (wanted < count + more)
        wanted *= 2;
    void *grown = realloc(*array, (size_t)wanted * each);
    if (!grown)
        return false;
    *array = grown;
    *capacity = wanted;
    return true;
}

bool profile_paths_add(struct profile_paths *p, const uint32_t *blocks, uint32_t length,
                       uint64_t count)
{
    void *paths = p->paths, *sequence = p->sequence;
    bool ok =
        reserve(&paths, &p->capacity, p->count, 1, sizeof *p->paths) &&
        reserve(&sequence, &p->sequence_capacity, p->sequence_count, length, sizeof *p->sequence);
    p->paths = paths;
    p->sequence = sequence;
    if (!ok)
        return false;
    p->paths[p->count++] = (struct profile_path){count, p->sequence_count, length};
    if (length) /* or there may be no array yet */
        memcpy(p->sequence + p->sequence_count, blocks, length * sizeof *blocks);
    p->sequence_count += length;
    return true;
}

static void free_table(void *table)
{
    profile_paths_free(table);
}

static bool append(void **into, const void *added, const struct table_append *how)
{
    const struct profile_paths *from = added;
    struct profile_paths *p = *into ? *into : profile_paths_new();
    *into = p;
    for (uint32_t i = 0; p && i < from->count; i++) {
        const struct profile_path *path = &from->paths[i];
        uint32_t at = p->sequence_count;
        if (!profile_paths_add(p, from->sequence + path->first, path->length, path->count))
            return false;
        for (uint32_t k = at; k < p->sequence_count; k++)
            p->sequence[k] += how->first_block;
    }
    if (!p)
        return false;
    p->dropped_paths = add_saturated(p->dropped_paths, from->dropped_paths);
    p->dropped = add_saturated(p->dropped, from->dropped);
    p->dropped_instructions = add_saturated(p->dropped_instructions, from->dropped_instructions);
    p->cut = add_saturated(p->cut, from->cut);
    p->cut_instructions = add_saturated(p->cut_instructions, from->cut_instructions);
    return true;
}

#define ORDER(x, y)                                                                                \
    if ((x) != (y))                                                                                \
    return (x) < (y) ? -1 : 1

/* qsort_r's argument: the sequence. */
static int compare_blocks(const void *a, const void *b, void *sequence)
{
    const struct profile_path *x = a, *y = b;
    const uint32_t *s = (const uint32_t *)sequence + x->first,
                   *t = (const uint32_t *)sequence + y->first;
    for (uint32_t i = 0; i < x->length && i < y->length; i++)
        ORDER(s[i], t[i]);
    ORDER(x->length, y->length);
    return 0;
}

static int compare_paths(const void *a, const void *b, void *sequence)
{
    const struct profile_path *x = a, *y = b;
    ORDER(y->count, x->count);
    return compare_blocks(a, b, sequence);
}

/* The sequences in the order of the paths, without what is no path's. */
static bool sequence_pack(struct profile_paths *p)
{
    uint32_t *packed = calloc((size_t)p->sequence_count + 1, sizeof *packed), used = 0;
    if (!packed)
        return false;
    for (uint32_t i = 0; i < p->count; i++) {
        struct profile_path *path = &p->paths[i];
        memcpy(packed + used, p->sequence + path->first, path->length * sizeof *packed);
        path->first = used;
        used += path->length;
    }
    free(p->sequence);
    p->sequence = packed;
    p->sequence_capacity = p->sequence_count + 1;
    p->sequence_count = used;
    return true;
}

static bool settle(void *table, const uint32_t *new_index)
{
    struct profile_paths *p = table;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < p->sequence_count; i++)
        p->sequence[i] = new_index[p->sequence[i]];
    if (p->count)
        qsort_r(p->paths, p->count, sizeof *p->paths, compare_blocks, p->sequence);
    for (uint32_t i = 0; i < p->count; i++) {
        struct profile_path *last = kept ? &p->paths[kept - 1] : NULL;
        if (last && compare_blocks(last, &p->paths[i], p->sequence) == 0)
            last->count = add_saturated(last->count, p->paths[i].count);
        else
            p->paths[kept++] = p->paths[i];
    }
    p->count = kept;
    if (p->count)
        qsort_r(p->paths, p->count, sizeof *p->paths, compare_paths, p->sequence);
    return sequence_pack(p);
}

const struct profile_paths *profile_paths_of(const struct profile *p)
{
    return observed_table(p, TABLE_PATHS);
}

uint64_t profile_paths_executions(const struct profile_paths *p)
{
    uint64_t sum = p->dropped;
    for (uint32_t i = 0; i < p->count; i++)
        sum = add_saturated(sum, p->paths[i].count);
    return sum;
}

/* ---- from the spool ---- */

/* By id, 1 + the index of the block; 0: not looked at yet. */
struct path_blocks {
    uint32_t *index;
    uint32_t ids; /* room in it */
};

struct path_reader {
    struct counts_process *q;
    struct profile_paths *to;
    struct path_blocks blocks;
    bool weighs; /* executions of its blocks are those of the profile */
};

/* A table as it was found: the program may change it. */
struct found {
    const struct spool_path *entries;
    const uint32_t *sequences;
    uint32_t capacity, words;
};

static uint64_t load(const uint64_t *at)
{
    return __atomic_load_n(at, __ATOMIC_RELAXED);
}

static bool path_block(struct path_reader *r, uint32_t id, uint32_t *index)
{
    struct path_blocks *known = &r->blocks;
    struct spool_thing thing;
    *index = UINT32_MAX;
    if (id < known->ids && known->index[id]) {
        *index = known->index[id] - 1;
        return true;
    }
    if (!spool_counts_thing(r->q, id, &thing) || !spool_counts_is_block(&thing))
        return true;
    while (id >= known->ids) {
        uint32_t old = known->ids;
        uint32_t *grown = spool_counts_room(known->index, known->ids, &known->ids, sizeof *grown);
        if (!grown)
            return false;
        known->index = grown;
        for (uint32_t i = old; i < known->ids; i++)
            grown[i] = 0;
    }
    *index = r->q->to->block_count;
    known->index[id] = *index + 1;
    return spool_counts_add_block(r->q, &thing, 0);
}

/* What a block's executions add to instructions and classes, now that they are known. */
static void weigh(struct path_reader *r, uint32_t id)
{
    struct profile_counts *c = r->q->to;
    struct spool_thing thing;
    if (!r->blocks.index[id] || !spool_counts_thing(r->q, id, &thing) ||
        !spool_counts_is_block(&thing))
        return;
    uint64_t count = c->blocks[r->blocks.index[id] - 1].count;
    if (count > SPOOL_COUNTER_MAX)
        count = SPOOL_COUNTER_MAX;
    c->instructions = add_saturated(c->instructions, count * thing.block.instructions);
    for (unsigned i = 0; i < CLASS_COUNT; i++)
        c->classes[i] = add_saturated(c->classes[i], count * thing.block.classes[i]);
}

static bool find_table(const struct spool_view *v, spool_ref ref, struct found *out)
{
    const struct spool_path_table *t = spool_at(&v->spool, ref, sizeof *t);
    if (!t)
        return false;
    out->capacity = __atomic_load_n(&t->capacity, __ATOMIC_RELAXED);
    out->words = __atomic_load_n(&t->words, __ATOMIC_RELAXED);
    out->entries = spool_at(&v->spool, t->entries, out->capacity * sizeof *out->entries);
    out->sequences = spool_at(&v->spool, t->sequences, out->words * sizeof *out->sequences);
    return out->entries && out->sequences;
}

/* The blocks of a path. False: it is no path. */
static bool find_blocks(struct path_reader *r, const struct found *t, const struct spool_path *path,
                        uint32_t *blocks, uint32_t *length, bool *memory)
{
    uint32_t first = __atomic_load_n(&path->first, __ATOMIC_RELAXED);
    *length = __atomic_load_n(&path->length, __ATOMIC_RELAXED);
    if (!*length || *length > PATH_BLOCKS || first > t->words || *length > t->words - first)
        return false;
    for (uint32_t i = 0; i < *length; i++) {
        uint32_t id = __atomic_load_n(&t->sequences[first + i], __ATOMIC_RELAXED);
        *memory = path_block(r, id, &blocks[i]);
        if (!*memory || blocks[i] == UINT32_MAX)
            return false;
    }
    return true;
}

/* The path's executions are its blocks'. */
static bool read_path(struct path_reader *r, const struct found *t, const struct spool_path *path)
{
    struct spool_view *v = r->q->r->view;
    uint32_t blocks[PATH_BLOCKS], length;
    uint64_t count = spool_view_count(v, &path->count);
    bool memory = true;
    if (!__atomic_load_n(&path->hash, __ATOMIC_ACQUIRE))
        return true;
    if (!find_blocks(r, t, path, blocks, &length, &memory)) {
        v->damage += memory;
        return memory;
    }
    for (uint32_t i = 0; r->weighs && i < length; i++) {
        struct profile_block *block = &r->q->to->blocks[blocks[i]];
        block->count = add_saturated(block->count, count);
    }
    return profile_paths_add(r->to, blocks, length, count);
}

static void read_totals(struct profile_paths *p, const struct spool_paths *s)
{
    p->dropped_paths = add_saturated(p->dropped_paths, load(&s->dropped_paths));
    p->dropped = add_saturated(p->dropped, load(&s->dropped));
    p->dropped_instructions =
        add_saturated(p->dropped_instructions, load(&s->dropped_instructions));
    p->cut = add_saturated(p->cut, load(&s->cut));
    p->cut_instructions = add_saturated(p->cut_instructions, load(&s->cut_instructions));
}

static bool read_thread(struct path_reader *r, const struct spool_paths *s)
{
    struct spool_view *v = r->q->r->view;
    uint64_t *bytes = &r->q->r->table_bytes;
    struct found t;
    uint32_t current = __atomic_load_n(&s->current, __ATOMIC_ACQUIRE);
    if (current > 1 || !find_table(v, __atomic_load_n(&s->tables[current], __ATOMIC_ACQUIRE), &t) ||
        t.capacity > *bytes / sizeof *t.entries) {
        v->damage++;
        return true;
    }
    *bytes -= t.capacity * sizeof *t.entries;
    read_totals(r->to, s);
    bool ok = true;
    for (uint32_t i = 0; ok && i < t.capacity; i++)
        ok = read_path(r, &t, &t.entries[i]);
    return ok;
}

static bool add_process(struct counts_process *q)
{
    const uint32_t *head = &q->record->tables[TABLE_PATHS];
    const struct spool_thing own = {.tool = TOOL_PATHS};
    struct path_reader r = {.q = q,
                            .to = observed_table(q->profile, TABLE_PATHS),
                            .weighs = spool_counts_weighs(q, &own)};
    struct record_list list = {0};
    if (!__atomic_load_n(head, __ATOMIC_ACQUIRE))
        return true;
    if (!r.to && (r.to = profile_paths_new()))
        profile_observe(q->profile, OBSERVED_TABLES + TABLE_PATHS, r.to);
    if (!r.to)
        return false;
    uint64_t others = add_saturated(r.to->dropped_instructions, r.to->cut_instructions);
    bool ok = spool_view_list(q->r->view, head, sizeof(struct spool_paths), &list);
    for (uint32_t i = 0; ok && i < list.count; i++)
        ok = read_thread(&r, list.records[i]);
    for (uint32_t id = 0; ok && id < r.blocks.ids; id++)
        weigh(&r, id);
    uint64_t all = add_saturated(r.to->dropped_instructions, r.to->cut_instructions);
    if (r.weighs)
        q->to->instructions = add_saturated(q->to->instructions, all - others);
    free(list.records);
    free(r.blocks.index);
    return ok;
}

const struct profile_table table_paths = {
    .read = add_process,
    .free = free_table,
    .append = append,
    .settle = settle,
};

/* ---- in the file ---- */

static bool section_needed(const struct profile *p)
{
    return observed_table(p, TABLE_PATHS);
}

/* A path's first block, as a difference from that of the path before: hot paths begin alike. */
static uint32_t begins(const struct profile_paths *p, uint32_t path)
{
    return p->sequence[p->paths[path].first];
}

static void put_totals(struct buf *b, const struct profile_paths *p)
{
    buf_put_uleb(b, p->dropped_paths);
    buf_put_uleb(b, p->dropped);
    buf_put_uleb(b, p->dropped_instructions);
    buf_put_uleb(b, p->cut);
    buf_put_uleb(b, p->cut_instructions);
}

static void section_put(struct buf *b, const struct encoder *x)
{
    const struct profile_paths *p = observed_table(x->p, TABLE_PATHS);
    put_totals(b, p);
    buf_put_uleb(b, p->count);
    buf_put_uleb(b, p->sequence_count);
    for (uint32_t i = 0; i < p->count; i++)
        buf_put_uleb(b, i ? p->paths[i - 1].count - p->paths[i].count : p->paths[i].count);
    for (uint32_t i = 0; i < p->count; i++)
        buf_put_uleb(b, p->paths[i].length);
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t before = i ? begins(p, i - 1) : 0;
        const uint32_t *block = p->sequence + p->paths[i].first;
        for (uint32_t k = 0; k < p->paths[i].length; before = block[k++])
            buf_put_sleb(b, (int64_t)block[k] - (int64_t)before);
    }
}

static bool paths_good(const struct profile *of)
{
    const struct profile_paths *p = profile_paths_of(of);
    const struct profile_counts *c = observed_code(of);
    uint64_t sequence = 0;
    for (uint32_t i = 0; p && i < p->count; i++) {
        const struct profile_path *path = &p->paths[i];
        if (!path->length || path->first != sequence || (i && path->count > path[-1].count))
            return false;
        sequence += path->length;
    }
    if (p && sequence != p->sequence_count)
        return false;
    for (uint32_t i = 0; p && i < p->sequence_count; i++)
        if (p->sequence[i] >= c->block_count)
            return false;
    return true;
}

static bool section_check(const struct profile *p, struct err *e)
{
    return paths_good(p) ||
           err_set(e, ERR_INTERNAL,
                   "the profile cannot be written: a path is of no block, or out of "
                   "order");
}

static void get_totals(struct cursor *c, struct profile_paths *p)
{
    struct {
        uint64_t *to;
        const char *what;
    } fields[] = {
        {&p->dropped_paths, "the number of paths dropped"},
        {&p->dropped, "the executions of dropped paths"},
        {&p->dropped_instructions, "the instructions of dropped paths"},
        {&p->cut, "the number of cut paths"},
        {&p->cut_instructions, "the instructions of cut paths"},
    };
    for (unsigned i = 0; i < sizeof fields / sizeof *fields; i++)
        *fields[i].to = cursor_uleb(c, UINT64_MAX, fields[i].what);
}

static void get_paths(struct cursor *c, struct profile_paths *p, uint32_t blocks)
{
    uint64_t count = UINT64_MAX;
    uint32_t at = 0;
    for (uint32_t i = 0; i < p->count && !c->failed; i++) {
        uint64_t step = cursor_uleb(c, count, "a count, or its step");
        count = i ? count - step : step;
        p->paths[i].count = count;
    }
    for (uint32_t i = 0; i < p->count && !c->failed; i++) {
        uint32_t most = p->sequence_count - at;
        p->paths[i].first = at;
        p->paths[i].length = (uint32_t)cursor_uleb(c, most, "the length of a path");
        if (!c->failed && !p->paths[i].length)
            cursor_fail(c, "the length of a path, which is never 0");
        at += p->paths[i].length;
    }
    if (!c->failed && at != p->sequence_count)
        cursor_fail(c, "lengths of paths that fill the section");
    for (uint32_t i = 0; i < p->count && !c->failed; i++) {
        uint32_t before = i ? begins(p, i - 1) : 0;
        for (uint32_t k = 0; k < p->paths[i].length && !c->failed; k++) {
            uint64_t block = before + (uint64_t)cursor_sleb(c, "the step to a block of a path");
            if (!c->failed && block >= blocks)
                cursor_fail(c, "the step to a block of a path, which exists");
            before = (uint32_t)block;
            p->sequence[p->paths[i].first + k] = before;
        }
    }
}

static void section_get(struct decoder *d, struct cursor *c)
{
    struct profile_paths *p = profile_paths_new();
    if (!p) {
        read_no_memory(c);
        return;
    }
    profile_observe(d->p, OBSERVED_TABLES + TABLE_PATHS, p);
    get_totals(c, p);
    p->count = cursor_count(c, 3, "a number of paths that fits the section");
    p->sequence_count = cursor_count(c, 1, "a number of blocks that fits the section");
    p->paths = read_array(c, p->count, sizeof *p->paths);
    p->sequence = read_array(c, p->sequence_count, sizeof *p->sequence);
    get_paths(c, p, observed_code(d->p)->block_count);
    if (c->failed)
        p->count = p->sequence_count = 0;
}

const struct section_kind kind_paths = {
    .type = {40, "paths", 0},
    .within = 24,
    .about = "optional, with 24: interprocedural acyclic paths",
    .needed = section_needed,
    .check = section_check,
    .put = section_put,
    .get = section_get,
};
