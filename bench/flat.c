/* bench-flat: a profile as addresses, for comparing with other profilers without any symbols
 * between.
 *
 *     bench-flat FILE.pnb
 *
 * One line an address, `path` last because it may hold blanks:
 *     taken N            samples taken
 *     truncated N        of these, with an incomplete stack by the profile's own account
 *     nodes N            tree nodes
 *     leaf COUNT OFFSET PATH     samples that ended at this link-time address
 *     outer COUNT OFFSET PATH    stacks whose outermost frame is at this address
 *     broken COUNT               incomplete stacks
 *     unattributed COUNT         periods charged to no context (no sample was taken in them) */
#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "profile/profile.h"

static const char *path_of(const struct profile *p, const struct profile_node *n)
{
    return n->image < p->image_count ? p->images[n->image].path : "-";
}

static void print_at(const struct profile *p, const char *what, const struct profile_node *n,
                     uint64_t count)
{
    printf("%s %" PRIu64 " %" PRIx64 " %s\n", what, count, n->offset, path_of(p, n));
}

/* The samples of a subtree are contiguous: nodes are in preorder. */
static uint64_t samples_below(const struct profile_thread *t, uint32_t node)
{
    uint64_t sum = 0;
    for (uint32_t i = node; i < node + t->nodes[node].subtree; i++)
        sum += t->nodes[i].self;
    return sum;
}

static void print_thread(const struct profile *p, const struct profile_thread *t)
{
    for (uint32_t i = 0; i < t->node_count; i++) {
        const struct profile_node *n = &t->nodes[i];
        if (n->self)
            print_at(p, "leaf", n, n->self);
    }
    for (uint32_t i = 1; i < t->node_count; i += t->nodes[i].subtree) {
        uint64_t count = samples_below(t, i);
        if (t->nodes[i].image == PROFILE_IMAGE_PSEUDO)
            printf("%s %" PRIu64 "\n",
                   t->nodes[i].offset == KEY_UNATTRIBUTED ? "unattributed" : "broken", count);
        else
            print_at(p, "outer", &t->nodes[i], count);
    }
}

int main(int argc, char **argv)
{
    struct err e = {0};
    struct profile_totals totals;
    if (argc != 2) {
        fprintf(stderr, "usage: bench-flat FILE\n");
        return 2;
    }
    struct profile *p = profile_read(argv[1], &e);
    if (!p) {
        fprintf(stderr, "bench-flat: %s: %s\n", argv[1], e.message);
        return 1;
    }
    profile_totals(p, &totals);
    printf("taken %" PRIu64 "\ntruncated %" PRIu64 "\nnodes %" PRIu64 "\n", totals.taken,
           totals.truncated_all, totals.nodes);
    for (uint32_t i = 0; i < p->thread_count; i++)
        print_thread(p, &p->threads[i]);
    profile_free(p);
    return 0;
}
