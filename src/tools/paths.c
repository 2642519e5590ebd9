/* Which paths are executed, and how often: each block appends its id to the thread's ring, and what
 * is flushed from there is split into paths (path_walk.h) and counted in the thread's table in the
 * spool (sigsafe/spool_paths.h).
 *
 * Where runs begin anywhere (bursts, shadows), the path in which one begins and the path in which
 * it ends are not counted but as `cut`.
 *
 * Context: block_as under the engine's lock; the rest in the thread concerned.
 * Ownership: what is known of blocks, and each thread's walk, stay until the process ends. */
#include <stddef.h>

#include "engine/hook_run.h"
#include "tools/classify.h"
#include "tools/memory.h"
#include "tools/path_walk.h"
#include "tools/tools.h"
#include "x86/insn.h"

/* ---- blocks by id ---- */

enum { IDS = 1 << 23 }; /* with room in the engine's common memory: more than its code cache has */

/* The instruction that ends the block. */
static uint64_t last_of(const struct hook_block *block)
{
    return block->next - block->insns[block->count - 1].length;
}

static bool block_note_as(const struct hooks *h, uint32_t id, const struct hook_block *block)
{
    struct path_block *to = hook_common_as(h, (uint64_t)id * sizeof *to, sizeof *to);
    if (to)
        *to = (struct path_block){block->pc, (uint32_t)(last_of(block) - block->pc), block->count,
                                  path_mixed(id)};
    return to;
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

static void block_as(const struct hook_block *block, struct hooks *h)
{
    struct spool_thing thing = classify_block_as(h, block);
    uint32_t id = hook_thing_make_as(h, &thing);
    if (id >= COUNTS_IDS_MAX || !block_note_as(h, id, block)) {
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
    const struct path_block *blocks;   /* by id */
    struct engine_thread *thread;
    uint64_t executed; /* instructions of paths that ended, since they were last told */
    uint64_t begun;    /* of the path that has not ended: told already */
    uint32_t ids[PATH_BLOCKS];
};

PATH_INLINE const struct path_block *block_of(void *data, uint32_t id)
{
    return &((const struct paths *)data)->blocks[id];
}

static uint32_t instructions_of(struct paths *p, const uint32_t *records, uint32_t length)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < length; i++)
        sum += block_of(p, records[i] & PATH_ID)->instructions;
    return sum;
}

/* A whole run waits until the collector has made room. */
static void room_wait_as(struct paths *p, uint32_t length)
{
    bool waited = false;
    while (!paths_room_as(&p->store, length)) {
        if (!hook_wait_as(p->thread))
            return;
        waited = true;
    }
    if (waited)
        hook_waited(p->thread);
}

PATH_INLINE bool known_as(void *data, uint64_t hash)
{
    struct paths *p = data;
    const struct spool_path *path = paths_count_as(&p->store, hash);
    p->executed += path ? path->instructions : 0;
    return path;
}

static __attribute__((noinline)) void path_as(void *data, const struct path_seen *path)
{
    struct paths *p = data;
    uint32_t instructions = instructions_of(p, path->records, path->length);
    p->executed += instructions;
    if (!path->complete) {
        p->store.record->cut++;
        p->store.record->cut_instructions += instructions;
        return;
    }
    for (uint32_t i = 0; i < path->length; i++)
        p->ids[i] = path->records[i] & PATH_ID;
    room_wait_as(p, path->length);
    paths_insert_as(&p->store, path->hash, p->ids, path->length, instructions);
}

static void flush_as(struct engine_thread *t, const uint8_t *records, uint64_t size, bool ends)
{
    struct paths *p = t->tools[TOOL_PATHS];
    const struct path_user user = {known_as, path_as, block_of, p};
    const uint32_t *blocks = (const uint32_t *)(const void *)records;
    bool sampled = hook_is_sampled(t);
    if (!p || !p->store.record)
        return;
    p->executed = 0;
    path_walk(&p->walk, &user, blocks, size / sizeof *blocks);
    if (ends) {
        path_walk_end_one(&p->walk, &user, !sampled);
        path_walk_begin(&p->walk, !sampled);
    }
    uint64_t begun = instructions_of(p, p->walk.records, p->walk.length);
    hook_executed(t, p->executed + begun - p->begun);
    p->begun = begun;
}

static bool store_begin_as(struct paths *p, struct engine_thread *t)
{
    const struct spool *spool = hook_spool(t);
    struct spool_window *window = t->window.record;
    int32_t tid = window ? window->tid : 0;
    if (window && paths_resume_as(&p->store, spool, window->tables[TABLE_PATHS], tid))
        return true;
    while (!paths_begin_as(&p->store, spool, hook_counts(t), tid))
        if (!hook_wait_as(t))
            return false;
    hook_waited(t);
    if (window)
        window->tables[TABLE_PATHS] = spool_ref_of(spool, p->store.record);
    return true;
}

static bool thread_begin_as(struct engine_thread *t)
{
    const struct spool_counts *counts = hook_counts(t);
    struct paths *p = t->tools[TOOL_PATHS] ? t->tools[TOOL_PATHS] : memory_map_as(sizeof *p);
    if (!p)
        return false;
    t->tools[TOOL_PATHS] = p;
    p->thread = t;
    p->blocks = hook_common(t, TOOL_PATHS);
    p->begun = 0;
    path_walk_begin(&p->walk, !hook_is_sampled(t));
    if (!counts || (p->store.record && p->counts == counts))
        return true;
    p->counts = counts;
    return store_begin_as(p, t);
}

const struct tool tool_paths = {
    .flags = TOOL_STEALS_R15 | TOOL_SHARED | TOOL_LOOSE,
    .common_size = IDS * sizeof(struct path_block),
    .block = block_as, .thread_begin = thread_begin_as, .flush = flush_as,
};
