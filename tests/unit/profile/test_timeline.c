/* The time axis from the spool to the profile, merged, added up, and cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "profile/merge.h"
#include "profile/spool_read.h"
#include "profile/timeline.h"
#include "sample.h"
#include "sigsafe/settings.h"

#define MIB (UINT64_C(1) << 20)
#define MS UINT64_C(1000000)

static struct profile *read_spool(const struct spool *s, uint64_t *damage)
{
    struct err e = {0};
    struct profile *p = profile_from_spool(s, damage, &e);
    assert_string_equal(e.message, "");
    return p;
}

static uint64_t weight_of(const struct profile_node *n, uint32_t metric)
{
    return metric ? n->more[metric - 1] : n->self;
}

/* The bins of a thread add up to the nodes' weights but for `untimed`. */
static void assert_sum(const struct profile_thread *t, uint32_t metric, uint64_t untimed)
{
    uint64_t timed = 0, weight = 0;
    for (uint32_t k = 0; k < t->timeline->count; k++)
        timed += t->timeline->list[k].metric == metric ? t->timeline->list[k].weight : 0;
    for (uint32_t k = 0; k < t->node_count; k++)
        weight += weight_of(&t->nodes[k], metric);
    assert_in_range(weight - timed, 0, untimed);
}

/* Of each thread, by each trigger; and a file can hold it. */
static void assert_laws(const struct profile *p, uint64_t untimed)
{
    struct err e = {0};
    size_t size;
    const char *what;
    for (uint32_t i = 0; i < p->thread_count; i++) {
        const struct profile_thread *t = &p->threads[i];
        if (!t->timeline)
            continue;
        assert_true(profile_timeline_good(p, t, &what));
        for (uint32_t m = 0; m < p->metric_count; m++)
            if (!m || profile_trigger_of(p, m) != profile_trigger_of(p, m - 1))
                assert_sum(t, m, untimed);
    }
    uint8_t *data = profile_encode(p, &size, &e);
    assert_string_equal(e.message, "");
    struct profile *q = profile_read_memory(data, size, "x", &e);
    assert_string_equal(e.message, "");
    assert_string_equal(sample_difference(p, q), "");
    free(data);
    profile_free(q);
}

static const uint64_t trunk[] = {0x100, 0x200};

/* One sample of main -> f -> leaf. */
static bool insert(const struct spool *s, struct spool_thread *t, struct timeline *line,
                   uint64_t leaf, uint64_t ns)
{
    const uint64_t keys[] = {key_make(1, trunk[0]), key_make(1, trunk[1]),
                             key_make(1, 0x1000 + leaf)};
    return sample_insert_at(s, t, keys, 3, line, ns);
}

/* The weight of the leaf in [from, to). */
static uint64_t weight_in(const struct profile_thread *t, uint64_t leaf, uint64_t from_ns,
                          uint64_t to_ns)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; t->timeline && i < t->timeline->count; i++) {
        const struct profile_moment *m = &t->timeline->list[i];
        struct profile_stretch s = profile_moment_stretch(t->timeline, m);
        if (m->node != PROFILE_REST && t->nodes[m->node].offset == 0x1000 + leaf &&
            s.from_ns >= from_ns && s.to_ns <= to_ns)
            sum += m->weight;
    }
    return sum;
}

static void from_spool(void **state)
{
    (void)state;
    uint64_t damage;
    struct spool s = sample_spool_new(MIB);
    struct timeline line = {0};
    sample_image(&s, 1, "/bin/prog");
    struct spool_process *process = sample_process(&s, 42);
    struct spool_thread *t = sample_thread(&s, process, 43);
    sample_thread(&s, process, 44);
    for (uint64_t i = 0; i < 3000; i++)
        assert_true(insert(&s, t, &line, i / 1000, i * MS));
    struct profile *p = read_spool(&s, &damage);
    assert_int_equal(damage, 0);
    assert_laws(p, 0);
    assert_int_equal(p->thread_count, 2);
    assert_null(p->threads[1].timeline);
    for (uint64_t leaf = 0; leaf < 3; leaf++)
        assert_int_equal(weight_in(&p->threads[0], leaf, leaf * 1000 * MS - leaf * 20 * MS,
                                   (leaf + 1) * 1020 * MS), 1000);
    profile_free(p);
    /* A sample that the tree has and the timeline not: its program was killed. */
    assert_true(insert(&s, t, NULL, 1, 0));
    p = read_spool(&s, &damage);
    assert_int_equal(damage, 0);
    assert_laws(p, 1);
    profile_free(p);
    sample_spool_free(&s);
}

/* The records of a thread's phases share its timeline; also what is not told apart goes to the one
 * that has it. */
static void phases(void **state)
{
    (void)state;
    uint64_t damage, seed = 5;
    struct spool s = sample_spool_new(4 * MIB);
    struct timeline line = {0};
    sample_image(&s, 1, "/bin/prog");
    struct spool_process *process = sample_process(&s, 42);
    struct spool_thread *t[3];
    for (unsigned i = 0; i < 3; i++)
        t[i] = sample_thread(&s, process, 43);
    for (uint64_t i = 0; i < 60000; i++) {
        struct spool_thread *now = t[i / 20000];
        assert_true(
            insert(&s, now, &line, sample_random(&seed, 1 + sample_random(&seed, 3000)), i * MS));
        now->timeline = spool_ref_of(&s, line.record);
    }
    struct profile *p = read_spool(&s, &damage);
    assert_int_equal(damage, 0);
    assert_int_equal(p->thread_count, 3);
    assert_laws(p, 0);
    for (unsigned i = 0; i < 3; i++) {
        const struct profile_timeline *l = p->threads[i].timeline;
        uint64_t rest = 0, inside = 0;
        for (uint32_t k = 0; k < l->count; k++) {
            struct profile_stretch m = profile_moment_stretch(l, &l->list[k]);
            bool in = m.to_ns > i * 20000 * MS && m.from_ns < (i + 1) * 20000 * MS;
            assert_true(in || l->list[k].node == PROFILE_REST);
            rest += l->list[k].node == PROFILE_REST ? l->list[k].weight : 0;
            inside += in ? l->list[k].weight : 0;
        }
        assert_true(rest > 100 && inside > 19500);
    }
    profile_free(p);
    sample_spool_free(&s);
}

/* A spool of a thread with three triggers, whose records share a timeline. Bytes are allocated in
 * very many contexts. */
static struct spool several_triggers(void)
{
    uint64_t seed = 7;
    struct spool s = sample_spool_new(16 * MIB);
    struct timeline line = {0};
    struct spool_config *c = settings_sampling_as(&s);
    c->more_triggers = 2;
    c->more[0] = (struct spool_trigger){.trigger = TRIGGER_PAGE_FAULTS, .period = 16};
    c->more[1] = (struct spool_trigger){.trigger = TRIGGER_MALLOC, .period = 65536};
    sample_image(&s, 1, "/bin/prog");
    struct spool_process *process = sample_process(&s, 42);
    struct spool_thread *t[3];
    for (uint32_t i = 0; i < 3; i++) {
        t[i] = sample_thread(&s, process, 43);
        t[i]->which = i;
        t[i]->life = spool_ref_of(&s, t[0]);
    }
    for (uint64_t i = 0; i < 60000; i++) {
        uint64_t leaves = i % 3 == 2 ? 3000 : 3;
        struct spool_thread *now = t[i % 3];
        assert_true(insert(&s, now, &line, sample_random(&seed, leaves), i * MS));
        now->timeline = spool_ref_of(&s, line.record);
    }
    return s;
}

/* Each trigger has its times, and its rest. */
static void several(void **state)
{
    (void)state;
    uint64_t damage, rests[METRICS_MAX] = {0};
    struct spool s = several_triggers();
    struct profile *p = read_spool(&s, &damage);
    assert_int_equal(damage, 0);
    assert_int_equal(p->thread_count, 1);
    assert_int_equal(p->metric_count, 5);
    assert_laws(p, 0);
    const struct profile_timeline *l = p->threads[0].timeline;
    for (uint32_t k = 0; k < l->count; k++)
        rests[l->list[k].metric] += l->list[k].node == PROFILE_REST ? l->list[k].weight : 0;
    assert_true(rests[0] < 200 && rests[1] < 200 && rests[2] > 1000 && !rests[3] && !rests[4]);
    static const bool knows[] = {true, true, true, false, false};
    for (uint32_t m = 0; m < 5; m++)
        assert_true(profile_timeline_knows(p, m) == knows[m]);
    profile_free(p);
    sample_spool_free(&s);
}

static uint64_t weights_by(const struct profile *p, uint32_t metric)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < p->thread_count; i++)
        for (uint32_t k = 0; k < p->threads[i].node_count; k++)
            sum += weight_of(&p->threads[i].nodes[k], metric);
    return sum;
}

/* Parts of the time add up to the whole by each metric, whichever leads; those without times are
 * gone. */
static void several_parts(void **state)
{
    (void)state;
    struct err e = {0};
    struct spool s = several_triggers();
    for (uint32_t lead = 0; lead < 3; lead++) {
        uint64_t sums[METRICS_MAX] = {0}, taken[3] = {0}, damage;
        for (unsigned i = 0; i < 5; i++) {
            struct profile *p = read_spool(&s, &damage);
            p->duration_ns = 60000 * MS;
            assert_true(profile_lead(p, lead));
            assert_true(profile_keep_time(p, 12000 * MS * i, 12000 * MS * (i + 1), &e));
            assert_int_equal(p->metric_count, 3);
            assert_laws(p, UINT64_MAX);
            for (uint32_t m = 0; m < 3; m++) {
                assert_in_range(weights_by(p, m), 3900, 4100);
                sums[m] += weights_by(p, m);
                struct profile_sampled sampled = profile_sampled_by(p, m);
                assert_int_equal(sampled.weight, weights_by(p, m));
                taken[m] += sampled.taken;
            }
            profile_free(p);
        }
        for (uint32_t m = 0; m < 3; m++) {
            assert_in_range(sums[m], 20000 - 10, 20000 + 10);
            assert_in_range(taken[m], 20000 - 10, 20000 + 10);
        }
    }
    struct profile *p = read_spool(&s, &(uint64_t){0});
    struct profile_timeline *l = p->threads[0].timeline;
    uint32_t kept = 0;
    for (uint32_t k = 0; k < l->count; k++)
        if (l->list[k].metric != 1)
            l->list[kept++] = l->list[k];
    l->count = kept;
    p->duration_ns = 60000 * MS;
    assert_true(profile_keep_time(p, 0, 30000 * MS, &e));
    assert_int_equal(p->metric_count, 2); /* no fault has a time */
    assert_string_equal(p->metrics[1].name, "allocated");
    assert_int_equal(profile_sampled_by(p, 1).weight, weights_by(p, 1));
    assert_laws(p, UINT64_MAX);
    profile_free(p);
    sample_spool_free(&s);
}

/* The program writes anything over it. */
static void hostile(void **state)
{
    (void)state;
    uint64_t damage, seed = 6;
    for (unsigned round = 0; round < 300; round++) {
        struct spool s = sample_spool_new(MIB);
        struct timeline line = {0};
        sample_image(&s, 1, "/bin/prog");
        struct spool_thread *t = sample_thread(&s, sample_process(&s, 42), 43);
        for (uint64_t i = 0; i < 500; i++)
            assert_true(insert(&s, t, &line, sample_random(&seed, 90), i * 2 * MS));
        uint32_t at = (uint32_t)sample_random(&seed, line.used);
        uint64_t *slot = &line.chunks[0][timeline_chunk(at)][timeline_chunk_at(at)];
        switch (round % 10) {
        case 0: *slot = sample_random(&seed, UINT64_MAX); break;
        case 1: *slot = timeline_slot(TIMELINE_BIN, 0); break;
        case 2: *slot = timeline_slot(TIMELINE_SPAN, UINT32_MAX); break;
        case 3: *slot = timeline_weighted(TIMELINE_REST, 0, TIMELINE_WEIGHT_MAX); break;
        case 4: *slot = timeline_weighted(t->tree, 0, 1); break;
        case 5: line.record->sides[0].used = UINT32_MAX; break;
        case 6: line.record->sides[0].shift = 20 + (uint32_t)sample_random(&seed, 60); break;
        case 7: line.record->sides[0].chunks[sample_random(&seed, 5)] = UINT32_MAX; break;
        case 8: line.record->active = 1; break;
        default: t->timeline = (spool_ref)sample_random(&seed, UINT32_MAX); break;
        }
        struct profile *p = read_spool(&s, &damage);
        assert_true(damage || round % 10 == 1 || round % 10 == 6 || round % 10 == 8);
        assert_laws(p, UINT64_MAX);
        profile_free(p);
        sample_spool_free(&s);
    }
}

/* Ten thousand records with one timeline do not make ten thousand copies, nor ten thousand
 * timelines with one chunk. */
static void bounded(void **state)
{
    (void)state;
    uint64_t damage, moments = 0;
    struct spool s = sample_spool_new(16 * MIB);
    struct timeline line = {0};
    sample_image(&s, 1, "/bin/prog");
    struct spool_process *process = sample_process(&s, 42);
    struct spool_thread *t = sample_thread(&s, process, 43);
    for (uint64_t i = 0; i < 1900; i++)
        assert_true(insert(&s, t, &line, i % 5, i * 2 * MS));
    for (unsigned i = 0; i < 10000; i++) {
        struct spool_thread *other = sample_thread(&s, process, 44 + (int)i);
        struct spool_timeline *copy = spool_alloc_as(&s, sizeof *copy);
        *copy = *line.record;
        other->timeline = i % 2 ? t->timeline : spool_ref_of(&s, copy);
    }
    struct profile *p = read_spool(&s, &damage);
    assert_true(damage > 0);
    for (uint32_t i = 0; i < p->thread_count; i++)
        moments += p->threads[i].timeline ? p->threads[i].timeline->count : 0;
    assert_in_range(moments, 0, 1900);
    assert_laws(p, UINT64_MAX);
    profile_free(p);
    sample_spool_free(&s);
}

/* ---- a reader beside the program ---- */

static struct {
    struct spool s;
    struct spool_thread *t;
    atomic_bool stop;
} busy;

static void *count(void *argument)
{
    struct timeline line = {0};
    uint64_t seed = 8;
    (void)argument;
    for (uint64_t i = 0; !busy.stop; i++)
        if (!insert(&busy.s, busy.t, &line, sample_random(&seed, 1 + sample_random(&seed, 2000)),
                    i * MS))
            break;
    return NULL;
}

static void concurrently(void **state)
{
    (void)state;
    pthread_t thread;
    uint64_t damage, timed = 0;
    busy.s = sample_spool_new(2 * MIB);
    sample_image(&busy.s, 1, "/bin/prog");
    busy.t = sample_thread(&busy.s, sample_process(&busy.s, 42), 43);
    assert_int_equal(pthread_create(&thread, NULL, count, NULL), 0);
    for (unsigned i = 0; i < 150; i++) {
        struct profile *p = read_spool(&busy.s, &damage);
        assert_int_equal(damage, 0);
        assert_laws(p, UINT64_MAX);
        timed += p->threads[0].timeline != NULL;
        profile_free(p);
    }
    busy.stop = true;
    pthread_join(thread, NULL);
    assert_true(timed > 50);
    sample_spool_free(&busy.s);
}

/* ---- profiles ---- */

/* All weight by time since 1970, in steps of 2^30 ns, and by leaf. */
static void histogram(const struct profile *p, uint64_t by_time[64], uint64_t *all)
{
    memset(by_time, 0, 64 * sizeof *by_time);
    *all = 0;
    for (uint32_t i = 0; i < p->thread_count; i++) {
        const struct profile_timeline *t = p->threads[i].timeline;
        for (uint32_t k = 0; t && k < t->count; k++) {
            uint64_t ns = p->start_realtime_ns - UINT64_C(1700000000000000000) +
                          profile_moment_stretch(t, &t->list[k]).from_ns;
            by_time[(ns >> 30) % 64] += t->list[k].weight;
            *all += t->list[k].weight;
        }
    }
}

/* Merged in any order, what happened when stays. */
static void merged(void **state)
{
    (void)state;
    struct err e = {0};
    uint64_t first[64], again[64], all, sum = 0;
    for (unsigned order = 0; order < 6; order++) {
        static const unsigned orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                              {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
        struct profile *p[3];
        uint64_t parts = 0;
        for (unsigned i = 0; i < 3; i++) {
            unsigned k = orders[order][i];
            p[i] = sample_profile(4, 200, 10 + k);
            p[i]->start_realtime_ns += k * UINT64_C(1234567890);
            p[i]->duration_ns = UINT64_C(60000000000);
            histogram(p[i], again, &all);
            parts += all;
        }
        assert_true(profile_merge(p[0], p[1], &e) && profile_merge(p[0], p[2], &e));
        histogram(p[0], order ? again : first, &all);
        assert_int_equal(all, parts);
        sum = order ? sum : all;
        assert_int_equal(all, sum);
        if (order)
            assert_memory_equal(first, again, sizeof first);
        assert_laws(p[0], UINT64_MAX);
        /* Added up: one thread, of the widest bins. */
        uint64_t width = profile_timeline_width(p[0]);
        assert_true(profile_sum_threads(p[0], &e));
        histogram(p[0], again, &all);
        assert_int_equal(all, sum);
        assert_true(profile_timeline_width(p[0]) == width);
        assert_laws(p[0], UINT64_MAX);
        for (unsigned i = 0; i < 3; i++)
            profile_free(p[i]);
    }
}

/* A profile of three seconds, one thread and 3000 samples, that began so much later. */
static struct profile *three_seconds(uint64_t later_ns)
{
    uint64_t damage;
    struct spool s = sample_spool_new(MIB);
    struct timeline line = {0};
    sample_image(&s, 1, "/bin/prog");
    struct spool_thread *t = sample_thread(&s, sample_process(&s, 42), 43);
    for (uint64_t i = 0; i < 3000; i++)
        assert_true(insert(&s, t, &line, i / 1000, i * MS));
    struct profile *p = read_spool(&s, &damage);
    sample_spool_free(&s);
    p->start_realtime_ns = UINT64_C(1700000000000000000) + later_ns;
    p->duration_ns = 3000 * MS;
    return p;
}

/* Recordings that did not overlap follow each other, in the order in which they were made. */
static void merged_one_after_the_other(void **state)
{
    (void)state;
    for (unsigned swapped = 0; swapped < 2; swapped++) {
        struct err e = {0};
        struct profile *a = three_seconds(swapped ? 100000 * MS : 0),
                       *b = three_seconds(swapped ? 0 : 100000 * MS);
        assert_true(profile_merge(a, b, &e));
        profile_free(b);
        assert_int_equal(a->duration_ns, 6000 * MS);
        assert_int_equal(a->threads[swapped].timeline->start_ns, 0);
        assert_int_equal(a->threads[!swapped].timeline->start_ns, 3000 * MS);
        assert_int_equal(a->processes[!swapped].start_ns,
                         a->processes[swapped].start_ns + 3000 * MS);
        assert_laws(a, 0);
        assert_true(profile_keep_time(a, 4000 * MS, 5000 * MS, &e));
        assert_int_equal(a->threads[swapped].weight, 0);
        assert_in_range(a->threads[!swapped].weight, 990, 1010);
        profile_free(a);
    }
}

/* Only samples have times. */
static void engine_has_no_times(void **state)
{
    (void)state;
    struct err e = {0};
    struct profile *p = three_seconds(0);
    profile_observe(p, OBSERVED_CODE, profile_counts_new("burst", "blocks"));
    assert_non_null(observed_code(p));
    assert_false(profile_keep_time(p, 0, MS, &e));
    assert_int_equal(e.code, ERR_USAGE);
    assert_non_null(strstr(e.message, "engine"));
    profile_free(p);
}

static uint64_t weights(const struct profile *p)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < p->thread_count; i++)
        for (uint32_t k = 0; k < p->threads[i].node_count; k++)
            sum += p->threads[i].nodes[k].self;
    return sum;
}

/* Parts of the time add up to the whole, node by node nearly, and each is a profile. */
static void parts(void **state)
{
    (void)state;
    struct err e = {0};
    uint64_t sum = 0, damage, seed = 4;
    struct spool s = sample_spool_new(4 * MIB);
    struct timeline line = {0};
    sample_image(&s, 1, "/bin/prog");
    struct spool_thread *t = sample_thread(&s, sample_process(&s, 42), 43);
    for (uint64_t i = 0; i < 30000; i++)
        assert_true(insert(&s, t, &line,
                           i / 10000 * 5000 + sample_random(&seed, 1 + sample_random(&seed, 12)),
                           i * MS));
    for (unsigned i = 0; i < 7; i++) {
        struct profile *p = read_spool(&s, &damage);
        p->duration_ns = 30000 * MS;
        assert_true(profile_keep_time(p, 30000 * MS * i / 7, 30000 * MS * (i + 1) / 7, &e));
        assert_in_range(weights(p), 30000 / 7 - 60, 30000 / 7 + 60);
        assert_int_equal(weights(p), p->threads[0].weight);
        assert_int_equal(p->duration_ns, 30000 * MS * (i + 1) / 7 - 30000 * MS * i / 7);
        assert_laws(p, UINT64_MAX);
        sum += weights(p);
        profile_free(p);
    }
    assert_in_range(sum, 30000 - 14, 30000 + 14);
    struct profile *p = read_spool(&s, &damage);
    assert_true(profile_keep_time(p, 10500 * MS, 19500 * MS, &e));
    uint64_t right = 0;
    for (uint32_t k = 0; k < p->threads[0].node_count; k++)
        if (p->threads[0].nodes[k].offset >= 0x1000 + 5000 &&
            p->threads[0].nodes[k].offset < 0x1000 + 10000)
            right += p->threads[0].nodes[k].self;
    assert_in_range(weights(p), 8900, 9100);
    /* but for the rests, whose nodes are guessed */
    assert_in_range(right, weights(p) / 10 * 8, weights(p));
    profile_free(p);
    p = read_spool(&s, &damage);
    free(p->threads[0].timeline);
    p->threads[0].timeline = NULL;
    assert_false(profile_keep_time(p, 0, MS, &e));
    profile_free(p);
    sample_spool_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(from_spool),
                                       cmocka_unit_test(phases),
                                       cmocka_unit_test(several),
                                       cmocka_unit_test(several_parts),
                                       cmocka_unit_test(hostile),
                                       cmocka_unit_test(bounded),
                                       cmocka_unit_test(concurrently),
                                       cmocka_unit_test(merged),
                                       cmocka_unit_test(parts),
                                       cmocka_unit_test(merged_one_after_the_other),
                                       cmocka_unit_test(engine_has_no_times)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
