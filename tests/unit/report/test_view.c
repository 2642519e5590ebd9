/* Trees, totals, refinement and derived trees on hand-made profiles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../sanitized.h"
#include "make_profile.h"
#include "profile/timeline.h"
#include "report/expand.h"
#include "report/timeline.h"
#include "report/totals.h"
#include "report/view.h"

struct fixture {
    struct profile *profile;
    struct symbols *symbols;
    struct view *view;
};

static struct fixture open_with(struct profile *p, const struct view_options *options)
{
    struct err e = { 0 };
    struct fixture f = { .profile = p };
    f.symbols = symbols_load(p, true, &e);
    assert_non_null(f.symbols);
    f.view = view_build(p, f.symbols, options, &e);
    if (!f.view)
        print_message("%s\n", e.message);
    assert_non_null(f.view);
    return f;
}

static struct fixture open_paths(const char *paths, const char *const *through, uint32_t count)
{
    struct profile *p = make_profile();
    make_thread(p, 101, "main", paths);
    return open_with(p, &(struct view_options){ .through = through, .through_count = count });
}

static void close_all(struct fixture *f)
{
    view_free(f->view);
    symbols_free(f->symbols);
    profile_free(f->profile);
}

static const struct view_function *function(const struct view *v, const char *name)
{
    for (uint32_t i = 0; i < v->function_count; i++)
        if (!strcmp(v->functions[i].name, name))
            return &v->functions[i];
    fail_msg("no function %s", name);
    return NULL;
}

static void check(const struct view *v, const char *name, uint64_t self, uint64_t total)
{
    const struct view_function *f = function(v, name);
    assert_int_equal(f->self, self);
    assert_int_equal(f->total, total);
}

/* The tree as text: a(total:self)[child child]. */
static void tree_text(const struct view *v, const struct view_tree *t, uint32_t node, char *out)
{
    const struct view_node *n = &t->nodes[node];
    char *end = out + strlen(out);
    const char *name = n->function == VIEW_NONE ? "*" : v->functions[n->function].name;
    end += sprintf(end, "%s(%d:%d)", name, (int)n->total, (int)n->self);
    if (n->first_child == VIEW_NONE)
        return;
    strcpy(end, "[");
    for (uint32_t c = n->first_child; c != VIEW_NONE; c = t->nodes[c].next_sibling) {
        if (c != n->first_child)
            strcat(end, " ");
        tree_text(v, t, c, end);
    }
    strcat(end, "]");
}

static void check_tree(const struct view *v, const struct view_tree *t, const char *expected)
{
    char text[4096] = "";
    tree_text(v, t, 0, text);
    assert_string_equal(text, expected);
}

static void merges_paths_by_function(void **state)
{
    (void)state;
    struct fixture f = open_paths("abc 3; ab 2; ac 4; a 1; abc 10", NULL, 0);
    check(f.view, "a", 1, 20);
    check(f.view, "b", 2, 15);
    check(f.view, "c", 17, 17);
    assert_int_equal(f.view->samples, 20);
    check_tree(f.view, &f.view->tree, "[root](20:0)[a(20:1)[b(15:2)[c(13:13)] c(4:4)]]");
    close_all(&f);
}

static void recursion_counts_once_a_path(void **state)
{
    (void)state;
    struct fixture f = open_paths("abab 5; aba 2; b 1; bb 4", NULL, 0);
    check(f.view, "a", 2, 7);
    check(f.view, "b", 10, 12);
    close_all(&f);
}

static void order_is_by_self_then_total(void **state)
{
    (void)state;
    struct fixture f = open_paths("ab 5; ac 5; cd 1", NULL, 0);
    uint32_t count;
    struct err e = { 0 };
    uint32_t *order = view_order(f.view, &count, &e);
    char names[8] = "";
    for (uint32_t i = 0; i < count; i++)
        strcat(names, f.view->functions[order[i]].name);
    assert_string_equal(names, "cbda");
    free(order);
    close_all(&f);
}

static void bottom_up_inverts(void **state)
{
    (void)state;
    struct fixture f = open_paths("abc 3; ac 4; bc 1; a 2", NULL, 0);
    struct view_tree t;
    struct err e = { 0 };
    struct expand_limits all = { .min = 1, .depth = 100 };
    assert_true(expand_bottom_up(f.view, all, &t, &e));
    check_tree(f.view, &t, "*(10:0)[c(8:8)[a(4:0) b(4:0)[a(3:0)]] a(2:2)]");
    free(t.nodes);
    struct expand_limits few = { .min = 4, .depth = 1 };
    assert_true(expand_bottom_up(f.view, few, &t, &e));
    check_tree(f.view, &t, "*(10:0)[c(8:8)]");
    free(t.nodes);
    close_all(&f);
}

static bool *match(const struct view *v, const char *pattern, uint32_t expected)
{
    struct err e = { 0 };
    uint32_t count;
    bool *chosen = view_match(v, pattern, &count, &e);
    assert_non_null(chosen);
    assert_int_equal(count, expected);
    return chosen;
}

static void callers_count_from_the_innermost(void **state)
{
    (void)state;
    struct fixture f = open_paths("axbxc 3; ax 4; bxd 1; c 9", NULL, 0);
    struct view_tree t;
    struct err e = { 0 };
    struct expand_limits all = { .min = 1, .depth = 100 };
    bool *chosen = match(f.view, "x", 1);
    assert_true(expand_callers(f.view, chosen, all, &t, &e));
    check_tree(f.view, &t, "*(8:0)[x(8:8)[a(4:0) b(4:0)[x(3:0)[a(3:0)]]]]");
    assert_int_equal(t.nodes[0].total, function(f.view, "x")->total);
    free(t.nodes);
    free(chosen);
    close_all(&f);
}

static void callees_count_from_the_outermost(void **state)
{
    (void)state;
    struct fixture f = open_paths("axbxc 3; ax 4; bxd 1; xb 2; c 9", NULL, 0);
    struct view_tree t;
    struct err e = { 0 };
    struct expand_limits all = { .min = 1, .depth = 100 };
    bool *chosen = match(f.view, "x", 1);
    assert_true(expand_callees(f.view, chosen, all, &t, &e));
    check_tree(f.view, &t, "*(10:0)[x(10:4)[b(5:2)[x(3:0)[c(3:3)]] d(1:1)]]");
    free(t.nodes);
    free(chosen);
    close_all(&f);
}

static void names_match_exactly_first(void **state)
{
    (void)state;
    struct profile *p = make_profile();
    const char *names[] = { "sort", "sort(int*)", "qsort", "run<int>()" };
    for (int i = 0; i < 4; i++) {
        free(p->processes[0].jit[i].name);
        p->processes[0].jit[i].name = strdup(names[i]);
    }
    make_thread(p, 1, "main", "a 1; b 1; c 1; d 1");
    struct fixture f = open_with(p, &(struct view_options){ 0 });
    free(match(f.view, "sort", 1));
    free(match(f.view, "run", 1));
    free(match(f.view, "s.rt", 3));
    free(match(f.view, "nothing", 0));
    free(match(f.view, "(", 2)); /* is no expression: what holds it */
    free(match(f.view, "[", 0)); /* [root] is no function */
    close_all(&f);
}

static void refinement_keeps_order(void **state)
{
    (void)state;
    const char *paths = "abc 3; acb 4; cab 10; bc 1; abcd 2";
    const char *ac[] = { "a,c" };
    struct fixture f = open_paths(paths, ac, 1);
    assert_int_equal(f.view->samples, 9);
    assert_int_equal(f.view->samples_all, 20);
    check_tree(f.view, &f.view->tree,
               "[root](9:0)[a(9:0)[b(5:0)[c(5:3)[d(2:2)]] c(4:0)[b(4:4)]]]");
    check(f.view, "b", 4, 9);
    close_all(&f);
    const char *twice[] = { "a,c", "b,d" };
    f = open_paths(paths, twice, 2);
    assert_int_equal(f.view->samples, 2);
    close_all(&f);
    /* One frame cannot match two expressions; commas in brackets do not separate. */
    const char *own[] = { "a,[a,b],c" };
    f = open_paths("ac 1; aac 2; abc 4", own, 1);
    assert_int_equal(f.view->samples, 6);
    close_all(&f);
}

static void filters_choose_threads(void **state)
{
    (void)state;
    struct profile *p = make_profile();
    make_thread(p, 101, "main", "ab 3");
    make_thread(p, 102, "worker", "ac 5");
    struct fixture f = open_with(p, &(struct view_options){ .thread = "worker" });
    assert_int_equal(f.view->samples, 5);
    view_free(f.view);
    struct err e = { 0 };
    f.view = view_build(p, f.symbols, &(struct view_options){ .thread = "101" }, &e);
    assert_int_equal(f.view->samples, 3);
    view_free(f.view);
    f.view = view_build(p, f.symbols, &(struct view_options){ .process = "100" }, &e);
    assert_int_equal(f.view->samples, 8);
    close_all(&f);
}

static void wrong_filters_say_so(void **state)
{
    (void)state;
    static const char *const bad_regex[] = { "a,(" };
    static const char *const no_match[] = { "zzz" };
    static const char *const empty[] = { "a,,b" };
    const struct {
        struct view_options options;
        const char *says;
    } cases[] = {
        { { .thread = "nobody" }, "no thread \"nobody\"" },
        { { .process = "nobody" }, "no process \"nobody\"" },
        { { .image = "nothing.so" }, "no image \"nothing.so\"" },
        { { .through = bad_regex, .through_count = 1 }, "not a regular expression" },
        { { .through = no_match, .through_count = 1 }, "no function in this profile matches" },
        { { .through = empty, .through_count = 1 }, "empty expression" },
    };
    struct profile *p = make_profile();
    make_thread(p, 101, "main", "ab 3");
    struct fixture f = open_with(p, &(struct view_options){ 0 });
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = { 0 };
        assert_null(view_build(p, f.symbols, &cases[i].options, &e));
        assert_int_equal(e.code, ERR_USAGE);
        if (!strstr(e.message, cases[i].says))
            fail_msg("\"%s\" does not say \"%s\"", e.message, cases[i].says);
    }
    close_all(&f);
}

static void huge_counts_saturate(void **state)
{
    (void)state;
    struct profile *p = make_profile();
    make_thread(p, 101, "main", "ab 18446744073709551615; ac 5");
    struct fixture f = open_with(p, &(struct view_options){ 0 });
    assert_true(f.view->samples == UINT64_MAX);
    assert_true(function(f.view, "a")->total == UINT64_MAX);
    close_all(&f);
}

/* Periods that were merged are charged to no context: they do not hide what the blocks say. */
static void blocks_beside_unattributed(void **state)
{
    (void)state;
    struct profile *p = make_profile();
    make_thread(p, 101, "main", "a 3");
    struct profile_node *only = &p->threads[0].nodes[1];
    only->image = PROFILE_IMAGE_PSEUDO;
    only->offset = KEY_UNATTRIBUTED;
    struct profile_counts *c = profile_counts_new("shadow", "edges");
    profile_observe(p, OBSERVED_CODE, c);
    c->blocks = calloc(1, sizeof *c->blocks);
    c->blocks[c->block_count++] = (struct profile_block){
        .image = PROFILE_IMAGE_NONE, .offset = p->processes[0].jit[1].address, .bytes = 4,
        .instructions = 2, .count = 50};
    struct fixture f = open_with(p, &(struct view_options){ 0 });
    assert_true(f.view->of_blocks);
    assert_int_equal(f.view->samples, 100);
    assert_int_equal(function(f.view, "b")->self, 100);
    close_all(&f);
}

static void images_add_up(void **state)
{
    (void)state;
    struct fixture f = open_paths("abc 3; a 4", NULL, 0);
    uint32_t count;
    struct err e = { 0 };
    struct image_total *totals = totals_of_images(f.view, &count, &e);
    assert_int_equal(count, 1);
    assert_int_equal(totals[0].image, PROFILE_IMAGE_NONE);
    assert_int_equal(totals[0].self, 7);
    assert_int_equal(totals[0].total, 7);
    free(totals);
    close_all(&f);
}

static void a_million_levels(void **state)
{
    (void)state;
    enum { LEVELS = SANITIZED ? 100000 : 1000000 };
    struct profile *p = make_profile();
    make_deep_thread(p, 101, LEVELS, 1);
    struct fixture f = open_with(p, &(struct view_options){ 0 });
    assert_int_equal(f.view->tree.count, LEVELS + 1);
    check(f.view, "a", LEVELS, LEVELS);
    assert_int_equal(f.view->tree.nodes[f.view->tree.count - 1].depth, LEVELS);
    struct view_tree t;
    struct err e = { 0 };
    struct expand_limits limits = { .min = LEVELS / 200, .depth = 20 };
    assert_true(expand_bottom_up(f.view, limits, &t, &e));
    assert_int_equal(t.count, 21);
    assert_int_equal(t.nodes[1].total, LEVELS);
    assert_int_equal(t.nodes[20].total, LEVELS - 19);
    free(t.nodes);
    close_all(&f);
}

/* A profile says anything: columns are at most so many, and have the weight. */
static void timelines_of_any_duration(void **state)
{
    (void)state;
    static const uint64_t durations[] = {0,         1, 71, 72, 73, UINT64_MAX / 2, UINT64_MAX - 1,
                                         UINT64_MAX};
    for (unsigned i = 0; i < sizeof durations / sizeof *durations * 2; i++) {
        struct err e = { 0 };
        struct timeline_view t;
        struct profile *p = make_profile();
        make_thread(p, 101, "main", "ab 3");
        struct profile_moment m = {.bin = 5, .span = 2, .node = PROFILE_REST, .weight = 3};
        assert_true(profile_timeline_add(&p->threads[0].timeline, &m));
        p->duration_ns = durations[i / 2];
        p->kept_from_ns = i % 2 ? 9 : 0;
        struct fixture f = open_with(p, &(struct view_options){ 0 });
        assert_true(timeline_make(&t, f.view, &(struct timeline_size){72, 20, 5}, &e));
        assert_in_range(t.columns, 1, 72);
        double sum = 0;
        for (uint32_t k = 0; k < t.columns; k++)
            sum += t.all.columns[k];
        assert_true(sum > 2.999 && sum < 3.001);
        timeline_free(&t);
        struct buf text = { 0 };
        struct json j = { .out = &text };
        json_open(&j, '{');
        assert_true(timeline_json(&j, f.view, &e));
        json_close(&j, '}');
        buf_free(&text);
        close_all(&f);
    }
}

/* What a frame can be besides an address: its name, and where it is, are shown; of one that the
 * profile says nothing about, that it is an entity. */
static void entities_are_shown(void **state)
{
    (void)state;
    const struct {
        struct profile_entity entity;
        const char *name, *image, *file;
        uint32_t line;
    } rows[] = {
        {{.kind = ENTITY_KERNEL, .name = (char[]){"ksys_read"}, .scope = (char[]){""}}, "ksys_read",
         "[kernel]", "", 0},
        {{.kind = ENTITY_KERNEL, .name = (char[]){"ksys_read"}, .scope = (char[]){"ext4"}},
         "ksys_read [ext4]", "[kernel]", "", 0},
        {{.kind = ENTITY_INTERPRETED, .name = (char[]){"run"}, .scope = (char[]){"a.py"},
          .number = 7}, "run", "[interpreter]",
         "a.py", 7},
        {{.kind = ENTITY_FIELD, .name = (char[]){"next"}, .scope = (char[]){"node"}, .at = 8,
          .number = 8}, "node::next",
         "[field]", "", 0},
        {{.kind = ENTITY_EVENT, .name = (char[]){"hit"}, .scope = (char[]){"cache"}}, "hit [cache]",
         "[event]", "", 0},
        {{.kind = ENTITY_PATH, .name = (char[]){"main"}, .scope = (char[]){"ab12"}, .at = 4096,
          .number = 17}, "main (path 17)",
         "[path]", "", 0},
        {{.kind = 99, .name = (char[]){"later"}, .scope = (char[]){""}}, "later", "[entity]", "",
         0},
    };
    enum { ROWS = sizeof rows / sizeof *rows };
    struct profile *p = make_profile();
    make_thread(p, 101, "main", "abcdefgh 3");
    struct profile_thread *t = &p->threads[0];
    for (uint32_t i = 0; i < ROWS; i++) {
        t->nodes[1 + i].image = PROFILE_IMAGE_NONE;
        t->nodes[1 + i].offset = profile_entity_add(p, &rows[i].entity);
        t->nodes[1 + i].self = 10 + i;
    }
    t->nodes[1 + ROWS].image = PROFILE_IMAGE_NONE;
    t->nodes[1 + ROWS].offset = ENTITY_LAST;
    struct fixture f = open_with(p, &(struct view_options){ .lines = true });
    for (uint32_t i = 0; i < ROWS; i++) {
        const struct view_function *found = NULL;
        for (uint32_t k = 0; k < f.view->function_count; k++)
            if (f.view->functions[k].self == 10 + i)
                found = &f.view->functions[k];
        assert_non_null(found);
        assert_string_equal(found->name, rows[i].name);
        assert_string_equal(found->image_name, rows[i].image);
        assert_string_equal(found->file, rows[i].file);
        assert_int_equal(found->line, rows[i].line);
    }
    struct err e = {0};
    uint32_t count, kernel = 0;
    struct image_total *totals = totals_of_images(f.view, &count, &e);
    assert_int_equal(count, 6); /* both of the kernel's are one, both that are not known too */
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(totals[i].name, "[kernel]") == 0)
            kernel += (uint32_t)totals[i].self;
    assert_int_equal(kernel, 10 + 11);
    free(totals);
    close_all(&f);
}

/* Of what is filtered away no weight stays, by any metric. */
static void images_are_filtered_by_all_metrics(void **state)
{
    (void)state;
    const struct profile_entity entity = {
        .kind = ENTITY_KERNEL, .name = (char[]){"ksys_read"}, .scope = (char[]){""}};
    struct profile *p = make_profile();
    make_thread(p, 101, "main", "ab 3");
    while (p->metric_count < METRICS_MAX)
        assert_true(profile_metric_add(p, &p->metrics[0]));
    struct profile_node *nodes = p->threads[0].nodes;
    nodes[2].image = PROFILE_IMAGE_NONE;
    nodes[2].offset = profile_entity_add(p, &entity);
    for (unsigned i = 1; i <= 2; i++)
        for (unsigned m = 0; m < METRICS_MAX - 1; m++)
            nodes[i].more[m] = 10 * i + m;
    struct fixture f = open_with(p, &(struct view_options){.image = "[kernel]"});
    for (uint32_t i = 0; i < f.view->tree.count; i++) {
        for (unsigned m = 0; m < METRICS_MAX - 1; m++) /* it is below all of them */
            assert_int_equal(view_tree_weights(&f.view->tree, i)[1 + m], 20 + m);
    }
    for (uint32_t i = 0; i < f.view->function_count; i++) {
        const struct view_function *function = &f.view->functions[i];
        bool kept = !strcmp(function->name, "ksys_read");
        for (unsigned m = 0; m < METRICS_MAX - 1; m++)
            assert_int_equal(view_function_weights(f.view, function)[1 + m], kept ? 20 + m : 0);
    }
    close_all(&f);
}

/* Of many threads those with the most weight have rows of their own, the others one together. */
static void timelines_of_many_threads(void **state)
{
    (void)state;
    enum { THREADS = 300 };
    struct err e = { 0 };
    struct timeline_view t;
    struct profile *p = make_profile();
    struct profile_moment m = {.bin = 5, .node = PROFILE_REST};
    p->duration_ns = 1000;
    for (uint32_t i = 0; i < THREADS; i++) {
        make_thread(p, 101 + (int)i, "worker", "ab 300");
        m.weight = 1 + i * 7 % THREADS;
        assert_true(profile_timeline_add(&p->threads[i].timeline, &m));
    }
    struct fixture f = open_with(p, &(struct view_options){ 0 });
    assert_true(timeline_make(&t, f.view, &(struct timeline_size){72, 20, 5}, &e));
    assert_int_equal(t.thread_count, 20);
    assert_int_equal(t.other_count, THREADS - 20);
    for (uint32_t i = 0; i < 20; i++)
        assert_true(t.threads[i].sum == THREADS - i);
    assert_true(t.others.sum == (THREADS - 20) * (THREADS - 19) / 2);
    assert_true(t.all.sum == THREADS * (THREADS + 1) / 2);
    timeline_free(&t);
    struct buf text = { 0 };
    struct json j = { .out = &text };
    json_open(&j, '{');
    assert_true(timeline_json(&j, f.view, &e));
    json_close(&j, '}');
    buf_put_u8(&text, 0);
    unsigned rows = 0;
    for (const char *at = (const char *)text.data; (at = strstr(at, "\"tid\"")); at++)
        rows++;
    assert_int_equal(rows, 200);
    assert_non_null(strstr((const char *)text.data, "other_threads"));
    buf_free(&text);
    close_all(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merges_paths_by_function),
        cmocka_unit_test(recursion_counts_once_a_path),
        cmocka_unit_test(order_is_by_self_then_total),
        cmocka_unit_test(bottom_up_inverts),
        cmocka_unit_test(callers_count_from_the_innermost),
        cmocka_unit_test(callees_count_from_the_outermost),
        cmocka_unit_test(names_match_exactly_first),
        cmocka_unit_test(refinement_keeps_order),
        cmocka_unit_test(filters_choose_threads),
        cmocka_unit_test(wrong_filters_say_so),
        cmocka_unit_test(huge_counts_saturate),
        cmocka_unit_test(blocks_beside_unattributed),
        cmocka_unit_test(images_add_up),
        cmocka_unit_test(a_million_levels),
        cmocka_unit_test(timelines_of_any_duration),
        cmocka_unit_test(timelines_of_many_threads),
        cmocka_unit_test(entities_are_shown),
        cmocka_unit_test(images_are_filtered_by_all_metrics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
