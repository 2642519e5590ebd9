/* Deciding in line whether an execution of a block is observed (hook.h, hook_gate_as). What is looked at is the second word
 * of a counter, the thread's own.
 *
 *      dec   dword gs:[left]           where the flags are dead
 *      jns   plain
 *      add   byte gs:[asked], 1
 *      jc    call                      ; cold: the call, jmp on
 *  on:
 *
 *      mov   gs:[slot_hook], rcx       elsewhere; unless rcx is dead
 *      mov   ecx, gs:[left]
 *      lea   ecx, [rcx - 1]
 *      mov   gs:[left], ecx
 *      movzx ecx, byte gs:[left + 3]   ; the sign: not 0 below a few million
 *      jrcxz 1f
 *      movzx ecx, word gs:[asked]
 *      lea   ecx, [rcx + 1]
 *      mov   word gs:[asked], cx
 *      movzx ecx, byte gs:[asked + 1]  ; the carry
 *      jrcxz 2f
 *      jmp   call
 *   1: mov   rcx, gs:[slot_hook]
 *      jmp   plain
 *   2: mov   rcx, gs:[slot_hook]
 *  on:
 *
 * Nothing here can fault but the first access to a window that is mapped when it is counted in: it is made again. */
#include <stddef.h>

#include "engine/hook_emit.h"
#include "engine/link.h"
#include "engine/translate.h"

enum { COLD = 68, SIGN_BYTE = 3, LEFT = 8, ASKED = 12 };

_Static_assert(offsetof(struct counts_gate, left) == LEFT && offsetof(struct counts_gate, asked) == ASKED, "as emitted");

static struct emit cold_begin(struct engine *e)
{
    uint8_t *at = cache_at(&e->cache, cache_cold_as(&e->cache, COLD, 1));
    return (struct emit){ .at = at, .end = at + COLD + EMIT_LONGEST };
}

/* rcx = 0 unless it is below 0 then. */
static void take_without_flags(struct emit *to, struct emit_mem left)
{
    emit_mov_rm(to, 4, X86_RCX, left);
    emit_lea(to, 4, X86_RCX, emit_at(X86_RCX, -1));
    emit_mov_mr(to, 4, left, X86_RCX);
    emit_movzx_rm(to, 1, X86_RCX, emit_gs(left.disp + SIGN_BYTE));
}

/* rcx = 0 unless it is no byte then. */
static void add_without_flags(struct emit *to, struct emit_mem asked)
{
    emit_movzx_rm(to, 2, X86_RCX, asked);
    emit_lea(to, 4, X86_RCX, emit_at(X86_RCX, 1));
    emit_mov_mr(to, 2, asked, X86_RCX);
    emit_movzx_rm(to, 1, X86_RCX, emit_gs(asked.disp + 1));
}

static void restore(struct emit *to, bool spill)
{
    if (spill)
        emit_mov_rm(to, 8, X86_RCX, emit_gs(ENGINE_T_SLOT_HOOK));
}

static void emit_without_flags(struct translation *x, struct emit *cold, struct emit_mem left, struct emit_mem asked, bool spill)
{
    struct emit *to = &x->hot;
    if (spill)
        emit_mov_mr(to, 8, emit_gs(ENGINE_T_SLOT_HOOK), X86_RCX);
    take_without_flags(to, left);
    uint8_t *passed = emit_jump8(to, EMIT_JRCXZ8);
    add_without_flags(to, asked);
    uint8_t *observed = emit_jump8(to, EMIT_JRCXZ8);
    emit_jmp(to, emit_here(cold));
    emit_bind8(to, passed);
    restore(to, spill);
    link_plain_emit_as(x->e, to, x->number, LINK_ALWAYS);
    emit_bind8(to, observed);
    restore(to, spill);
    restore(cold, spill);
}

void hook_gate_emit_as(struct translation *x, const struct hook *hook, struct live live)
{
    struct emit *to = &x->hot, cold = cold_begin(x->e);
    int32_t at = (int32_t)(ENGINE_T_SIZE + (uint64_t)(uint32_t)hook->argument * sizeof(struct counts_lead));
    struct emit_mem left = emit_gs(at + LEFT), asked = emit_gs(at + ASKED);
    if (live.flags & X86_STATUS_FLAGS) {
        emit_without_flags(x, &cold, left, asked, live.registers >> X86_RCX & 1);
    } else {
        emit_dec_m(to, 4, left);
        link_plain_emit_as(x->e, to, x->number, EMIT_NS);
        emit_alu_mi(to, EMIT_ADD, 1, asked, 1);
        emit_jcc(to, EMIT_B, emit_here(&cold));
    }
    hook_call_emit(x->e, &cold, hook, false, 0);
    emit_jmp(&cold, emit_here(to));
}
