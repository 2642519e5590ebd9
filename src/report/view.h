/* What a report shows: the trees of a profile's threads merged into one and symbolized, with one
 * node per function and calling context (inlined functions get nodes of their own).
 *
 * Weights are weighted samples. A function's total counts every call path that passes through it
 * once, however often the function is on it.
 *
 * Everything here is iterative: a tree may be a million levels deep.
 *
 * Context: ordinary code, one thread a view.
 * Ownership: view_free releases a view; it borrows the profile and the symbols. */
#ifndef PENUMBRA_REPORT_VIEW_H
#define PENUMBRA_REPORT_VIEW_H

#include "base/err.h"
#include "profile/profile.h"
#include "symbols/symbols.h"

#define VIEW_NONE UINT32_MAX

struct view_function {
    const char *name;
    const char *image_name;
    const char *file; /* "" unless the view is by line */
    uint32_t line;    /* 0 unless the view is by line */
    uint32_t image;   /* as in profile_node.image */
    /* link-time address of the function, of the part of it with the most samples at one place (a
     * cold part has the same name), or of a sample if unknown */
    uint64_t start;
    uint64_t start_self; /* the samples at that place */
    uint64_t self, total;
    uint64_t calls; /* edges counted (calls.h): of all its nodes */
};

struct view_node {
    uint32_t function; /* index in view.functions */
    uint32_t parent;   /* VIEW_NONE for the root; else smaller than the node's own index */
    uint32_t first_child, next_sibling; /* by total, greatest first; VIEW_NONE: none */
    uint32_t depth;                     /* 0 for the root */
    bool inlined;                       /* into its parent */
    /* of recursion that are one node, in folded trees (fold.h); else 0 */
    uint32_t levels;
    uint64_t self, total;
    uint64_t calls; /* edges counted; 0 for what is inlined, and in derived trees */
};

struct view_tree {
    struct view_node *nodes; /* nodes[0] is the root */
    uint32_t count, capacity;
    uint32_t metrics;  /* of which nodes have weights; 0: none of any */
    uint64_t *weights; /* view_tree_weights */
};

struct view_options {
    const char *metric;  /* NULL: the first */
    /* Threads can be chosen if the profile was read with all trees apart. */
    const char *thread;  /* NULL, or a thread id or name: only these threads */
    const char *process; /* NULL, or a process id or name */
    const char *image;   /* NULL, or name or path: only samples whose innermost frame is in it */
    uint32_t rank;       /* 0: all; else 1 + the rank of a parallel program: only its processes */
    bool no_inline;      /* inlined frames count for the function they are inlined into */
    bool lines;          /* one node per source line instead of per function */
    bool by_thread;      /* keep what each thread has of a node's own samples */
    const char *const *through; /* call path refinements, each "REGEX,REGEX,..." */
    uint32_t through_count;
};

/* Of a node's own samples, those of one thread (index in profile.threads). */
struct view_share {
    uint32_t node, thread;
    uint64_t self;
};

struct view {
    const struct profile *profile;
    const struct symbols *symbols;
    uint32_t metric;        /* that weights are by: an index in profile.metrics */
    struct view_function *functions;
    uint32_t function_count, function_capacity;
    uint64_t *function_weights; /* view_function_weights */
    struct view_tree tree;  /* top-down */
    uint64_t samples;       /* all that this view shows */
    uint64_t samples_all;   /* of the chosen threads, before `image` and `through` */
    double effective;       /* samples as independent ones: weight squared / squares of weights */
    bool of_blocks;         /* samples are instructions, counted by block */
    bool *threads_chosen;   /* by index in profile.threads */
    /* Only with view_options.by_thread, and where no samples were left out: */
    struct view_share *shares; /* by node, then by thread */
    size_t share_count, share_capacity;
    uint32_t **places;         /* by thread, NULL without a tree: where its nodes are in `tree` */
};

/* Fails with ERR_USAGE if a filter matches nothing or a regular expression is wrong. */
struct view *view_build(const struct profile *p, const struct symbols *s,
                        const struct view_options *options, struct err *e);
void view_free(struct view *v);

/* Whether the profile is of the trigger malloc. */
bool view_has_heap(const struct view *v);

/* Whether samples are calls, all of them: of the tool "calls". */
bool view_is_of_calls(const struct view *v);

/* Whether any of its samples has a place: triggers of shadows have none. */
bool view_is_attributed(const struct view *v);

static inline bool view_is_refined(const struct view *v)
{
    return v->samples != v->samples_all;
}

/* Functions in descending order of self (then total, then name): indexes to free(). */
uint32_t *view_order(const struct view *v, uint32_t *count, struct err *e);

/* Which functions a pattern names: those with exactly this name; else those whose name without
 * parameters it is; else those that the extended regular expression matches, or that hold the
 * pattern if it is none. matches: one flag per function, to free(). NULL on error; *count may be
 * 0. */
bool *view_match(const struct view *v, const char *pattern, uint32_t *count, struct err *e);
/* The same of any names; NULL: none. */
bool *names_match(const char *const *names, uint32_t count, const char *pattern, uint32_t *matched,
                  struct err *e);

/* Whether a name is the pattern, or that with parameters and qualifiers: not a clone of such a
 * function, nor what is declared in it. */
bool view_is_whole_name(const char *name, const char *pattern);

/* Where there are several metrics, by metric, whichever of them `self` is: in the top-down tree and
 * what is folded from it a node's totals; a function's own. Else NULL. */
static inline uint64_t *view_tree_weights(const struct view_tree *t, uint32_t node)
{
    return t->metrics ? t->weights + (size_t)node * t->metrics : NULL;
}
static inline const uint64_t *view_function_weights(const struct view *v,
                                                    const struct view_function *f)
{
    size_t at = (size_t)(f - v->functions) * v->tree.metrics;
    return v->tree.metrics ? v->function_weights + at : NULL;
}

void view_tree_fini(struct view_tree *t);

/* Adds a node to a tree; VIEW_NONE without memory. */
uint32_t view_tree_add(struct view_tree *t, uint32_t parent, uint32_t function, bool inlined);
/* Links children under their parents by descending total. */
bool view_tree_link(const struct view *v, struct view_tree *t);
/* The next node in preorder, or VIEW_NONE at the end. With skip, not into node's children. */
uint32_t view_tree_next(const struct view_tree *t, uint32_t node, bool skip);

#endif
