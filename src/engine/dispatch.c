#include "engine/switch.h"

#include "engine/link.h"
#include "engine/lookup.h"
#include "engine/reset.h"
#include "engine/translate.h"
#include "sigsafe/sys.h"

/* Code that changes before every execution would fill a cache that is not used anew. */
enum { REMADE_MOST = 100000 };

#define VSYSCALL_PAGE UINT64_C(0xffffffffff600000)

/* How many instructions a burst reaches from here, one more included: the hook before that one ends
 * it. */
static uint32_t reach(const struct engine_thread *t)
{
    uint64_t more = t->wanted > t->observed ? t->wanted - t->observed : 0;
    uint64_t all = more + 1 + (t->budget > 0 ? (uint64_t)t->budget : 0);
    return all < BLOCK_INSNS ? (uint32_t)all : BLOCK_INSNS;
}

static struct block *block_make_as(struct engine_thread *t, struct request request,
                                   enum stop_reason *why)
{
    if (t->engine->config.budget && !t->soon) {
        t->soon = true;
        translate_soon_as(t->engine);
    }
    request.pc = t->rip;
    request.stop_at = t->stop_at;
    struct block *block = translate_as(t->engine, request, why);
    t->translated += block != NULL;
    if (*why == STOP_CACHE_FULL && !block)
        reset_want_as(t->engine);
    else
        reset_consider_as(t->engine);
    return block;
}

/* The block at t->rip of that tail (block_find_as), found or made. */
static struct block *block_of_tail_as(struct engine_thread *t, uint32_t tail, enum stop_reason *why)
{
    struct block *block = block_find_as(&t->engine->blocks, t->rip, tail);
    struct request request = {
        .tail = tail, .limit = tail == BLOCK_LATE ? reach(t) : tail, .spare = UINT32_MAX};
    return block ? block : block_make_as(t, request, why);
}

/* The block at t->rip behind the gate that the exit leaves by, found or made. */
static struct block *block_observed_as(struct engine_thread *t, uint32_t exit,
                                       enum stop_reason *why)
{
    struct engine *e = t->engine;
    struct block *block = block_find_as(&e->blocks, t->rip, BLOCK_OBSERVED);
    struct request request = { .tail = BLOCK_OBSERVED, .gate = link_gate(e, exit),
                              .limit = BLOCK_INSNS, .spare = UINT32_MAX };
    return block ? block : block_make_as(t, request, why);
}

/* There is no block yet. Short bursts meet most code only once: where the block has more
 * instructions than the budget, only so much of it is made; where a few instructions are observed
 * behind the budget, all with hooks and only as far as they reach. If it has been met before, there
 * are to be both. */
static struct block *block_first_as(struct engine_thread *t, bool entry, enum stop_reason *why)
{
    struct engine *e = t->engine;
    struct request request = { .entry = entry, .limit = BLOCK_INSNS, .spare = UINT32_MAX };
    uint32_t spare = t->budget <= 0 ? 0 : t->budget < UINT32_MAX ? (uint32_t)t->budget : UINT32_MAX;
    if (e->config.late) {
        struct block *late = block_find_as(&e->blocks, t->rip, BLOCK_LATE);
        if (late && late->count > spare)
            return late;
        if (late)
            return block_make_as(t, request, why);
        request.limit = reach(t);
    } else if (e->config.budget) {
        *why = STOP_BUDGET;
        struct block *tail = spare < BLOCK_INSNS ? block_find_as(&e->blocks, t->rip, spare) : NULL;
        if (!spare || tail)
            return tail;
    }
    if (e->config.budget && !e->config.loose)
        request.spare = spare;
    return block_make_as(t, request, why);
}

/* The block at t->rip, found or made; with an indirect entry if asked for and it is not late. NULL:
 * *why. */
static struct block *block_need_as(struct engine_thread *t, bool entry, enum stop_reason *why)
{
    struct engine *e = t->engine;
    *why = engine_ended_as(e);
    if (*why != STOP_COUNT)
        return NULL;
    *why = STOP_ADDRESS;
    if (t->stop_at && t->rip == t->stop_at)
        return NULL;
    struct block *block = block_find_as(&e->blocks, t->rip, 0);
    if (!block)
        return block_first_as(t, entry, why);
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

/* Locked, no reset is wanted. True: one has been done on the way, and no exit that the thread came
 * by is any more. */
static bool code_lock_as(struct engine_thread *t)
{
    for (bool reset = false;; engine_unlock_as(t->engine)) {
        reset |= reset_pass_as(t);
        engine_lock_as(t->engine);
        if (!t->engine->reset_wanted)
            return reset;
    }
}

/* The block, which goes with the others if a reset is wanted by now: then NULL, and STOP_COUNT says
 * that it is to be asked for again. */
static struct block *code_unlock_as(struct engine_thread *t, struct block *block,
                                    enum stop_reason *why)
{
    bool wanted = t->engine->reset_wanted;
    engine_unlock_as(t->engine);
    if (!wanted)
        return block;
    if (block || *why != STOP_CACHE_FULL)
        *why = STOP_COUNT;
    return NULL;
}

static uint32_t enter_as(struct engine_thread *t, const struct block *block)
{
    t->next = (uint64_t)(uintptr_t)cache_at(&t->engine->cache, block->body);
    uint64_t r15 = t->gpr[ENGINE_R15];
    t->ring = t->engine->steals ? stolen_leave(t, r15) : r15;
    return ENGINE_CONTINUE;
}

/* The registers have come from translated code: r15 may be the tool's. */
static void arrive(struct engine_thread *t)
{
    if (t->engine->steals)
        t->gpr[ENGINE_R15] = stolen_arrive(t, t->gpr[ENGINE_R15]);
}

static uint32_t stop_as(struct engine_thread *t, enum stop_reason why)
{
    engine_flush_as(t, true);
    t->stop = why;
    return t->engine->config.carrier->stopped(t, why);
}

/* t->rip is known: what will be looked at for it, while the lock is taken and the way there is
 * gone. */
static void wanted_soon(const struct engine_thread *t)
{
    blocks_prefetch(&t->engine->blocks, t->rip);
    code_prefetch(t->rip);
}

/* Goes on at t->rip until there is code for it or somebody has decided otherwise. A full cache is
 * used anew, but what does not fit then never will. */
static uint32_t go_on_as(struct engine_thread *t, uint32_t action)
{
    bool full = false;
    while (action == ENGINE_CONTINUE) {
        enum stop_reason why = STOP_COUNT;
        code_lock_as(t);
        struct block *block = code_unlock_as(t, block_need_as(t, false, &why), &why);
        if (block)
            return enter_as(t, block);
        bool again =
            why == STOP_COUNT || (why == STOP_CACHE_FULL && !full && reset_possible(t->engine));
        full |= why == STOP_CACHE_FULL;
        if (again)
            continue;
        if (t->engine->config.budget && t->rip - VSYSCALL_PAGE < 4096)
            action = stop_as(t, STOP_SYSTEM_CALL);
        else if (!vsyscall_as(t))
            action = stop_as(t, why);
    }
    return action;
}

/* What was done since `begin` led to code: a dispatch. */
static uint32_t dispatched(struct engine_thread *t, uint64_t begin, uint32_t action)
{
    reset_quiet(t, action != ENGINE_CONTINUE);
    uint64_t ticks = sys_ticks_as() - begin;
    t->dispatches++;
    t->dispatch_ticks += ticks;
    if (action == ENGINE_CONTINUE)
        engine_latency_as(t->engine, LATENCY_DISPATCH, ticks);
    return action;
}

uint32_t engine_begin_as(struct engine_thread *t)
{
    uint64_t begin = sys_ticks_as();
    return dispatched(t, begin, go_on_as(t, ENGINE_CONTINUE));
}

uint32_t engine_lookup_as(struct engine_thread *t)
{
    wanted_soon(t);
    lookup_prefetch(t->engine, t->rip);
    arrive(t);
    t->lookups++;
    uint64_t begin = sys_ticks_as();
    enum stop_reason why = STOP_COUNT;
    code_lock_as(t);
    struct block *block = code_unlock_as(t, block_need_as(t, true, &why), &why);
    return dispatched(t, begin, block ? enter_as(t, block) : go_on_as(t, ENGINE_CONTINUE));
}

static uint32_t follow_as(struct engine_thread *t, uint32_t exit)
{
    struct engine *e = t->engine;
    enum stop_reason why = STOP_COUNT;
    if (code_lock_as(t)) {
        engine_unlock_as(e);
        return go_on_as(t, ENGINE_CONTINUE);
    }
    uint32_t tail = link_tail(e, exit);
    struct block *block = tail == BLOCK_OBSERVED ? block_observed_as(t, exit, &why)
                          : tail                 ? block_of_tail_as(t, tail, &why)
                                                 : block_need_as(t, false, &why);
    if (block && block->tail == tail && !exit_at(&e->blocks, exit)->linked)
        link_set_as(e, exit, block);
    block = code_unlock_as(t, block, &why);
    if (block)
        return enter_as(t, block);
    /* Behind a gate the block has been counted. */
    bool again = tail != BLOCK_OBSERVED || (why == STOP_CACHE_FULL && reset_possible(e));
    return go_on_as(t, again ? ENGINE_CONTINUE : stop_as(t, why));
}

/* The budget does not suffice for the block, which has counted itself already: what is left of it
 * runs in a tail, a block of exactly so many instructions, or in code that counts every one of
 * them. */
static uint32_t tail_as(struct engine_thread *t, uint32_t number)
{
    struct engine *e = t->engine;
    if (e->config.loose) /* it looks before it counts */
        return go_on_as(t, stop_as(t, STOP_BUDGET));
    t->budget += block_at(&e->blocks, number)->count;
    if (t->budget <= 0 && !e->config.late)
        return go_on_as(t, stop_as(t, STOP_BUDGET));
    enum stop_reason why = STOP_COUNT;
    engine_lock_as(e);
    struct block *block =
        block_of_tail_as(t, e->config.late ? BLOCK_LATE : (uint32_t)t->budget, &why);
    engine_unlock_as(e);
    return block ? enter_as(t, block) : go_on_as(t, stop_as(t, why));
}

/* The block's code is not what it was. */
static uint32_t remake_as(struct engine_thread *t, uint32_t number)
{
    struct engine *e = t->engine;
    enum stop_reason why = STOP_COUNT;
    if (code_lock_as(t)) {
        engine_unlock_as(e);
        return go_on_as(t, ENGINE_CONTINUE);
    }
    struct block *old = block_at(&e->blocks, number), *block = NULL;
    unlink_as(e, old);
    reset_note_remade_as(e);
    if (old->remade == REMADE_MOST && !reset_possible(e))
        why = STOP_SELF_MODIFIED;
    else
        block = block_need_as(t, false, &why);
    if (block && block->remade <= old->remade)
        block->remade = old->remade + 1;
    block = code_unlock_as(t, block, &why);
    bool again = why == STOP_COUNT || (why == STOP_CACHE_FULL && reset_possible(e));
    return block ? enter_as(t, block) : go_on_as(t, again ? ENGINE_CONTINUE : stop_as(t, why));
}

/* Goes on behind an exit that is no system call's. */
static uint32_t exit_take_as(struct engine_thread *t, uint32_t number, const struct exit *exit)
{
    switch ((enum exit_kind)exit->kind) {
    case EXIT_LINK:
    case EXIT_OBSERVED:
        return follow_as(t, number);
    case EXIT_STALE:
        return remake_as(t, exit->block);
    case EXIT_BUDGET:
        return tail_as(t, exit->block);
    case EXIT_TAIL:
        t->budget = 0;
        return go_on_as(t, stop_as(t, STOP_BUDGET));
    case EXIT_RING:
        engine_flush_as(t, false);
        if (loose_in_ring(t->engine) && t->budget <= 0)
            return go_on_as(t, stop_as(t, STOP_BUDGET));
        break;
    case EXIT_SYSCALL:
    case EXIT_GATE:
        break;
    }
    return go_on_as(t, ENGINE_CONTINUE);
}

/* What the carrier does for a system call is not the dispatcher's time. */
static uint32_t call_take_as(struct engine_thread *t)
{
    engine_flush_as(t, false);
    reset_quiet(t, true);
    uint32_t action = t->engine->config.carrier->system_call(t);
    if (action != ENGINE_CONTINUE)
        return action;
    uint64_t begin = sys_ticks_as();
    return dispatched(t, begin, go_on_as(t, action));
}

uint32_t engine_dispatch_as(struct engine_thread *t)
{
    uint32_t number = t->exit;
    const struct exit *exit = exit_at(&t->engine->blocks, number);
    t->rip = exit->target;
    wanted_soon(t);
    arrive(t);
    if (exit->kind == EXIT_SYSCALL)
        return call_take_as(t);
    uint64_t begin = sys_ticks_as();
    return dispatched(t, begin, exit_take_as(t, number, exit));
}

void engine_end_as(struct engine *e, enum stop_reason why)
{
    __atomic_store_n(&e->ended, (uint32_t)why, __ATOMIC_SEQ_CST);
}

enum stop_reason engine_ended_as(const struct engine *e)
{
    return (enum stop_reason)__atomic_load_n(&e->ended, __ATOMIC_RELAXED);
}

uint32_t engine_signals_as(struct engine_thread *t)
{
    uint32_t action = go_on_as(t, t->engine->config.carrier->signals(t));
    reset_quiet(t, action != ENGINE_CONTINUE);
    return action;
}
