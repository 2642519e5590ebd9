#include "engine/link.h"

enum { STUB_SIZE = 17 };

uint32_t exit_make_as(struct engine *e, uint32_t block, enum exit_kind kind, uint64_t target)
{
    uint32_t number = e->blocks.exits_used++;
    struct block *from = block_at(&e->blocks, block);
    if (!from->exit_count++)
        from->first_exit = number;
    *exit_at(&e->blocks, number) =
        (struct exit){ .target = target, .block = block, .kind = (uint8_t)kind };
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
    x->to = (uint32_t)(to - block_at(&e->blocks, 0));
    x->next = to->incoming;
    to->incoming = exit;
    if (x->patch)
        patch_as(e, x->patch, to->body);
}
