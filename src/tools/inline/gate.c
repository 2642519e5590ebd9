/* Deciding in line whether an execution of a block is observed (gate.h). What is looked at is the
 * second word of a counter, the thread's own.
 *
 * gate:
 *      dec   dword gs:[left]           where the flags are dead
 *      js    look
 *  on: the block without hooks
 *
 *      mov   gs:[slot_hook], rcx       elsewhere; unless rcx is dead
 *      mov   ecx, gs:[left]
 *      lea   ecx, [rcx - 1]
 *      mov   gs:[left], ecx
 *      movzx ecx, byte gs:[left + 3]   ; the sign: not 0 below a few million
 *      jrcxz 1f
 *      jmp   look
 *   1: mov   rcx, gs:[slot_hook]
 *  on:
 *
 * look, which is cold:
 *
 *      sub   byte gs:[asked], 1        ; movzx ecx, word gs:[asked]
 *      jnc   2f                        ; lea   ecx, [rcx - 1]
 *                                      ; mov   word gs:[asked], cx
 *                                      ; movzx ecx, byte gs:[asked + 1], the borrow
 *                                      ; jrcxz 2f
 *                                      ; mov   rcx, gs:[slot_hook]
 *      the call, jmp gate
 *   2: jmp   observed                  ; mov   rcx, gs:[slot_hook], first
 *
 * Nothing here can fault but the first access to a window that is mapped when it is counted in: it
 * is made again. */
#include "tools/inline/gate.h"

#include <stddef.h>

#include "engine/inline.h"
#include "engine/link.h"
#include "engine/translate.h"

enum { COLD = 72, COLD_FLAGS = 108 /* they are live */, HOT = 64, SIGN_BYTE = 3, LEFT = 8,
      ASKED = 12 };

_Static_assert(offsetof(struct counts_gate, left) == LEFT &&
               offsetof(struct counts_gate, asked) == ASKED, "as emitted");

/* rcx = 0 unless it is below 0 then. */
static void take_without_flags(struct emit *to, struct emit_mem left)
{
    emit_mov_rm(to, 4, X86_RCX, left);
    emit_lea(to, 4, X86_RCX, emit_at(X86_RCX, -1));
    emit_mov_mr(to, 4, left, X86_RCX);
    emit_movzx_rm(to, 1, X86_RCX, emit_gs(left.disp + SIGN_BYTE));
}

/* rcx = 0 unless it was 0. */
static void ask_without_flags(struct emit *to, struct emit_mem asked)
{
    emit_movzx_rm(to, 2, X86_RCX, asked);
    emit_lea(to, 4, X86_RCX, emit_at(X86_RCX, -1));
    emit_mov_mr(to, 2, asked, X86_RCX);
    emit_movzx_rm(to, 1, X86_RCX, emit_gs(asked.disp + 1));
}

static void restore(struct emit *to, bool spill)
{
    if (spill)
        emit_mov_rm(to, 8, X86_RCX, emit_gs(ENGINE_T_SLOT_HOOK));
}

/* Where it is not passed over. */
static void look_emit(struct translation *x, struct emit *cold, const struct hook *hook,
                      struct emit_mem asked, uint64_t gate, bool flags, bool spill)
{
    uint8_t *observed;
    if (flags) {
        ask_without_flags(cold, asked);
        observed = emit_jump8(cold, EMIT_JRCXZ8);
    } else {
        emit_alu_mi(cold, EMIT_SUB, 1, asked, 1);
        observed = emit_jump8(cold, EMIT_JCC8 | EMIT_NB);
    }
    restore(cold, spill);
    hook_call_emit(x->e, cold, hook, (struct hook_way){0});
    emit_jmp(cold, gate);
    emit_bind8(cold, observed);
    restore(cold, spill);
    link_observed_emit_as(x->e, cold, x->number, hook->argument);
}

static void emit_as(struct translation *x, const struct hook *hook, uint32_t index,
                    struct live live)
{
    bool flags = live.flags & X86_STATUS_FLAGS, spill = flags && live.registers >> X86_RCX & 1;
    struct emit *to = &x->hot, cold = inline_cold_begin(x->e, flags ? COLD_FLAGS : COLD);
    int32_t at =
        (int32_t)(ENGINE_T_SIZE + (uint64_t)(uint32_t)hook->argument * sizeof(struct counts_lead));
    struct emit_mem left = emit_gs(at + LEFT), asked = emit_gs(at + ASKED);
    (void)index;
    uint64_t gate = emit_here(to), look = emit_here(&cold);
    if (!flags) {
        emit_dec_m(to, 4, left);
        emit_jcc(to, EMIT_S, look);
    } else {
        if (spill)
            emit_mov_mr(to, 8, emit_gs(ENGINE_T_SLOT_HOOK), X86_RCX);
        take_without_flags(to, left);
        uint8_t *passed = emit_jump8(to, EMIT_JRCXZ8);
        emit_jmp(to, look);
        emit_bind8(to, passed);
        restore(to, spill);
    }
    look_emit(x, &cold, hook, asked, gate, flags, spill);
}

bool gate_as(struct hooks *h, hook_function *function, uint64_t argument)
{
    static const struct hook_inline piece = {emit_as, HOT, COLD_FLAGS};
    return inline_add_as(h, HOOK_ENTRY, 0, &piece, function, argument, 0);
}
