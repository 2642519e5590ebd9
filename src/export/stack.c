#include "export/stack.h"

#include <stdlib.h>

bool stack_walk_init(struct stack_walk *w, const struct profile_thread *thread)
{
    *w = (struct stack_walk){.thread = thread};
    if (!thread->node_count)
        return true;
    w->path = malloc(thread->node_count * sizeof *w->path);
    w->depths = malloc(thread->node_count * sizeof *w->depths);
    if (w->path && w->depths)
        return true;
    stack_walk_fini(w);
    return false;
}

bool stack_walk_next(struct stack_walk *w)
{
    uint32_t next = w->started ? w->node + 1 : 0;
    if (next >= w->thread->node_count)
        return false;
    w->started = true;
    w->node = next;
    /* Parents come before their children (profile.h), so that path[0 .. depth of the parent) still
     * is the parent's path. */
    w->depths[next] = next ? w->depths[w->thread->nodes[next].parent] + 1 : 0;
    w->length = w->depths[next];
    if (w->length)
        w->path[w->length - 1] = next;
    return true;
}

void stack_walk_fini(struct stack_walk *w)
{
    free(w->path);
    free(w->depths);
    w->path = NULL;
    w->depths = NULL;
}

struct stack_cut stack_cut_make(uint32_t length, uint32_t limit)
{
    if (!limit || length <= limit)
        return (struct stack_cut){.head = length};
    uint32_t head = limit / 2;
    return (struct stack_cut){.head = head, .tail = limit - head, .cut = true};
}

static struct symbol_location pseudo_frames(uint64_t what)
{
    static const struct symbol_frame truncated = {.function = "[truncated]", .file = ""};
    static const struct symbol_frame unattributed = {.function = "[unattributed]", .file = ""};
    static const struct symbol_frame folded = {.function = "[folded]", .file = ""};
    static const struct symbol_frame queue = {.function = "[run queue]", .file = ""};
    static const struct symbol_frame wakes = {.function = "[wakes]", .file = ""};
    static const struct symbol_frame unknown = {.function = "[unknown]", .file = ""};
    switch (what) {
    case KEY_TRUNCATED:
        return (struct symbol_location){.frames = &truncated, .count = 1};
    case KEY_UNATTRIBUTED:
        return (struct symbol_location){.frames = &unattributed, .count = 1};
    case KEY_FOLDED:
        return (struct symbol_location){.frames = &folded, .count = 1};
    case KEY_RUN_QUEUE:
        return (struct symbol_location){.frames = &queue, .count = 1};
    case KEY_WAKES:
        return (struct symbol_location){.frames = &wakes, .count = 1};
    default:
        return (struct symbol_location){.frames = &unknown, .count = 1};
    }
}

struct symbol_location stack_frames(const struct profile *p, const struct symbols *s,
                                    const struct profile_thread *thread, uint32_t node)
{
    const struct profile_node *n = &thread->nodes[node];
    if (n->image == PROFILE_IMAGE_PSEUDO)
        return pseudo_frames(n->offset);
    return symbols_find(s, stack_process(p, thread), n->image, n->offset);
}

const char *stack_image_name(const struct symbols *s, const struct profile_node *node)
{
    return node->image == PROFILE_IMAGE_PSEUDO
               ? "[penumbra]"
               : symbols_place_name(s, node->image, node->offset);
}

const struct profile_process *stack_process(const struct profile *p,
                                            const struct profile_thread *thread)
{
    return thread->process < p->process_count ? &p->processes[thread->process] : NULL;
}
