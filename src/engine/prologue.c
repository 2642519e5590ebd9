#include "engine/prologue.h"

#include "engine/link.h"
#include "engine/liveness.h"

enum { OVER_SIZE = 9 + 17, STALE_SIZE = 9 + 9 + 17 };

/* Cold code: registers back from their slots, then out. Returns its address. */
static uint64_t way_out(struct translation *x, enum exit_kind kind, uint32_t slot, uint32_t bytes)
{
    struct engine *e = x->e;
    uint32_t place = cache_cold_as(&e->cache, bytes, 1);
    uint8_t *at = cache_at(&e->cache, place);
    struct emit to = { .at = at, .end = at + bytes + EMIT_LONGEST };
    if (slot)
        emit_mov_rm(&to, 8, X86_RCX, emit_gs((int32_t)slot));
    if (kind == EXIT_STALE)
        emit_mov_rm(&to, 8, X86_R11, emit_gs(ENGINE_T_SLOT_R11));
    exit_emit_as(e, &to, exit_make_as(e, x->number, kind, x->pc));
    return (uint64_t)(uintptr_t)at;
}

/*      sub  qword gs:[budget], n               where the flags are dead
 *      js   over
 *
 *      mov  gs:[slot], rcx                     elsewhere
 *      mov  rcx, gs:[budget]
 *      lea  rcx, [rcx - n]
 *      mov  gs:[budget], rcx
 *      movzx ecx, byte gs:[budget + 7]         the sign: 0 or 0xff
 *      jrcxz 1f
 *      jmp  over
 *   1: mov  rcx, gs:[slot]                                                                       */
static void budget_exact(struct translation *x, uint8_t live_flags)
{
    struct emit *to = &x->hot;
    int32_t n = (int32_t)x->count;
    if (!(live_flags & X86_STATUS_FLAGS)) {
        emit_alu_mi(to, EMIT_SUB, 8, emit_gs(ENGINE_T_BUDGET), n);
        emit_jcc(to, EMIT_S, way_out(x, EXIT_BUDGET, 0, OVER_SIZE));
    } else {
        emit_mov_mr(to, 8, emit_gs(ENGINE_T_SLOT_HOOK), X86_RCX);
        emit_mov_rm(to, 8, X86_RCX, emit_gs(ENGINE_T_BUDGET));
        emit_lea(to, 8, X86_RCX, emit_at(X86_RCX, -n));
        emit_mov_mr(to, 8, emit_gs(ENGINE_T_BUDGET), X86_RCX);
        emit_movzx_rm(to, 1, X86_RCX, emit_gs(ENGINE_T_BUDGET + 7));
        uint8_t *enough = emit_jump8(to, EMIT_JRCXZ8);
        emit_jmp(to, way_out(x, EXIT_BUDGET, ENGINE_T_SLOT_HOOK, OVER_SIZE));
        emit_bind8(to, enough);
        emit_mov_rm(to, 8, X86_RCX, emit_gs(ENGINE_T_SLOT_HOOK));
    }
    span_close_as(x, SPAN_BETWEEN, 0, 0);
}

/* Out if r15, as wide as it says, is negative:
 *
 *      test r15, r15                           where the flags are dead
 *      js   out
 *
 *      mov  gs:[slot], rcx                     elsewhere
 *      mov  rcx, r15                           (movsxd of r15d)
 *      bswap rcx
 *      movzx ecx, cl                           the sign: 0 or 0xff
 *      jrcxz 1f
 *      jmp  out
 *   1: mov  rcx, gs:[slot]                                                                       */
static void look_at_r15(struct translation *x, enum exit_kind kind, unsigned width,
                        uint8_t live_flags)
{
    struct emit *to = &x->hot;
    if (!(live_flags & X86_STATUS_FLAGS)) {
        emit_test_rr(to, width, X86_R15, X86_R15);
        emit_jcc(to, EMIT_S, way_out(x, kind, 0, OVER_SIZE));
        return;
    }
    emit_mov_mr(to, 8, emit_gs(ENGINE_T_SLOT_HOOK), X86_RCX);
    if (width == 8)
        emit_mov_rr(to, 8, X86_RCX, X86_R15);
    else
        emit_movsxd_rr(to, X86_RCX, X86_R15);
    emit_bswap_r(to, 8, X86_RCX);
    emit_movzx_rr(to, 1, X86_RCX, X86_RCX);
    uint8_t *on = emit_jump8(to, EMIT_JRCXZ8);
    emit_jmp(to, way_out(x, kind, ENGINE_T_SLOT_HOOK, OVER_SIZE));
    emit_bind8(to, on);
    emit_mov_rm(to, 8, X86_RCX, emit_gs(ENGINE_T_SLOT_HOOK));
}

void prologue_ring_as(struct translation *x, uint8_t live_flags)
{
    look_at_r15(x, EXIT_RING, 4, live_flags);
    span_close_as(x, SPAN_BETWEEN, 0, 0);
}

/* Every way round leads downwards somewhere, or through an address that is not known. */
static bool goes_down(const struct translation *x)
{
    switch (x->end) {
    case END_FALL:
    case END_SYSCALL:
        return false;
    case END_JUMP:
    case END_CALL:
    case END_BRANCH:
        return x->taken <= x->pc;
    default:
        return true;
    }
}

static void budget_loose(struct translation *x, uint8_t live_flags)
{
    if (goes_down(x))
        look_at_r15(x, EXIT_BUDGET, 8, live_flags);
    emit_lea(&x->hot, 8, X86_R15, emit_at(X86_R15, -(int32_t)x->count));
    span_close_as(x, SPAN_BETWEEN, 0, 0);
}

void prologue_budget_as(struct translation *x)
{
    uint8_t live_flags = x->e->flags & TOOL_DEAD
                             ? UINT8_MAX
                             : liveness_flags_at_entry(x->e->insns, x->e->code, x->count);
    if (x->e->config.loose)
        budget_loose(x, live_flags);
    else
        budget_exact(x, live_flags);
}

static uint64_t load(const uint8_t *at, uint32_t bytes)
{
    uint64_t value = 0;
    for (uint32_t i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

/*      mov  rcx, [code]        (through r11 where it is out of reach)
 *      mov  r11, -bytes
 *      lea  rcx, [rcx + r11]
 *      jrcxz 1f
 *      jmp  stale
 *   1:                                                                                           */
static void check_chunk(struct translation *x, uint64_t at, uint32_t bytes, uint64_t stale)
{
    struct emit *to = &x->hot;
    struct emit_mem m = emit_rip(at);
    int64_t distance = (int64_t)(at - emit_here(to));
    if (distance > INT32_MAX - 64 || distance < INT32_MIN + 64) {
        emit_mov_ri(to, X86_R11, at);
        m = emit_at(X86_R11, 0);
    }
    if (bytes >= 4)
        emit_mov_rm(to, bytes, X86_RCX, m);
    else
        emit_movzx_rm(to, bytes, X86_RCX, m);
    emit_mov_ri(to, X86_R11, 0 - load(x->e->code[0] + (at - x->pc), bytes));
    emit_lea(to, 8, X86_RCX, emit_indexed(X86_RCX, X86_R11, 1, 0));
    uint8_t *same = emit_jump8(to, EMIT_JRCXZ8);
    emit_jmp(to, stale);
    emit_bind8(to, same);
}

void prologue_check_as(struct translation *x)
{
    struct emit *to = &x->hot;
    uint64_t size = x->next - x->pc, at = 0;
    uint64_t stale = way_out(x, EXIT_STALE, ENGINE_T_SLOT_RCX, STALE_SIZE);
    emit_mov_mr(to, 8, emit_gs(ENGINE_T_SLOT_RCX), X86_RCX);
    emit_mov_mr(to, 8, emit_gs(ENGINE_T_SLOT_R11), X86_R11);
    span_close_as(x, SPAN_SAME, 0, 0);
    while (at < size) {
        uint64_t left = size - at;
        uint32_t bytes = left >= 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
        if (left < 8 && size >= 8) { /* the last eight, some of them again */
            at = size - 8;
            bytes = 8;
        }
        check_chunk(x, x->pc + at, bytes, stale);
        at += bytes;
    }
    emit_mov_rm(to, 8, X86_RCX, emit_gs(ENGINE_T_SLOT_RCX));
    emit_mov_rm(to, 8, X86_R11, emit_gs(ENGINE_T_SLOT_R11));
    span_close_as(x, SPAN_CORE_RCX, 0, 0); /* the code may be gone: it faults here */
}
