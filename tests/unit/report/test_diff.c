/* Two recordings: what is the same function and context in both, what differs, and how often chance
 * is called a change. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "make_profile.h"
#include "report/diff.h"

enum { RUNS_MOST = 10 };

static struct profile *profiles[RUNS_MOST];
static struct symbols *symbols[RUNS_MOST];
static struct view *views[RUNS_MOST];
static struct diff_run runs[RUNS_MOST];
static uint32_t run_count;
static const char *metric; /* NULL: the first */

static struct profile *add(unsigned side, const char *paths)
{
    struct profile *p = profiles[run_count] = make_profile();
    make_thread(p, 1, "main", paths);
    runs[run_count++].side = side;
    return p;
}

static void rename_function(struct profile *p, char letter, const char *name)
{
    free(p->processes[0].jit[letter - 'a'].name);
    p->processes[0].jit[letter - 'a'].name = strdup(name);
}

static struct diff *build(enum diff_normalize by, bool shapes, struct err *e)
{
    for (uint32_t i = 0; i < run_count; i++) {
        symbols[i] = symbols_load(profiles[i], true, e);
        views[i] = view_build(profiles[i], symbols[i],
                              &(struct view_options){.metric = metric}, e);
        assert_non_null(views[i]);
        runs[i].view = views[i];
    }
    return diff_build(runs, run_count, by, shapes, e);
}

/* The profiles stay, to be compared once more. */
static void built_free(struct diff *d)
{
    diff_free(d);
    for (uint32_t i = 0; i < run_count; i++) {
        view_free(views[i]);
        symbols_free(symbols[i]);
    }
}

static void end(struct diff *d)
{
    built_free(d);
    for (uint32_t i = 0; i < run_count; i++)
        profile_free(profiles[i]);
    run_count = 0;
}

static struct diff *diff_of(void)
{
    struct err e = {0};
    struct diff *d = build(DIFF_BY_TOTAL, true, &e);
    if (!d)
        fail_msg("%s", e.message);
    return d;
}

static const struct diff_row *row_of(const struct diff *d, const char *name)
{
    for (uint32_t i = 0; i < d->functions.count; i++)
        if (!strcmp(d->names.functions[d->functions.list[i].function].name, name))
            return &d->functions.list[i];
    return NULL;
}

static unsigned significant(const struct diff_rows *rows, enum diff_weight weight)
{
    unsigned count = 0;
    for (uint32_t i = 0; i < rows->count; i++)
        count += diff_is_significant(&rows->list[i].change[weight]);
    return count;
}

static unsigned all_significant(const struct diff *d)
{
    return significant(&d->functions, DIFF_SELF) + significant(&d->functions, DIFF_TOTAL) +
           significant(&d->contexts, DIFF_SELF) + significant(&d->contexts, DIFF_TOTAL);
}

static void nothing_differs_from_itself(void **state)
{
    (void)state;
    const char *paths = "abc 300; abd 200; ae 400; bab 100; aaa 50";
    add(DIFF_BEFORE, paths);
    add(DIFF_AFTER, paths);
    struct diff *d = diff_of();
    assert_int_equal(all_significant(d), 0);
    for (uint32_t i = 0; i < d->functions.count; i++)
        for (unsigned k = 0; k < DIFF_WEIGHTS; k++)
            assert_true(diff_difference(&d->functions.list[i].change[k]) == 0);
    /* the root, a, ab, abc, abd, ae, b, ba, bab, aa, aaa */
    assert_int_equal(d->contexts.count, 11);
    assert_int_equal(d->functions.count, 6);
    end(d);
}

static void functions_appear_and_go(void **state)
{
    (void)state;
    add(DIFF_BEFORE, "ab 500; ac 500; ad 2");
    add(DIFF_AFTER, "ab 500; ac 200; ae 300; af 2");
    struct diff *d = diff_of();
    assert_string_equal(diff_presence(row_of(d, "b")), "both");
    assert_string_equal(diff_presence(row_of(d, "e")), "appeared");
    assert_string_equal(diff_presence(row_of(d, "d")), "gone");
    assert_true(diff_is_significant(&row_of(d, "e")->change[DIFF_SELF]));
    assert_true(diff_is_significant(&row_of(d, "c")->change[DIFF_SELF]));
    assert_false(diff_is_significant(&row_of(d, "b")->change[DIFF_SELF]));
    /* Two samples are no evidence. */
    assert_true(isnan(row_of(d, "f")->change[DIFF_SELF].q));
    struct err e = {0};
    uint32_t *order = diff_order(&d->functions, DIFF_SELF, &e);
    assert_ptr_equal(&d->functions.list[order[0]], row_of(d, "c"));
    assert_ptr_equal(&d->functions.list[order[1]], row_of(d, "e"));
    free(order);
    end(d);
}

/* b, called by a, calling c, is q afterwards; and what only p calls has other callees. */
static void a_renamed_function_is_found_by_its_shape(void **state)
{
    (void)state;
    for (unsigned shapes = 0; shapes < 2; shapes++) {
        struct err e = {0};
        add(DIFF_BEFORE, "ab 100; abc 300; ac 300; ad 300");
        add(DIFF_AFTER, "aq 105; aqc 290; ac 300; ad 300");
        struct diff *d = build(DIFF_BY_TOTAL, shapes, &e);
        const struct diff_row *q = row_of(d, "q");
        assert_string_equal(diff_presence(q), shapes ? "both" : "appeared");
        if (shapes) {
            assert_string_equal(d->names.functions[q->function].was, "b");
            assert_null(row_of(d, "b"));
            assert_int_equal(all_significant(d), 0);
            assert_int_equal(d->contexts.count, 6);
        } else {
            assert_string_equal(diff_presence(row_of(d, "b")), "gone");
        }
        end(d);
    }
}

/* What is much heavier, or one of two candidates, is another function. */
static void shapes_that_are_no_proof(void **state)
{
    (void)state;
    add(DIFF_BEFORE, "ab 50; ac 500");
    add(DIFF_AFTER, "aq 200; ac 500");
    struct diff *d = diff_of();
    assert_string_equal(diff_presence(row_of(d, "q")), "appeared");
    end(d);
    add(DIFF_BEFORE, "ab 100; ac 500");
    add(DIFF_AFTER, "aq 100; ar 100; ac 500");
    d = diff_of();
    assert_string_equal(diff_presence(row_of(d, "q")), "appeared");
    assert_string_equal(diff_presence(row_of(d, "b")), "gone");
    end(d);
}

static void clones_and_signatures_are_one_function(void **state)
{
    (void)state;
    struct profile *p = add(DIFF_BEFORE, "ab 300; ac 300; ad 300; ae 300");
    rename_function(p, 'b', "step.constprop.0");
    rename_function(p, 'c', "ns::f(int, std::pair<int, (x)0>)");
    rename_function(p, 'd', "g(int)");
    rename_function(p, 'e', "g(long)");
    p = add(DIFF_AFTER, "ab 310; ac 310; ad 310; ae 20");
    rename_function(p, 'b', "step");
    rename_function(p, 'c', "ns::f(long)");
    rename_function(p, 'd', "g(char)");
    rename_function(p, 'e', "g(short)");
    struct err e = {0};
    struct diff *d = build(DIFF_BY_TOTAL, false, &e);
    assert_string_equal(diff_presence(row_of(d, "step")), "both");
    assert_string_equal(diff_presence(row_of(d, "ns::f(long)")), "both");
    assert_string_equal(diff_presence(row_of(d, "g(char)")), "appeared"); /* which of both? */
    end(d);
}

static void values_are_normalized(void **state)
{
    (void)state;
    const struct {
        enum diff_normalize by;
        double after;
    } expected[] = {{DIFF_BY_TOTAL, 0.5}, {DIFF_BY_TIME, 0.5}, {DIFF_BY_NONE, 1}};
    for (unsigned i = 0; i < 3; i++) {
        struct err e = {0};
        add(DIFF_BEFORE, "ab 5000; ac 5000");
        add(DIFF_AFTER, "ab 10000; ac 10000")->duration_ns *= 2;
        struct diff *d = build(expected[i].by, true, &e);
        assert_true(fabs(row_of(d, "b")->change[DIFF_SELF].value[DIFF_AFTER] -
                         expected[i].after) < 1e-9);
        assert_true(row_of(d, "b")->change[DIFF_SELF].value[DIFF_BEFORE] == 0.5);
        assert_int_equal(diff_is_significant(&row_of(d, "b")->change[DIFF_SELF]),
                         expected[i].by == DIFF_BY_NONE);
        end(d);
    }
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    struct err e = {0};
    add(DIFF_BEFORE, "ab 5");
    add(DIFF_AFTER, "ab 5");
    assert_null(build(DIFF_BY_INSTRUCTIONS, true, &e));
    assert_int_equal(e.code, ERR_USAGE);
    assert_non_null(strstr(e.message, "instructions"));
    end(NULL);
    add(DIFF_BEFORE, "ab 5");
    add(DIFF_AFTER, "ab 0");
    e = (struct err){0};
    assert_null(build(DIFF_BY_TOTAL, true, &e));
    assert_int_equal(e.code, ERR_USAGE);
    end(NULL);
    add(DIFF_BEFORE, "ab 5");
    struct profile *p = add(DIFF_AFTER, "ab 5");
    free(p->metrics[0].name);
    p->metrics[0].name = strdup("page-faults");
    e = (struct err){0};
    assert_null(build(DIFF_BY_TOTAL, true, &e));
    assert_non_null(strstr(e.message, "page-faults"));
    end(NULL);
}

static void runs_that_spread_are_no_proof(void **state)
{
    (void)state;
    static const char *const before[] = {"ab 60000; ac 40000", "ab 50000; ac 50000"};
    static const char *const after[] = {"ab 70000; ac 30000", "ab 60000; ac 40000"};
    /* One of each side: far more than sampling explains. */
    add(DIFF_BEFORE, before[0]);
    add(DIFF_AFTER, after[0]);
    struct diff *d = diff_of();
    assert_true(diff_is_significant(&row_of(d, "b")->change[DIFF_SELF]));
    end(d);
    for (unsigned i = 0; i < 2; i++)
        add(DIFF_BEFORE, before[i]);
    for (unsigned i = 0; i < 2; i++)
        add(DIFF_AFTER, after[i]);
    d = diff_of();
    const struct diff_change *b = &row_of(d, "b")->change[DIFF_SELF];
    assert_false(diff_is_significant(b));
    assert_true(b->low < 0 && b->high > 0.2);
    end(d);
}

/* ---- simulated recordings ---- */

static uint64_t seed = 88172645463325252u;

static double uniform(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (double)(seed >> 11) / (double)(UINT64_C(1) << 53);
}

/* 25 leaves below a: the first has 60% of the time, each other less than the one before. factor: of
 * the first one's time. Samples are of the time that all take. */
static void sample(unsigned side, double samples, double factor)
{
    enum { LEAVES = 25, PATHS_SIZE = 1024 };
    double times[LEAVES], all = 0;
    unsigned hits[LEAVES] = {0};
    char paths[PATHS_SIZE];
    for (unsigned i = 0; i < LEAVES; i++)
        all += times[i] = i ? 0.1 * pow(0.75, i - 1) : 0.6 * factor;
    samples *= all / (0.6 + 0.1 * (1 - pow(0.75, LEAVES - 1)) / 0.25);
    for (double n = 0; n < samples; n++) {
        double at = uniform() * all;
        unsigned i = 0;
        while (i + 1 < LEAVES && at >= times[i])
            at -= times[i++];
        hits[i]++;
    }
    size_t used = 0;
    for (unsigned i = 0; i < LEAVES; i++)
        used += (size_t)snprintf(paths + used, sizeof paths - used, "%sa%c %u", i ? "; " : "",
                                 'b' + (int)i, hits[i]);
    add(side, paths);
}

static void chance_is_no_change(void **state)
{
    (void)state;
    enum { PAIRS = 300 };
    unsigned wrong = 0, compared = 0, with_any = 0;
    for (unsigned k = 0; k < PAIRS; k++) {
        sample(DIFF_BEFORE, 2000, 1);
        sample(DIFF_AFTER, 3000, 1);
        struct diff *d = diff_of();
        unsigned now = significant(&d->contexts, DIFF_SELF);
        wrong += now;
        with_any += now > 0;
        for (uint32_t i = 0; i < d->contexts.count; i++)
            if (!isnan(d->contexts.list[i].change[DIFF_SELF].p))
                compared++;
        end(d);
    }
    assert_true(compared > PAIRS * 15);
    assert_in_range(wrong, 0, compared / 20);
    /* Where nothing changed, the false discovery rate is the chance of any: 5%, and three standard
     * errors. */
    assert_in_range(with_any, 0, PAIRS * 0.088);
    print_message("%u of %u contexts, in %u of %u pairs\n", wrong, compared, with_any, PAIRS);
}

/* 100,000 samples are ten seconds of -F 9973. */
static void a_slowdown_by_two_percent_is_found(void **state)
{
    (void)state;
    enum { TRIES = 40 };
    unsigned found = 0;
    for (unsigned k = 0; k < TRIES; k++) {
        struct err e = {0};
        sample(DIFF_BEFORE, 100000, 1);
        sample(DIFF_AFTER, 100000, 1.02);
        struct diff *d = build(DIFF_BY_NONE, true, &e);
        const struct diff_change *b = &row_of(d, "b")->change[DIFF_SELF];
        found += diff_is_significant(b) && diff_difference(b) > 0;
        end(d);
    }
    assert_in_range(found, TRIES * 9 / 10, TRIES);
}

/* ---- other metrics ---- */

static void make_exact(struct profile *p)
{
    p->metrics[0].how = METRIC_EXACT;
}

/* One run does not tell how the next one differs: a count is taken for that of independent events.
 * Several tell. */
static void counts_vary_from_run_to_run(void **state)
{
    (void)state;
    make_exact(add(DIFF_BEFORE, "ab 100000; ac 100000; ad 4"));
    make_exact(add(DIFF_AFTER, "ab 100300; ac 100000; ad 8"));
    struct diff *d = diff_of();
    assert_int_equal(all_significant(d), 0);
    end(d);
    make_exact(add(DIFF_BEFORE, "ab 100000; ac 100000; ad 4"));
    make_exact(add(DIFF_AFTER, "ab 103000; ac 100000; ad 8"));
    struct err e = {0};
    d = build(DIFF_BY_NONE, true, &e);
    assert_true(diff_is_significant(&row_of(d, "b")->change[DIFF_SELF]));
    assert_false(diff_is_significant(&row_of(d, "c")->change[DIFF_SELF]));
    assert_false(diff_is_significant(&row_of(d, "d")->change[DIFF_SELF]));
    end(d);
    for (unsigned i = 0; i < 4; i++)
        make_exact(add(i < 2 ? DIFF_BEFORE : DIFF_AFTER, i < 2 ? "ab 100; ac 8" : "ab 100; ac 9"));
    d = build(DIFF_BY_NONE, true, &e);
    assert_true(diff_is_significant(&row_of(d, "c")->change[DIFF_SELF]));
    assert_false(diff_is_significant(&row_of(d, "b")->change[DIFF_SELF]));
    end(d);
}

/* The number of samples is that of randomized periods. */
static void totals_have_errors(void **state)
{
    (void)state;
    const struct {
        const char *after;
        enum metric_how how;
        bool significant;
    } expected[] = {{"ab 312", METRIC_RANDOMIZED, false},
                    {"ab 345", METRIC_RANDOMIZED, true},
                    {"ab 312", METRIC_REGULAR, true}};
    for (unsigned i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        struct err e = {0};
        add(DIFF_BEFORE, "ab 300")->metrics[0].how = expected[i].how;
        add(DIFF_AFTER, expected[i].after)->metrics[0].how = expected[i].how;
        struct diff *d = build(DIFF_BY_NONE, true, &e);
        assert_int_equal(diff_is_significant(&row_of(d, "b")->change[DIFF_SELF]),
                         expected[i].significant);
        end(d);
    }
}

/* Of 5,000 samples of what was allocated one in a hundred is live: fifty are compared. */
static void a_part_of_the_samples_is_worth_less(void **state)
{
    (void)state;
    struct err e = {0};
    static const unsigned live[DIFF_SIDES] = {20, 26};
    for (unsigned side = 0; side < DIFF_SIDES; side++) {
        struct profile *p = add(side, "ab 2500; ac 2500");
        assert_true(profile_metrics_of_heap(p));
        for (uint32_t i = 0; i < p->threads[0].node_count; i++) {
            struct profile_node *n = &p->threads[0].nodes[i];
            n->more[HEAP_LIVE - 1] = !n->self ? 0 : i < 3 ? live[side] : 50 - live[side];
        }
    }
    metric = "live";
    struct diff *d = build(DIFF_BY_TOTAL, true, &e);
    metric = NULL;
    assert_true(views[0]->samples == 50 && fabs(views[0]->effective - 50) < 1e-9);
    assert_true(row_of(d, "b")->change[DIFF_SELF].samples[DIFF_AFTER] == 26);
    assert_int_equal(all_significant(d), 0);
    end(d);
}

/* Two samples that weigh 40 each are no evidence, though most weigh 1. */
static void heavy_samples_are_few(void **state)
{
    (void)state;
    add(DIFF_BEFORE, "ab 2000; ac 2000");
    struct profile *p = add(DIFF_AFTER, "ab 2000; ac 1920; ad 80");
    struct diff *d = diff_of();
    assert_true(diff_is_significant(&row_of(d, "d")->change[DIFF_SELF]));
    built_free(d);
    p->threads[0].weight_squares += 2 * 40 * 39;
    struct err e = {0};
    d = build(DIFF_BY_TOTAL, true, &e);
    assert_false(diff_is_significant(&row_of(d, "d")->change[DIFF_SELF]));
    end(d);
    /* Nor is what has all the others less for them. */
    add(DIFF_BEFORE, "ab 3900; ac 100");
    p = add(DIFF_AFTER, "ab 3820; ac 180");
    p->threads[0].weight_squares += 2 * 40 * 39;
    d = diff_of();
    assert_false(diff_is_significant(&row_of(d, "b")->change[DIFF_SELF]));
    assert_false(diff_is_significant(&row_of(d, "c")->change[DIFF_SELF]));
    end(d);
}

/* All do a fifth more: that is a change of each, if amounts are compared, and none of shares. */
static void a_change_of_all_is_found(void **state)
{
    (void)state;
    enum { LEAVES = 20, PATHS_SIZE = 1024 };
    char paths[DIFF_SIDES][PATHS_SIZE];
    for (unsigned side = 0; side < DIFF_SIDES; side++) {
        size_t used = 0;
        for (unsigned i = 0; i < LEAVES; i++)
            used += (size_t)snprintf(paths[side] + used, PATHS_SIZE - used, "%sa%c %u",
                                     i ? "; " : "", 'b' + (int)i, side ? 1200u : 1000u);
    }
    for (unsigned i = 0; i < 2; i++) {
        struct err e = {0};
        add(DIFF_BEFORE, paths[DIFF_BEFORE]);
        add(DIFF_AFTER, paths[DIFF_AFTER]);
        struct diff *d = build(i ? DIFF_BY_TOTAL : DIFF_BY_NONE, true, &e);
        assert_int_equal(significant(&d->functions, DIFF_SELF), i ? 0 : LEAVES);
        assert_int_equal(diff_is_significant(&row_of(d, "a")->change[DIFF_TOTAL]), !i);
        end(d);
    }
}

/* Half of the leaves spread much more than samples do: what one of them has more is no evidence. */
static void what_most_rows_do_is_chance(void **state)
{
    (void)state;
    enum { LEAVES = 24, PATHS_SIZE = 1024 };
    char paths[DIFF_SIDES][PATHS_SIZE];
    size_t used[DIFF_SIDES] = {0};
    for (unsigned i = 0; i < LEAVES; i++)
        for (unsigned side = 0; side < DIFF_SIDES; side++)
            used[side] += (size_t)snprintf(paths[side] + used[side], PATHS_SIZE - used[side],
                                           "%sa%c %u", i ? "; " : "", 'b' + (int)i,
                                           i % 2 == side ? 1000u : i ? 1200u : 4000u);
    add(DIFF_BEFORE, paths[DIFF_BEFORE]);
    add(DIFF_AFTER, paths[DIFF_AFTER]);
    struct diff *d = diff_of();
    assert_true(d->dispersion > 10);
    assert_true(diff_is_significant(&row_of(d, "b")->change[DIFF_SELF]));
    assert_int_equal(significant(&d->functions, DIFF_SELF), 1);
    end(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_differs_from_itself),
        cmocka_unit_test(functions_appear_and_go),
        cmocka_unit_test(a_renamed_function_is_found_by_its_shape),
        cmocka_unit_test(shapes_that_are_no_proof),
        cmocka_unit_test(clones_and_signatures_are_one_function),
        cmocka_unit_test(values_are_normalized),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(runs_that_spread_are_no_proof),
        cmocka_unit_test(chance_is_no_change),
        cmocka_unit_test(a_slowdown_by_two_percent_is_found),
        cmocka_unit_test(counts_vary_from_run_to_run),
        cmocka_unit_test(totals_have_errors),
        cmocka_unit_test(a_part_of_the_samples_is_worth_less),
        cmocka_unit_test(heavy_samples_are_few),
        cmocka_unit_test(a_change_of_all_is_found),
        cmocka_unit_test(what_most_rows_do_is_chance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
