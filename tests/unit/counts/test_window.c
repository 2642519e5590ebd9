/* Counter ids and windows: what is counted through a window is in the spool's file. */
#include "sigsafe/spool_counts.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { SPOOL_SIZE = 64 << 20, CAPACITY = 64 * COUNTS_PIECE, MAPPED_WORD = 8 };

struct fixture {
    struct spool spool;
    struct spool_process *process;
    uint64_t *space; /* reserved for a window */
    int fd;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    f->fd = memfd_create("spool", MFD_CLOEXEC);
    assert_int_equal(ftruncate(f->fd, SPOOL_SIZE), 0);
    f->spool.mapped = SPOOL_SIZE;
    f->spool.base = mmap(NULL, SPOOL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);
    assert_ptr_not_equal(f->spool.base, MAP_FAILED);
    struct spool_header *h = spool_header(&f->spool);
    h->size = h->limit = SPOOL_SIZE;
    h->next = SPOOL_HEADER_SIZE;
    f->process = spool_alloc_as(&f->spool, sizeof *f->process);
    f->space = mmap(NULL, CAPACITY * MAPPED_WORD, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(f->space, MAP_FAILED);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    munmap(f->space, CAPACITY * MAPPED_WORD);
    munmap(f->spool.base, SPOOL_SIZE);
    close(f->fd);
    free(f);
    return 0;
}

static struct spool_thing block(uint64_t offset)
{
    return (struct spool_thing){
        .key = offset, .block = {.bytes = 7, .instructions = 2}, .kind = THING_BLOCK};
}

/* The record of an id, as a reader finds it; NULL if no chunk has it. */
static const struct spool_thing *thing_of(const struct spool *s, const struct spool_counts *c,
                                          uint32_t id)
{
    spool_ref ref = c->things;
    const struct spool_things *chunk;
    for (; (chunk = spool_at(s, ref, sizeof *chunk)) != NULL; ref = chunk->next)
        if (id >= chunk->first)
            return id - chunk->first < chunk->capacity ? &chunk->things[id - chunk->first] : NULL;
    return NULL;
}

/* The counter of an id as it stands in the file, not in the window. */
static uint64_t stored(const struct spool *s, const struct counts_window *w, uint32_t id)
{
    const struct spool_piece *piece = spool_at(s, w->record->pieces, sizeof *piece);
    while (piece && id < piece->first)
        piece = spool_at(s, piece->next, sizeof *piece);
    assert_non_null(piece);
    assert_in_range(id, piece->first, piece->first + piece->count - 1);
    const uint64_t *counters = spool_at(s, piece->counters, piece->count * sizeof *counters);
    return counters[id - piece->first];
}

static void ids_are_dense_and_keep_their_record(void **state)
{
    struct fixture *f = *state;
    struct spool_counts *c = counts_begin_as(&f->spool, f->process);
    assert_non_null(c);
    assert_ptr_equal(spool_at(&f->spool, f->process->counts, sizeof *c), c);
    for (uint32_t i = 0; i < 20000; i++) {
        struct spool_thing thing = block(i);
        assert_int_equal(counts_thing_as(&f->spool, c, &thing), i);
        assert_int_equal(counts_ids_as(&f->spool, c), i + 1);
    }
    for (uint32_t i = 0; i < 20000; i++) {
        const struct spool_thing *thing = thing_of(&f->spool, c, i);
        assert_non_null(thing);
        assert_int_equal(thing->key, i);
        assert_int_equal(thing->kind, THING_BLOCK);
    }
}

struct giver {
    const struct spool *spool;
    struct spool_counts *counts;
    uint64_t number;
    uint32_t ids[10000];
};

static void *give_ids(void *argument)
{
    struct giver *g = argument;
    for (uint32_t i = 0; i < 10000; i++) {
        struct spool_thing thing = block(g->number << 32 | i);
        g->ids[i] = counts_thing_as(g->spool, g->counts, &thing);
    }
    return NULL;
}

static void threads_get_different_ids(void **state)
{
    struct fixture *f = *state;
    struct spool_counts *c = counts_begin_as(&f->spool, f->process);
    struct giver *givers = calloc(4, sizeof *givers);
    pthread_t threads[4];
    for (uint32_t i = 0; i < 4; i++) {
        givers[i] = (struct giver){.spool = &f->spool, .counts = c, .number = i + 1};
        assert_int_equal(pthread_create(&threads[i], NULL, give_ids, &givers[i]), 0);
    }
    for (uint32_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t k = 0; k < 10000; k++) {
            const struct spool_thing *thing = thing_of(&f->spool, c, givers[i].ids[k]);
            assert_non_null(thing);
            assert_int_equal(thing->key, givers[i].number << 32 | k);
        }
    assert_int_equal(counts_ids_as(&f->spool, c), 40000);
    free(givers);
}

static void a_full_spool_gives_no_id(void **state)
{
    struct fixture *f = *state;
    struct spool_counts *c = counts_begin_as(&f->spool, f->process);
    struct spool_thing thing = block(1);
    spool_header(&f->spool)->limit = spool_header(&f->spool)->next;
    uint32_t given = 0;
    while (counts_thing_as(&f->spool, c, &thing) != COUNTS_NONE)
        assert_in_range(++given, 1, 10000);
    assert_int_equal(counts_ids_as(&f->spool, c), given);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(counts_thing_as(&f->spool, c, &thing), COUNTS_NONE);
    struct counts_window w;
    assert_false(counts_window_begin_as(&f->spool, c, &w, f->space, CAPACITY, 1));
    assert_null(counts_begin_as(&f->spool, f->process));
    assert_null(counts_fork_child_as(&f->spool, c, f->process));
}

static void counts_in_a_window_are_in_the_file(void **state)
{
    struct fixture *f = *state;
    struct spool_counts *c = counts_begin_as(&f->spool, f->process);
    struct counts_window w;
    assert_true(counts_window_begin_as(&f->spool, c, &w, f->space, CAPACITY, 1));
    assert_true(counts_window_grow_as(&f->spool, &w, 1));
    assert_int_equal(w.mapped, COUNTS_PIECE);
    assert_true(counts_window_grow_as(&f->spool, &w, 1));
    assert_int_equal(w.mapped, COUNTS_PIECE);
    w.base[0] += 3;
    w.base[COUNTS_PIECE - 1] += 4;
    /* Whatever else is allocated in between, the window stays contiguous. */
    assert_non_null(spool_alloc_as(&f->spool, 48));
    assert_true(counts_window_grow_as(&f->spool, &w, 3 * COUNTS_PIECE + 1));
    assert_int_equal(w.mapped, 4 * COUNTS_PIECE);
    w.base[COUNTS_PIECE] += 5;
    w.base[4 * COUNTS_PIECE - 1] += 6;
    assert_int_equal(stored(&f->spool, &w, 0), 3);
    assert_int_equal(stored(&f->spool, &w, 1), 0);
    assert_int_equal(stored(&f->spool, &w, COUNTS_PIECE - 1), 4);
    assert_int_equal(stored(&f->spool, &w, COUNTS_PIECE), 5);
    assert_int_equal(stored(&f->spool, &w, 4 * COUNTS_PIECE - 1), 6);
    assert_false(counts_window_grow_as(&f->spool, &w, CAPACITY + 1));
    assert_true(counts_window_grow_as(&f->spool, &w, CAPACITY));
    assert_int_equal(w.base[0], 3);
}

static void a_window_that_cannot_grow_keeps_what_it_has(void **state)
{
    struct fixture *f = *state;
    struct spool_counts *c = counts_begin_as(&f->spool, f->process);
    struct counts_window w;
    assert_true(counts_window_begin_as(&f->spool, c, &w, f->space, CAPACITY, 1));
    assert_true(counts_window_grow_as(&f->spool, &w, 10));
    w.base[9] = 9;
    spool_header(&f->spool)->limit = spool_header(&f->spool)->next + 4096;
    assert_false(counts_window_grow_as(&f->spool, &w, COUNTS_PIECE + 1));
    assert_int_equal(w.mapped, COUNTS_PIECE);
    assert_int_equal(w.base[9], 9);
}

/* In the child; its exit status says at which line it failed. */
#define CHECK(condition) ((condition) ? (void)0 : _exit(__LINE__ % 250 + 1))

static void child(struct fixture *f, const struct spool_counts *parent, struct counts_window *w)
{
    struct spool_process *process = spool_alloc_as(&f->spool, sizeof *process);
    struct spool_counts *c = counts_fork_child_as(&f->spool, parent, process);
    CHECK(c && counts_window_begin_as(&f->spool, c, w, w->base, w->capacity, 2));
    CHECK(counts_window_grow_as(&f->spool, w, COUNTS_PIECE));
    CHECK(w->mapped == COUNTS_PIECE && w->base[0] == 0);
    struct spool_thing thing = block(0x200);
    CHECK(counts_thing_as(&f->spool, c, &thing) == 1);
    w->base[0] += 10;
    w->base[1] += 20;
    CHECK(stored(&f->spool, w, 0) == 10 && stored(&f->spool, w, 1) == 20);
    CHECK(thing_of(&f->spool, c, 0)->key == 0x100 && thing_of(&f->spool, c, 1)->key == 0x200);
    _exit(0);
}

static void a_forked_child_counts_for_itself(void **state)
{
    struct fixture *f = *state;
    struct spool_counts *c = counts_begin_as(&f->spool, f->process);
    struct counts_window w;
    struct spool_thing thing = block(0x100);
    assert_int_equal(counts_thing_as(&f->spool, c, &thing), 0);
    assert_true(counts_window_begin_as(&f->spool, c, &w, f->space, CAPACITY, 1));
    assert_true(counts_window_grow_as(&f->spool, &w, 1));
    w.base[0] = 1;
    pid_t pid = fork();
    if (pid == 0)
        child(f, c, &w);
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(w.base[0], 1);
    /* The parent's next id means something else than the child's. */
    thing = block(0x300);
    assert_int_equal(counts_thing_as(&f->spool, c, &thing), 1);
    assert_int_equal(thing_of(&f->spool, c, 1)->key, 0x300);
}

static void pages_are_aligned(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 10; i++) {
        assert_non_null(spool_alloc_as(&f->spool, 16));
        uint8_t *at = spool_alloc_pages_as(&f->spool, 5000);
        assert_int_equal((at - f->spool.base) % SPOOL_PAGE, 0);
        uint8_t *next = spool_alloc_as(&f->spool, 16);
        assert_ptr_equal(next, at + 2 * SPOOL_PAGE);
    }
    /* An end that leaves room for the bytes, but not for the alignment. */
    spool_header(&f->spool)->limit = spool_header(&f->spool)->next + SPOOL_PAGE;
    assert_null(spool_alloc_pages_as(&f->spool, SPOOL_PAGE));
    assert_non_null(spool_alloc_as(&f->spool, SPOOL_PAGE));
    assert_null(spool_alloc_pages_as(&f->spool, UINT64_MAX));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(ids_are_dense_and_keep_their_record),
        TEST(threads_get_different_ids),
        TEST(a_full_spool_gives_no_id),
        TEST(counts_in_a_window_are_in_the_file),
        TEST(a_window_that_cannot_grow_keeps_what_it_has),
        TEST(a_forked_child_counts_for_itself),
        TEST(pages_are_aligned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
