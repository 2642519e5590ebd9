#include "engine/lookup.h"

enum { ENTRY_ROOM = 256, COLD_SIZE = 10 + 4 + 5 };

bool lookup_map_as(struct engine *e)
{
    if (!area_map_as(&e->table_area, LOOKUP_SIZE * sizeof(uint64_t), AREA_LOW | engine_sharing(e)))
        return false;
    area_populate_as(&e->table_area, 0, e->table_area.size);
    e->table = (uint64_t *)(void *)e->table_area.base;
    lookup_forget_as(e);
    return true;
}

void lookup_forget_as(struct engine *e)
{
    uint64_t miss = (uint64_t)(uintptr_t)cache_at(&e->cache, e->glue.lookup);
    for (uint32_t i = 0; i < LOOKUP_SIZE; i++)
        __atomic_store_n(&e->table[i], miss, __ATOMIC_RELAXED);
}

/* rcx += value, with r11 if it must be; no flags. */
static void add_to_rcx(struct emit *to, uint64_t value)
{
    if (value == (uint64_t)(int64_t)(int32_t)value) {
        emit_lea(to, 8, X86_RCX, emit_at(X86_RCX, (int32_t)value));
        return;
    }
    emit_mov_ri64(to, X86_R11, value);
    emit_lea(to, 8, X86_RCX, emit_indexed(X86_RCX, X86_R11, 1, 0));
}

void lookup_check_emit_as(struct engine *e, struct emit *to, uint64_t pc, uint64_t miss)
{
    uint32_t place = cache_cold_as(&e->cache, COLD_SIZE, 1);
    uint8_t *at = cache_at(&e->cache, place);
    struct emit cold = { .at = at, .end = at + COLD_SIZE + EMIT_LONGEST };
    add_to_rcx(&cold, pc);
    emit_jmp(&cold, miss);

    add_to_rcx(to, 0 - pc);
    uint8_t *hit = emit_jump8(to, EMIT_JRCXZ8);
    emit_jmp(to, (uint64_t)(uintptr_t)at);
    emit_bind8(to, hit);
    emit_mov_rm(to, 8, X86_RCX, emit_gs(ENGINE_T_SLOT_RCX));
    emit_mov_rm(to, 8, X86_R11, emit_gs(ENGINE_T_SLOT_R11));
}

void lookup_emit_as(const struct engine *e, struct emit *to)
{
    emit_movzx_rr(to, 2, X86_R11, X86_RCX);
    emit_jmp_m(to, emit_table((int32_t)(uintptr_t)e->table, X86_R11, 8));
}

uint32_t lookup_entry_emit_as(struct engine *e, struct emit *to, uint64_t pc)
{
    uint32_t entry = cache_offset(&e->cache, to->at);
    lookup_check_emit_as(e, to, pc, e->table[pc & (LOOKUP_SIZE - 1)]);
    return entry;
}

void lookup_enter_as(struct engine *e, struct block *block, uint32_t entry)
{
    uint64_t *slot = &e->table[block->pc & (LOOKUP_SIZE - 1)];
    e->figures.indirect_entries++;
    if (*slot != (uint64_t)(uintptr_t)cache_at(&e->cache, e->glue.lookup))
        e->figures.chained++;
    block->entry = entry;
    __atomic_store_n(slot, (uint64_t)(uintptr_t)cache_at(&e->cache, entry), __ATOMIC_RELEASE);
}

bool lookup_need_as(struct engine *e, struct block *block)
{
    if (block->entry)
        return true;
    if (!cache_reserve_as(&e->cache, ENTRY_ROOM))
        return false;
    uint8_t *at = cache_at(&e->cache, e->cache.hot);
    struct emit to = { .at = at, .end = cache_at(&e->cache, e->cache.cold) };
    uint32_t entry = lookup_entry_emit_as(e, &to, block->pc);
    emit_jmp(&to, (uint64_t)(uintptr_t)cache_at(&e->cache, block->body));
    e->cache.hot = cache_offset(&e->cache, to.at);
    lookup_enter_as(e, block, entry);
    return true;
}

/* Bytes of add_to_rcx. */
static uint32_t added_size(uint64_t value)
{
    enum { LEA = 7, MOV_LEA = 14 };
    return value == (uint64_t)(int64_t)(int32_t)value ? LEA : MOV_LEA;
}

void lookup_check_leave_as(struct engine *e, uint32_t check, uint64_t pc)
{
    /* jrcxz +0: also a hit goes on with the jump. */
    uint8_t *at = cache_at(&e->cache, check);
    at += added_size(0 - pc);
    __atomic_store_n(at + 1, 0, __ATOMIC_RELAXED);
}

/* Where `jmp rel32` at `jump` goes. */
static const uint8_t *jump_target(const uint8_t *jump)
{
    typedef struct { int32_t v; } __attribute__((packed, may_alias)) word;
    enum { JMP = 5 };
    return jump + JMP + ((const word *)(const void *)(jump + 1))->v;
}

/* Where the check at `entry` goes on if it misses. */
static uint64_t next_of(const struct engine *e, uint32_t entry, uint64_t pc)
{
    enum { JRCXZ = 2 };
    const uint8_t *cold = jump_target(cache_at(&e->cache, entry) + added_size(0 - pc) + JRCXZ);
    return (uint64_t)(uintptr_t)jump_target(cold + added_size(pc));
}

void lookup_leave_as(struct engine *e, const struct block *block)
{
    uint64_t *slot = &e->table[block->pc & (LOOKUP_SIZE - 1)];
    if (!block->entry)
        return;
    lookup_check_leave_as(e, block->entry, block->pc);
    e->figures.indirect_entries--;
    /* At the head of its chain, the rest of that takes its place: code that changes over and over
     * leaves no chain of the dead. */
    if (*slot == (uint64_t)(uintptr_t)cache_at(&e->cache, block->entry))
        __atomic_store_n(slot, next_of(e, block->entry, block->pc), __ATOMIC_RELEASE);
}
