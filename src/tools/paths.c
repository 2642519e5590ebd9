/* Which paths are executed, and how often: each block appends its id to the thread's ring, and what is
 * flushed from there is split into paths (path_walk.h) and counted in the thread's table in the spool
 * (sigsafe/spool_paths.h).
 *
 * Where runs begin anywhere (bursts, shadows), the path in which one begins and the path in which it
 * ends are not counted but as `cut`.
 *
 * Context: block_as under the engine's lock; the rest in the thread concerned.
 * Ownership: what is known of blocks, and each thread's walk, stay until the process ends. */
#include <stddef.h>

#include "tools/classify.h"
#include "tools/memory.h"
#include "tools/path_walk.h"
#include "tools/tools.h"
#include "x86/insn.h"

/* ---- blocks by id ---- */

enum { CHUNK = 1 << 14, CHUNKS = COUNTS_IDS_MAX / CHUNK };

/* Written before there is code that appends the id. */
static struct path_block *chunks[CHUNKS];

/* The instruction that ends the block. */
static uint64_t last_of(const struct hook_block *block)
{
    return block->next - block->insns[block->count - 1].length;
}

static bool block_note_as(uint32_t id, const struct hook_block *block)
{
    struct path_block **chunk = &chunks[id / CHUNK];
    if (!*chunk)
        *chunk = memory_map_as(CHUNK * sizeof **chunk);
    if (!*chunk)
        return false;
    (*chunk)[id % CHUNK] =
        (struct path_block){block->pc, (uint32_t)(last_of(block) - block->pc), block->count};
    return true;
}

static inline const struct path_block *block_of(void *data, uint32_t id)
{
    (void)data;
    return &chunks[id / CHUNK][id % CHUNK];
}

static bool is_branch(enum block_end end)
{
    return end != END_FALL && end != END_SYSCALL && end != END_STOP;
}

/* Calls and returns are never the backward transfer that ends a path. */
static bool may_jump_back(const struct hook_block *block)
{
    if (block->end == END_JUMP || block->end == END_BRANCH)
        return block->taken <= last_of(block);
    return block->end == END_JUMP_INDIRECT;
}

static void block_as(void *data, const struct hook_block *block, struct hooks *h)
{
    (void)data;
    struct spool_thing thing = classify_block_as(h, block);
    uint32_t id = hook_thing_make_as(h, &thing);
    if (id >= COUNTS_IDS_MAX || !block_note_as(id, block)) {
        hook_refuse_as(h);
        return;
    }
    uint32_t record = id | (is_branch(block->end) ? PATH_BRANCH : 0) |
                      (may_jump_back(block) ? PATH_JUMPS : 0);
    hook_append_constant_as(h, HOOK_ENTRY, 0, record, 4);
}

/* ---- paths ---- */

struct paths {
    struct path_walk walk;
    struct path_store store;
    const struct spool_counts *counts; /* that the store belongs to: a forked child has its own */
};

static uint32_t instructions_of(const struct path_walk *w)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < w->length; i++)
        sum += block_of(NULL, w->ids[i])->instructions;
    return sum;
}

static inline void path_as(void *data, const struct path_walk *w, bool complete)
{
    struct path_store *store = &((struct paths *)data)->store;
    if (complete && paths_count_as(store, w->hash))
        return;
    uint32_t instructions = instructions_of(w);
    if (complete) {
        paths_insert_as(store, w->hash, w->ids, w->length, instructions);
    } else {
        store->record->cut++;
        store->record->cut_instructions += instructions;
    }
}

static void flush_as(void *data, struct engine_thread *t, const uint8_t *records, uint64_t size,
                     bool ends)
{
    (void)data;
    struct paths *p = t->tool;
    const struct path_user user = {path_as, block_of, p};
    bool sampled = hook_is_sampled(t);
    if (!p || !p->store.record)
        return;
    path_walk(&p->walk, &user, (const uint32_t *)(const void *)records, size / sizeof(uint32_t));
    if (ends) {
        path_walk_end_one(&p->walk, &user, !sampled);
        path_walk_begin(&p->walk, !sampled);
    }
}

static bool thread_begin_as(void *data, struct engine_thread *t)
{
    (void)data;
    const struct spool *spool = hook_spool(t);
    struct spool_counts *counts = hook_counts(t);
    struct paths *p = t->tool ? t->tool : memory_map_as(sizeof *p);
    if (!p)
        return false;
    t->tool = p;
    path_walk_begin(&p->walk, !hook_is_sampled(t));
    if (!counts || (p->store.record && p->counts == counts))
        return true;
    p->counts = counts;
    return paths_begin_as(&p->store, spool, counts, t->window.record ? t->window.record->tid : 0);
}

const struct tool tool_paths = {
    .name = "paths", .flags = TOOL_STEALS_R15, .block = block_as, .thread_begin = thread_begin_as,
    .flush = flush_as,
};
