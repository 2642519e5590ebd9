/* Merging profiles and summing threads: nothing is lost, nothing is counted twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "profile/decode.h"
#include "profile/merge.h"
#include "profile/shares.h"
#include "sample.h"

static uint64_t sum_self(const struct profile *p)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < p->thread_count; i++)
        for (uint32_t k = 0; k < p->threads[i].node_count; k++)
            sum += p->threads[i].nodes[k].self;
    return sum;
}

static void assert_well_formed(const struct profile *p)
{
    struct err e = {0};
    size_t size;
    uint8_t *data = profile_encode(p, &size, &e);
    assert_string_equal(e.message, "");
    struct profile *q = profile_read_memory(data, size, "x", &e);
    assert_string_equal(e.message, "");
    assert_string_equal(sample_difference(p, q), "");
    profile_free(q);
    free(data);
}

static void test_append(void **state)
{
    (void)state;
    struct err e = {0};
    struct profile_totals a_totals, b_totals, both;
    struct profile *a = sample_profile(3, 100, 1), *b = sample_profile(2, 80, 2);
    /* Image 1 is the same file elsewhere; image 3 has no build-id and is the same by name. */
    memcpy(b->images[1].build_id, a->images[1].build_id, 20);
    b->images[3] = (struct profile_image){.path = b->images[3].path,
                                          .file_size = a->images[3].file_size,
                                          .mtime_ns = a->images[3].mtime_ns};
    a->begun = (struct profile_begun){1, 2, 3};
    b->begun = (struct profile_begun){10, 20, UINT64_MAX};
    profile_totals(a, &a_totals);
    profile_totals(b, &b_totals);
    uint64_t self = sum_self(a) + sum_self(b);
    uint32_t image_of_node = b->threads[1].nodes[5].image, process = b->threads[1].process;
    assert_true(profile_merge(a, b, &e));
    profile_totals(a, &both);
    assert_int_equal(a->image_count, 5 + 3);
    assert_int_equal(a->process_count, 6);
    assert_int_equal(a->thread_count, 5);
    assert_int_equal(a->threads[4].process, 3 + process);
    assert_int_equal(a->processes[3].maps[1].image, 1);
    assert_int_equal(a->processes[3].maps[3].image, 3);
    assert_int_equal(a->processes[3].maps[0].image, 5);
    if (image_of_node < 5)
        assert_string_equal(a->images[a->threads[4].nodes[5].image].path,
                            b->images[image_of_node].path);
    assert_int_equal(sum_self(a), self);
    assert_int_equal(both.taken, a_totals.taken + b_totals.taken);
    assert_int_equal(a->begun.executed, 11);
    assert_int_equal(a->begun.forked, 22);
    assert_int_equal(both.begun_ns, UINT64_MAX);
    assert_int_equal(both.dropped_all, a_totals.dropped_all + b_totals.dropped_all);
    assert_well_formed(a);
    profile_free(a);
    profile_free(b);
}

static void test_refuses_what_differs(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct err e = {0};
        struct profile *a = sample_profile(1, 10, 1), *b = sample_profile(1, 10, 1);
        char **string = i == 0 ? &b->metrics[0].trigger : &b->metrics[0].unit;
        if (i == 2) {
            b->metrics[0].period++;
        } else {
            free(*string);
            *string = strdup("other");
        }
        assert_false(profile_merge(a, b, &e));
        assert_int_equal(e.code, ERR_USAGE);
        assert_non_null(strstr(e.message, i == 2 ? "1003010" : "other"));
        assert_int_equal(a->thread_count, 1);
        profile_free(a);
        profile_free(b);
    }
}

/* Of recordings of other triggers there is no common sum. */
static void test_refuses_other_triggers(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct err e = {0};
        struct profile *a = sample_profile(2, 10, 1), *b = sample_profile(2, 10, 1);
        if (i) {
            profile_metric_add(b, &(struct profile_metric){(char[]){"write"}, (char[]){"write"},
                                                           (char[]){"bytes"}, 5, METRIC_REGULAR});
        } else {
            free(b->metrics[2].trigger);
            b->metrics[2].trigger = strdup("write");
        }
        assert_false(profile_merge(a, b, &e));
        assert_int_equal(e.code, ERR_USAGE);
        assert_int_equal(a->thread_count, 2);
        profile_free(a);
        profile_free(b);
    }
}

/* Equal entities are one, with one number; one that is not in the table stays a place. */
static void test_entities(void **state)
{
    (void)state;
    struct err e = {0};
    struct profile *a = profile_new(), *b = profile_new();
    struct profile_entity read = {
        .kind = ENTITY_KERNEL, .name = (char[]){"ksys_read"}, .scope = (char[]){""}};
    struct profile_entity field = {.kind = ENTITY_FIELD, .name = (char[]){"next"},
                                   .scope = (char[]){"node"}, .at = 8, .number = 8};
    uint64_t id = profile_entity_add(a, &read);
    assert_true(entity_is(id) && id == entity_id(&read));
    assert_int_equal(profile_entity_add(b, &read), id);
    assert_int_equal(profile_entity_add(a, &read), id);
    uint64_t other = profile_entity_add(b, &field);
    assert_true(other != id);
    assert_true(profile_merge(a, b, &e));
    assert_int_equal(a->entity_count, 2);
    assert_string_equal(profile_entity_find(a, other)->scope, "node");
    assert_null(profile_entity_find(a, id + 1));
    assert_well_formed(a);
    profile_free(a);
    profile_free(b);
}

static void add_fields(struct profile *p, unsigned from, unsigned to)
{
    struct profile_entity field = {
        .kind = ENTITY_FIELD, .name = (char[]){"next"}, .scope = (char[]){"node"}};
    for (field.at = from; field.at < to; field.at++)
        assert_true(profile_entity_add(p, &field) != 0);
}

/* Samples of one instruction are added up, whatever order they come in. */
static void test_hits(void **state)
{
    (void)state;
    struct err e = {0};
    struct profile *a = profile_new(), *b = profile_new();
    struct profile_hit of_a[4], of_b[2];
    for (unsigned i = 0; i < 3; i++) {
        struct profile_entity at = {.kind = ENTITY_INSTRUCTION, .name = (char[]){"ksys_read"},
                                    .scope = (char[]){"ret"}, .at = i};
        of_a[i] = (struct profile_hit){profile_entity_add(a, &at), 10 + i};
        if (i)
            of_b[2 - i] = (struct profile_hit){profile_entity_add(b, &at),
                                               i == 1 ? 100 : UINT64_MAX};
    }
    of_a[3] = of_a[0];
    assert_true(profile_hits_add(a, of_a, 4));
    assert_true(profile_hits_add(b, of_b, 2));
    assert_int_equal(a->hit_count, 3);
    assert_true(profile_merge(a, b, &e));
    assert_int_equal(a->hit_count, 3);
    for (unsigned i = 0; i < 3; i++) {
        const struct profile_hit *h = &a->hits[i];
        const struct profile_entity *at = profile_entity_find(a, h->entity);
        assert_true(at && (!i || h->entity > h[-1].entity));
        assert_true(h->weight == (at->at == 0 ? 20 : at->at == 1 ? 111 : UINT64_MAX));
    }
    assert_well_formed(a);
    profile_free(a);
    profile_free(b);
}

/* Hashes put them in another order than they are added in: those of two profiles alternate. */
static void test_many_entities(void **state)
{
    (void)state;
    struct err e = {0};
    struct profile *a = profile_new(), *b = profile_new(), *all = profile_new();
    add_fields(a, 0, 300);
    add_fields(b, 200, 500);
    add_fields(all, 0, 500);
    assert_true(profile_merge(a, b, &e));
    assert_int_equal(a->entity_count, 500);
    for (uint32_t i = 0; i < 500; i++) {
        assert_int_equal(a->entities[i].id, all->entities[i].id);
        assert_int_equal(a->entities[i].at, all->entities[i].at);
    }
    add_fields(a, 400, 600);
    assert_int_equal(a->entity_count, 600);
    assert_well_formed(a);
    profile_free(a);
    profile_free(b);
    profile_free(all);
}

static uint64_t sum_of(const struct profile *p, uint32_t metric)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < p->thread_count; i++)
        for (uint32_t k = 0; k < p->threads[i].node_count; k++)
            sum += metric ? p->threads[i].nodes[k].more[metric - 1] : p->threads[i].nodes[k].self;
    return sum;
}

/* Whichever trigger comes first, each keeps its weights and its counters; what is dropped outside
 * threads stays the former first one's. */
static void test_lead(void **state)
{
    (void)state;
    for (uint32_t lead = 0; lead < 3; lead++) {
        struct err e = {0};
        struct profile *p = sample_profile(4, 100, 9), *original = sample_profile(4, 100, 9);
        assert_true(profile_lead(p, lead));
        assert_string_equal(p->metrics[0].name, original->metrics[lead].name);
        for (uint32_t m = 0; m < 3; m++) {
            uint32_t now = profile_metric_find(p, original->metrics[m].name);
            uint32_t trigger = profile_trigger_of(p, now), before = profile_trigger_of(original, m);
            assert_int_equal(now, m == lead ? 0 : m < lead ? m + 1 : m);
            assert_int_equal(p->metrics[now].period, original->metrics[m].period);
            assert_int_equal(sum_of(p, now), sum_of(original, m));
            struct profile_sampled a = profile_sampled_by(p, trigger),
                                   b = profile_sampled_by(original, before);
            assert_memory_equal(&a, &b, sizeof a);
        }
        assert_well_formed(p);
        assert_true(profile_sum_threads(p, &e));
        for (uint32_t m = 0; m < 3; m++) {
            struct profile_sampled a = profile_sampled_by(p, m), b;
            uint32_t before = profile_metric_find(original, p->metrics[m].name);
            b = profile_sampled_by(original, before);
            assert_memory_equal(&a, &b, sizeof a);
            assert_int_equal(sum_of(p, m), sum_of(original, before));
        }
        profile_free(p);
        profile_free(original);
    }
}

/* The same stack may be there twice as siblings, so contexts are compared as sums over paths. */
static uint64_t self_of_path(const struct profile_thread *t, const struct profile_thread *of,
                             uint32_t index)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < t->node_count; i++) {
        uint32_t x = i, y = index;
        while (x && y && t->nodes[x].image == of->nodes[y].image &&
               t->nodes[x].offset == of->nodes[y].offset &&
               t->nodes[x].guessed == of->nodes[y].guessed) {
            x = t->nodes[x].parent;
            y = of->nodes[y].parent;
        }
        if (x == 0 && y == 0)
            sum += t->nodes[i].self;
    }
    return sum;
}

static void test_sum(void **state)
{
    (void)state;
    struct err e = {0};
    struct profile *a = sample_profile(3, 300, 1), *original = sample_profile(3, 300, 1);
    struct profile_totals before, after;
    profile_totals(a, &before);
    uint64_t self = sum_self(a);
    assert_true(profile_sum_threads(a, &e));
    profile_totals(a, &after);
    assert_int_equal(a->thread_count, 1);
    assert_int_equal(sum_self(a), self);
    assert_int_equal(after.taken, before.taken);
    assert_int_equal(after.truncated_all, before.truncated_all);
    assert_int_equal(after.dropped_all, before.dropped_all);
    assert_well_formed(a);
    const struct profile_thread *sum = &a->threads[0];
    for (uint32_t i = 0; i < sum->node_count; i += 7) {
        uint64_t expected = 0;
        for (uint32_t k = 0; k < 3; k++)
            expected += self_of_path(&original->threads[k], sum, i);
        assert_int_equal(sum->nodes[i].self, expected);
    }
    for (uint32_t i = 2; i < sum->node_count; i++) /* no path is there twice */
        if (sum->nodes[i].parent == sum->nodes[i - 1].parent)
            assert_true(sum->nodes[i].offset != sum->nodes[i - 1].offset ||
                        sum->nodes[i].image != sum->nodes[i - 1].image ||
                        sum->nodes[i].guessed != sum->nodes[i - 1].guessed);
    profile_free(a);
    profile_free(original);
}

static void test_sum_of_equals(void **state)
{
    (void)state;
    struct err e = {0};
    struct profile *a = sample_profile(1, 200, 7), *b = sample_profile(1, 200, 7);
    uint64_t self = sum_self(b);
    assert_true(profile_merge(a, b, &e));
    assert_int_equal(a->image_count, 5);
    assert_true(profile_sum_threads(a, &e));
    assert_int_equal(sum_self(a), 2 * self);
    assert_true(a->threads[0].node_count <= 200);
    profile_free(a);
    profile_free(b);
}

/* The function that a profile keeps of a place, and from where it has it. */
static const char *kept(const struct profile *p, uint32_t image, uint64_t offset)
{
    const struct profile_named_place *place = profile_names_find(p->names, image, offset);
    return place ? p->names->strings[p->names->names[place->name].function] : NULL;
}

static struct profile *named(uint32_t level, const char *function, const uint64_t offsets[2])
{
    struct profile *p = sample_profile(1, 10, 1);
    profile_names_free(p->names);
    p->names = profile_names_new(p->image_count);
    struct profile_name name = {.function = profile_names_string(p->names, function),
                                .line = level};
    p->names->images[2].level = level;
    for (unsigned i = 0; i < 2; i++)
        assert_true(
            profile_names_place(p->names, 2, offsets[i], profile_names_add(p->names, &name)));
    return p;
}

/* Each place keeps its name; of two, the one from the better source. Without names on one side,
 * those of the other stay. */
static void test_names_stay(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct err e = {0};
        struct profile *a = named(NAMES_SYMBOLS, "symbol", (const uint64_t[]){0x10, 0x20});
        struct profile *b = named(NAMES_LINES, "line", (const uint64_t[]){0x20, 0x30});
        struct profile *without = i == 1 ? a : i == 2 ? b : NULL;
        if (without) {
            profile_names_free(without->names);
            without->names = NULL;
        }
        /* What the images of b are numbered in a is another thing. */
        memmove(&b->images[0].build_id, &a->images[4].build_id, 4);
        assert_true(profile_merge(a, b, &e));
        const char *first = kept(a, 2, 0x10), *second = kept(a, 2, 0x20), *third = kept(a, 2, 0x30);
        if (i != 1)
            assert_string_equal(first, "symbol");
        assert_string_equal(second, i == 2 ? "symbol" : "line");
        if (i != 2)
            assert_string_equal(third, "line");
        assert_int_equal(a->names->images[2].level, i == 1 ? NAMES_LINES : NAMES_SYMBOLS);
        assert_well_formed(a);
        profile_free(a);
        profile_free(b);
    }
}

static struct profile *one_thread(uint64_t start, uint64_t duration)
{
    struct profile *p = sample_profile(1, 1, 1);
    p->start_realtime_ns = start;
    p->duration_ns = duration;
    p->processes[0].start_ns = 10;
    p->threads[0].start_ns = 11;
    p->threads[0].end_ns = 12;
    return p;
}

static void check_times(uint64_t start, uint64_t duration, uint64_t merged_start,
                        uint64_t merged_duration, const uint64_t process_starts[2])
{
    struct err e = {0};
    struct profile *a = one_thread(1000, 100), *b = one_thread(start, duration);
    a->processes[0].heap_peak_ns = b->processes[0].heap_peak_ns = 13;
    assert_true(profile_merge(a, b, &e));
    assert_int_equal(a->start_realtime_ns, merged_start);
    assert_int_equal(a->duration_ns, merged_duration);
    assert_int_equal(a->processes[0].start_ns, process_starts[0]);
    assert_int_equal(a->processes[3].start_ns, process_starts[1]);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(a->processes[3 * i].heap_peak_ns, process_starts[i] + 3);
    assert_int_equal(a->processes[1].heap_peak_ns, 0); /* it has none */
    assert_int_equal(a->threads[1].start_ns, process_starts[1] + 1);
    assert_int_equal(a->threads[1].end_ns, process_starts[1] + 2);
    profile_free(a);
    profile_free(b);
}

static void test_times(void **state)
{
    (void)state;
    check_times(1050, 100, 1000, 150, (const uint64_t[]){10, 60}); /* overlapping */
    check_times(1050, 10, 1000, 100, (const uint64_t[]){10, 60});  /* inside */
    check_times(950, 100, 950, 150, (const uint64_t[]){60, 10});   /* begun earlier */
    check_times(5000, 7, 1000, 107, (const uint64_t[]){10, 110});  /* after it */
    check_times(500, 7, 500, 107, (const uint64_t[]){17, 10});     /* before it */
}

/* What merging makes of any two profiles is read again. */
static void test_longest_recording(void **state)
{
    (void)state;
    struct err e = {0};
    struct profile *a = one_thread(1000, UINT64_MAX), *b = one_thread(UINT64_MAX, UINT64_MAX);
    assert_true(profile_merge(a, b, &e));
    assert_int_equal(a->recordings[0].duration_ns, UINT64_MAX);
    assert_int_equal(a->recordings[1].duration_ns, UINT64_MAX);
    assert_well_formed(a);
    profile_free(a);
    profile_free(b);
}

/* What would not be read is not written. */
static void test_refuses_recordings(void **state)
{
    (void)state;
    for (unsigned wrong = 0; wrong < 3; wrong++) {
        struct err e = {0};
        size_t size;
        struct profile *a = one_thread(1000, 100), *b = one_thread(2000, 100);
        assert_true(profile_merge(a, b, &e));
        if (wrong == 0)
            a->recording_count = 1;
        else if (wrong == 1)
            a->recordings[1].start_realtime_ns = 999;
        else
            a->processes[1].recording = 2;
        assert_null(profile_encode(a, &size, &e));
        assert_non_null(strstr(e.message, "recordings"));
        profile_free(a);
        profile_free(b);
    }
}

static void name_processes(struct profile *p, const char *name)
{
    for (uint32_t i = 0; i < p->process_count; i++) {
        free(p->processes[i].name);
        p->processes[i].name = strdup(name);
    }
}

/* Read with its trees summed, a file has the sum of what they have; threads with code in no image
 * keep their own. */
static void test_read_summed(void **state)
{
    (void)state;
    for (unsigned own = 0; own < 2; own++) {
        struct err e = {0};
        size_t size;
        struct profile *p = sample_profile(5, 300, 3);
        for (uint32_t i = own; i < 5; i++)
            for (uint32_t k = 0; k < p->threads[i].node_count; k++)
                if (p->threads[i].nodes[k].image == PROFILE_IMAGE_NONE &&
                    !entity_is(p->threads[i].nodes[k].offset))
                    p->threads[i].nodes[k].image = 1;
        uint8_t *data = profile_encode(p, &size, &e);
        struct profile *by_name =
            profile_decode_summed(data, size, "x", PROFILE_SUMMED_BY_NAME, &e);
        for (uint32_t i = 0; i < 5; i++) /* of three processes with names of their own */
            assert_true((by_name->threads[i].node_count != 0) == (i < 3 || (own && i == 3)));
        profile_free(by_name);
        free(data);
        name_processes(p, "same");
        data = profile_encode(p, &size, &e);
        struct profile *summed = profile_decode_summed(data, size, "x", PROFILE_SUMMED_BY_NAME, &e);
        assert_non_null(summed);
        for (uint32_t m = 0; m < p->metric_count; m++)
            assert_int_equal(sum_of(summed, m), sum_of(p, m));
        for (uint32_t i = 0; i < 5; i++) {
            assert_int_equal(summed->threads[i].weight, p->threads[i].weight);
            assert_null(summed->threads[i].timeline);
            assert_true((summed->threads[i].node_count != 0) == (i <= own));
        }
        assert_true(!own || summed->threads[0].node_count == p->threads[0].node_count);
        /* Another sum has the same nodes, with the same weights. */
        assert_true(profile_sum_threads(p, &e) && profile_sum_threads(summed, &e));
        assert_int_equal(p->threads[0].node_count, summed->threads[0].node_count);
        for (uint32_t k = 0; k < p->threads[0].node_count; k++) {
            const struct profile_node *a = &p->threads[0].nodes[k],
                                      *b = &summed->threads[0].nodes[k];
            assert_int_equal(a->parent, b->parent);
            assert_int_equal(a->subtree, b->subtree);
            assert_int_equal(a->offset, b->offset);
            assert_int_equal(a->self, b->self);
            assert_int_equal(a->calls, b->calls);
            assert_memory_equal(a->more, b->more, sizeof a->more);
        }
        for (size_t cut = 0; cut < size; cut += 997) /* what is damaged is refused, and freed */
            assert_null(profile_decode_summed(data, cut, "x", PROFILE_SUMMED_BY_NAME, &e));
        free(data);
        profile_free(p);
        profile_free(summed);
    }
}

/* A checksum of what a thread has at which call paths by a metric, whatever tree they are in. */
static uint64_t paths_sum(const struct profile *p, uint32_t thread, uint32_t metric)
{
    const struct profile_shares *s = p->threads[thread].shares;
    const struct profile_thread *t = &p->threads[s ? s->tree : thread];
    uint64_t *path = calloc((size_t)t->node_count + 1, sizeof *path), sum = 0;
    for (uint32_t i = 0; i < t->node_count; i++) {
        const struct profile_node *n = &t->nodes[i];
        uint64_t key[] = {i ? path[n->parent] : 0, n->image, n->offset, n->guessed};
        path[i] = hash_bytes(key, sizeof key);
        sum += s ? 0 : path[i] * (metric ? n->more[metric - 1] : n->self);
    }
    for (uint32_t i = 0; s && i < s->count; i++) {
        assert_true(s->list[i].node < t->node_count && s->list[i].weight);
        assert_true(!i || s->list[i].node >= s->list[i - 1].node);
        sum += s->list[i].metric == metric ? path[s->list[i].node] * s->list[i].weight : 0;
    }
    free(path);
    return sum;
}

/* Read with shares, a file has the sum, too, and each thread has what is its own, by whichever
 * metric the profile is led. */
static void test_read_shared(void **state)
{
    (void)state;
    for (unsigned own = 0; own < 2; own++) {
        struct err e = {0};
        size_t size;
        struct profile *p = sample_profile(5, 300, 3);
        for (uint32_t i = own; i < 5; i++)
            for (uint32_t k = 0; k < p->threads[i].node_count; k++)
                if (p->threads[i].nodes[k].image == PROFILE_IMAGE_NONE &&
                    !entity_is(p->threads[i].nodes[k].offset))
                    p->threads[i].nodes[k].image = 1;
        for (uint32_t k = 0; k < p->threads[4].node_count; k++) { /* one that has nothing */
            p->threads[4].nodes[k].self = 0;
            memset(p->threads[4].nodes[k].more, 0, sizeof p->threads[4].nodes[k].more);
        }
        free(p->threads[4].timeline);
        p->threads[4].timeline = NULL;
        name_processes(p, "same");
        uint8_t *data = profile_encode(p, &size, &e);
        struct profile *shared = profile_decode_summed(data, size, "x", PROFILE_SHARED, &e);
        assert_non_null(shared);
        assert_true(p->metric_count > 1);
        for (unsigned led = 0; led < 2; led++) {
            for (uint32_t m = 0; m < p->metric_count; m++) {
                assert_int_equal(sum_of(shared, m), sum_of(p, m));
                for (uint32_t i = 0; i < 5; i++)
                    assert_int_equal(paths_sum(shared, i, m), paths_sum(p, i, m));
            }
            for (uint32_t i = 0; i < 5; i++)
                assert_true((shared->threads[i].shares != NULL) == (i >= own));
            profile_metric_first(p, p->metric_count - 1);
            profile_metric_first(shared, p->metric_count - 1);
        }
        assert_int_equal(shared->threads[4].shares->count, 0);
        for (size_t cut = 0; cut < size; cut += 997)
            assert_null(profile_decode_summed(data, cut, "x", PROFILE_SHARED, &e));
        free(data);
        profile_free(p);
        profile_free(shared);
    }
}

/* Of three that were apart each has its place, whichever are merged first; one that ran in the gap
 * comes between. */
static void test_times_of_four(void **state)
{
    (void)state;
    static const uint64_t starts[] = {1000, 2000, 3000, 2090}, begins[] = {0, 100, 290, 190};
    for (unsigned order = 0; order < 24; order++) {
        unsigned left[] = {0, 1, 2, 3}, at[4], count = 4, n = order;
        struct profile *all = NULL;
        for (unsigned i = 0; i < 4; i++, n /= count--) {
            struct err e = {0};
            unsigned which = n % count;
            at[i] = left[which];
            left[which] = left[count - 1];
            struct profile *p = one_thread(starts[at[i]], 100);
            assert_true(!all || profile_merge(all, p, &e));
            if (all)
                profile_free(p);
            all = all ? all : p;
        }
        assert_int_equal(all->recording_count, 4);
        assert_int_equal(all->duration_ns, 390);
        for (unsigned i = 0; i < 4; i++) {
            assert_int_equal(all->processes[3 * i].start_ns, begins[at[i]] + 10);
            assert_int_equal(all->threads[i].end_ns, begins[at[i]] + 12);
            assert_int_equal(all->recordings[all->processes[3 * i].recording].start_realtime_ns,
                             starts[at[i]]);
        }
        assert_well_formed(all);
        profile_free(all);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_append),
        cmocka_unit_test(test_names_stay),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_times_of_four),
        cmocka_unit_test(test_refuses_other_triggers),
        cmocka_unit_test(test_lead),
        cmocka_unit_test(test_entities),
        cmocka_unit_test(test_hits),
        cmocka_unit_test(test_many_entities),
        cmocka_unit_test(test_longest_recording),
        cmocka_unit_test(test_refuses_recordings),
        cmocka_unit_test(test_read_summed),
        cmocka_unit_test(test_read_shared),
        cmocka_unit_test(test_refuses_what_differs),
        cmocka_unit_test(test_sum),
        cmocka_unit_test(test_sum_of_equals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
