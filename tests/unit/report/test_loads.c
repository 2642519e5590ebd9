/* Loads and conflicts: one table from hotlists of several sites, in order, as text and JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "make_profile.h"
#include "penumbra/module.h"
#include "profile/values.h"
#include "report/loads.h"

static struct view *view;
static struct symbols *symbols;
static struct profile *profile;

static void kind_add(const char *name, uint32_t role, const char *const *names, uint32_t count)
{
    struct profile_value_kind *kind = profile_values_add_kind(observed_values(profile), name);
    kind->role = role;
    kind->format = role == PENUMBRA_ROLE_CONFLICT ? PENUMBRA_SHOW_CODE : PENUMBRA_SHOW_NAME;
    kind->names = count ? calloc(count, sizeof *kind->names) : NULL;
    kind->name_count = count;
    for (uint32_t i = 0; i < count; i++)
        kind->names[i] = strdup(names[i]);
}

static struct hotlist *list_add(uint64_t offset, uint32_t kind, uint64_t site, uint64_t observed)
{
    struct profile_hotlist *h =
        profile_values_add_hotlist(observed_values(profile), HOTLIST_CONCISE_MAX + 1);
    h->image = PROFILE_IMAGE_NONE;
    h->offset = offset;
    h->kind = kind;
    h->site_image = site ? PROFILE_IMAGE_NONE : PROFILE_IMAGE_PSEUDO;
    h->site = site;
    h->list->observed = observed;
    return h->list;
}

static void entry_add(struct hotlist *list, uint64_t value, uint64_t count)
{
    list->entries[list->count++] = (struct hotlist_entry){ .bits = value, .count = count };
}

static void begin(void)
{
    static const char *const levels[] = { "L1/L2", "L3", "memory" };
    profile = make_profile();
    make_thread(profile, 101, "main", "abc 3");
    profile_observe(profile, OBSERVED_VALUES, profile_values_new("test"));
    kind_add("latency", PENUMBRA_ROLE_LATENCY, levels, 3);
    kind_add("order", PENUMBRA_ROLE_CONFLICT, NULL, 0);
    kind_add("size", PENUMBRA_ROLE_CONFLICT, NULL, 0);
    kind_add("result", PENUMBRA_ROLE_RESULT, NULL, 0);
    profile_values_add_fact(observed_values(profile), "L1 median")->value = 4;
    profile_values_add_fact(observed_values(profile), "memory median")->value = 400;
}

static void end(void)
{
    struct err e = { 0 };
    assert_true(profile_values_settle(observed_values(profile)));
    symbols = symbols_load(profile, true, &e);
    view = view_build(profile, symbols, &(struct view_options){ 0 }, &e);
    assert_non_null(view);
}

static void close_all(void)
{
    view_free(view);
    symbols_free(symbols);
    profile_free(profile);
}

static void some(void)
{
    begin();
    struct hotlist *l = list_add(0x1010, 0, 0, 100); /* in a: near */
    entry_add(l, 0, 99);
    entry_add(l, 1, 1);
    l = list_add(0x2020, 0, 0x1100, 30); /* in b: far; of two sites */
    entry_add(l, 2, 30);
    l = list_add(0x2020, 0, 0x1200, 10);
    entry_add(l, 0, 10);
    l = list_add(0x2020, 2, 0x1100, 7); /* and conflicts */
    entry_add(l, 0x1018, 5);
    entry_add(l, 0x1020, 2);
    l = list_add(0x2020, 2, 0x1200, 4);
    entry_add(l, 0x1018, 4);
    l = list_add(0x1010, 1, 0, 8);
    entry_add(l, 0x1018, 8);
    l = list_add(0x1010, 3, 0, 1000);
    entry_add(l, 7, 1000);
    end();
}

static void sites_are_added_up(void **state)
{
    (void)state;
    struct err e = { 0 };
    some();
    struct loads *l = loads_of(view, &e);
    assert_non_null(l);
    assert_int_equal(l->load_count, 2);
    assert_int_equal(l->loads[0].at.offset, 0x2020); /* 30 * 400 + 10 * 4 ticks against 396 */
    assert_int_equal(l->loads[0].observed, 40);
    assert_true(l->loads[0].share[2] == 0.75 && l->loads[0].share[0] == 0.25);
    assert_int_equal(l->loads[0].kept, 2);
    assert_true(l->loads[0].ticks == 30 * 400 + 10 * 4);
    assert_int_equal(l->loads[1].at.offset, 0x1010);
    assert_int_equal(l->conflict_count, 3);
    assert_true(l->conflicts[0].count == 9);
    assert_int_equal(l->conflicts[0].store.offset, 0x1018);
    assert_int_equal(l->conflicts[0].load.offset, 0x2020);
    assert_int_equal(l->conflicts[0].kind, 2);
    assert_true(l->conflicts[1].count == 8);
    assert_true(l->conflicts[2].count == 2);
    loads_free(l);
    close_all();
}

static char *text_of(void)
{
    char *text = NULL;
    size_t size;
    struct err e = { 0 };
    FILE *out = open_memstream(&text, &size);
    assert_true(loads_tables(out, view, &(struct report_style){ 0 }, &e));
    fclose(out);
    return text;
}

static void text(void **state)
{
    (void)state;
    some();
    char *shown = text_of();
    assert_non_null(strstr(shown, "40  1.0000   2  (75.00% memory) (25.00% L1/L2) "));
    assert_non_null(strstr(shown, "(99.00% L1/L2) (1.00% L3) "));
    assert_non_null(strstr(shown, "9  size      1018  a "));
    assert_non_null(strstr(shown, "2020  b "));
    assert_true(strstr(shown, "2020  b ") < strstr(shown, "1010  a "));
    free(shown);
    close_all();
}

static void json(void **state)
{
    (void)state;
    struct buf out = { 0 };
    struct json j = { .out = &out };
    struct err e = { 0 };
    some();
    json_open(&j, '{');
    assert_true(loads_json(&j, view, &e));
    json_close(&j, '}');
    buf_put_u8(&out, 0);
    assert_non_null(strstr((char *)out.data, "\"function\":\"b\",\"observed\":40,\"p\":1,"
                                             "\"latency\":{\"L1/L2\":0.25,\"memory\":0.75}"));
    assert_non_null(strstr((char *)out.data, "{\"kind\":\"size\",\"count\":9,\"store\":{"));
    buf_free(&out);
    close_all();
}

/* What a damaged file may hold. */
static void nonsense(void **state)
{
    (void)state;
    begin();
    struct hotlist *l = list_add(0x1010, 0, 0, 0);
    entry_add(l, UINT64_MAX, 5);
    l = list_add(0x1010, 2, 0, 3);
    entry_add(l, 1, 1);
    l->entries[0].space = UINT32_MAX;
    list_add(0x1020, 77, 0, 3);
    end();
    char *shown = text_of();
    assert_non_null(strstr(shown, "latencies"));
    free(shown);
    close_all();

    begin();
    end();
    shown = text_of();
    assert_non_null(strstr(shown, "No load was timed"));
    assert_non_null(strstr(shown, "No store was seen that a later load may conflict with"));
    free(shown);
    close_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sites_are_added_up),
        cmocka_unit_test(text),
        cmocka_unit_test(json),
        cmocka_unit_test(nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
