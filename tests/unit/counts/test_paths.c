/* Tables of paths: what was executed is in an entry or in what was dropped, however full they get;
 * and paths begin and end where they should. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "sigsafe/spool_paths.h"
#include "sigsafe/tools.h"
#include "tools/path_walk.h"

/* ---- tables ---- */

enum { SPOOL_SIZE = 256 << 20 };

struct fixture {
    struct spool spool;
    struct spool_counts *counts;
    struct path_store store;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    f->spool.mapped = SPOOL_SIZE;
    f->spool.base = mmap(NULL, SPOOL_SIZE, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(f->spool.base, MAP_FAILED);
    struct spool_header *h = spool_header(&f->spool);
    h->size = h->limit = SPOOL_SIZE;
    h->next = SPOOL_HEADER_SIZE;
    f->counts = spool_alloc_as(&f->spool, sizeof *f->counts);
    assert_true(paths_begin_as(&f->store, &f->spool, f->counts, 7));
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    munmap(f->spool.base, SPOOL_SIZE);
    free(f);
    return 0;
}

static uint64_t hash_of(uint32_t number)
{
    return ((uint64_t)number + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1;
}

/* Path `number` is the blocks number, number + 1 ..., 1 to 8 of them, of 2 instructions each. */
static void execute(struct path_store *p, uint32_t number, uint32_t times)
{
    uint32_t ids[8], length = 1 + number % 8;
    for (uint32_t i = 0; i < length; i++)
        ids[i] = number + i;
    for (uint32_t i = 0; i < times; i++)
        if (!paths_count_as(p, hash_of(number)))
            paths_insert_as(p, hash_of(number), ids, length, 2 * length);
}

struct sums {
    uint64_t paths, executions, instructions, wrong;
};

/* From the spool, as a reader finds it. */
static struct sums sum(const struct fixture *f)
{
    const struct spool *s = &f->spool;
    const struct spool_paths *record = spool_at(s, f->counts->tables[TABLE_PATHS], sizeof *record);
    const struct spool_path_table *t = spool_at(s, record->tables[record->current], sizeof *t);
    const struct spool_path *entries = spool_at(s, t->entries, t->capacity * sizeof *entries);
    const uint32_t *sequences = spool_at(s, t->sequences, t->words * sizeof *sequences);
    struct sums sums = {0};
    for (uint32_t i = 0; i < t->capacity; i++) {
        const struct spool_path *path = &entries[i];
        if (!path->hash)
            continue;
        sums.paths++;
        sums.executions += path->count;
        sums.instructions += path->count * path->instructions;
        const uint32_t *ids = sequences + path->first;
        sums.wrong += path->hash != hash_of(ids[0]) || path->length != 1 + ids[0] % 8;
        for (uint32_t k = 0; k < path->length; k++)
            sums.wrong += ids[k] != ids[0] + k;
    }
    assert_int_equal(sums.paths, t->used);
    return sums;
}

static void tables_grow(void **state)
{
    struct fixture *f = *state;
    enum { PATHS = 20000 };
    for (uint32_t i = 0; i < PATHS; i++)
        execute(&f->store, i, 1 + i % 3);
    struct sums s = sum(f);
    assert_int_equal(s.wrong, 0);
    assert_int_equal(s.paths, PATHS);
    assert_int_equal(s.executions, PATHS / 3 * 6 + 1 + 2);
    assert_int_equal(f->store.record->dropped_paths, 0);
    assert_true(f->store.table->capacity > PATHS && f->store.table->capacity < 4 * PATHS);
}

/* More paths than there is room for: the hot ones stay, with their counts; nothing is lost. */
static void cold_paths_are_dropped(void **state)
{
    struct fixture *f = *state;
    enum { PATHS = PATHS_MOST + PATHS_MOST / 4, HOT = 500 };
    uint64_t executions = 0, instructions = 0;
    for (uint32_t i = 0; i < PATHS; i++) {
        execute(&f->store, i, 1);
        execute(&f->store, i % HOT, 1);
        executions += 2;
        instructions += 2 * (1 + i % 8) + 2 * (1 + i % HOT % 8);
    }
    const struct spool_paths *record = f->store.record;
    struct sums s = sum(f);
    assert_int_equal(s.wrong, 0);
    assert_int_equal(s.executions + record->dropped, executions);
    assert_int_equal(s.instructions + record->dropped_instructions, instructions);
    assert_true(record->swept >= 2 && record->dropped_paths >= PATHS - PATHS_MOST);
    assert_int_equal(f->store.table->capacity, PATHS_MOST);
    for (uint32_t i = 0; i < HOT; i++)
        assert_true(paths_count_as(&f->store, hash_of(i)));
    /* Each was executed about PATHS / HOT times. */
    assert_int_equal(sum(f).executions, s.executions + HOT);
    assert_true(s.executions > PATHS);
}

/* Without memory for a larger table. */
static void a_full_spool_drops(void **state)
{
    struct fixture *f = *state;
    struct spool_header *h = spool_header(&f->spool);
    h->limit = h->next;
    for (uint32_t i = 0; i < 5000; i++)
        execute(&f->store, i, 2);
    struct sums s = sum(f);
    assert_int_equal(s.wrong, 0);
    assert_int_equal(s.executions + f->store.record->dropped, 10000);
    assert_in_range(s.paths, PATHS_FIRST / 2, PATHS_FIRST);
    h->limit = SPOOL_SIZE; /* the collector has made room */
    for (uint32_t i = 0; i < 5000; i++)
        execute(&f->store, i, 1);
    assert_int_equal(sum(f).paths, 5000);
}

/* ---- paths ---- */

/* A program of ten blocks, 16 bytes each, the last instruction at 12. Block i at 0x1000 + 16 i. */
static struct path_block program[10];

struct seen {
    char text[4096];
    uint64_t hashes[64];
    uint32_t count;
};

static void note(void *data, const struct path_seen *path)
{
    struct seen *s = data;
    for (uint32_t i = 0; i < path->length; i++)
        strcat(s->text, (char[]){(char)('0' + (path->records[i] & PATH_ID)), 0});
    strcat(s->text, path->complete ? "|" : "?");
    assert_int_not_equal(path->hash, 0);
    s->hashes[s->count++ % 64] = path->hash;
}

static bool known(void *data, uint64_t hash)
{
    (void)data;
    (void)hash;
    return false;
}

static const struct path_block *block(void *data, uint32_t id)
{
    (void)data;
    return &program[id];
}

/* j: a block that may jump back; n: cut, without a transfer; other digits end in calls, returns,
 * forward branches. */
static uint32_t parse(const char *text, uint32_t *records)
{
    uint32_t count = 0;
    for (; *text; text++)
        if (*text == 'j')
            records[count - 1] |= PATH_JUMPS;
        else if (*text == 'n')
            records[count - 1] &= ~PATH_BRANCH;
        else if (*text != ' ')
            records[count++] = (uint32_t)(*text - '0') | PATH_BRANCH;
    return count;
}

static struct seen split(const char *text, bool begun, bool complete)
{
    struct seen seen = {{0}, {0}, 0}, again = {{0}, {0}, 0};
    static uint32_t records[4096];
    static struct path_walk w, one;
    struct path_user user = {known, note, block, &seen}, second = {known, note, block, &again};
    uint32_t count = parse(text, records);
    for (uint32_t i = 0; i < 10; i++)
        program[i] = (struct path_block){0x1000 + 16 * i, 12, 4, path_mixed(i)};
    path_walk_begin(&w, begun);
    path_walk(&w, &user, records, count);
    path_walk_end_one(&w, &user, complete);
    /* The same in pieces of one. */
    path_walk_begin(&one, begun);
    for (uint32_t i = 0; i < count; i++)
        path_walk(&one, &second, &records[i], 1);
    path_walk_end_one(&one, &second, complete);
    assert_memory_equal(&seen, &again, sizeof seen);
    return seen;
}

static void backward_jumps_end_paths(void **state)
{
    (void)state;
    assert_string_equal(split("0 1 2j 1 2j 1 2j 3", true, true).text, "012|12|123|");
}

static void calls_and_returns_go_on(void **state)
{
    (void)state;
    /* 5 calls 1, which returns; only jumps (j) end a path, and only backwards or to themselves. */
    assert_string_equal(split("4 5 1 2 6", true, true).text, "45126|");
    assert_string_equal(split("4j 5j 6j 6j 7", true, true).text, "456|67|");
}

static void a_beginning_that_was_not_seen_is_cut(void **state)
{
    (void)state;
    assert_string_equal(split("3 4j 1 2j 1 2", false, false).text, "34?12|12?");
    assert_string_equal(split("3 4j 1 2j 1 2", true, true).text, "34|12|12|");
}

static void equal_paths_have_equal_hashes(void **state)
{
    (void)state;
    struct seen s = split("1 2 3j 1 2 3j 1 3 2j 1 2j 1", true, true);
    assert_string_equal(s.text, "123|123|132|12|1|");
    assert_int_equal(s.hashes[0], s.hashes[1]);
    for (uint32_t i = 1; i < s.count; i++)
        for (uint32_t k = i + 1; k < s.count; k++)
            assert_int_not_equal(s.hashes[i], s.hashes[k]);
}

/* The first thing of a process, a block, has the id 0. */
static void the_first_block_is_in_the_hash(void **state)
{
    (void)state;
    struct seen s = split("0 1 2j 1 2j 0j 0j 0", true, true);
    assert_string_equal(s.text, "012|12|0|0|0|");
    assert_int_not_equal(s.hashes[0], s.hashes[1]);
}

static void long_paths_are_cut(void **state)
{
    (void)state;
    char text[1024] = "";
    for (int i = 0; i < PATH_BRANCHES + 3; i++)
        strcat(text, "1");
    struct seen s = split(text, true, true);
    assert_int_equal(s.count, 2);
    assert_int_equal(strchr(s.text, '|') - s.text, PATH_BRANCHES);
    *text = 0;
    for (int i = 0; i < PATH_BLOCKS + 5; i++)
        strcat(text, "1n");
    s = split(text, true, true);
    assert_int_equal(s.count, 2);
    assert_int_equal(strchr(s.text, '|') - s.text, PATH_BLOCKS);
}

/* Whatever comes, it is split in the same way as in pieces of one (split compares), and nothing is
 * lost. */
static void any_blocks_are_split(void **state)
{
    enum { STREAMS = 300, LENGTH = 1500 };
    uint32_t x = 1;
    (void)state;
    for (unsigned stream = 0; stream < STREAMS; stream++) {
        char text[2 * LENGTH + 1] = "";
        uint32_t blocks = 0, seen = 0, jumps = stream % 9 + 1;
        for (char *to = text; to - text + 2 < (long)sizeof text && blocks < LENGTH; blocks++) {
            x = x * 1664525 + 1013904223;
            *to++ = (char)('0' + (x >> 24) % 10);
            if ((x >> 16) % 10 < jumps)
                *to++ = (x >> 8) % 4 ? 'j' : 'n';
        }
        struct seen s = split(text, stream & 1, stream & 2);
        for (const char *c = s.text; *c; c++)
            seen += *c != '|' && *c != '?';
        assert_int_equal(seen, blocks);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tables_grow, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cold_paths_are_dropped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_spool_drops, set_up, tear_down),
        cmocka_unit_test(backward_jumps_end_paths),
        cmocka_unit_test(calls_and_returns_go_on),
        cmocka_unit_test(a_beginning_that_was_not_seen_is_cut),
        cmocka_unit_test(equal_paths_have_equal_hashes),
        cmocka_unit_test(the_first_block_is_in_the_hash),
        cmocka_unit_test(long_paths_are_cut),
        cmocka_unit_test(any_blocks_are_split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
