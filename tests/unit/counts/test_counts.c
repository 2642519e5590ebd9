/* From counters in a spool to a profile; and profiles into one. */
#include "profile/counts.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "../profile/sample.h"
#include "profile/merge.h"
#include "profile/parts.h"
#include "profile/spool_read.h"
#include "sigsafe/settings.h"
#include "sigsafe/tools.h"

enum { SIZE = 8 << 20 };

static uint64_t count_at(const struct profile *p, const char *path, uint64_t offset)
{
    for (uint32_t i = 0; i < observed_code(p)->block_count; i++) {
        const struct profile_block *b = &observed_code(p)->blocks[i];
        if (b->offset == offset && b->image < p->image_count &&
            strcmp(p->images[b->image].path, path) == 0)
            return b->count;
    }
    return 0;
}

static struct profile *read_spool(const struct spool *s, uint64_t *damage)
{
    struct err e = {0};
    struct profile *p = profile_from_spool(s, damage, &e);
    assert_string_equal(e.message, "");
    assert_non_null(p);
    return p;
}

static struct spool exact_spool(void)
{
    struct spool s = sample_spool_new(SIZE);
    settings_sampling_as(&s)->carrier = CARRIER_EXACT;
    settings_sampling_as(&s)->tools = tools_one(TOOL_EDGES);
    for (uint32_t i = 1; i <= 3; i++)
        sample_image(&s, i, i == 1 ? "/lib/one.so" : i == 2 ? "/lib/two.so" : "/lib/three.so");
    return s;
}

static void release(struct spool *s, struct counts_window *w)
{
    munmap(w->base, w->capacity * sizeof *w->base);
    sample_spool_free(s);
}

static void counters_become_blocks_and_edges(void **state)
{
    (void)state;
    struct spool s = exact_spool();
    struct spool_process *process = sample_process(&s, 7);
    struct counts_window w = sample_counts(&s, process);
    uint64_t damage = 1;
    w.base[0] = 5; /* image 1, 0x1000 */
    w.base[2] = 7; /* image 2, 0x1010 */
    w.base[3] = 6; /* the edge of that block */
    struct profile *p = read_spool(&s, &damage);
    assert_int_equal(damage, 0);
    assert_string_equal(observed_code(p)->carrier, "exact");
    assert_true(profile_is_exact(p));
    assert_string_equal(observed_code(p)->tool, "edges");
    assert_string_equal(p->metrics[0].trigger, "instructions");
    assert_string_equal(p->metrics[0].unit, "events");
    assert_int_equal(p->metrics[0].period, 1);
    assert_int_equal(observed_code(p)->block_count, 2);
    assert_int_equal(count_at(p, "/lib/one.so", 0x1000), 5);
    assert_int_equal(count_at(p, "/lib/two.so", 0x1010), 7);
    assert_true(observed_code(p)->counted);
    assert_int_equal(observed_code(p)->instructions, 12 * 4);
    assert_true(observed_code(p)->classified);
    assert_int_equal(observed_code(p)->classes[CLASS_MOVE], 36);
    assert_int_equal(observed_code(p)->classes[CLASS_BRANCH], 12);
    assert_int_equal(observed_code(p)->stopped[STOP_RSEQ], 2);
    assert_int_equal(observed_code(p)->edge_count, 1);
    assert_int_equal(observed_code(p)->edges[0].from, 0x1019);
    assert_int_equal(observed_code(p)->edges[0].to, 0x1050);
    assert_int_equal(observed_code(p)->edges[0].count, 6);
    profile_free(p);
    release(&s, &w);
}

static void processes_and_windows_are_summed(void **state)
{
    (void)state;
    struct spool s = exact_spool();
    struct spool_process *parent = sample_process(&s, 7), *child = sample_process(&s, 8);
    struct counts_window w = sample_counts(&s, parent), second = {0};
    uint64_t damage = 1;
    w.base[0] = 5;
    const struct spool_counts *c = spool_at(&s, parent->counts, sizeof *c);
    struct spool_counts *forked = counts_fork_child_as(&s, c, child);
    /* The parent's next id and the child's are the same number and different things. */
    struct spool_thing mine = {.key = key_make(3, 0x9000), .kind = THING_BLOCK,
                               .block = {.bytes = 2, .instructions = 1}}, its = mine;
    its.key = key_make(3, 0xa000);
    assert_int_equal(counts_thing_as(&s, forked, &its), 120);
    assert_int_equal(counts_thing_as(&s, spool_at(&s, parent->counts, sizeof *c), &mine), 120);
    uint64_t *space = mmap(NULL, COUNTS_PIECE * sizeof *space, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(counts_window_begin_as(&s, forked, &second, space, COUNTS_PIECE, 8));
    assert_true(counts_window_grow_as(&s, &second, 121));
    w.base[120] = 100;
    second.base[0] = 37;
    second.base[120] = 1000;
    struct profile *p = read_spool(&s, &damage);
    assert_int_equal(damage, 0);
    assert_int_equal(count_at(p, "/lib/one.so", 0x1000), 42);
    assert_int_equal(count_at(p, "/lib/three.so", 0x9000), 100);
    assert_int_equal(count_at(p, "/lib/three.so", 0xa000), 1000);
    profile_free(p);
    munmap(space, COUNTS_PIECE * sizeof *space);
    release(&s, &w);
}

/* A thread that has just begun has a window, and no rows of results yet; one that the spool has no
 * room for never gets any. */
static void a_thread_without_rows_is_sound(void **state)
{
    (void)state;
    struct spool s = exact_spool();
    struct spool_process *process = sample_process(&s, 7);
    struct counts_window w = sample_counts(&s, process), second = {0};
    struct spool_counts *c = spool_at(&s, process->counts, sizeof *c);
    uint64_t damage = 1;
    settings_sampling_as(&s)->tools = tools_one(TOOL_RESULTS);
    sample_results_in(&s, c, &w);
    uint64_t *space =
        mmap(NULL, COUNTS_PIECE * sizeof *space, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(counts_window_begin_as(&s, c, &second, space, COUNTS_PIECE, 8));
    assert_true(counts_window_grow_as(&s, &second, 1));
    w.base[0] = 5;
    second.base[0] = 37;
    struct profile *p = read_spool(&s, &damage);
    assert_int_equal(damage, 0);
    assert_int_equal(count_at(p, "/lib/one.so", 0x1000), 42);
    assert_int_equal(observed_values(p)->hotlist_count, 2 * 20); /* and what copies them */
    profile_free(p);
    munmap(space, COUNTS_PIECE * sizeof *space);
    release(&s, &w);
}

/* As with the tool null, or before the first block: parent and child count different things from
 * 0. */
static void a_fork_before_the_first_thing_is_sound(void **state)
{
    (void)state;
    struct spool s = exact_spool();
    struct spool_process *parent = sample_process(&s, 7), *child = sample_process(&s, 8);
    struct spool_counts *c = counts_begin_as(&s, parent);
    struct spool_counts *forked = counts_fork_child_as(&s, c, child);
    struct spool_thing mine = {.key = key_make(3, 0x9000), .kind = THING_BLOCK,
                               .block = {.bytes = 2, .instructions = 1}}, its = mine;
    its.key = key_make(3, 0xa000);
    assert_int_equal(counts_thing_as(&s, c, &mine), 0);
    assert_int_equal(counts_thing_as(&s, forked, &its), 0);
    uint64_t *space = mmap(NULL, COUNTS_PIECE * sizeof *space, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct counts_window w = {0};
    assert_true(counts_window_begin_as(&s, forked, &w, space, COUNTS_PIECE, 8));
    assert_true(counts_window_grow_as(&s, &w, 1));
    w.base[0] = 11;
    uint64_t damage = 1;
    struct profile *p = read_spool(&s, &damage);
    assert_int_equal(damage, 0);
    assert_int_equal(count_at(p, "/lib/three.so", 0xa000), 11);
    profile_free(p);
    munmap(space, COUNTS_PIECE * sizeof *space);
    sample_spool_free(&s);
}

/* The program of the next test: what it does when its counters are looked at. */
static struct {
    struct spool spool;
    struct spool_counts *record;
    uint64_t *page;
} running;

enum { COUNTERS_PAGE = 4096, MADE_MEANWHILE = 300 /* more than the chunk has room for */ };

static void go_on(int number)
{
    (void)number;
    uint32_t id = 0;
    mprotect(running.page, COUNTERS_PAGE, PROT_READ | PROT_WRITE);
    for (uint32_t i = 0; i < MADE_MEANWHILE; i++) {
        struct spool_thing thing = {.key = key_make(3, 0x9000 + i), .kind = THING_BLOCK,
                                    .block = {.bytes = 2, .instructions = 1}};
        id = counts_thing_as(&running.spool, running.record, &thing);
    }
    running.page[id] = 77;
}

static void a_program_that_goes_on_is_no_damage(void **state)
{
    (void)state;
    struct spool s = exact_spool();
    struct spool_process *process = sample_process(&s, 7);
    struct counts_window w = sample_counts(&s, process);
    uint64_t damage = 1;
    running.spool = s;
    running.record = spool_at(&s, process->counts, sizeof *running.record);
    const struct spool_piece *piece = spool_at(&s, w.record->pieces, sizeof *piece);
    running.page = spool_at(&s, piece->counters, COUNTERS_PAGE);
    w.base[0] = 5;
    struct sigaction action = {.sa_handler = go_on}, old;
    sigaction(SIGSEGV, &action, &old);
    mprotect(running.page, COUNTERS_PAGE, PROT_NONE);
    struct profile *p = read_spool(&s, &damage);
    sigaction(SIGSEGV, &old, NULL);
    assert_int_equal(damage, 0);
    assert_int_equal(count_at(p, "/lib/one.so", 0x1000), 5);
    assert_int_equal(count_at(p, "/lib/three.so", 0x9000 + MADE_MEANWHILE - 1), 77);
    profile_free(p);
    release(&s, &w);
}

static void counters_without_a_record_are_damage(void **state)
{
    (void)state;
    struct spool s = exact_spool();
    struct counts_window w = sample_counts(&s, sample_process(&s, 7));
    uint64_t damage = 0;
    w.base[0] = 1;
    w.base[120] = 1;              /* beyond the last id */
    w.base[2] = UINT64_MAX;       /* impossible */
    struct profile *p = read_spool(&s, &damage);
    assert_int_equal(damage, 2);
    assert_int_equal(observed_code(p)->block_count, 1);
    profile_free(p);
    release(&s, &w);
}

/* Blocks are executed as often as the paths through them. */
static void paths_become_sequences_of_blocks(void **state)
{
    (void)state;
    struct spool s = exact_spool();
    settings_sampling_as(&s)->tools = tools_one(TOOL_PATHS);
    struct spool_process *process = sample_process(&s, 7);
    struct counts_window w = sample_counts(&s, process);
    struct spool_counts *c = spool_at(&s, process->counts, sizeof *c);
    struct path_store store = {0}, other = {0};
    const uint32_t loop[] = {0, 2, 2}, tail[] = {2};
    assert_true(paths_begin_as(&store, &s, c, 7));
    assert_true(paths_begin_as(&other, &s, c, 8));
    paths_insert_as(&store, 77, loop, 3, 12);
    for (int i = 0; i < 9; i++)
        assert_true(paths_count_as(&store, 77));
    paths_insert_as(&store, 78, tail, 1, 4);
    paths_insert_as(&other, 77, loop, 3, 12);
    store.record->dropped_paths = 1;
    store.record->dropped = 5;
    store.record->dropped_instructions = 100;
    other.record->cut = 2;
    other.record->cut_instructions = 7;
    uint64_t damage = 1;
    struct profile *p = read_spool(&s, &damage);
    const struct profile_paths *paths = observed_table(p, TABLE_PATHS);
    assert_int_equal(damage, 0);
    assert_int_equal(paths->count, 2);
    assert_int_equal(paths->paths[0].count, 11);
    assert_int_equal(paths->paths[0].length, 3);
    assert_int_equal(paths->paths[1].count, 1);
    assert_int_equal(observed_code(p)->blocks[paths->sequence[0]].offset, 0x1000);
    assert_int_equal(observed_code(p)->blocks[paths->sequence[2]].offset, 0x1010);
    assert_int_equal(paths->sequence[3], paths->sequence[1]);
    assert_int_equal(count_at(p, "/lib/one.so", 0x1000), 11);
    assert_int_equal(count_at(p, "/lib/two.so", 0x1010), 23);
    assert_int_equal(observed_code(p)->instructions, 34 * 4 + 107);
    assert_int_equal(observed_code(p)->classes[CLASS_BRANCH], 34);
    assert_int_equal(profile_paths_executions(paths), 17);
    assert_int_equal(paths->cut, 2);
    profile_free(p);
    release(&s, &w);
}

/* Lengths, places and ids that point nowhere; a table that claims the whole spool, many times. */
static void paths_of_no_blocks_are_damage(void **state)
{
    (void)state;
    struct spool s = exact_spool();
    struct spool_process *process = sample_process(&s, 7);
    struct counts_window w = sample_counts(&s, process);
    struct spool_counts *c = spool_at(&s, process->counts, sizeof *c);
    struct path_store store = {0};
    const uint32_t good[] = {0, 2}, edge[] = {0, 1}, unknown[] = {119 + 1, 0};
    assert_true(paths_begin_as(&store, &s, c, 7));
    paths_insert_as(&store, UINT64_C(1) << 60, good, 2, 8);
    paths_insert_as(&store, UINT64_C(2) << 60, edge, 2, 8);
    paths_insert_as(&store, UINT64_C(3) << 60, unknown, 2, 8);
    paths_insert_as(&store, UINT64_C(4) << 60, good, 2, 8);
    store.entries[4 * (PATHS_FIRST / 16)].first = UINT32_MAX;
    paths_insert_as(&store, UINT64_C(5) << 60, good, 2, 8);
    store.entries[5 * (PATHS_FIRST / 16)].length = PATH_BLOCKS + 1;
    uint64_t damage = 0;
    struct profile *p = read_spool(&s, &damage);
    assert_int_equal(damage, 4);
    assert_int_equal(profile_paths_of(p)->count, 1);
    profile_free(p);
    store.table->capacity = SIZE / 2 / sizeof(struct spool_path);
    store.table->entries = SPOOL_HEADER_SIZE / SPOOL_UNIT;
    struct spool_paths *more;
    for (int i = 0; i < 1000 && (more = spool_alloc_as(&s, sizeof *more)) != NULL; i++) {
        more->tables[0] = store.record->tables[0];
        spool_push_as(&s, &c->tables[TABLE_PATHS], more);
    }
    p = read_spool(&s, &damage);
    assert_true(damage > 900);
    profile_free(p);
    release(&s, &w);
}

/* A spool full of pieces that all claim the whole spool as their counters. */
static void overlapping_pieces_are_bounded(void **state)
{
    (void)state;
    struct spool s = exact_spool();
    struct counts_window w = sample_counts(&s, sample_process(&s, 7));
    uint64_t damage = 0;
    struct spool_piece *piece;
    for (int i = 0; i < 20000 && (piece = spool_alloc_as(&s, sizeof *piece)) != NULL; i++) {
        piece->counters = SPOOL_HEADER_SIZE / SPOOL_UNIT;
        piece->count = SIZE / 2 / sizeof(uint64_t);
        spool_push_as(&s, &w.record->pieces, piece);
    }
    struct profile *p = read_spool(&s, &damage);
    assert_true(damage > 19000);
    profile_free(p);
    release(&s, &w);
}

static void calls_of_nodes_are_exact(void **state)
{
    (void)state;
    struct spool s = exact_spool();
    settings_sampling_as(&s)->tools = tools_one(TOOL_CALLS);
    struct spool_thread *t = sample_thread(&s, sample_process(&s, 7), 7);
    const uint64_t path[] = {key_make(1, 0x10), key_make(1, 0x20)};
    for (int i = 0; i < 9; i++)
        assert_true(sample_insert(&s, t, path, i < 4 ? 1 : 2));
    struct profile *p = read_spool(&s, NULL);
    assert_string_equal(p->metrics[0].trigger, "calls");
    assert_int_equal(p->threads[0].node_count, 3);
    assert_int_equal(p->threads[0].nodes[1].calls, 4);
    assert_int_equal(p->threads[0].nodes[2].calls, 5);
    assert_int_equal(p->threads[0].nodes[2].self, 5);
    assert_int_equal(p->threads[0].weight, 9);
    profile_free(p);
    sample_spool_free(&s);
}

static void merging_adds_what_is_the_same(void **state)
{
    (void)state;
    struct err e = {0};
    struct profile *a = sample_profile(1, 10, 4), *b = sample_profile(1, 10, 4);
    uint32_t shared = 0, jit = 0;
    for (uint32_t i = 0; i < observed_code(a)->block_count; i++)
        *(observed_code(a)->blocks[i].image == PROFILE_IMAGE_NONE ? &jit : &shared) += 1;
    uint64_t first = observed_code(a)->blocks[observed_code(a)->block_count - 1].count;
    assert_true(shared && jit && first);
    assert_true(profile_merge(a, b, &e));
    assert_int_equal(observed_code(a)->block_count, shared + 2 * jit);
    assert_int_equal(observed_code(a)->blocks[observed_code(a)->block_count - 1].count, 2 * first);
    assert_int_equal(observed_code(a)->instructions, UINT64_C(1) << 51);
    assert_int_equal(observed_code(a)->stopped[STOP_RSEQ],
                     2 * observed_code(b)->stopped[STOP_RSEQ]);
    assert_int_equal(observed_code(a)->native_ns, 2 * 77777777);
    profile_free(b);
    b = sample_profile(1, 10, 4);
    observed_code(b)->native_ns = 0;
    assert_true(profile_merge(a, b, &e));
    assert_int_equal(observed_code(a)->native_ns, 0);
    profile_free(a);
    profile_free(b);
}

/* Each tool's counts, and samples, are a part of their own. */
static void different_tools_are_kept_apart(void **state)
{
    (void)state;
    struct err e = {0};
    struct profile *a = sample_profile(1, 10, 4), *b = sample_profile(1, 10, 5);
    free(observed_code(b)->tool);
    observed_code(b)->tool = strdup("blocks");
    assert_true(profile_merge(a, b, &e));
    profile_free(b);
    b = sample_profile(1, 10, 5);
    profile_counts_free(profile_observation_take(b, OBSERVED_CODE));
    assert_true(profile_merge(a, b, &e));
    assert_int_equal(a->part_count, 2);
    assert_string_equal(a->parts[0].tool, "edges");
    assert_string_equal(observed_code(a)->tool, "blocks");
    assert_string_equal(a->parts[1].carrier, "handler");
    profile_free(a);
    profile_free(b);
}

static void slowdown_needs_a_native_time(void **state)
{
    (void)state;
    struct profile_counts c = {.native_ns = 2000};
    assert_true(profile_counts_slowdown(&c, 3000) == 1.5);
    assert_true(profile_counts_slowdown(&c, 0) == 0);
    c.native_ns = 0;
    assert_true(profile_counts_slowdown(&c, 3000) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_become_blocks_and_edges),
        cmocka_unit_test(paths_become_sequences_of_blocks),
        cmocka_unit_test(paths_of_no_blocks_are_damage),
        cmocka_unit_test(processes_and_windows_are_summed),
        cmocka_unit_test(a_thread_without_rows_is_sound),
        cmocka_unit_test(a_fork_before_the_first_thing_is_sound),
        cmocka_unit_test(a_program_that_goes_on_is_no_damage),
        cmocka_unit_test(counters_without_a_record_are_damage),
        cmocka_unit_test(overlapping_pieces_are_bounded),
        cmocka_unit_test(calls_of_nodes_are_exact),
        cmocka_unit_test(merging_adds_what_is_the_same),
        cmocka_unit_test(different_tools_are_kept_apart),
        cmocka_unit_test(slowdown_needs_a_native_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
