/* Merging is associative and commutative, and keeps sums: whatever the order, the same is counted.
 * What is compared is a digest in which rows are weighted by their counts, so that neither the
 * numbers of images and processes matter nor which rows have become one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "profile/merge.h"
#include "profile/notes.h"
#include "profile/parts.h"
#include "profile/timeline.h"
#include "profile/unknown.h"
#include "sample.h"

enum { SEEDS = 12 };

static uint64_t hash(uint64_t h, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    for (size_t i = 0; i < size; i++)
        h = (h ^ at[i]) * UINT64_C(0x100000001b3);
    return h ^ h >> 29;
}

static uint64_t mix(uint64_t h, uint64_t value)
{
    return hash(h, &value, sizeof value);
}

static uint64_t image_key(const struct profile *p, uint32_t image)
{
    if (image >= p->image_count)
        return image;
    const struct profile_image *m = &p->images[image];
    return m->build_id_size ? hash(1, m->build_id, m->build_id_size)
                            : hash(2, m->path, strlen(m->path));
}

static uint64_t process_key(const struct profile *p, uint32_t process)
{
    const struct profile_process *r = &p->processes[process];
    return mix(mix(hash(3, r->name, strlen(r->name)), (uint64_t)r->pid), r->drops[0]);
}

/* Of a place: only code in no image is told apart by process. */
static uint64_t place_key(const struct profile *p, uint32_t image, uint32_t process,
                          uint64_t offset)
{
    uint64_t h = mix(image_key(p, image), offset);
    return image == PROFILE_IMAGE_NONE ? mix(h, process_key(p, process)) : h;
}

static uint64_t tree_digest(const struct profile *p, const struct profile_thread *t)
{
    uint64_t sum = 0, *path = calloc((size_t)t->node_count + 1, sizeof *path);
    for (uint32_t i = 0; i < t->node_count; i++) {
        const struct profile_node *n = &t->nodes[i];
        path[i] = mix(i ? path[n->parent] : process_key(p, t->process), image_key(p, n->image));
        path[i] = mix(mix(path[i], n->offset), n->guessed);
        sum += path[i] * n->self + mix(path[i], 1) * n->calls + mix(path[i], 2) * n->more[0] +
               mix(path[i], 3) * n->more[1];
    }
    free(path);
    for (uint32_t k = 0; t->others && k + 1 < profile_triggers(p); k++)
        sum += mix(k, 4) *
               (t->others[k].taken + 3 * t->others[k].weight + 5 * t->others[k].drops[DROP_LATE]);
    const char *phase = t->phase ? p->phases[t->phase - 1].name : "";
    return sum + hash(mix(process_key(p, t->process), t->weight), phase, strlen(phase));
}

/* Keys of the paths that end with each call; [0]: of no call. */
static uint64_t *call_keys(const struct profile *p, const struct profile_waste_paths *w)
{
    uint64_t *keys = calloc((size_t)w->call_count + 1, sizeof *keys);
    for (uint32_t i = 0; i < w->call_count; i++) {
        const struct profile_waste_call *c = &w->calls[i];
        keys[i + 1] = mix(keys[c->caller], place_key(p, c->image, c->process, c->offset));
    }
    return keys;
}

static uint64_t waste_paths_digest(const struct profile *p, const struct profile_waste_paths *w)
{
    uint64_t sum = w->evicted + 3 * w->unknown, *keys = call_keys(p, w);
    for (uint32_t i = 0; i < w->count; i++) {
        const struct profile_waste_path *s = &w->list[i];
        uint64_t h = mix(place_key(p, s->pair.image, s->pair.process, s->pair.offset),
                         place_key(p, s->pair.to_image, s->pair.to_process, s->pair.to));
        h = mix(mix(mix(mix(h, s->pair.kind), keys[s->from]), keys[s->to]), s->folded);
        sum += h * (s->pair.count + 5 * s->pair.bytes);
    }
    free(keys);
    return sum;
}

static uint64_t counts_digest(const struct profile *p)
{
    const struct profile_counts *c = observed_code(p);
    uint64_t sum = mix(c->native_ns, c->counted + 2u * c->classified);
    for (uint32_t i = 0; i < c->block_count; i++) {
        const struct profile_block *b = &c->blocks[i];
        sum += mix(mix(place_key(p, b->image, b->process, b->offset), b->bytes), b->instructions) *
               b->count;
    }
    for (uint32_t i = 0; i < c->edge_count; i++) {
        const struct profile_edge *g = &c->edges[i];
        bool none = g->from_image == PROFILE_IMAGE_NONE || g->to_image == PROFILE_IMAGE_NONE;
        uint64_t h =
            mix(mix(image_key(p, g->from_image), g->from), mix(image_key(p, g->to_image), g->to));
        sum += (none ? mix(h, process_key(p, g->process)) : h) * g->count;
    }
    const struct profile_streams *streams = observed_table(p, TABLE_STREAMS);
    const struct profile_paths *paths = observed_table(p, TABLE_PATHS);
    const struct profile_waste *waste = observed_table(p, TABLE_WASTE);
    sum += waste_paths_digest(p, &waste->paths);
    for (uint32_t i = 0; i < waste->site_count; i++) {
        const struct profile_waste_site *s = &waste->sites[i];
        sum += mix(mix(place_key(p, s->image, s->process, s->offset), s->kind), s->bytes) *
               (s->figures.loads + 3 * s->figures.dead_bytes);
    }
    for (uint32_t i = 0; i < waste->pair_count; i++) {
        const struct profile_waste_pair *s = &waste->pairs[i];
        sum += mix(mix(place_key(p, s->image, s->process, s->offset),
                       place_key(p, s->to_image, s->to_process, s->to)), s->kind) *
               (s->count + 5 * s->bytes);
    }
    for (uint32_t i = 0; i < streams->count; i++) {
        const struct profile_stream *s = &streams->list[i];
        sum +=
            mix(mix(place_key(p, s->image, s->process, s->offset), s->kind), s->bytes) * s->count;
    }
    for (uint32_t i = 0; i < paths->count; i++) {
        uint64_t h = 0;
        for (uint32_t k = 0; k < paths->paths[i].length; k++) {
            const struct profile_block *b =
                &c->blocks[paths->sequence[paths->paths[i].first + k]];
            h = mix(h, place_key(p, b->image, b->process, b->offset));
        }
        sum += h * paths->paths[i].count;
    }
    return sum;
}

static uint64_t values_digest(const struct profile *p, const struct profile_values *v)
{
    uint64_t sum = mix(v->module_end, v->module_detail);
    for (uint32_t i = 0; i < v->hotlist_count; i++) {
        const struct profile_hotlist *h = &v->hotlists[i];
        uint64_t key = mix(mix(image_key(p, h->image), h->offset), h->kind);
        sum += mix(mix(key, image_key(p, h->site_image)), h->site) * h->list->observed;
    }
    for (uint32_t i = 0; i < v->fact_count; i++)
        sum += hash(v->facts[i].value, v->facts[i].name, strlen(v->facts[i].name));
    return sum;
}

static uint64_t figures_digest(const struct profile *p)
{
    const struct profile_shadows *s = observed_shadows(p);
    uint64_t h = hash(5, (const char *)s + offsetof(struct profile_shadows, started),
                      sizeof *s - offsetof(struct profile_shadows, started));
    for (const struct figure_family *const *f = figure_families; *f; f++)
        for (uint32_t i = 0; (*f)->of(p) && i < (*f)->count; i++)
            h = hash(h, figure_numbers(&(*f)->rows[i], (*f)->of(p)),
                     figure_count(&(*f)->rows[i]) * sizeof(uint64_t));
    for (uint32_t i = 0; i < p->figure_count; i++)
        h = mix(hash(h, p->figures[i].name, strlen(p->figures[i].name)), p->figures[i].value);
    for (uint32_t i = 0; i < p->unknown_count; i++)
        h = mix(hash(h, p->unknown[i].data, p->unknown[i].size), p->unknown[i].type);
    return h;
}

static uint64_t notes_digest(const char *notes)
{
    uint64_t sum = 0;
    for (; *notes; notes += strcspn(notes, "\n"), notes += *notes == '\n')
        sum += hash(6, notes, strcspn(notes, "\n"));
    return sum;
}

/* When all was, on the axis. */
static uint64_t times_digest(const struct profile *p)
{
    uint64_t sum = mix(p->start_realtime_ns, p->duration_ns);
    for (uint32_t i = 0; i < p->process_count; i++)
        sum += mix(mix(mix(process_key(p, i), p->processes[i].start_ns), p->processes[i].end_ns),
                   p->processes[i].recording);
    for (uint32_t i = 0; i < p->thread_count; i++) {
        const struct profile_thread *t = &p->threads[i];
        sum += mix(mix(mix(process_key(p, t->process), t->start_ns), t->end_ns),
                   t->timeline ? t->timeline->start_ns : 0);
    }
    for (uint32_t i = 0; i < p->recording_count; i++)
        sum += mix(mix(p->recordings[i].start_realtime_ns, p->recordings[i].duration_ns), i);
    return sum;
}

struct digest {
    uint64_t trees, processes, phases, counts, values, figures, notes, drops, cpu, times, entities;
};

static struct digest digest(const struct profile *p)
{
    bool engine = observed_code(p) != NULL;
    struct digest d = {.counts = engine ? counts_digest(p) : 0,
                       .values = engine ? values_digest(p, observed_values(p)) : 0,
                       .figures = engine ? figures_digest(p) : 0,
                       .notes = notes_digest(p->notes),
                       .drops = hash(7, p->drops, sizeof p->drops),
                       .cpu = p->kernel_cpu_ns,
                       .times = times_digest(p)};
    for (uint32_t i = 0; i < p->thread_count; i++)
        d.trees += tree_digest(p, &p->threads[i]);
    for (uint32_t i = 0; i < p->process_count; i++)
        d.processes += process_key(p, i) * (1 + p->processes[i].rank);
    for (uint32_t i = 0; i < p->phase_count; i++)
        d.phases += hash(8, p->phases[i].name, strlen(p->phases[i].name)) * p->phases[i].elapsed_ns;
    for (uint32_t i = 0; i < p->entity_count; i++)
        d.entities +=
            mix(p->entities[i].id, hash(9, p->entities[i].name, strlen(p->entities[i].name)));
    for (uint32_t i = 0; i < p->hit_count; i++)
        d.entities += p->hits[i].entity * (1 + p->hits[i].weight);
    return d;
}

/* Three that share some images and some notes; sections of a later version are in two of them. */
static struct profile *part(unsigned number, uint64_t seed)
{
    struct profile *p = sample_profile(2 + number, 40 + 30 * number, seed * 3 + number);
    uint8_t later[] = {1, (uint8_t)(number / 2)};
    /* They overlap, one is within another, or they are apart. */
    p->start_realtime_ns += (seed + 1) * number * number * UINT64_C(3000000001);
    p->duration_ns /= 1 + (seed + number) % 4;
    memset(p->images[1].build_id, 0x11, p->images[1].build_id_size);
    observed_values(p)->module_end = number;
    assert_true(profile_entity_add(
        p, &(struct profile_entity){.name = number ? (char[]){"of two"} : (char[]){"of one"},
                                    .scope = (char[]){""}}));
    assert_true(profile_note(p, number ? "of two" : "of one"));
    assert_true(profile_unknown_add(p, &(struct profile_unknown){4000, true, later, sizeof later}));
    if (number == 2)
        assert_true(figures_keep(
            p, &(struct figure){(char[]){"later.most"}, (char[]){"s"}, FIGURE_GREATEST, seed}));
    return p;
}

static struct profile *merged(struct profile *into, struct profile *from)
{
    struct err e = {0};
    assert_true(profile_merge(into, from, &e));
    profile_free(from);
    return into;
}

static void assert_same(struct profile *a, struct profile *b)
{
    struct digest x = digest(a), y = digest(b);
    assert_memory_equal(&x, &y, sizeof x);
    profile_free(a);
    profile_free(b);
}

static void test_associative(void **state)
{
    (void)state;
    for (uint64_t s = 0; s < SEEDS; s++)
        assert_same(merged(merged(part(0, s), part(1, s)), part(2, s)),
                    merged(part(0, s), merged(part(1, s), part(2, s))));
}

static void test_commutative(void **state)
{
    (void)state;
    for (uint64_t s = 0; s < SEEDS; s++)
        assert_same(merged(merged(part(0, s), part(1, s)), part(2, s)),
                    merged(merged(part(2, s), part(1, s)), part(0, s)));
}

/* Sums: what is weighted by counts adds up, and so does each figure. */
static void test_keeps_sums(void **state)
{
    (void)state;
    for (uint64_t s = 0; s < SEEDS; s++) {
        struct profile *a = part(0, s), *b = part(1, s);
        struct digest x = digest(a), y = digest(b);
        const struct profile_shadows *m = observed_shadows(a), *n = observed_shadows(b);
        uint64_t started = m->started + n->started;
        uint64_t worst = m->worst_ns > n->worst_ns ? m->worst_ns : n->worst_ns;
        uint64_t instructions = observed_code(a)->instructions + observed_code(b)->instructions;
        uint64_t later = a->figures[0].value + b->figures[0].value;
        a = merged(a, b);
        struct digest z = digest(a);
        assert_true(z.trees == x.trees + y.trees);
        assert_true(z.processes == x.processes + y.processes);
        assert_true(z.phases == x.phases + y.phases);
        assert_int_equal(observed_shadows(a)->started, started);
        assert_int_equal(observed_shadows(a)->worst_ns, worst);
        assert_int_equal(observed_code(a)->instructions, instructions);
        assert_int_equal(a->figures[0].value, later);
        profile_free(a);
    }
}

/* Figures that only one side has are the sum's, whichever side. */
static void test_one_sided(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct profile *a = part(0, 1), *b = part(1, 1), *without = i ? a : b;
        uint64_t started = observed_shadows(i ? b : a)->started;
        free(profile_observation_take(without, OBSERVED_SHADOWS));
        a = merged(a, b);
        assert_non_null(observed_shadows(a));
        assert_int_equal(observed_shadows(a)->started, started);
        profile_free(a);
    }
}

/* Sections of a later version that refer to others are not carried along, and it is said. */
static void test_unknown(void **state)
{
    (void)state;
    uint8_t byte = 1;
    const struct profile_unknown bound = {4001, false, &byte, 1};
    for (unsigned i = 0; i < 2; i++) {
        struct profile *a = part(0, 1), *b = part(1, 1);
        assert_true(profile_unknown_add(i ? a : b, &bound));
        a = merged(a, b);
        assert_int_equal(a->unknown_count, 1); /* the one that both have */
        assert_int_equal(a->unknown[0].type, 4000);
        assert_non_null(strstr(a->notes, "left out section 4001"));
        profile_free(a);
    }
}

/* ---- what is kept apart ---- */

enum { APART = 5 };
static const char *const apart_names[APART] = {"exact:blocks", "burst:blocks", "burst:edges",
                                               "exact:blocks:sampled", "handler"};

static void rename_code(struct profile *p, const char *carrier, const char *tool)
{
    struct profile_counts *c = observed_code(p);
    free(c->carrier);
    free(c->tool);
    c->carrier = strdup(carrier);
    c->tool = strdup(tool);
    for (uint32_t i = 0; i < p->observations.count; i++)
        p->observations.list[i].carrier = *carrier == 'e' ? CARRIER_EXACT : CARRIER_BURST;
}

/* A part whose name is apart_names[which]. */
static struct profile *apart(unsigned which, unsigned number, uint64_t seed)
{
    char name[PART_NAME_MAX];
    struct profile *p = part(number, seed);
    struct profile_waste *waste = observed_table(p, TABLE_WASTE);
    waste->sums.windows = which == 3;
    observed_values(p)->every = 0;
    if (which == APART - 1)
        profile_observations_free(p);
    else
        rename_code(p, which % 3 ? "burst" : "exact", which == 2 ? "edges" : "blocks");
    profile_observations_judge(p);
    struct part_key key = profile_key(p);
    assert_string_equal(part_name(name, &key), apart_names[which]);
    return p;
}

/* Of this one and all its parts. */
static uint64_t digest_all(const struct profile *p)
{
    struct err e = {0};
    struct part_key key = profile_key(p);
    char name[PART_NAME_MAX];
    struct digest d = digest(p);
    part_name(name, &key);
    uint64_t sum = hash(hash(10, name, strlen(name)), &d, sizeof d);
    for (uint32_t i = 0; i < p->part_count; i++) {
        struct profile *one = profile_part_read(&p->parts[i], PROFILE_APART, &e);
        assert_non_null(one);
        sum = mix(sum, digest_all(one));
        profile_free(one);
    }
    return sum;
}

static uint64_t free_digested(struct profile *p)
{
    uint64_t sum = digest_all(p);
    profile_free(p);
    return sum;
}

static struct profile *round_trip(struct profile *p)
{
    struct err e = {0};
    size_t size;
    uint8_t *data = profile_encode(p, &size, &e);
    assert_non_null(data);
    profile_free(p);
    p = profile_read_memory(data, size, "again", &e);
    assert_non_null(p);
    free(data);
    return p;
}

/* Any three of any kinds; read back from a file or not, it is the same. */
static void test_apart_laws(void **state)
{
    (void)state;
    for (uint64_t s = 0; s < 2 * SEEDS; s++) {
        uint64_t random = s;
        unsigned k[3];
        for (unsigned i = 0; i < 3; i++)
            k[i] = (unsigned)sample_random(&random, APART);
        uint64_t sum = free_digested(
            merged(merged(apart(k[0], 0, s), apart(k[1], 1, s)), apart(k[2], 2, s)));
        assert_true(sum == free_digested(merged(
                               apart(k[0], 0, s),
                               round_trip(merged(apart(k[1], 1, s), apart(k[2], 2, s))))));
        assert_true(sum == free_digested(round_trip(merged(
                               merged(apart(k[2], 2, s), apart(k[1], 1, s)), apart(k[0], 0, s)))));
        assert_true(sum == free_digested(merged(
                               apart(k[0], 0, s), merged(apart(k[2], 2, s), apart(k[1], 1, s)))));
    }
}

/* Twelve recordings of five kinds: each is in the part of its kind, whichever is shown. */
static void test_apart_sums(void **state)
{
    (void)state;
    struct err e = {0};
    size_t size;
    uint64_t threads[APART] = {0}, instructions[APART] = {0};
    struct profile *all = NULL;
    for (unsigned i = 0; i < 12; i++) {
        unsigned which = i * 7 % APART;
        struct profile *p = apart(which, i % 3, i);
        threads[which] += p->thread_count;
        instructions[which] += observed_code(p) ? observed_code(p)->instructions : 0;
        all = all ? merged(all, p) : p;
    }
    uint8_t *data = profile_encode(all, &size, &e);
    profile_free(all);
    for (unsigned i = 0; i < APART; i++) {
        struct profile *p = profile_read_memory(data, size, "all", &e);
        assert_true(profile_choose(&p, apart_names[i], PROFILE_APART, &e));
        assert_int_equal(p->part_count, APART - 1);
        assert_int_equal(p->thread_count, threads[i]);
        if (observed_code(p))
            assert_true(observed_code(p)->instructions == instructions[i]);
        profile_free(p);
    }
    free(data);
}

static void test_apart_names(void **state)
{
    (void)state;
    static const struct { const char *given, *shown; } cases[] = {
        {"exact", "exact:blocks"},        {"sampled", "burst:blocks"}, {"burst", "burst:blocks"},
        {"edges", "burst:edges"},         {"handler", "handler"},      {NULL, "exact:blocks"},
        {"burst:edges", "burst:edges"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        char name[PART_NAME_MAX];
        struct profile *p = merged(merged(apart(4, 0, 1), apart(2, 1, 1)),
                                   merged(apart(1, 0, 2), apart(0, 1, 2)));
        p = round_trip(p);
        assert_false(profile_choose(&p, "shadow", PROFILE_APART, &e));
        assert_int_equal(e.code, ERR_USAGE);
        assert_non_null(strstr(e.message, "exact:blocks, burst:blocks, burst:edges, handler"));
        assert_true(profile_choose(&p, cases[i].given, PROFILE_APART, &e));
        struct part_key key = profile_key(p);
        assert_string_equal(part_name(name, &key), cases[i].shown);
        profile_free(p);
    }
}

/* One key, but periods differ: in whichever part, nothing is merged. */
static void test_apart_refuses(void **state)
{
    (void)state;
    struct err e = {0};
    struct profile *a = merged(apart(0, 0, 1), apart(4, 1, 1)), *b = apart(4, 2, 1);
    uint64_t before = digest_all(a);
    b->metrics[0].period++;
    b = merged(b, apart(0, 2, 3));
    assert_false(profile_merge(a, b, &e));
    assert_int_equal(e.code, ERR_USAGE);
    assert_true(digest_all(a) == before);
    profile_free(a);
    profile_free(b);
}

/* Files that lie: of a part's name, of the order, of parts within parts. */
static void test_apart_hostile(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct err e = {0};
        size_t size;
        struct profile *p = merged(apart(0, 0, 1), apart(2, 1, 1)), *q;
        struct profile *inner = merged(apart(1, 0, 1), apart(4, 1, 1));
        if (i == 0) {
            memcpy(p->parts[0].tool, "paths", 5);
        } else if (i == 1) {
            p->parts[0].how = OBSERVED_EXACT;
            memcpy(p->parts[0].carrier, "aaaaa", 5);
        } else {
            profile_free(p->parts[0].open);
            p->parts[0].open = inner;
            inner = NULL;
        }
        uint8_t *data = profile_encode(p, &size, &e);
        assert_int_equal(data == NULL, i == 1); /* the order is checked in writing, too */
        q = data ? profile_read_memory(data, size, "hostile", &e) : NULL;
        assert_int_equal(q != NULL, i == 0);
        if (q)
            assert_false(profile_choose(&q, "burst", PROFILE_APART, &e));
        assert_int_equal(e.code, i == 1 ? ERR_INTERNAL : ERR_FORMAT);
        free(data);
        profile_free(p);
        profile_free(q);
        profile_free(inner);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_associative), cmocka_unit_test(test_commutative),
        cmocka_unit_test(test_keeps_sums),  cmocka_unit_test(test_one_sided),
        cmocka_unit_test(test_unknown),     cmocka_unit_test(test_apart_laws),
        cmocka_unit_test(test_apart_sums),  cmocka_unit_test(test_apart_names),
        cmocka_unit_test(test_apart_refuses), cmocka_unit_test(test_apart_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
