/* From a spool to a profile: what was counted arrives, and no garbage does harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sigsafe/settings.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "profile/spool_read.h"
#include "sample.h"

#define MIB (UINT64_C(1) << 20)

static struct profile *read_spool(const struct spool *s, uint64_t *damage)
{
    struct err e = {0};
    struct profile *p = profile_from_spool(s, damage, &e);
    assert_string_equal(e.message, "");
    assert_non_null(p);
    return p;
}

/* Through the file and back, which also checks that the tree is well formed. */
static size_t assert_round_trip(const struct profile *p)
{
    struct err e = {0};
    size_t size = 0;
    uint8_t *data = profile_encode(p, &size, &e);
    assert_string_equal(e.message, "");
    struct profile *q = profile_read_memory(data, size, "x", &e);
    assert_string_equal(e.message, "");
    assert_string_equal(sample_difference(p, q), "");
    free(data);
    profile_free(q);
    return size;
}

static uint64_t sum_self(const struct profile_thread *t)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < t->node_count; i++)
        sum += t->nodes[i].self;
    return sum;
}

static void test_known_tree(void **state)
{
    (void)state;
    uint64_t damage;
    struct spool s = sample_spool_new(MIB);
    sample_image(&s, 1, "/bin/prog");
    sample_image(&s, 2, "/lib/libc.so.6");
    struct spool_thread *t = sample_thread(&s, sample_process(&s, 42), 43);
    uint64_t main_ = key_make(1, 0x100), f = key_make(1, 0x300), g = key_make(2, 0x80),
             jit = key_make(0, 0x7f0000001234);
    uint64_t stacks[][3] = {{main_, g, jit}, {main_, f, g}, {main_, f, g | KEY_GUESSED}};
    for (unsigned i = 0; i < 3; i++)
        assert_true(sample_insert(&s, t, stacks[i], 3));
    assert_true(sample_insert(&s, t, stacks[0], 1));
    struct profile *p = read_spool(&s, &damage);
    assert_int_equal(damage, 0);
    assert_int_equal(p->thread_count, 1);
    const struct profile_node *n = p->threads[0].nodes;
    static const struct profile_node expected[] = {
        {UINT32_MAX, 7, PROFILE_IMAGE_PSEUDO, false, KEY_ROOT, 0, 0, {0}},
        {0, 6, 0, false, 0x100, 1, 0, {0}},
        {1, 3, 0, false, 0x300, 0, 0, {0}},
        {2, 1, 1, false, 0x80, 1, 0, {0}},
        {2, 1, 1, true, 0x80, 1, 0, {0}},
        {1, 2, 1, false, 0x80, 0, 0, {0}},
        {5, 1, PROFILE_IMAGE_NONE, false, 0x7f0000001234, 1, 0, {0}},
    };
    assert_int_equal(p->threads[0].node_count, 7);
    for (unsigned i = 0; i < 7; i++) {
        assert_int_equal(n[i].parent, expected[i].parent);
        assert_int_equal(n[i].subtree, expected[i].subtree);
        assert_int_equal(n[i].image, expected[i].image);
        assert_int_equal(n[i].guessed, expected[i].guessed);
        assert_int_equal(n[i].offset, expected[i].offset);
        assert_int_equal(n[i].self, expected[i].self);
    }
    assert_round_trip(p);
    profile_free(p);
    sample_spool_free(&s);
}

static void test_records(void **state)
{
    (void)state;
    uint64_t damage;
    struct spool s = sample_spool(4 * MIB, 500, 1);
    struct profile *p = read_spool(&s, &damage);
    assert_int_equal(damage, 0);
    assert_string_equal(p->metrics[0].trigger, "cpu");
    assert_false(profile_is_exact(p));
    assert_string_equal(p->metrics[0].unit, "nanoseconds");
    assert_int_equal(p->metrics[0].period, 1003009);
    assert_int_equal(p->start_realtime_ns, 77);
    assert_int_equal(p->process_count, 2);
    assert_int_equal(p->thread_count, 3);
    assert_int_equal(p->image_count, 4);
    assert_string_equal(p->images[2].path, "/lib/image-2.so");
    const struct profile_process *r = &p->processes[0];
    assert_int_equal(r->pid, 100); /* oldest first */
    assert_string_equal(r->name, "a-name-16-bytes!");
    assert_string_equal(r->command, "prog 'an argument' 'it'\\''s'");
    assert_int_equal(r->start_ns, 500);
    assert_int_equal(r->end_ns, 8000);
    assert_int_equal(r->end, PROFILE_END_EXIT);
    assert_int_equal(r->map_count, 2);
    assert_int_equal(r->maps[0].image, 1);
    assert_int_equal(r->maps[1].image, 3);
    assert_int_equal(r->drops[DROP_LATE], 2);
    const struct profile_thread *t = &p->threads[1];
    assert_int_equal(t->tid, 101);
    assert_int_equal(t->process, 0);
    assert_int_equal(p->threads[2].process, 1);
    assert_string_equal(t->name, "worker");
    assert_int_equal(t->end_ns, 0);
    assert_int_equal(t->cost_ns, 2000); /* 4000 ticks at 2 GHz */
    assert_int_equal(sum_self(t), t->weight);
    struct profile_totals from_spool, from_profile;
    uint32_t processes, threads;
    profile_totals(p, &from_profile);
    spool_totals(&s, &from_spool, &processes, &threads);
    assert_int_equal(processes, 2);
    assert_int_equal(threads, 3);
    assert_int_equal(from_spool.taken, 500);
    assert_int_equal(from_profile.taken, 500);
    assert_int_equal(from_profile.dropped_all, from_spool.dropped_all);
    assert_int_equal(from_profile.dropped_all, 4);
    assert_int_equal(from_profile.cost_ns, from_spool.cost_ns);
    profile_free(p);
    sample_spool_free(&s);
}

/* docs/format.md: a few bytes a node, and under 60 bytes a sample even in a small profile. */
static void test_size_of_a_small_profile(void **state)
{
    (void)state;
    struct spool s = sample_spool(16 * MIB, 1000, 2);
    struct profile *p = read_spool(&s, NULL);
    struct profile_totals totals;
    profile_totals(p, &totals);
    size_t size = assert_round_trip(p);
    print_message("%zu bytes, %llu samples, %llu nodes: %.1f bytes a sample, %.2f a node\n", size,
                  (unsigned long long)totals.taken, (unsigned long long)totals.nodes,
                  (double)size / (double)totals.taken, (double)size / (double)totals.nodes);
    assert_true(size < 60 * totals.taken);
    assert_true(size < 6 * totals.nodes);
    profile_free(p);
    sample_spool_free(&s);
}

static void test_same_image_twice(void **state)
{
    (void)state;
    struct spool s = sample_spool_new(MIB);
    struct spool_image *a = sample_image(&s, 1, "/lib/a.so");
    struct spool_image *b = sample_image(&s, 2, "/lib/a.so");
    memset(b->build_id, 1, 20);
    b->file_size = a->file_size;
    struct spool_image *c = sample_image(&s, 3, "/lib/a.so"); /* rebuilt: another build-id */
    assert_non_null(c);
    struct spool_thread *t = sample_thread(&s, sample_process(&s, 42), 43);
    uint64_t keys[] = {key_make(1, 5), key_make(2, 6), key_make(3, 7)};
    sample_insert(&s, t, keys, 3);
    struct profile *p = read_spool(&s, NULL);
    assert_int_equal(p->image_count, 2);
    const struct profile_node *n = p->threads[0].nodes;
    assert_int_equal(n[1].image, 0);
    assert_int_equal(n[2].image, 0);
    assert_int_equal(n[3].image, 1);
    profile_free(p);
    sample_spool_free(&s);
}

/* A million frames of recursion, read on a stack of 128 KiB. */
static void *read_deep(void *argument)
{
    return profile_from_spool(argument, NULL, NULL);
}

static void test_deep_tree(void **state)
{
    (void)state;
    enum { DEPTH = 1000000 };
    struct spool s = sample_spool_new(64 * MIB);
    sample_image(&s, 1, "/bin/prog");
    struct spool_thread *t = sample_thread(&s, sample_process(&s, 42), 43);
    uint64_t *keys = calloc(DEPTH, sizeof *keys);
    for (unsigned i = 0; i < DEPTH; i++)
        keys[i] = key_make(1, 0x1234);
    assert_true(sample_insert(&s, t, keys, DEPTH));
    pthread_attr_t attr;
    pthread_t thread;
    void *result = NULL;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 128 * 1024);
    assert_int_equal(pthread_create(&thread, &attr, read_deep, &s), 0);
    pthread_join(thread, &result);
    struct profile *p = result;
    assert_non_null(p);
    assert_int_equal(p->threads[0].node_count, DEPTH + 1);
    assert_int_equal(p->threads[0].nodes[DEPTH].parent, DEPTH - 1);
    assert_int_equal(p->threads[0].nodes[0].subtree, DEPTH + 1);
    size_t size = assert_round_trip(p);
    assert_true(size < 20000);
    profile_free(p);
    free(keys);
    sample_spool_free(&s);
}

/* A search tree that is a list: a million siblings, each the left child of the one before. */
static void test_degenerate_search_tree(void **state)
{
    (void)state;
    enum { SIBLINGS = 1000000 };
    struct spool s = sample_spool_new(64 * MIB);
    sample_image(&s, 1, "/bin/prog");
    struct spool_thread *t = sample_thread(&s, sample_process(&s, 42), 43);
    struct cct_node *root = spool_at(&s, t->tree, sizeof *root);
    spool_ref *link = &root->child;
    for (unsigned i = 0; i < SIBLINGS; i++) {
        struct cct_node *n = spool_alloc_as(&s, sizeof *n);
        n->key = key_make(1, SIBLINGS - i);
        *link = spool_ref_of(&s, n);
        link = &n->left;
    }
    uint64_t damage;
    struct profile *p = read_spool(&s, &damage);
    assert_int_equal(damage, 0);
    assert_int_equal(p->threads[0].node_count, SIBLINGS + 1);
    for (uint32_t i = 1; i <= SIBLINGS; i++)
        if (p->threads[0].nodes[i].offset != i)
            fail_msg("sibling %u is out of order", i);
    profile_free(p);
    sample_spool_free(&s);
}

static void test_cycles(void **state)
{
    (void)state;
    uint64_t damage;
    struct spool s = sample_spool_new(MIB);
    sample_image(&s, 1, "/bin/prog");
    struct spool_process *r = sample_process(&s, 42);
    struct spool_thread *t = sample_thread(&s, r, 43);
    uint64_t keys[] = {key_make(1, 1), key_make(1, 2), key_make(1, 3)};
    sample_insert(&s, t, keys, 3);
    struct cct_node *root = spool_at(&s, t->tree, sizeof *root);
    struct cct_node *n = spool_at(&s, root->child, sizeof *n);
    struct cct_node *m = spool_at(&s, n->child, sizeof *m);
    m->left = root->child;       /* into an ancestor's search tree */
    n->right = t->tree;          /* the root as a child of itself */
    m->right = 0xffffffff;       /* outside */
    r->next = spool_ref_of(&s, r);
    t->next = spool_ref_of(&s, t);
    m->samples = UINT64_MAX;
    struct profile *p = read_spool(&s, &damage);
    assert_int_equal(damage, 6);
    assert_int_equal(p->process_count, 1);
    assert_int_equal(p->thread_count, 1);
    assert_int_equal(p->threads[0].node_count, 4);
    assert_true(p->threads[0].nodes[2].self < UINT64_C(1) << 41);
    assert_round_trip(p);
    profile_free(p);
    struct profile_totals totals;
    uint32_t processes, threads;
    spool_totals(&s, &totals, &processes, &threads); /* ends */
    sample_spool_free(&s);
}

static void test_bad_headers(void **state)
{
    (void)state;
    struct spool s = sample_spool_new(MIB);
    struct spool_header *h = spool_header(&s);
    struct spool tiny = {.base = s.base, .mapped = 100};
    struct err e = {0};
    assert_null(profile_from_spool(&tiny, NULL, &e));
    assert_int_equal(e.code, ERR_FORMAT);
    e = (struct err){0};
    h->version = 99;
    assert_null(profile_from_spool(&s, NULL, &e));
    assert_non_null(strstr(e.message, "version 99"));
    e = (struct err){0};
    h->magic = 1;
    assert_null(profile_from_spool(&s, NULL, &e));
    assert_non_null(strstr(e.message, "magic"));
    sample_spool_free(&s);
}

static struct spool_thread *other_thread(const struct spool *s, struct spool_process *p,
                                         const struct spool_thread *first, uint32_t which)
{
    struct spool_thread *t = sample_thread(s, p, first->tid);
    t->which = which;
    t->life = spool_ref_of(s, first);
    return t;
}

static uint64_t weight_at(const struct profile_thread *t, uint64_t offset, uint32_t metric)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < t->node_count; i++)
        if (t->nodes[i].offset == offset)
            sum += metric ? t->nodes[i].more[metric - 1] : t->nodes[i].self;
    return sum;
}

/* Each trigger has a record and a tree of its own, which become one thread's; those of another
 * thread that had the same number do not; and a trigger that is none is damage. */
static void test_several_triggers(void **state)
{
    (void)state;
    uint64_t damage, stacks[][2] = {{key_make(1, 0x100), key_make(1, 0x300)},
                                    {key_make(1, 0x100), key_make(2, 0x80)}};
    struct spool s = sample_spool_new(4 * MIB);
    struct spool_config *c = settings_sampling_as(&s);
    c->more_triggers = 2;
    c->more[0] = (struct spool_trigger){.trigger = TRIGGER_PAGE_FAULTS, .period = 16};
    c->more[1] = (struct spool_trigger){.trigger = TRIGGER_MALLOC, .period = 65536};
    sample_image(&s, 1, "/bin/a");
    sample_image(&s, 2, "/lib/b");
    struct spool_process *process = sample_process(&s, 42);
    process->foreign[1] = 9;
    struct spool_thread *first = sample_thread(&s, process, 43),
                        *again = sample_thread(&s, process, 43);
    first->life = spool_ref_of(&s, first);
    again->life = spool_ref_of(&s, again);
    struct spool_thread *faults = other_thread(&s, process, first, 1),
                        *heap = other_thread(&s, process, first, 2);
    first->cpu_ns = 5;
    faults->cpu_ns = 7;
    faults->drops[DROP_LATE] = 3;
    for (unsigned i = 0; i < 10; i++) {
        assert_true(sample_insert(&s, first, stacks[i % 2], 2));
        assert_true(i % 5 || sample_insert(&s, faults, stacks[1], 2));
        assert_true(i % 3 || sample_insert(&s, heap, stacks[0], 1));
    }
    assert_true(sample_insert(&s, again, stacks[0], 1));
    struct profile *p = read_spool(&s, &damage);
    assert_int_equal(damage, 0);
    assert_int_equal(p->metric_count, 5);
    assert_string_equal(p->metrics[1].name, "page-faults");
    assert_string_equal(p->metrics[4].name, "peak");
    assert_int_equal(p->thread_count, 2);
    const struct profile_thread *t = &p->threads[0];
    assert_int_equal(t->cpu_ns, 12);
    assert_true(t->taken == 10 && t->others[0].taken == 2 && t->others[1].taken == 4);
    assert_true(!t->drops[DROP_LATE] && t->others[0].drops[DROP_LATE] == 3 &&
                t->others[1].drops[DROP_FOREIGN] == 9);
    assert_true(weight_at(t, 0x300, 0) == 5 && weight_at(t, 0x80, 0) == 5);
    assert_true(weight_at(t, 0x80, 1) == 2 && weight_at(t, 0x100, 2) == 4 &&
                !weight_at(t, 0x100, 0));
    assert_int_equal(p->threads[1].taken, 1);
    assert_round_trip(p);
    profile_free(p);
    heap->which = 7;
    p = read_spool(&s, &damage);
    assert_int_equal(damage, 1);
    assert_true(p->threads[0].others[1].taken == 0 && p->threads[0].others[0].taken == 2);
    assert_round_trip(p);
    profile_free(p);
    sample_spool_free(&s);
}

/* Triggers that have an earlier one's name, or more metrics than there may be, are damage. */
static void test_triggers_that_do_not_fit(void **state)
{
    (void)state;
    enum { MORE = TRIGGERS_MAX - 1 };
    static const struct {
        uint32_t kinds[MORE], metrics;
    } cases[] = {
        {{TRIGGER_CPU, TRIGGER_CPU, TRIGGER_CPU, TRIGGER_CPU, TRIGGER_CPU}, 1},
        {{TRIGGER_WALL, TRIGGER_WALL, TRIGGER_WALL, TRIGGER_WALL, TRIGGER_WALL}, 2},
        {{TRIGGER_WALL, TRIGGER_CPU, TRIGGER_WALL, TRIGGER_CPU, TRIGGER_WALL}, 2},
        {{TRIGGER_MALLOC, TRIGGER_MALLOC, TRIGGER_MALLOC, TRIGGER_WALL, TRIGGER_READ}, 4},
        {{TRIGGER_WALL, TRIGGER_READ, TRIGGER_WRITE, TRIGGER_LOCK_WAIT, TRIGGER_MALLOC}, 8},
        {{TRIGGER_WALL, TRIGGER_WRITE, TRIGGER_READ, TRIGGER_MALLOC, TRIGGER_WRITE}, 7},
    };
    uint64_t damage, stack[] = {key_make(1, 0x100)};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct spool s = sample_spool_new(4 * MIB);
        struct spool_config *c = settings_sampling_as(&s);
        c->more_triggers = MORE;
        for (unsigned k = 0; k < MORE; k++)
            c->more[k] = (struct spool_trigger){.trigger = cases[i].kinds[k], .period = 16};
        sample_image(&s, 1, "/bin/a");
        struct spool_process *process = sample_process(&s, 42);
        struct spool_thread *first = sample_thread(&s, process, 43);
        first->life = spool_ref_of(&s, first);
        assert_true(sample_insert(&s, first, stack, 1));
        for (uint32_t which = 1; which <= MORE; which++) {
            process->foreign[which - 1] = which;
            assert_true(sample_insert(&s, other_thread(&s, process, first, which), stack, 1));
        }
        struct profile *p = read_spool(&s, &damage);
        assert_int_equal(damage > 0, cases[i].metrics < 8);
        assert_int_equal(p->metric_count, cases[i].metrics);
        assert_round_trip(p);
        profile_free(p);
        sample_spool_free(&s);
    }
}

/* Counts by their values, and the streams of what is still in a buffer. */
static void test_productions(void **state)
{
    (void)state;
    uint64_t damage, heat = 0;
    struct spool s = sample_spool(4 * MIB, 500, 1);
    struct profile *p = read_spool(&s, &damage);
    const struct profile_productions *t = observed_table(p, TABLE_PRODUCTIONS);
    assert_int_equal(damage, 0);
    assert_non_null(t);
    assert_true(t->burst == 10 && t->sparsity == 90 && t->bursts == 5 && t->exact);
    assert_int_equal(t->group_count, 2);
    assert_int_equal(t->count, 6);
    for (uint32_t i = 0; i < t->count; i++) {
        assert_int_equal(t->counts[i].count, 10);
        assert_int_equal(t->counts[i].values.of[0].kind, VALUE_CODE);
        assert_int_equal(t->counts[i].values.of[1].kind, VALUE_NUMBER);
    }
    for (uint32_t i = 0; i < t->stream_count; i++)
        heat += t->streams[i].frequency * t->streams[i].length;
    assert_in_range(heat, 54, 60);
    profile_free(p);
    sample_spool_free(&s);
}

/* Whatever is scribbled over a spool, the result is a profile that can be written and read. */
/* Contexts of a tool's table become paths in the tree of one thread. */
static void test_contexts(void **state)
{
    (void)state;
    uint64_t damage;
    struct spool s = sample_spool(4 * MIB, 500, 1);
    settings_sampling_as(&s)->tools = tools_one(TOOL_CALLS) | tools_one(TOOL_WASTE);
    struct profile *p = read_spool(&s, &damage);
    const struct profile_waste *w = observed_table(p, TABLE_WASTE);
    const struct profile_waste_paths *paths = &w->paths;
    const struct profile_thread *t = &p->threads[0];
    assert_int_equal(damage, 0);
    assert_true(paths->kept && paths->evicted == 3 && paths->unknown == 2);
    /* From the root down, each with the one above. */
    assert_int_equal(paths->count, 5);
    assert_int_equal(paths->call_count, 4);
    for (uint32_t i = 0, node = 0; i < paths->call_count; i++) {
        const struct profile_waste_call *c = &paths->calls[i];
        assert_int_equal(c->caller, i);
        for (uint32_t parent = node++; node < t->node_count; node++)
            if (t->nodes[node].parent == parent && t->nodes[node].image == c->image &&
                t->nodes[node].offset == c->offset)
                break;
        assert_true(node < t->node_count);
    }
    for (uint32_t i = 0; i < paths->count; i++) {
        assert_int_equal(paths->list[i].from, i);
        assert_int_equal(paths->list[i].to, i ? i - 1 : 0);
        assert_int_equal(paths->list[i].pair.count, 2);
    }
    profile_free(p);
    sample_spool_free(&s);
}

static void test_scribbles(void **state)
{
    (void)state;
    enum { ITERATIONS = 1500 / SAMPLE_SPARSE };
    struct spool original = sample_spool(512 * 1024, 60, 3);
    struct spool s = sample_spool_new(512 * 1024);
    uint64_t used = spool_header(&original)->next, seed = 11, damaged = 0;
    for (unsigned i = 0; i < ITERATIONS; i++) {
        memcpy(s.base, original.base, used);
        if (i % 2)
            settings_sampling_as(&s)->tools |= tools_one(TOOL_CALLS) | tools_one(TOOL_WASTE);
        for (unsigned k = 0; k <= i % 8; k++) {
            uint64_t at = 24 + sample_random(&seed, used - 32);
            if (at > sizeof(struct spool_header) && at < SPOOL_HEADER_SIZE)
                at += SPOOL_HEADER_SIZE;
            uint64_t value = sample_random(&seed, 3) ? sample_random(&seed, UINT64_MAX)
                                                     : sample_random(&seed, used / 16);
            memcpy(s.base + (at < used - 8 ? at : used - 8), &value, 8);
        }
        uint64_t damage;
        struct profile *p = read_spool(&s, &damage);
        damaged += damage > 0;
        assert_round_trip(p);
        profile_free(p);
        struct profile_totals totals;
        uint32_t processes, threads;
        spool_totals(&s, &totals, &processes, &threads);
    }
    assert_true(damaged > ITERATIONS / 10); /* the scribbles did hit something */
    sample_spool_free(&s);
    sample_spool_free(&original);
}

struct writer {
    struct spool *s;
    struct spool_thread *t;
    atomic_bool stop;
};

static void *keep_inserting(void *argument)
{
    struct writer *w = argument;
    uint64_t seed = 1, keys[20];
    while (!atomic_load(&w->stop)) {
        for (unsigned i = 0; i < 20; i++)
            keys[i] = key_make(1, 0x100 + sample_random(&seed, 8));
        if (!sample_insert(w->s, w->t, keys, 20))
            break;
    }
    return NULL;
}

static void test_snapshot_while_written(void **state)
{
    (void)state;
    struct spool s = sample_spool_new(8 * MIB);
    sample_image(&s, 1, "/bin/prog");
    struct writer w = {.s = &s, .t = sample_thread(&s, sample_process(&s, 42), 43)};
    pthread_t thread;
    uint64_t last = 0;
    assert_int_equal(pthread_create(&thread, NULL, keep_inserting, &w), 0);
    for (unsigned i = 0; i < 20; i++) {
        uint64_t damage;
        struct profile *p = read_spool(&s, &damage);
        assert_int_equal(damage, 0);
        uint64_t now = sum_self(&p->threads[0]);
        assert_true(now >= last);
        last = now;
        assert_round_trip(p);
        profile_free(p);
    }
    atomic_store(&w.stop, true);
    pthread_join(thread, NULL);
    struct profile *p = read_spool(&s, NULL);
    assert_int_equal(sum_self(&p->threads[0]), p->threads[0].weight);
    profile_free(p);
    sample_spool_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_tree),
        cmocka_unit_test(test_records),
        cmocka_unit_test(test_size_of_a_small_profile),
        cmocka_unit_test(test_same_image_twice),
        cmocka_unit_test(test_deep_tree),
        cmocka_unit_test(test_degenerate_search_tree),
        cmocka_unit_test(test_cycles),
        cmocka_unit_test(test_bad_headers),
        cmocka_unit_test(test_several_triggers),
        cmocka_unit_test(test_triggers_that_do_not_fit),
        cmocka_unit_test(test_productions), cmocka_unit_test(test_contexts),
        cmocka_unit_test(test_scribbles),
        cmocka_unit_test(test_snapshot_while_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
