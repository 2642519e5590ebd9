#include "engine/pairs.h"

#include <cpuid.h>

#include "engine/link.h"
#include "engine/lookup.h"

enum {
    PAIRS_FROM = LOOKUP_SIZE / 8 * 3, /* entries in the lookup table */
    RETURNS = ENGINE_T_RETURNS_SIZE / sizeof(uint64_t),
    RESTORE_SIZE = 5, /* of what stands before the check */
    STUB_SIZE = 64,
};

/* A processor that has rorx, and does not compare return addresses with a shadow stack of its own:
 * that one would know the cache's addresses, but only where every call is paired. */
static bool possible(void)
{
    unsigned a, b = 0, c, d;
    uint64_t shadow = 0;
    __asm__ volatile("rdsspq %0" : "+r"(shadow)); /* does nothing where there is none */
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & bit_BMI2 && !shadow;
}

void pairs_prepare_as(struct engine *e)
{
    e->pairable = possible();
    uint8_t *at = cache_at(&e->cache, e->cache.hot);
    struct emit to = { .at = at, .end = cache_at(&e->cache, e->cache.cold) };
    e->glue.returned = e->cache.hot;
    emit_mov_mr(&to, 8, emit_at(X86_RSP, -8), X86_RCX);
    e->glue.search = cache_offset(&e->cache, to.at);
    lookup_emit_as(e, &to);
    e->cache.hot = cache_offset(&e->cache, to.at);
}

static uint64_t glue(const struct engine *e, uint32_t place)
{
    return (uint64_t)(uintptr_t)cache_at(&e->cache, place);
}

/* A process cannot be told when another one that shares the engine begins to pair: its thread is
 * prepared from the start. */
void pairs_thread_as(const struct engine *e, struct engine_thread *t)
{
    bool ever = e->paired || (e->config.shared && e->pairable);
    if (!ever || t->paired)
        return;
    t->paired = true;
    volatile uint64_t *returns =
        (volatile uint64_t *)(void *)((uint8_t *)t + ENGINE_T_RETURNS);
    for (uint32_t i = 0; i < RETURNS; i++)
        returns[i] = glue(e, e->glue.returned);
}

void pairs_begin_as(struct engine *e)
{
    if (e->paired || !e->pairable)
        return;
    e->paired = true;
    for (struct engine_thread *t = e->threads; t; t = t->link)
        pairs_thread_as(e, t);
    blocks_forget_as(&e->blocks);
    lookup_forget_as(e);
}

void pairs_consider_as(struct engine *e)
{
    if (e->figures.indirect_entries >= PAIRS_FROM)
        pairs_begin_as(e);
}

/* r11 = the stack pointer's place among the returns */
static void index_by_stack(struct emit *to)
{
    emit_movzx_rr(to, 2, X86_R11, X86_RSP);
    emit_rorx_rri(to, 8, X86_R11, X86_R11, 3);
}

static struct emit_mem returns_at_r11(void)
{
    struct emit_mem m = emit_table(ENGINE_T_RETURNS, X86_R11, 8);
    m.segment = EMIT_GS;
    return m;
}

static struct emit stub_begin(struct engine *e)
{
    uint8_t *at = cache_at(&e->cache, cache_cold_as(&e->cache, STUB_SIZE, 8));
    return (struct emit){ .at = at, .end = at + STUB_SIZE + EMIT_LONGEST };
}

/* The program's return address in the place of the processor's, which is kept. */
static void exchange(struct translation *x, struct emit *to)
{
    index_by_stack(to);
    emit_pop_m(to, returns_at_r11());
    push_address_as(x->e, to, x->next);
}

/* Where the call that ends the block returns to. */
static void after_emit(struct translation *x)
{
    struct engine *e = x->e;
    x->block->after = cache_offset(&e->cache, x->hot.at);
    emit_mov_mr(&x->hot, 8, emit_at(X86_RSP, -8), X86_RCX);
    lookup_check_emit_as(e, &x->hot, x->next, glue(e, e->glue.search));
    span_close_as(x, SPAN_BETWEEN, 0, 0);
}

/* The callee will be made soon, if it is not there yet. */
static void note_callee(struct translation *x, uint32_t exit)
{
    if (exit_at(&x->e->blocks, exit)->linked || x->call_count == AHEAD_RETURNS ||
        x->range.trust != TRUST_FIXED)
        return;
    x->calls[x->call_count].pc = x->taken;
    x->calls[x->call_count++].exit = exit;
}

void pairs_call_as(struct translation *x, uint32_t size)
{
    struct engine *e = x->e;
    struct emit stub = stub_begin(e);
    uint64_t begin = emit_here(&stub);
    emit_mov_mr(&stub, 8, emit_gs(ENGINE_T_SLOT_R11), X86_R11);
    exchange(x, &stub);
    emit_mov_rm(&stub, 8, X86_R11, emit_gs(ENGINE_T_SLOT_R11));
    note_callee(x, link_emit_as(e, &stub, x->number, LINK_ALWAYS, x->taken));
    emit_call(&x->hot, begin);
    span_close_as(x, SPAN_SAME, size, 0);
    after_emit(x);
}

void pairs_call_indirect_as(struct translation *x, uint32_t size)
{
    struct emit stub = stub_begin(x->e);
    emit_call(&x->hot, emit_here(&stub));
    span_close_as(x, SPAN_CORE_RCX, size, 0);
    exchange(x, &stub);
    lookup_emit_as(x->e, &stub);
    after_emit(x);
}

void pairs_return_as(struct translation *x, uint32_t size)
{
    struct emit *to = &x->hot;
    index_by_stack(to);
    emit_mov_rm(to, 8, X86_RCX, emit_at(X86_RSP, 0));
    emit_mov_rm(to, 8, X86_R11, returns_at_r11());
    emit_mov_mr(to, 8, emit_at(X86_RSP, 0), X86_R11);
    span_close_as(x, SPAN_CORE_RCX, size, 0);
    emit_op(to, EMIT_RET);
    span_close_as(x, SPAN_BETWEEN, 0, 0);
}

void pairs_leave_as(struct engine *e, const struct block *block)
{
    if (block->after)
        lookup_check_leave_as(e, block->after + RESTORE_SIZE, block->pc + block->size);
}
