#include "sigsafe/spool_paths.h"

#include "sigsafe/tools.h"

#include <stddef.h>

/* ---- tables ---- */

static void use(struct path_store *p, struct spool_path_table *table)
{
    p->table = table;
    p->entries = spool_at(p->spool, table->entries, table->capacity * sizeof *p->entries);
    p->sequences = spool_at(p->spool, table->sequences, table->words * sizeof *p->sequences);
    p->mask = table->capacity - 1;
    p->shift = (uint32_t)__builtin_clz(table->capacity) + 33;
}

/* All of it or nothing: who waits for room tries again. */
static struct spool_path_table *table_make_as(const struct spool *s, uint32_t capacity)
{
    uint32_t words = capacity * PATH_WORDS;
    struct spool_path *entries = spool_alloc_pages_as(
        s, capacity * sizeof *entries + words * sizeof(uint32_t) + sizeof(struct spool_path_table));
    if (!entries)
        return NULL;
    uint32_t *sequences = (uint32_t *)(void *)(entries + capacity);
    struct spool_path_table *table = (struct spool_path_table *)(void *)(sequences + words);
    table->capacity = capacity;
    table->words = words;
    table->entries = spool_ref_of(s, entries);
    table->sequences = spool_ref_of(s, sequences);
    return table;
}

bool paths_begin_as(struct path_store *p, const struct spool *s, struct spool_counts *c,
                    int32_t tid)
{
    struct spool_paths *record = spool_alloc_as(s, sizeof *record);
    struct spool_path_table *table = record ? table_make_as(s, PATHS_FIRST) : NULL;
    p->spool = s;
    p->record = table ? record : NULL;
    if (!table)
        return false;
    use(p, table);
    record->tid = tid;
    record->tables[0] = spool_ref_of(s, table);
    spool_push_as(s, &c->tables[TABLE_PATHS], record);
    return true;
}

bool paths_resume_as(struct path_store *p, const struct spool *s, spool_ref ref, int32_t tid)
{
    struct spool_paths *record = ref ? spool_at(s, ref, sizeof *record) : NULL;
    struct spool_path_table *table = NULL;
    if (record)
        table = spool_at(s, record->tables[record->current & 1], sizeof *table);
    if (!table)
        return false;
    p->spool = s;
    p->record = record;
    record->tid = tid;
    use(p, table);
    return true;
}

static bool is_full(const struct spool_path_table *t, uint32_t length)
{
    return t->used >= t->capacity / 4 * 3 || length > t->words - t->words_used;
}

/* There is room, and the path is not in the table. */
static void put(struct path_store *p, const struct spool_path *path, const uint32_t *ids)
{
    struct spool_path_table *t = p->table;
    uint32_t at = (uint32_t)(path->hash >> p->shift);
    while (p->entries[at & p->mask].hash)
        at++;
    struct spool_path *to = &p->entries[at & p->mask];
    for (uint32_t i = 0; i < path->length; i++)
        p->sequences[t->words_used + i] = ids[i];
    to->count = path->count;
    to->first = t->words_used;
    to->instructions = path->instructions;
    to->length = path->length;
    t->words_used += path->length;
    t->used++;
    __atomic_store_n(&to->hash, path->hash, __ATOMIC_RELEASE);
}

/* ---- growing and sweeping ---- */

static unsigned magnitude(uint64_t count)
{
    return 63u - (unsigned)__builtin_clzll(count | 1);
}

/* The paths of at least 2^from executions are kept, and of the magnitude below so many of 65,536 as
 * `share`: chosen by bits that have no part in where an entry is, or some of the table would be
 * dense. */
struct choice {
    unsigned from;
    uint32_t share;
};

static uint32_t lot(uint64_t hash)
{
    return (uint32_t)(hash >> 24) & 0xffff;
}

/* At most half of the room is filled again: by the hottest. */
static struct choice choose(const struct path_store *p)
{
    uint32_t number[64], words[64], kept = 0, kept_words = 0;
    for (unsigned i = 0; i < 64; i++)
        number[i] = words[i] = 0;
    for (uint32_t i = 0; i <= p->mask; i++)
        if (p->entries[i].hash) {
            number[magnitude(p->entries[i].count)]++;
            words[magnitude(p->entries[i].count)] += p->entries[i].length;
        }
    unsigned from = 64;
    for (; from > 0; from--) {
        kept += number[from - 1];
        kept_words += words[from - 1];
        if (kept > p->table->capacity / 2 || kept_words > p->table->words / 2)
            break;
    }
    if (!from)
        return (struct choice){0, 0};
    /* Where most paths are equally cold, some of them. */
    kept -= number[from - 1];
    uint64_t room = (p->table->capacity / 2 - kept) / 2;
    return (struct choice){from, (uint32_t)((room << 16) / number[from - 1])};
}

static void copy(struct path_store *to, const struct path_store *from, struct choice choice)
{
    struct spool_paths *record = to->record;
    uint64_t paths = 0, executions = 0, instructions = 0;
    for (uint32_t i = 0; i <= from->mask; i++) {
        const struct spool_path *path = &from->entries[i];
        if (!path->hash)
            continue;
        unsigned m = magnitude(path->count);
        bool extra = m + 1 == choice.from && lot(path->hash) < choice.share &&
                     to->table->words_used + path->length <= to->table->words / 2;
        if (m >= choice.from || extra) {
            put(to, path, from->sequences + path->first);
            continue;
        }
        paths++;
        executions += path->count;
        instructions += path->count * path->instructions;
    }
    record->dropped_paths += paths;
    record->dropped += executions;
    record->dropped_instructions += instructions;
}

static void empty(struct path_store *p)
{
    p->table->used = p->table->words_used = 0;
    for (uint32_t i = 0; i <= p->mask; i++)
        p->entries[i].hash = 0;
}

/* Twice the room, or half of it free again. False: no memory. */
static bool make_room_as(struct path_store *p)
{
    struct spool_paths *record = p->record;
    uint32_t other = !record->current;
    uint32_t capacity = p->table->capacity < PATHS_MOST ? 2 * p->table->capacity : PATHS_MOST;
    bool sweep = capacity == p->table->capacity;
    struct spool_path_table *table =
        spool_at(p->spool, record->tables[other], sizeof *table);
    if (!table || table->capacity != capacity)
        table = table_make_as(p->spool, capacity);
    if (!table)
        return false;
    struct path_store old = *p;
    __atomic_store_n(&record->tables[other], spool_ref_of(p->spool, table), __ATOMIC_RELAXED);
    use(p, table);
    empty(p);
    copy(p, &old, sweep ? choose(&old) : (struct choice){0, 0});
    record->swept += sweep;
    __atomic_store_n(&record->current, other, __ATOMIC_RELEASE);
    return true;
}

bool paths_room_as(struct path_store *p, uint32_t length)
{
    return !is_full(p->table, length) || (make_room_as(p) && !is_full(p->table, length));
}

void paths_insert_as(struct path_store *p, uint64_t hash, const uint32_t *ids, uint32_t length,
                     uint32_t instructions)
{
    struct spool_path path = {.hash = hash, .count = 1, .instructions = instructions,
                              .length = (uint16_t)length};
    if (paths_room_as(p, length)) {
        put(p, &path, ids);
        return;
    }
    p->record->dropped_paths++;
    p->record->dropped++;
    p->record->dropped_instructions += instructions;
}
