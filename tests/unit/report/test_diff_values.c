/* Values of two recordings: which observations belong to which side. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "make_profile.h"
#include "penumbra/module.h"
#include "profile/values.h"
#include "report/diff_values.h"

struct recording {
    struct profile *profile;
    struct symbols *symbols;
    struct view *view;
};

static void begin(struct recording *r)
{
    r->profile = make_profile();
    make_thread(r->profile, 101, "main", "abc 3");
    profile_observe(r->profile, OBSERVED_VALUES, profile_values_new("test"));
    struct profile_value_kind *kind =
        profile_values_add_kind(observed_values(r->profile), "result");
    kind->role = PENUMBRA_ROLE_RESULT;
}

/* At one place, by site: `count` times `value`, of as many; 0: nothing was observed there. */
static void add(struct recording *r, uint64_t site, uint64_t value, uint64_t count)
{
    struct profile_hotlist *h =
        profile_values_add_hotlist(observed_values(r->profile), HOTLIST_CONCISE_MAX + 1);
    h->image = PROFILE_IMAGE_NONE;
    h->offset = 0x1010;
    h->site_image = PROFILE_IMAGE_NONE;
    h->site = site;
    h->list->observed = count;
    if (count)
        h->list->entries[h->list->count++] =
            (struct hotlist_entry){.bits = value, .count = count};
}

static void end(struct recording *r)
{
    struct err e = {0};
    assert_true(profile_values_settle(observed_values(r->profile)));
    r->symbols = symbols_load(r->profile, true, &e);
    r->view = view_build(r->profile, r->symbols, &(struct view_options){0}, &e);
    assert_non_null(r->view);
}

static void recording_fini(struct recording *r)
{
    view_free(r->view);
    symbols_free(r->symbols);
    profile_free(r->profile);
}

/* A recording whose first list at a place is empty has its others counted for itself. */
static void empty_list(void **state)
{
    (void)state;
    static const struct symbols_options symbols = {.detail = SYMBOLS_QUICK};
    struct recording before, after;
    struct err e = {0};
    begin(&before);
    add(&before, 0x1100, 1, 10);
    end(&before);
    begin(&after);
    add(&after, 0x1100, 0, 0);
    add(&after, 0x1200, 2, 30);
    end(&after);
    const struct diff_run runs[] = {{.view = before.view, .side = DIFF_BEFORE},
                                    {.view = after.view, .side = DIFF_AFTER}};
    struct diff_values *d = diff_values_build(runs, 2, &symbols, &e);
    assert_non_null(d);
    assert_int_equal(d->alone[DIFF_BEFORE] + d->alone[DIFF_AFTER], 0);
    assert_int_equal(d->count, 2);
    for (uint32_t i = 0; i < d->count; i++) {
        assert_true(d->list[i].observed[DIFF_BEFORE] > 9 && d->list[i].observed[DIFF_BEFORE] < 11);
        assert_true(d->list[i].observed[DIFF_AFTER] > 29 && d->list[i].observed[DIFF_AFTER] < 31);
    }
    diff_values_free(d);
    recording_fini(&before);
    recording_fini(&after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(empty_list)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
