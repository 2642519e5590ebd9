/* The stacks of a thread's tree, one for each node, without a walk to the root for each.
 *
 *     struct stack_walk w;
 *     if (!stack_walk_init(&w, thread)) ...no memory
 *     while (stack_walk_next(&w))
 *         ... w.path[0 .. w.length) are node numbers, outermost first, without the root ...
 *     stack_walk_fini(&w);
 *
 * Context: ordinary code.
 * Ownership: a walk owns its arrays until stack_walk_fini; the thread must outlive it. */
#ifndef PENUMBRA_EXPORT_STACK_H
#define PENUMBRA_EXPORT_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"
#include "symbols/symbols.h"

struct stack_walk {
    const struct profile_thread *thread;
    uint32_t *path;
    uint32_t *depths; /* by node: its distance from the root */
    uint32_t node;    /* the current one; the root is visited first */
    uint32_t length;  /* 0 at the root */
    bool started;
};

/* False without memory. */
bool stack_walk_init(struct stack_walk *w, const struct profile_thread *thread);
/* Goes to the next node, in preorder. False after the last. */
bool stack_walk_next(struct stack_walk *w);
void stack_walk_fini(struct stack_walk *w);

/* Which part of a path a format shows: all of it, or, if it is longer than `limit` (0: none), the
 * `head` outermost and the `tail` innermost frames, with one frame STACK_LEFT_OUT between them. */
struct stack_cut {
    uint32_t head, tail;
    bool cut;
};
#define STACK_LEFT_OUT "[frames left out]"

struct stack_cut stack_cut_make(uint32_t length, uint32_t limit);

/* What a node means, innermost first, pseudo nodes included ("[truncated]", "[unattributed]"). */
struct symbol_location stack_frames(const struct profile *p, const struct symbols *s,
                                    const struct profile_thread *thread, uint32_t node);

/* The name of the node's image; "[penumbra]" for pseudo nodes. */
const char *stack_image_name(const struct symbols *s, const struct profile_node *node);

/* The thread's process, or NULL if the thread names one that is not there. */
const struct profile_process *stack_process(const struct profile *p,
                                            const struct profile_thread *thread);

#endif
