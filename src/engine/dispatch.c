#include "engine/switch.h"

#include "engine/link.h"
#include "engine/lookup.h"
#include "engine/translate.h"
#include "sigsafe/sys.h"

#define VSYSCALL_PAGE UINT64_C(0xffffffffff600000)

/* The block at t->rip, found or made; with an indirect entry if asked for. NULL: *why. */
static struct block *block_need_as(struct engine_thread *t, bool entry, enum stop_reason *why)
{
    struct engine *e = t->engine;
    struct block *block = t->rip == t->stop_at ? NULL : block_find_as(&e->blocks, t->rip, 0);
    if (!block) {
        block = translate_as(e, t->rip, t->stop_at, entry, why);
        t->translated += block != NULL;
        return block;
    }
    if (entry && !lookup_need_as(e, block)) {
        *why = STOP_CACHE_FULL;
        return NULL;
    }
    return block;
}

/* The page that cannot be read: three system calls at fixed places, which return by themselves. */
static bool vsyscall_as(struct engine_thread *t)
{
    static const uint16_t calls[] = { SYS_gettimeofday, SYS_time, SYS_getcpu };
    uint64_t offset = t->rip - VSYSCALL_PAGE;
    if (offset >= 4096 || offset % 1024 || offset / 1024 >= 3)
        return false;
    t->gpr[ENGINE_RAX] = (uint64_t)sys_call3_as(calls[offset / 1024], (long)t->gpr[ENGINE_RDI],
                                                (long)t->gpr[ENGINE_RSI], (long)t->gpr[ENGINE_RDX]);
    t->rip = *(const uint64_t *)(uintptr_t)t->gpr[ENGINE_RSP];
    t->gpr[ENGINE_RSP] += 8;
    return true;
}

static uint32_t enter_as(struct engine_thread *t, const struct block *block)
{
    t->next = (uint64_t)(uintptr_t)cache_at(&t->engine->cache, block->body);
    t->ring = t->gpr[ENGINE_R15];
    return ENGINE_CONTINUE;
}

static uint32_t stop_as(struct engine_thread *t, enum stop_reason why)
{
    t->stop = why;
    return t->engine->config.carrier->stopped(t, why);
}

/* Goes on at t->rip until there is code for it or somebody has decided otherwise. */
static uint32_t go_on_as(struct engine_thread *t, uint32_t action)
{
    while (action == ENGINE_CONTINUE) {
        enum stop_reason why = STOP_COUNT;
        engine_lock_as(t->engine);
        struct block *block = block_need_as(t, false, &why);
        engine_unlock_as(t->engine);
        if (block)
            return enter_as(t, block);
        if (!vsyscall_as(t))
            action = stop_as(t, why);
    }
    return action;
}

uint32_t engine_begin_as(struct engine_thread *t)
{
    return go_on_as(t, ENGINE_CONTINUE);
}

uint32_t engine_lookup_as(struct engine_thread *t)
{
    t->dispatches++;
    t->lookups++;
    enum stop_reason why = STOP_COUNT;
    engine_lock_as(t->engine);
    struct block *block = block_need_as(t, true, &why);
    engine_unlock_as(t->engine);
    return block ? enter_as(t, block) : go_on_as(t, ENGINE_CONTINUE);
}

static uint32_t follow_as(struct engine_thread *t, uint32_t exit)
{
    struct engine *e = t->engine;
    enum stop_reason why = STOP_COUNT;
    engine_lock_as(e);
    struct block *block = block_need_as(t, false, &why);
    if (block && !exit_at(&e->blocks, exit)->to)
        link_set_as(e, exit, block);
    engine_unlock_as(e);
    return block ? enter_as(t, block) : go_on_as(t, ENGINE_CONTINUE);
}

uint32_t engine_dispatch_as(struct engine_thread *t)
{
    uint32_t number = t->exit;
    const struct exit *exit = exit_at(&t->engine->blocks, number);
    t->dispatches++;
    t->rip = exit->target;
    switch ((enum exit_kind)exit->kind) {
    case EXIT_LINK:
        return follow_as(t, number);
    case EXIT_SYSCALL:
        return go_on_as(t, t->engine->config.carrier->system_call(t));
    case EXIT_STALE:
    case EXIT_BUDGET:
        break;
    }
    return go_on_as(t, ENGINE_CONTINUE);
}

uint32_t engine_signals_as(struct engine_thread *t)
{
    return go_on_as(t, t->engine->config.carrier->signals(t));
}
