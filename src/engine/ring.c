#include "engine/ring.h"

#include <sys/mman.h>

#include "engine/engine.h"
#include "engine/hook_run.h"
#include "engine/state.h"
#include "sigsafe/own_memory.h"
#include "sigsafe/sys.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

/* Where little else is: above what the sanitizers and most runtimes reserve, below the kernel's own
 * choices. */
#define RINGS_FIRST (UINT64_C(0x300000000000) + (UINT64_C(1) << 31) - RING_SIZE)
#define RINGS_STEP (UINT64_C(1) << 32)
enum { RINGS_TRIED = 4096 };

static bool sorted_make_as(struct engine_thread *t)
{
    long base = own_map_as(0, RING_SIZE + RING_SLACK, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    if (sys_failed(base))
        return false;
    t->sorted = (uint8_t *)base;
    return true;
}

bool ring_make_as(struct engine_thread *t)
{
    static uint32_t next; /* atomic; where to begin looking */
    long size = RING_SIZE + RING_SLACK + RING_GUARD;
    for (uint32_t i = 0; i < RINGS_TRIED; i++) {
        uint32_t at = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % RINGS_TRIED;
        long wanted = (long)(RINGS_FIRST + at * RINGS_STEP);
        long got =
            own_map_as((uint64_t)wanted, (uint64_t)size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1);
        if (got == wanted) {
            sys_call3_as(SYS_mprotect, got + size - RING_GUARD, RING_GUARD, PROT_NONE);
            t->ring = t->ring_from = t->ring_base = (uint64_t)got;
            return t->engine->appenders < 2 || sorted_make_as(t);
        }
        if (got > 0) /* an old kernel takes the address for a hint */
            own_unmap_as((const void *)got, (uint64_t)size);
    }
    return false;
}

void ring_unmap_as(struct engine_thread *t)
{
    if (t->ring_base)
        own_unmap_as((const void *)t->ring_base, RING_SIZE + RING_SLACK + RING_GUARD);
    if (t->sorted)
        own_unmap_as(t->sorted, RING_SIZE + RING_SLACK);
    t->ring_base = 0;
    t->sorted = NULL;
}

static bool is_upwards_in_page(uint64_t from, uint64_t to)
{
    return to > from && to >> 12 == from >> 12;
}

bool ring_needs_look(const struct hook_block *block, uint32_t appended)
{
    if (appended > (block->next - block->pc) * RING_DENSITY)
        return true;
    switch (block->end) {
    case END_SYSCALL:
        return false;
    case END_JUMP:
    case END_CALL:
        return !is_upwards_in_page(block->pc, block->taken);
    case END_BRANCH:
        return !is_upwards_in_page(block->pc, block->taken) ||
               !is_upwards_in_page(block->pc, block->next);
    default:
        return true;
    }
}

/* Bytes until somebody looks again. A budget that is counted when the ring is emptied must not be
 * over by much then: as if all blocks were of the most instructions, with one record each. */
static uint64_t room(const struct engine_thread *t)
{
    enum { RECORD = 4 };
    uint64_t budget = t->budget > 0 ? (uint64_t)t->budget : 0,
             bytes = budget / BLOCK_INSNS * RECORD;
    if (!loose_in_ring(t->engine) || bytes > RING_SIZE)
        return RING_SIZE;
    return bytes < RING_LEAST ? RING_LEAST : bytes;
}

void ring_begin(struct engine_thread *t)
{
    if (t->ring == t->ring_from)
        t->ring = t->ring_from = t->ring_base + RING_SIZE - room(t);
}

void engine_flush_as(struct engine_thread *t, bool ends)
{
    if (!t->ring_base)
        return;
    uint64_t from = t->ring_from, size = t->ring - from;
    t->ring = from;
    tool_set_flush_as(t, (const uint8_t *)(uintptr_t)from, size, ends);
    ring_begin(t);
}

void hook_executed(struct engine_thread *t, uint64_t instructions)
{
    if (loose_in_ring(t->engine) && t->flushing == t->engine->first_appender)
        t->budget -= (int64_t)instructions;
}
