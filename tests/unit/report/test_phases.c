/* One phase of a profile, two of them compared, and what is live of the heap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "make_profile.h"
#include "profile/merge.h"
#include "profile/phases.h"
#include "report/compare_phases.h"

/* Outside: a; load: a, b; load/parse: c; run: b. Thread 101 is in all of them, 102 in one. */
static struct profile *phased(void)
{
    struct profile *p = make_profile();
    make_thread(p, 101, "main", "a8");
    make_thread(p, 101, "main", "a30;b10");
    make_thread(p, 101, "main", "c4");
    make_thread(p, 102, "other", "b40");
    uint32_t load = profile_phase_intern(p, "load", 0) + 1;
    uint32_t parse = profile_phase_intern(p, "parse", load) + 1;
    uint32_t run = profile_phase_intern(p, "run", 0) + 1;
    assert_int_equal(profile_phase_intern(p, "parse", load), parse - 1);
    p->threads[1].phase = load;
    p->threads[2].phase = parse;
    p->threads[3].phase = run;
    return p;
}

static uint64_t weight(const struct profile *p)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < p->thread_count; i++)
        sum += p->threads[i].weight;
    return sum;
}

static void check_phase(const char *name, uint64_t expected)
{
    struct err e = {0};
    struct profile *p = phased();
    assert_true(profile_keep_phase(p, name, &e));
    assert_int_equal(weight(p), expected);
    profile_free(p);
}

static void test_keep(void **state)
{
    (void)state;
    check_phase("load", 44);
    check_phase("parse", 4);
    check_phase("load/parse", 4);
    check_phase("run", 40);
    struct err e = {0};
    struct profile *p = phased();
    assert_false(profile_keep_phase(p, "pars", &e));
    assert_int_equal(e.code, ERR_USAGE);
    assert_non_null(strstr(e.message, "\"load/parse\""));
    assert_int_equal(profile_thread_total(p), 2);
    profile_free(p);
    p = make_profile();
    e = (struct err){0};
    assert_false(profile_keep_phase(p, "load", &e));
    assert_non_null(strstr(e.message, "named none"));
    profile_free(p);
}

/* Phases of the same name and place are one in a merged profile. */
static void test_merge(void **state)
{
    (void)state;
    struct err e = {0};
    struct profile *p = make_profile(), *q = phased();
    make_thread(p, 7, "main", "a5");
    profile_phase_intern(p, "run", 0);
    p->threads[0].phase = 1;
    assert_true(profile_merge(p, q, &e));
    assert_int_equal(p->phase_count, 3);
    assert_true(profile_keep_phase(p, "run", &e));
    assert_int_equal(weight(p), 45);
    profile_free(p);
    profile_free(q);
}

struct side {
    struct profile *profile;
    struct symbols *symbols;
    struct view *view;
};

static struct side open_side(struct profile *p, const struct view_options *options)
{
    struct err e = {0};
    struct side s = {.profile = p, .symbols = symbols_load(p, true, &e)};
    s.view = s.symbols ? view_build(p, s.symbols, options, &e) : NULL;
    assert_string_equal(e.message, "");
    assert_non_null(s.view);
    return s;
}

static void close_side(struct side *s)
{
    view_free(s->view);
    symbols_free(s->symbols);
    profile_free(s->profile);
}

static void test_compare(void **state)
{
    (void)state;
    struct err e = {0};
    struct profile *a = phased(), *b = phased();
    assert_true(profile_keep_phase(a, "load", &e) && profile_keep_phase(b, "run", &e));
    struct side left = open_side(a, &(struct view_options){0});
    struct side right = open_side(b, &(struct view_options){0});
    struct compare_side sides[2] = {{"load", left.view}, {"run", right.view}};
    struct buf json = {0};
    assert_true(report_compare_phases_json(&json, sides, &e));
    buf_put_u8(&json, 0);
    const char *text = (const char *)json.data;
    /* b: 10 of 44 and 40 of 40; a: 30 of 44 and none; c: 4 of 44 and none. */
    const char *of_b = strstr(text, "{\"name\":\"b\""), *of_a = strstr(text, "{\"name\":\"a\"");
    const char *of_c = strstr(text, "{\"name\":\"c\"");
    assert_true(of_b && of_a && of_c && of_b < of_a && of_a < of_c);
    assert_non_null(strstr(of_b, "\"a\":{\"self\":10,\"total\":10,\"share\":0.227273},"
                                 "\"b\":{\"self\":40,\"total\":40,\"share\":1},"
                                 "\"difference\":0.772727"));
    assert_non_null(strstr(of_c, "\"difference\":-0.0909091"));
    buf_free(&json);
    close_side(&left);
    close_side(&right);
}

/* a4 b{live 2, peak 3}; the tree has totals, functions their own. */
static struct profile *heap(void)
{
    struct profile *p = make_profile();
    make_thread(p, 101, "main", "a4;ab10");
    free(p->metrics[0].trigger);
    p->metrics[0].trigger = strdup("malloc");
    assert_true(profile_metrics_of_heap(p));
    for (uint32_t i = 0; i < p->threads[0].node_count; i++) {
        struct profile_node *n = &p->threads[0].nodes[i];
        n->more[HEAP_LIVE - 1] = n->self == 10 ? 2 : 0;
        n->more[HEAP_PEAK - 1] = n->self == 10 ? 3 : n->self / 4;
    }
    return p;
}

static void test_heap(void **state)
{
    (void)state;
    struct side s = open_side(heap(), &(struct view_options){0});
    assert_int_equal(s.view->samples, 14);
    const uint64_t *all = view_tree_weights(&s.view->tree, 0);
    assert_int_equal(all[HEAP_ALLOCATED], 14);
    assert_int_equal(all[HEAP_LIVE], 2);
    assert_int_equal(all[HEAP_PEAK], 4);
    for (uint32_t i = 0; i < s.view->function_count; i++) {
        const struct view_function *f = &s.view->functions[i];
        const uint64_t *own = view_function_weights(s.view, f);
        if (!strcmp(f->name, "a"))
            assert_true(own[HEAP_ALLOCATED] == 4 && own[HEAP_LIVE] == 0);
        if (!strcmp(f->name, "b"))
            assert_true(own[HEAP_ALLOCATED] == 10 && own[HEAP_LIVE] == 2);
    }
    close_side(&s);
    s = open_side(heap(), &(struct view_options){.metric = "live"});
    assert_int_equal(s.view->samples, 2);
    assert_int_equal(view_tree_weights(&s.view->tree, 0)[HEAP_ALLOCATED], 14);
    close_side(&s);
    const char *through[] = {"b"};
    s = open_side(heap(), &(struct view_options){.through = through, .through_count = 1});
    assert_int_equal(view_tree_weights(&s.view->tree, 0)[HEAP_ALLOCATED], 10);
    close_side(&s);
}

static void test_heap_refused(void **state)
{
    (void)state;
    struct err e = {0};
    struct profile *p = make_profile();
    struct symbols *s = symbols_load(p, true, &e);
    assert_null(view_build(p, s, &(struct view_options){.metric = "peak"}, &e));
    assert_int_equal(e.code, ERR_USAGE);
    symbols_free(s);
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keep),    cmocka_unit_test(test_merge),
        cmocka_unit_test(test_compare), cmocka_unit_test(test_heap),
        cmocka_unit_test(test_heap_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
