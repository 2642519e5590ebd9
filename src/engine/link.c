#include "engine/link.h"

#include "engine/lookup.h"
#include "engine/pairs.h"

enum { STUB_SIZE = 17, STUB_ROOM = 64 };

uint32_t exit_make_as(struct engine *e, uint32_t block, enum exit_kind kind, uint64_t target)
{
    uint32_t number = e->blocks.exits_used++;
    struct block *from = block_at(&e->blocks, block);
    if (!from->exit_count++)
        from->first_exit = number;
    *exit_at(&e->blocks, number) =
        (struct exit){ .target = target, .block = block & (EXIT_BLOCKS - 1), .kind = kind & 7 };
    return number;
}

void exit_emit_as(struct engine *e, struct emit *to, uint32_t exit)
{
    emit_mov_mi(to, 4, emit_gs(ENGINE_T_EXIT), (int32_t)exit);
    emit_jmp(to, (uint64_t)(uintptr_t)cache_at(&e->cache, e->glue.exit));
}

uint32_t exit_stub_as(struct engine *e, uint32_t exit)
{
    struct exit *x = exit_at(&e->blocks, exit);
    if (!x->stub) {
        x->stub = cache_cold_as(&e->cache, STUB_SIZE, 1);
        uint8_t *at = cache_at(&e->cache, x->stub);
        struct emit to = { .at = at, .end = at + STUB_SIZE + EMIT_LONGEST };
        exit_emit_as(e, &to, exit);
    }
    return x->stub;
}

/* One store within 8 aligned bytes: other threads execute the old jump or the new one. */
static void patch_as(struct engine *e, uint32_t place, uint32_t target)
{
    typedef uint32_t __attribute__((may_alias, aligned(1))) word;
    volatile word *rel32 = (volatile word *)(void *)cache_at(&e->cache, place);
    *rel32 = target - (place + 4);
}

void link_set_as(struct engine *e, uint32_t exit, struct block *to)
{
    struct exit *x = exit_at(&e->blocks, exit);
    x->linked = true;
    x->next = to->incoming;
    to->incoming = exit;
    if (x->patch)
        patch_as(e, x->patch, to->body);
}

/* Pads so that a rel32 behind `opcode` bytes lies within 8 aligned bytes. */
static void align_link(struct emit *to, unsigned opcode)
{
    unsigned at = (unsigned)(emit_here(to) + opcode) & 7;
    if (at > 4)
        emit_nop(to, 8 - at);
}

uint32_t link_tail(const struct engine *e, uint32_t exit)
{
    const struct exit *x = exit_at(&e->blocks, exit);
    bool late = block_at(&e->blocks, x->block)->tail == BLOCK_LATE;
    return x->kind == EXIT_OBSERVED ? BLOCK_OBSERVED : late ? BLOCK_LATE : 0;
}

/* The jump of a new exit. */
static uint32_t jump_emit_as(struct engine *e, struct emit *to, uint32_t exit, unsigned condition)
{
    struct block *there =
        block_find_as(&e->blocks, exit_at(&e->blocks, exit)->target, link_tail(e, exit));
    if (there)
        link_set_as(e, exit, there);
    uint32_t place = there ? there->body : exit_stub_as(e, exit);
    uint64_t destination = (uint64_t)(uintptr_t)cache_at(&e->cache, place);
    align_link(to, condition == LINK_ALWAYS ? 1 : 2);
    if (condition == LINK_ALWAYS)
        emit_jmp(to, destination);
    else
        emit_jcc(to, condition, destination);
    exit_at(&e->blocks, exit)->patch = cache_offset(&e->cache, to->at) - 4;
    return exit;
}

uint32_t link_emit_as(struct engine *e, struct emit *to, uint32_t block, unsigned condition,
                      uint64_t target)
{
    return jump_emit_as(e, to, exit_make_as(e, block, EXIT_LINK, target), condition);
}

void link_observed_emit_as(struct engine *e, struct emit *to, uint32_t block, uint64_t argument)
{
    uint64_t pc = block_at(&e->blocks, block)->pc;
    uint32_t exit = exit_make_as(e, block, EXIT_OBSERVED, pc);
    exit_make_as(e, block, EXIT_GATE, argument);
    jump_emit_as(e, to, exit, LINK_ALWAYS);
}

uint64_t link_gate(const struct engine *e, uint32_t exit)
{
    return exit_at(&e->blocks, exit + 1)->target;
}

static void unlink_one_as(struct engine *e, uint32_t number)
{
    struct block *block = block_at(&e->blocks, number);
    block->flags |= BLOCK_DEAD;
    block_unpublish_as(&e->blocks, number);
    lookup_leave_as(e, block);
    pairs_leave_as(e, block);
    e->figures.unlinked++;
    uint32_t exit = block->incoming;
    block->incoming = EXIT_NONE;
    while (exit) {
        struct exit *x = exit_at(&e->blocks, exit);
        uint32_t next = x->next;
        x->linked = false;
        if (x->patch && (x->stub || cache_reserve_as(&e->cache, STUB_ROOM)))
            patch_as(e, x->patch, exit_stub_as(e, exit));
        exit = next;
    }
}

void unlink_as(struct engine *e, struct block *block)
{
    uint32_t number = (uint32_t)(block - block_at(&e->blocks, 0));
    /* Who runs on into a dead body is dead too. */
    for (bool laid = true; laid; number--) {
        block = block_at(&e->blocks, number);
        laid = block->flags & BLOCK_LAID;
        if (!(block->flags & BLOCK_DEAD))
            unlink_one_as(e, number);
    }
}

static bool overlaps(uint64_t lo, uint64_t hi, uint64_t from, uint64_t to)
{
    return from < hi && to > lo;
}

/* Most of what a program maps and unmaps has never been code. */
static bool ranges_overlap(const struct engine *e, uint64_t lo, uint64_t hi)
{
    for (uint32_t i = 0; i < e->range_count; i++)
        if (overlaps(lo, hi, e->ranges[i].lo, e->ranges[i].hi))
            return true;
    return e->range_count == ENGINE_RANGES;
}

/* Does the block come from there, or has it been made by a look at what is there? */
static bool is_from(const struct engine *e, const struct block *block, uint64_t lo, uint64_t hi)
{
    if (overlaps(lo, hi, block->pc, block->pc + block->size))
        return true;
    for (uint32_t i = 0; block->flags & BLOCK_LOOKED && i < block->exit_count; i++) {
        uint64_t target = exit_at(&e->blocks, block->first_exit + i)->target;
        if (overlaps(lo, hi, target, target + LIVENESS_AHEAD))
            return true;
    }
    return false;
}

void engine_unmapped_as(struct engine *e)
{
    engine_lock_as(e);
    for (uint32_t i = 0; i < ENGINE_TRUSTED; i++)
        e->trusted[i] = (struct trust_range){0};
    engine_unlock_as(e);
}

void engine_invalidate_as(struct engine *e, uint64_t lo, uint64_t hi)
{
    engine_lock_as(e);
    for (uint32_t i = 0; i < ENGINE_TRUSTED; i++)
        if (overlaps(lo, hi, e->trusted[i].lo, e->trusted[i].hi))
            e->trusted[i] = (struct trust_range){ 0 };
    if (ranges_overlap(e, lo, hi))
        for (uint32_t i = 1; i < e->blocks.used; i++) {
            struct block *block = block_at(&e->blocks, i);
            if (!(block->flags & BLOCK_DEAD) && is_from(e, block, lo, hi))
                unlink_as(e, block);
        }
    engine_unlock_as(e);
}
