#include "profile/block_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"

static bool has_contexts(const struct profile_thread *t)
{
    for (uint32_t i = 0; t->weight && i < t->node_count; i++)
        if (t->nodes[i].self &&
            (t->nodes[i].image != PROFILE_IMAGE_PSEUDO || t->nodes[i].offset != KEY_UNATTRIBUTED))
            return true;
    return false;
}

bool profile_is_of_blocks(const struct profile *p)
{
    if (!observed_code(p) || !observed_code(p)->block_count)
        return false;
    for (uint32_t t = 0; t < p->thread_count; t++)
        if (has_contexts(&p->threads[t]))
            return false;
    return true;
}

/* The blocks of one process, below a root. */
static bool fill(struct profile_thread *t, const struct profile_counts *c, uint32_t process)
{
    uint32_t count = 1;
    for (uint32_t i = 0; i < c->block_count; i++)
        count += c->blocks[i].process == process;
    *t = (struct profile_thread){.process = process, .name = strdup("all threads")};
    t->nodes = calloc(count, sizeof *t->nodes);
    if (!t->name || !t->nodes)
        return false;
    t->node_count = count;
    t->nodes[0] = (struct profile_node){
        .parent = UINT32_MAX, .subtree = count, .image = PROFILE_IMAGE_PSEUDO, .offset = KEY_ROOT};
    count = 1;
    for (uint32_t i = 0; i < c->block_count; i++) {
        const struct profile_block *block = &c->blocks[i];
        uint64_t self = multiply_saturated(block->count, block->instructions);
        if (block->process != process)
            continue;
        t->nodes[count++] = (struct profile_node){
            .subtree = 1, .image = block->image, .offset = block->offset, .self = self};
        t->weight = add_saturated(t->weight, self);
    }
    return true;
}

static void free_threads(struct profile_thread *threads, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        profile_thread_fini(&threads[i]);
    }
    free(threads);
}

bool profile_blocks_as_samples(struct profile *p, struct err *e)
{
    if (!profile_is_of_blocks(p))
        return true;
    const struct profile_counts *c = observed_code(p);
    bool *has = calloc((size_t)p->process_count + 1, sizeof *has);
    struct profile_thread *threads = calloc((size_t)p->process_count + 1, sizeof *threads);
    char *trigger = strdup("instructions"), *unit = strdup("events");
    bool ok = has && threads && trigger && unit;
    uint32_t count = 0;
    for (uint32_t i = 0; ok && i < c->block_count; i++)
        has[c->blocks[i].process] = true;
    for (uint32_t i = 0; ok && i < p->process_count; i++)
        if (has[i])
            ok = fill(&threads[count++], c, i);
    free(has);
    if (!ok) {
        if (threads)
            free_threads(threads, count);
        free(trigger);
        free(unit);
        return err_set(e, ERR_INTERNAL, "cannot make a tree of blocks: out of memory");
    }
    free_threads(p->threads, p->thread_count);
    p->threads = threads;
    p->thread_count = count;
    free(p->metrics[0].trigger);
    free(p->metrics[0].unit);
    p->metrics[0].trigger = trigger;
    p->metrics[0].unit = unit;
    p->metrics[0].period = 1;
    return true;
}
