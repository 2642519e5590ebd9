/* The list of what was observed: its order, what it says of each kind, files and merging of any
 * subset of kinds, and sites. */
#include "profile/observations.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile/merge.h"
#include "profile/table/table.h"
#include "sample.h"

enum { SEEDS = 40 };

static const uint32_t removable[] = {OBSERVED_VALUES, OBSERVED_SHADOWS,
                                     OBSERVED_TABLES + TABLE_PATHS, OBSERVED_TABLES + TABLE_STREAMS,
                                     OBSERVED_TABLES + TABLE_WASTE,
                                     OBSERVED_TABLES + TABLE_PRODUCTIONS};
enum { REMOVABLE = sizeof removable / sizeof *removable, SUBSETS = 1 << REMOVABLE };

static void discard(struct profile *p, uint32_t kind)
{
    void *record = profile_observation_take(p, kind);
    if (kind == OBSERVED_VALUES)
        profile_values_free(record);
    else if (kind == OBSERVED_CODE)
        profile_counts_free(record);
    else if (record && kind >= OBSERVED_TABLES)
        profile_tables[kind - OBSERVED_TABLES]->free(record);
    else
        free(record);
}

/* Code that this carrier and these tools observed, instead of the sample's, and of the other kinds
 * those whose bit is set. */
static struct profile *observed(const char *carrier, const char *tools, unsigned subset,
                                uint64_t seed)
{
    struct profile *p = sample_profile(1, 20, seed);
    struct profile_counts *code = profile_counts_new(carrier, tools), *had;
    void *records[REMOVABLE];
    for (unsigned i = 0; i < REMOVABLE; i++)
        records[i] = profile_observation_take(p, removable[i]);
    had = profile_observation_take(p, OBSERVED_CODE);
    assert_int_equal(p->observations.count, 0);
    code->blocks = had->blocks;
    code->block_count = had->block_count;
    code->edges = had->edges;
    code->edge_count = had->edge_count;
    had->blocks = NULL;
    had->edges = NULL;
    profile_counts_free(had);
    profile_observe(p, OBSERVED_CODE, code);
    for (unsigned i = REMOVABLE; i--;) {
        profile_observe(p, removable[i], records[i]);
        if (!(subset >> i & 1))
            discard(p, removable[i]);
    }
    profile_observations_judge(p);
    return p;
}

static struct profile *again(const struct profile *p)
{
    struct err e = {0};
    size_t size;
    uint8_t *data = profile_encode(p, &size, &e);
    assert_string_equal(e.message, "");
    struct profile *q = profile_read_memory(data, size, "x", &e);
    assert_string_equal(e.message, "");
    free(data);
    return q;
}

static void in_order_and_judged(void **state)
{
    (void)state;
    struct profile *p = observed("exact", "calls,waste", SUBSETS - 1, 1);
    const struct observations *all = &p->observations;
    assert_int_equal(all->count, REMOVABLE + 2);
    for (uint32_t i = 1; i < all->count; i++)
        assert_true(all->list[i - 1].kind < all->list[i].kind);
    const struct profile_observation *calls = observation_of(all, OBSERVED_CALLS);
    assert_non_null(calls);
    assert_null(calls->record);
    assert_int_equal(calls->how, OBSERVED_EXACT);
    assert_int_equal(calls->tools, tools_one(TOOL_CALLS));
    const struct profile_observation *waste = observation_of(all, OBSERVED_TABLES + TABLE_WASTE);
    assert_int_equal(waste->carrier, CARRIER_EXACT);
    assert_int_equal(waste->tools, tools_one(TOOL_WASTE));
    struct profile_waste *w = waste->record;
    w->sums.windows = 0;
    profile_observations_judge(p);
    assert_int_equal(waste->how, OBSERVED_EXACT);
    w->sums.windows = 1;
    observed_values(p)->every = 7;
    profile_observations_judge(p);
    assert_int_equal(waste->how, OBSERVED_SAMPLED);
    assert_int_equal(observation_of(all, OBSERVED_VALUES)->how, OBSERVED_SAMPLED);
    assert_int_equal(observation_of(all, OBSERVED_CODE)->how, OBSERVED_EXACT);
    profile_free(p);
    p = observed("burst", "streams", SUBSETS - 1, 1);
    for (uint32_t i = 0; i < p->observations.count; i++) {
        assert_int_equal(p->observations.list[i].carrier, CARRIER_BURST);
        assert_int_equal(p->observations.list[i].how, OBSERVED_SAMPLED);
    }
    assert_null(observation_of(&p->observations, OBSERVED_CALLS));
    profile_free(p);
    p = observed("later", "later", SUBSETS - 1, 1);
    assert_int_equal(p->observations.list[0].carrier, CARRIER_KIND_COUNT);
    assert_int_equal(p->observations.list[0].tools, 0);
    profile_free(p);
}

static void have_names(void **state)
{
    (void)state;
    assert_string_equal(profile_observation_name(OBSERVED_CODE), "code");
    assert_string_equal(profile_observation_name(OBSERVED_TABLES + TABLE_STREAMS), "streams");
    assert_string_equal(profile_observation_name(OBSERVED_TABLES + TABLE_RESULTS), "results");
    assert_string_equal(profile_observation_name(OBSERVATION_KIND_COUNT), "?");
}

static void any_subset_comes_back(void **state)
{
    static const char *const carriers[] = {"exact", "burst", "shadow", "auto", "later"};
    static const char *const tools[] = {"edges", "calls,waste", "blocks,paths,streams", "later"};
    (void)state;
    for (unsigned subset = 0; subset < SUBSETS; subset++)
        for (unsigned i = 0; i < 4; i++) {
            struct profile *p = observed(carriers[(subset + i) % 5], tools[i], subset, subset);
            struct profile *q = again(p);
            assert_string_equal(sample_difference(p, q), "");
            profile_free(p);
            profile_free(q);
        }
}

/* Tables belong to code: without it they are in no file. */
static void tables_need_code(void **state)
{
    (void)state;
    struct profile *p = sample_profile(1, 10, 3);
    discard(p, OBSERVED_CODE);
    struct profile *q = again(p);
    assert_null(observed_code(q));
    assert_null(observed_table(q, TABLE_STREAMS));
    assert_non_null(observed_values(q));
    profile_free(p);
    profile_free(q);
}

static uint64_t accesses(const struct profile *p)
{
    const struct profile_streams *s = observed_table(p, TABLE_STREAMS);
    uint64_t sum = 0;
    for (uint32_t i = 0; s && i < s->count; i++)
        sum += s->list[i].count;
    return sum;
}

static struct profile *merged(struct profile *a, struct profile *b)
{
    struct err e = {0};
    assert_true(profile_merge(a, b, &e));
    profile_free(b);
    return a;
}

/* Exact, waste included: what is sampled would be kept apart (profile/parts.h). */
static struct profile *exact(unsigned subset, uint64_t seed)
{
    struct profile *p = observed("exact", "blocks,streams", subset, seed);
    struct profile_waste *waste = observed_table(p, TABLE_WASTE);
    if (waste)
        waste->sums.windows = 0;
    profile_observations_judge(p);
    return p;
}

/* What one side has only is the sum's, whichever side. Values are on both sides or on none. */
static void subsets_merge(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        uint64_t r = seed, sum;
        unsigned values = (unsigned)seed & 1, of[2];
        for (unsigned i = 0; i < 2; i++)
            of[i] = ((unsigned)sample_random(&r, SUBSETS) & ~1u) | values;
        struct profile *a = exact(of[0], seed), *b = exact(of[1], seed + 100);
        sum = accesses(a) + accesses(b);
        a = merged(a, b);
        b = merged(exact(of[1], seed + 100), exact(of[0], seed));
        assert_int_equal(a->part_count, 0);
        assert_int_equal(accesses(a), sum);
        assert_int_equal(accesses(b), sum);
        assert_int_equal(a->observations.count, b->observations.count);
        for (uint32_t i = 0; i < a->observations.count; i++) {
            assert_int_equal(a->observations.list[i].kind, b->observations.list[i].kind);
            assert_int_equal(a->observations.list[i].how, b->observations.list[i].how);
        }
        for (unsigned i = 0; i < REMOVABLE; i++)
            assert_int_equal(observation_record(&a->observations, removable[i]) != NULL,
                             (of[0] | of[1]) >> i & 1);
        profile_free(a);
        profile_free(b);
    }
}

struct seen {
    const struct profile *p;
    uint32_t of[SITE_PRODUCTION + 1];
};

static bool see(void *data, const struct profile_site *site)
{
    struct seen *s = data;
    s->of[site->kind]++;
    bool two = site->kind == SITE_EDGE || site->kind == SITE_PAIR;
    bool one = site->kind == SITE_BLOCK || site->kind == SITE_ACCESS || site->kind == SITE_CALL;
    unsigned least = site->kind == SITE_PRODUCTION ? 0 : two ? 2 : 1;
    assert_in_range(site->count, least, one ? 1 : 2);
    for (uint32_t i = 0; i < site->count; i++) {
        assert_true(*site->of[i].image < s->p->image_count ||
                    *site->of[i].image == PROFILE_IMAGE_NONE);
        assert_true(*site->of[i].process < s->p->process_count);
    }
    return true;
}

static bool see_three(void *data, const struct profile_site *site)
{
    (void)site;
    return ++*(uint32_t *)data < 3;
}

static void all_sites_are_visited(void **state)
{
    (void)state;
    struct profile *p = sample_profile(1, 10, 2);
    const struct profile_counts *c = observed_code(p);
    const struct profile_streams *streams = observed_table(p, TABLE_STREAMS);
    const struct profile_waste *w = observed_table(p, TABLE_WASTE);
    const struct profile_productions *t = observed_table(p, TABLE_PRODUCTIONS);
    struct seen s = {.p = p};
    uint32_t three = 0;
    assert_true(profile_sites(p, see, &s));
    assert_int_equal(s.of[SITE_BLOCK], c->block_count);
    assert_int_equal(s.of[SITE_EDGE], c->edge_count);
    assert_int_equal(s.of[SITE_INSTRUCTION], observed_values(p)->hotlist_count);
    assert_int_equal(s.of[SITE_ACCESS], streams->count + w->site_count);
    assert_int_equal(s.of[SITE_PAIR], w->pair_count + w->paths.count);
    assert_int_equal(s.of[SITE_CALL], w->paths.call_count);
    assert_int_equal(s.of[SITE_PRODUCTION], t->count + t->item_count);
    assert_false(profile_sites(p, see_three, &three));
    assert_int_equal(three, 3);
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_order_and_judged),  cmocka_unit_test(have_names),
        cmocka_unit_test(any_subset_comes_back), cmocka_unit_test(tables_need_code),
        cmocka_unit_test(subsets_merge),         cmocka_unit_test(all_sites_are_visited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
