/* Comparing results: only what the perfect profile has counts, and what chance makes of as many
 * observations. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "make_profile.h"
#include "penumbra/module.h"
#include "report/compare.h"

enum { PERFECT, SAMPLED, SIDES };

static struct profile *profiles[SIDES];
static struct symbols *symbols[SIDES];
static struct view *views[SIDES];

/* A value is an entry of its own, seen `count` times. */
static void observe(unsigned side, uint64_t offset, uint32_t kind, uint32_t values, uint64_t count)
{
    struct profile_hotlist *h =
        profile_values_add_hotlist(observed_values(profiles[side]), HOTLIST_CONCISE_MAX + 1);
    h->image = 0;
    h->offset = offset;
    h->kind = kind;
    h->site_image = PROFILE_IMAGE_PSEUDO;
    for (uint32_t i = 0; i < values; i++)
        h->list->entries[h->list->count++] = (struct hotlist_entry){ .bits = i, .count = count };
    h->list->observed = values * count;
}

static void begin(const char *carrier)
{
    for (unsigned side = 0; side < SIDES; side++) {
        struct profile *p = profiles[side] = make_profile();
        p->images = calloc(1, sizeof *p->images);
        p->image_count = 1;
        p->images[0].path = strdup("/no/such/image");
        profile_observe(p, OBSERVED_CODE,
                        profile_counts_new(side == PERFECT ? "exact" : carrier, "values"));
        p->metrics[0].how =
            side == PERFECT || !strcmp(carrier, "exact") ? METRIC_EXACT : METRIC_RANDOMIZED;
        profile_observe(p, OBSERVED_VALUES, profile_values_new(""));
        profile_values_add_kind(observed_values(p), "result")->role = PENUMBRA_ROLE_RESULT;
        profile_values_add_kind(observed_values(p), "branch")->role = PENUMBRA_ROLE_OTHER;
    }
}

static struct comparison compare_by(enum compare_by by)
{
    struct comparison c = { 0 };
    struct err e = { 0 };
    for (unsigned side = 0; side < SIDES; side++) {
        assert_true(profile_values_settle(observed_values(profiles[side])));
        symbols[side] = symbols_load(profiles[side], true, &e);
        views[side] = view_build(profiles[side], symbols[side], &(struct view_options){ 0 }, &e);
        assert_non_null(views[side]);
    }
    if (!compare_views(views[PERFECT], views[SAMPLED], by, &c, &e))
        fail_msg("%s", e.message);
    for (unsigned side = 0; side < SIDES; side++) {
        view_free(views[side]);
        symbols_free(symbols[side]);
        profile_free(profiles[side]);
    }
    return c;
}

static struct comparison compare(void)
{
    return compare_by(COMPARE_RESULT);
}

static void what_the_perfect_profile_lacks_is_left_out(void **state)
{
    (void)state;
    begin("burst");
    observe(PERFECT, 0x10, 0, 1, 300);
    observe(PERFECT, 0x20, 0, 1, 100);
    observe(PERFECT, 0x20, 1, 1, 100); /* a branch is no result */
    observe(SAMPLED, 0x10, 0, 1, 2);
    observe(SAMPLED, 0x20, 0, 1, 2);
    observe(SAMPLED, 0x30, 0, 1, 6); /* as of a vector register */
    struct comparison c = compare();
    assert_true(c.left_out == 0.6);
    assert_true(c.metrics.overlap == 0.75);
    assert_int_equal(c.metrics.entries_perfect, 2);
    assert_int_equal(c.metrics.entries_sampled, 2);
    assert_true(c.diff_top == 0);
    /* Four draws, from 3/4 and 1/4. */
    assert_true(c.chance.overlap > 0.75 && c.chance.overlap < 1);
    assert_true(c.chance.diff_top == 0);
}

/* Sixteen values, equally often, one of which is seen once: 1 instead of 1/16, by chance. */
static void what_is_seen_once_seems_constant(void **state)
{
    (void)state;
    begin("burst");
    observe(PERFECT, 0x10, 0, 16, 1000);
    observe(SAMPLED, 0x10, 0, 1, 1);
    struct comparison c = compare();
    assert_true(c.diff_top == 15.0 / 16);
    assert_true(c.chance.diff_top == 15.0 / 16);
    /* Of 4,000 observations the most frequent value has a little more than its share. */
    begin("burst");
    observe(PERFECT, 0x10, 0, 16, 1000);
    observe(SAMPLED, 0x10, 0, 16, 250);
    c = compare();
    assert_true(c.diff_top == 0);
    assert_true(c.chance.diff_top > 0 && c.chance.diff_top < 0.02);
    /* It is the perfect profile that is drawn from. */
    begin("burst");
    observe(PERFECT, 0x10, 0, 16, 1000);
    observe(SAMPLED, 0x10, 0, 1, 4000);
    c = compare_by(COMPARE_INSTRUCTION);
    assert_true(c.diff_top == 15.0 / 16);
    assert_true(c.chance.diff_top > 0 && c.chance.diff_top < 0.02);
    assert_true(c.chance.overlap == 1);
}

/* What a thinned hotlist has once stands for values that are all different. */
static void what_was_kept_once_is_not_drawn_twice(void **state)
{
    (void)state;
    begin("burst");
    observe(PERFECT, 0x10, 0, 1, 1);
    observed_values(profiles[PERFECT])->hotlists[0].list->steps = 100;
    observe(SAMPLED, 0x10, 0, 1, 10);
    struct comparison c = compare();
    assert_true(c.diff_top == 0);
    assert_true(fabs(c.chance.diff_top - 0.9) < 1e-9);
}

static void shadows_are_not_independent_draws(void **state)
{
    (void)state;
    begin("shadow");
    observe(PERFECT, 0x10, 0, 1, 300);
    observe(SAMPLED, 0x10, 0, 1, 3);
    struct comparison c = compare();
    assert_true(c.chance.overlap < 0 && c.chance.diff_top < 0);
    assert_true(c.metrics.overlap == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_perfect_profile_lacks_is_left_out),
        cmocka_unit_test(what_is_seen_once_seems_constant),
        cmocka_unit_test(what_was_kept_once_is_not_drawn_twice),
        cmocka_unit_test(shadows_are_not_independent_draws),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
