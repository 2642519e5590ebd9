/* Days in short: what a digest leaves out is counted, and the rest is right. */
#include "database/digest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <unistd.h>

#include "interval.h"
#include "../folder.h"

#define S INT64_C(1000000000)
#define DAY (86400 * S)
/* 2026-11-27 00:00 UTC */
#define MIDNIGHT (INT64_C(1795737600) * S)

static uint64_t state_of_chance;

static uint64_t chance(uint64_t below)
{
    state_of_chance = state_of_chance * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (state_of_chance >> 33) % below;
}

/* ---- trees ---- */

enum { GROUPS = 3, FUNCTIONS = 12, NODES = 400, DEPTH_MOST = 64 };

/* Random trees of groups whose weights differ much. */
static void groups_make(struct group *groups)
{
    static const struct profile_node root = {.image = PROFILE_IMAGE_PSEUDO, .offset = KEY_ROOT};
    for (uint32_t g = 0; g < GROUPS; g++) {
        groups[g] = (struct group){.service = NULL};
        tree_sum_node(&groups[g].tree, UINT32_MAX, &root);
        for (uint32_t i = 0; i < NODES; i++) {
            const struct profile_node n = {.image = 0, .offset = 0x1000 * (1 + chance(FUNCTIONS))};
            uint32_t at = tree_sum_node(&groups[g].tree, (uint32_t)chance(groups[g].tree.count),
                                        &n);
            uint64_t weight = chance(3) ? 0 : 1 + chance(g ? 1000 : 10);
            groups[g].tree.nodes[at].self += weight;
            groups[g].totals.weight += weight;
        }
    }
}

static void groups_free(struct group *groups)
{
    for (uint32_t g = 0; g < GROUPS; g++)
        tree_sum_fini(&groups[g].tree);
}

static uint64_t function_self(const struct tree_sum *tree, uint64_t offset)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < tree->count; i++)
        if (!tree->nodes[i].image && tree->nodes[i].offset == offset)
            sum += tree->nodes[i].self;
    return sum;
}

static uint64_t self_of_all(const struct tree_sum *tree)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < tree->count; i++)
        sum += tree->nodes[i].self;
    return sum;
}

static uint64_t subtree_weight(const struct tree_sum *tree, uint32_t of)
{
    uint64_t sum = 0;
    for (uint32_t i = of; i < tree->count; i++) {
        uint32_t at = i;
        while (at != UINT32_MAX && at != of)
            at = tree->nodes[at].parent;
        sum += at == of ? tree->nodes[i].self : 0;
    }
    return sum;
}

/* The node of `tree` with the path of a node of `like`; UINT32_MAX: there is none. */
static uint32_t same_path(const struct tree_sum *tree, const struct tree_sum *like, uint32_t node)
{
    uint32_t path[DEPTH_MOST], depth = 0, at = 0;
    for (; node; node = like->nodes[node].parent)
        path[depth++] = node;
    while (depth && at != UINT32_MAX) {
        const struct profile_node *n = &like->nodes[path[--depth]];
        uint32_t above = at;
        at = UINT32_MAX;
        for (uint32_t i = 0; i < tree->count; i++)
            if (tree->nodes[i].parent == above && tree->nodes[i].image == n->image &&
                tree->nodes[i].offset == n->offset)
                at = i;
    }
    return at;
}

static bool is_below_folded(const struct tree_sum *tree, uint32_t node)
{
    for (; node != UINT32_MAX; node = tree->nodes[node].parent)
        if (answer_is_folded(&tree->nodes[node]))
            return true;
    return false;
}

static void compare_trees(const struct tree_sum *was, const struct tree_sum *is)
{
    assert_int_equal(self_of_all(is), self_of_all(was));
    for (uint32_t i = 0; i < is->count; i++)
        if (!is_below_folded(is, i)) {
            uint32_t at = same_path(was, is, i);
            assert_true(at != UINT32_MAX);
            assert_int_equal(subtree_weight(is, i), subtree_weight(was, at));
        }
}

static uint32_t nodes_of(const struct group *groups)
{
    uint32_t count = 0;
    for (uint32_t g = 0; g < GROUPS; g++)
        count += groups[g].tree.count;
    return count;
}

static uint32_t without_folded(const struct group *groups)
{
    uint32_t count = 0;
    for (uint32_t g = 0; g < GROUPS; g++)
        for (uint32_t i = 0; i < groups[g].tree.count; i++)
            count += !answer_is_folded(&groups[g].tree.nodes[i]);
    return count;
}

static uint32_t above_folded(const struct group *groups)
{
    uint32_t count = 0;
    for (uint32_t g = 0; g < GROUPS; g++)
        for (uint32_t i = 0; i < groups[g].tree.count; i++)
            count += !is_below_folded(&groups[g].tree, i);
    return count;
}

/* Whatever the bound: it is used, and all weight is there, of a node that is kept in its subtree,
 * of a function where it is innermost; then the same once more, as of the next part of a day. */
static void bounds_hold(void **state)
{
    (void)state;
    static const uint32_t bounds[] = {2, 10, 50, 200, 600, 2000};
    for (unsigned round = 0; round < 6 * 20; round++) {
        struct group was[GROUPS], is[GROUPS];
        uint32_t most = bounds[round % 6];
        state_of_chance = round;
        groups_make(was);
        state_of_chance = round;
        groups_make(is);
        for (unsigned again = 0; again < 2; again++) {
            uint32_t now = again ? most / 3 : most, before = nodes_of(is);
            assert_true(digest_bound(is, GROUPS, now));
            if (before > 2 * now)
                assert_true(without_folded(is) <= now + GROUPS);
            else
                assert_int_equal(nodes_of(is), before);
            if (before > 2 * now && !again)
                assert_in_range(above_folded(is), now / 2, now / 2 + GROUPS);
            for (uint32_t g = 0; g < GROUPS; g++)
                compare_trees(&was[g].tree, &is[g].tree);
        }
        groups_free(was);
        groups_free(is);
    }
}

/* A function has its own weight to the last sample, but for what [folded] has itself. */
static void functions_are_right(void **state)
{
    (void)state;
    bool some[2] = {false, false};
    for (unsigned round = 0; round < 100; round++) {
        struct group was[GROUPS], is[GROUPS];
        state_of_chance = round;
        groups_make(was);
        state_of_chance = round;
        groups_make(is);
        assert_true(digest_bound(is, GROUPS, 20 + round * 5));
        for (uint32_t g = 0; g < GROUPS; g++) {
            uint64_t less = 0, plain = 0;
            for (uint64_t f = 1; f <= FUNCTIONS; f++) {
                uint64_t before = function_self(&was[g].tree, f * 0x1000);
                uint64_t after = function_self(&is[g].tree, f * 0x1000);
                assert_true(after <= before);
                less += before - after;
            }
            for (uint32_t i = 0; i < is[g].tree.count; i++)
                plain += answer_is_folded(&is[g].tree.nodes[i]) ? is[g].tree.nodes[i].self : 0;
            assert_int_equal(plain, less);
            if (is[g].tree.count < was[g].tree.count)
                some[plain != 0] = true;
        }
        groups_free(was);
        groups_free(is);
    }
    assert_true(some[0] && some[1]);
}

/* A service that hardly runs has a tree of its own beside one that runs always. */
static void small_services_stay(void **state)
{
    (void)state;
    struct group groups[GROUPS];
    state_of_chance = 3;
    groups_make(groups);
    assert_true(groups[0].totals.weight * 50 < groups[1].totals.weight);
    assert_true(digest_bound(groups, GROUPS, 120));
    uint32_t own = 0;
    for (uint32_t i = 0; i < groups[0].tree.count; i++)
        own += !is_below_folded(&groups[0].tree, i);
    assert_true(own >= 10);
    groups_free(groups);
}

/* ---- days ---- */

static char path[128];

/* Stacks of four functions, of each image's 4096, that nobody has seen before. */
static struct profile *wide_interval(uint32_t stacks)
{
    static const struct interval_program of = {"web.service", "httpd", "/usr/bin/httpd", 0x2030, 7};
    struct profile *p = interval_make(&of, 1);
    struct profile_thread *t = &p->threads[0];
    struct tree_sum sum = {0};
    uint32_t index_of[INTERVAL_NODES];
    struct profile_node stack[INTERVAL_NODES];
    memcpy(stack, t->nodes, sizeof stack);
    stack[3].self = 1;
    for (uint32_t i = 0; i < stacks; i++) {
        for (uint32_t d = 2; d < INTERVAL_NODES; d++)
            stack[d].offset = 0x10000 + 0x10 * chance(100000);
        tree_sum_add(&sum, stack, INTERVAL_NODES, index_of);
    }
    uint32_t *place = calloc(sum.count, sizeof *place);
    free(t->nodes);
    t->nodes = tree_sum_preorder(&sum, place);
    t->node_count = sum.count;
    t->taken = t->weight = t->weight_squares = stacks;
    free(place);
    tree_sum_fini(&sum);
    return p;
}

static void put(struct store *s, uint32_t stacks, int64_t begin)
{
    struct err e = {0};
    struct profile *p = wide_interval(stacks);
    const struct store_slot slot = {.begin_ns = begin, .end_ns = begin + 60 * S,
                                    .period_ns = 50000000, .cpus = 2};
    if (!store_put(s, p, &slot, &e))
        fail_msg("%s", e.message);
    profile_free(p);
}

/* What a query has: its weight, and how much of it is below [folded]. */
struct found {
    uint64_t weight, folded, nodes;
};

static struct found get(struct store *s, const struct store_query *q)
{
    struct err e = {0};
    struct store_range range;
    struct found f = {0};
    struct profile *p = store_get(s, q, &range, &e);
    if (!p)
        fail_msg("%s", e.message);
    for (uint32_t t = 0; t < p->thread_count; t++)
        for (uint32_t i = 0; i < p->threads[t].node_count; i++) {
            const struct profile_node *n = &p->threads[t].nodes[i];
            bool is = answer_is_folded(n) ||
                      (i && answer_is_folded(&p->threads[t].nodes[n->parent]));
            f.weight += n->self;
            f.folded += is ? n->self : 0;
            f.nodes++;
        }
    assert_int_equal(strstr(p->notes, "[folded]") != NULL, f.folded != 0);
    profile_free(p);
    return f;
}

static void problem_told(void *context, const char *problem)
{
    (void)context;
    fail_msg("%s", problem);
}

static void keep(struct store *s, int64_t now, uint64_t keep_ns)
{
    const struct store_bounds bounds = {.keep_ns = keep_ns};
    struct store_kept done;
    struct err e = {0};
    if (!store_keep(s, &bounds, now, &done, &e))
        fail_msg("%s", e.message);
    assert_true(store_check(s, problem_told, NULL, &e));
}

enum { STACKS = 40000 };

/* A day that is over is short for reports, and whole for all else. */
static void days_are_short(void **state)
{
    (void)state;
    struct err e = {0};
    struct store *s;
    bool unclean;
    const struct store_query whole = {.from_ns = INT64_MIN, .to_ns = INT64_MAX};
    struct store_query folds = whole, narrow = whole, early = whole;
    folds.fold = narrow.fold = early.fold = true;
    narrow.function = "main";
    early.to_ns = MIDNIGHT + DAY / 2;
    folder_clear();
    assert_true(store_open(&s, path, STORE_MAKE, &e) &&
                store_run_begin(s, "host", MIDNIGHT, &unclean, &e));
    put(s, STACKS, MIDNIGHT + 1000 * S);
    put(s, STACKS, MIDNIGHT + DAY - 1000 * S);
    assert_int_equal(get(s, &folds).folded, 0);
    keep(s, MIDNIGHT + 2 * DAY, 0);
    const struct found day = get(s, &folds), all = get(s, &whole);
    assert_int_equal(day.weight, 2 * STACKS);
    assert_true(day.folded > 0 && day.nodes < DIGEST_NODES * 3 / 2 && all.nodes > 2 * STACKS);
    assert_int_equal(all.weight, 2 * STACKS);
    assert_int_equal(all.folded, 0);
    assert_int_equal(get(s, &narrow).weight, 2 * STACKS);
    assert_int_equal(get(s, &narrow).folded, 0);
    /* Of a part of the day its digest says nothing. */
    assert_int_equal(get(s, &early).weight, STACKS);
    assert_int_equal(get(s, &early).folded, 0);
    /* What comes late is in it. */
    put(s, 10, MIDNIGHT + 3000 * S);
    assert_int_equal(get(s, &folds).weight, 2 * STACKS + 10);
    assert_int_equal(get(s, &folds).folded, 0);
    keep(s, MIDNIGHT + 2 * DAY, 0);
    assert_int_equal(get(s, &folds).weight, 2 * STACKS + 10);
    assert_true(get(s, &folds).folded > 0);
    /* It goes with its day. */
    put(s, 10, MIDNIGHT + 9 * DAY);
    keep(s, MIDNIGHT + 10 * DAY, 5 * (uint64_t)DAY);
    assert_int_equal(get(s, &folds).weight, 10);
    store_close(s);
}

static int set_up(void **state)
{
    int status = folder_make(state);
    snprintf(path, sizeof path, "%s/machine.db", folder);
    return status;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_hold),
        cmocka_unit_test(functions_are_right),
        cmocka_unit_test(small_services_stay),
        cmocka_unit_test(days_are_short),
    };
    return cmocka_run_group_tests(tests, set_up, folder_remove);
}
