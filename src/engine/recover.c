#include "engine/recover.h"

#include <stddef.h>

#include "engine/reset.h"
#include "engine/translate.h"

static const uint8_t order[16] = {
    [ENGINE_RAX] = REG_RAX, [ENGINE_RCX] = REG_RCX, [ENGINE_RDX] = REG_RDX, [ENGINE_RBX] = REG_RBX,
    [ENGINE_RSP] = REG_RSP, [ENGINE_RBP] = REG_RBP, [ENGINE_RSI] = REG_RSI, [ENGINE_RDI] = REG_RDI,
    [ENGINE_R8] = REG_R8,   [ENGINE_R9] = REG_R9,   [ENGINE_R10] = REG_R10, [ENGINE_R11] = REG_R11,
    [ENGINE_R12] = REG_R12, [ENGINE_R13] = REG_R13, [ENGINE_R14] = REG_R14, [ENGINE_R15] = REG_R15,
};

static void greg_set(greg_t *gregs, unsigned reg, uint64_t value)
{
    gregs[order[reg]] = (greg_t)value;
}

void engine_registers_put(const struct engine_thread *t, greg_t *gregs)
{
    for (unsigned i = 0; i < 16; i++)
        greg_set(gregs, i, t->gpr[i]);
    gregs[REG_RIP] = (greg_t)t->rip;
    gregs[REG_EFL] = (greg_t)t->rflags;
}

void engine_registers_take(struct engine_thread *t, const greg_t *gregs)
{
    for (unsigned i = 0; i < 16; i++)
        t->gpr[i] = (uint64_t)gregs[order[i]];
    t->rip = (uint64_t)gregs[REG_RIP];
    t->rflags = (uint64_t)gregs[REG_EFL];
}

static bool between(uint64_t pc, const char *from, const char *to)
{
    return pc >= (uint64_t)(uintptr_t)from && pc < (uint64_t)(uintptr_t)to;
}

/* In switch.S. */
static enum engine_place place_in_text(struct engine_thread *t, uint64_t pc, greg_t *gregs)
{
    if (between(pc, engine_window_begin, engine_window_end)) {
        engine_registers_put(t, gregs);
        return PLACE_BOUNDARY;
    }
    if (between(pc, engine_leave_begin, engine_leave_end)) {
        engine_registers_put(t, gregs);
        return PLACE_NATIVE;
    }
    if (between(pc, engine_syscall_begin, engine_syscall_insn)) {
        engine_registers_put(t, gregs);
        gregs[REG_RIP] -= 2;
        return PLACE_SYSCALL;
    }
    if (pc == (uint64_t)(uintptr_t)engine_syscall_insn) {
        /* Not executed yet, or to be restarted: then the kernel has chosen rax. */
        greg_set(gregs, ENGINE_RCX, t->gpr[ENGINE_RCX]);
        greg_set(gregs, ENGINE_R11, t->gpr[ENGINE_R11]);
        gregs[REG_RIP] = (greg_t)(t->rip - 2);
        return PLACE_SYSCALL;
    }
    if (between(pc, engine_syscall_done, engine_syscall_end)) {
        greg_set(gregs, ENGINE_RCX, t->rip);
        greg_set(gregs, ENGINE_R11, (uint64_t)gregs[REG_EFL]);
        gregs[REG_RIP] = (greg_t)t->rip;
        return PLACE_SYSCALL_DONE;
    }
    if (between(pc, engine_hook_window_begin, engine_hook_window_end))
        return PLACE_BETWEEN;
    return PLACE_INSIDE;
}

/* The span that the offset (from the body) lies in; *pc is its place in the program. */
static const struct span *span_find(const struct blocks *b, const struct block *block,
                                    uint32_t offset, uint64_t *pc, uint32_t *into)
{
    const struct span *span = span_at(b, block->first_span);
    *pc = block->pc;
    for (uint32_t i = 0; i < block->span_count; i++, span++) {
        if (offset < span->length) {
            *into = offset;
            return span;
        }
        offset -= span->length;
        *pc += span->size;
    }
    return NULL;
}

static void unspill(struct engine_thread *t, const struct span *span, greg_t *gregs)
{
    if (t->engine->steals)
        greg_set(gregs, ENGINE_R15, stolen_arrive(t, (uint64_t)gregs[REG_R15]));
    if (span->kind == SPAN_CORE_RCX) {
        greg_set(gregs, ENGINE_RCX, t->slot_rcx);
        greg_set(gregs, ENGINE_R11, t->slot_r11);
    }
    if (span->kind != SPAN_CORE)
        return;
    unsigned a = span->spilled & 15, b = span->spilled >> 4;
    if (a != ENGINE_RSP)
        greg_set(gregs, a, t->slot_a);
    if (b != ENGINE_RSP)
        greg_set(gregs, b, t->slot_b);
}

enum { LEAVE_BYTES = 16 };

static enum engine_place place_in_cache(struct engine_thread *t, uint64_t pc, greg_t *gregs)
{
    const struct engine *e = t->engine;
    uint32_t offset = cache_offset(&e->cache, (const uint8_t *)(uintptr_t)pc);
    const struct block *block = block_of_code_as(&e->blocks, offset);
    if (!block)
        return PLACE_BETWEEN;
    uint64_t rip;
    uint32_t into;
    const struct span *span = span_find(&e->blocks, block, offset - block->body, &rip, &into);
    if (!span || span->kind == SPAN_BETWEEN)
        return PLACE_BETWEEN;
    unspill(t, span, gregs);
    rip += span->kind == SPAN_COPY ? into : 0;
    gregs[REG_RIP] = (greg_t)rip;
    bool core = span->kind == SPAN_CORE || span->kind == SPAN_CORE_RCX;
    return core ? PLACE_CORE : PLACE_BOUNDARY;
}

static bool in_cache(const struct engine *e, uint64_t pc)
{
    return pc - (uint64_t)(uintptr_t)e->cache.area.base < e->cache.area.size;
}

enum engine_place engine_recover_as(struct engine_thread *t, greg_t *gregs)
{
    uint64_t pc = (uint64_t)gregs[REG_RIP];
    if (between(pc, engine_text_begin, engine_text_end))
        return place_in_text(t, pc, gregs);
    if (in_cache(t->engine, pc))
        return place_in_cache(t, pc, gregs);
    if (pc - t->leave < LEAVE_BYTES) {
        engine_registers_put(t, gregs);
        return PLACE_NATIVE;
    }
    return t->state == ENGINE_INSIDE ? PLACE_INSIDE : PLACE_NATIVE;
}

/* Instructions of the program in [from, to). */
static uint32_t instructions(uint64_t from, uint64_t to)
{
    uint32_t count = 0;
    while (from < to) {
        struct x86_insn insn;
        unsigned length = x86_decode_as((const uint8_t *)(uintptr_t)from, to - from, &insn);
        from += length ? length : 1;
        count++;
    }
    return count;
}

bool engine_progress_as(struct engine_thread *t, const greg_t *gregs, struct engine_progress *out)
{
    const struct engine *e = t->engine;
    uint64_t at = (uint64_t)gregs[REG_RIP];
    if (!in_cache(e, at))
        return false;
    uint32_t offset = cache_offset(&e->cache, (const uint8_t *)(uintptr_t)at);
    const struct block *block = block_of_code_as(&e->blocks, offset);
    uint64_t pc;
    uint32_t into;
    const struct span *span =
        block ? span_find(&e->blocks, block, offset - block->body, &pc, &into) : NULL;
    if (!span)
        return false;
    if (e->steals)
        stolen_arrive(t, (uint64_t)gregs[REG_R15]);
    bool whole = !block->tail || block->tail == BLOCK_OBSERVED;
    out->total = block->tail == BLOCK_LATE ? 1 : whole ? block->count : 0;
    out->done = block->tail == BLOCK_LATE
                    ? 0
                    : instructions(block->pc, pc + (span->kind == SPAN_COPY ? into : 0));
    return true;
}

/* Points the context at the body of a block that is there already. */
static bool enter_directly(struct engine_thread *t, greg_t *gregs)
{
    struct engine *e = t->engine;
    if (t->rip == t->stop_at || !engine_lock_try_as(e))
        return false;
    const struct block *block = e->reset_wanted ? NULL : block_find_as(&e->blocks, t->rip, 0);
    if (block)
        reset_quiet(t, false);
    engine_unlock_as(e);
    if (!block)
        return false;
    if (e->steals)
        gregs[REG_R15] = (greg_t)stolen_leave(t, t->gpr[ENGINE_R15]);
    t->state = ENGINE_CACHE;
    gregs[REG_RIP] = (greg_t)(uintptr_t)cache_at(&e->cache, block->body);
    return true;
}

void engine_redirect_as(struct engine_thread *t, greg_t *gregs)
{
    struct engine *e = t->engine;
    engine_registers_take(t, gregs);
    t->runs++;
    uint64_t gs = engine_gs_as(e);
    if (gs != (uint64_t)(uintptr_t)t) {
        t->host_gs = gs;
        engine_gs_set_as(e, (uint64_t)(uintptr_t)t);
    }
    t->soon = false;
    if (!t->pending && !t->mask_changed && enter_directly(t, gregs))
        return;
    t->soon = e->config.budget; /* a burst: the engine's tables may be cold */
    if (t->soon)
        translate_soon_as(e);
    t->state = ENGINE_INSIDE;
    gregs[REG_RIP] = (greg_t)(uintptr_t)engine_redirected;
}
