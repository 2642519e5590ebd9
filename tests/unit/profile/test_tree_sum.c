/* Sums of trees: a tree that is adopted and one that is added make the same sum, whatever the order
 * of siblings and however many are of one frame; what comes out is in preorder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "profile/tree_sum.h"

enum { NODES_MOST = 400, TREES = 3 };

static uint64_t state = 88172645463325252;

static uint32_t draw(uint32_t bound)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 20) % bound;
}

struct tree {
    struct profile_node nodes[NODES_MOST];
    uint32_t index_of[NODES_MOST];
    uint32_t count;
};

/* frames: how many there are. The fewer, the more siblings are of one frame. */
static void tree_make(struct tree *t, uint32_t count, uint32_t frames, bool wide)
{
    *t = (struct tree){.count = count};
    for (uint32_t i = 0; i < count; i++) {
        struct profile_node *n = &t->nodes[i];
        *n = (struct profile_node){.parent = i ? (wide ? 0 : i - 1) : UINT32_MAX, .subtree = 77,
                                   .image = i ? draw(2) : PROFILE_IMAGE_PSEUDO,
                                   .offset = i ? draw(frames) : KEY_ROOT,
                                   .guessed = i && !draw(4), .self = draw(9), .calls = draw(5)};
        for (unsigned m = 0; m < METRICS_MAX - 1; m++)
            n->more[m] = draw(7);
        while (n->parent && n->parent != UINT32_MAX && draw(3))
            n->parent = t->nodes[n->parent].parent;
    }
}

static struct profile_node *copy_of(const struct tree *t)
{
    struct profile_node *nodes = calloc(t->count, sizeof *nodes);
    assert_non_null(nodes);
    memcpy(nodes, t->nodes, t->count * sizeof *nodes);
    return nodes;
}

/* One path of frames is in both, and where a node of a tree went has its path. */
static bool same_path(const struct profile_node *a, uint32_t i, const struct profile_node *b,
                      uint32_t k)
{
    for (; i != UINT32_MAX && k != UINT32_MAX; i = a[i].parent, k = b[k].parent)
        if (a[i].image != b[k].image || a[i].offset != b[k].offset || a[i].guessed != b[k].guessed)
            return false;
    return i == k;
}

static void check_preorder(const struct profile_node *nodes, uint32_t count)
{
    assert_int_equal(nodes[0].parent, UINT32_MAX);
    assert_int_equal(nodes[0].subtree, count);
    for (uint32_t i = 1; i < count; i++) {
        const uint32_t parent = nodes[i].parent;
        assert_true(parent < i && i + nodes[i].subtree <= parent + nodes[parent].subtree);
        /* The node before is the parent, or the end of the sibling before. */
        assert_true(parent == i - 1 || nodes[i - 1].subtree == 1);
    }
}

static struct profile_node *sum_of(struct tree *trees, uint32_t count, bool adopt,
                                   uint32_t *nodes_count)
{
    struct tree_sum s = {0};
    for (uint32_t i = 0; i < count; i++)
        if (adopt && i == 0)
            tree_sum_adopt(&s, copy_of(&trees[0]), trees[0].count, trees[0].index_of);
        else
            assert_true(tree_sum_add(&s, trees[i].nodes, trees[i].count, trees[i].index_of));
    uint32_t *place = calloc(s.count, sizeof *place);
    assert_non_null(place);
    struct profile_node *out = tree_sum_preorder(&s, place);
    assert_non_null(out);
    check_preorder(out, *nodes_count = s.count);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < trees[i].count; k++)
            assert_true(same_path(trees[i].nodes, k, out, place[trees[i].index_of[k]]));
    free(place);
    tree_sum_fini(&s);
    return out;
}

static void compare(struct tree *trees, uint32_t count)
{
    uint32_t added_count, adopted_count;
    struct profile_node *added = sum_of(trees, count, false, &added_count);
    struct profile_node *adopted = sum_of(trees, count, true, &adopted_count);
    assert_int_equal(added_count, adopted_count);
    for (uint32_t i = 0; i < added_count; i++) {
        const struct profile_node *a = &added[i], *b = &adopted[i];
        assert_int_equal(a->parent, b->parent);
        assert_int_equal(a->subtree, b->subtree);
        assert_int_equal(a->offset, b->offset);
        assert_int_equal(a->self, b->self);
        assert_int_equal(a->calls, b->calls);
        assert_memory_equal(a->more, b->more, sizeof a->more);
    }
    free(added);
    free(adopted);
}

static void test_adopted(void **unused)
{
    (void)unused;
    static struct tree trees[TREES];
    for (uint32_t round = 0; round < 600; round++) {
        /* With 100,000 frames hardly any two siblings are of one. */
        uint32_t frames = round % 3 ? 100000 : 1 + draw(8);
        for (uint32_t i = 0; i < TREES; i++)
            tree_make(&trees[i], 1 + draw(NODES_MOST), frames, round % 5 == 0);
        compare(trees, 1 + round % TREES);
    }
}

/* A sum that has its room for nodes exactly used grows when a tree is added. */
static void test_sizes(void **unused)
{
    (void)unused;
    static struct tree trees[2];
    for (uint32_t count = 1; count < 70; count++) {
        tree_make(&trees[0], count, 100000, false);
        tree_make(&trees[1], 70 - count, 100000, false);
        compare(trees, 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adopted),
        cmocka_unit_test(test_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
