/* Timing one instruction. The stamps are taken next to it, inside all other hooks:
 *
 *      mov gs:[time_rax], rax        ─┐ rdtsc writes edx:eax, no flags
 *      mov gs:[time_rdx], rdx         │
 *      lfence                         │ what came before has finished: its misses are not counted here
 *      rdtsc                          │
 *      mov gs:[time], eax, edx        │
 *      mov rax, gs:[time_rax]         │
 *      mov rdx, gs:[time_rdx]         │
 *      lfence                        ─┘ nothing of the instruction begins before the stamp is taken
 *      (the instruction)
 *      lfence                        ─┐ it has finished: its value has arrived
 *      mov gs:[time_rax], rax         │
 *      mov gs:[time_rdx], rdx         │
 *      rdtsc                          │
 *      mov gs:[time_end], eax, edx    │
 *      mov rax, gs:[time_end]         │ end + ~begin + 1, which needs no flags
 *      mov rdx, gs:[time]             │
 *      not rdx                        │
 *      lea rax, [rax + rdx + 1]       │
 *      mov gs:[time], rax             │
 *      mov rax, gs:[time_rax]         │
 *      mov rdx, gs:[time_rdx]        ─┘
 *
 * On processors of AMD lfence waits like this because Linux has them do so (as a mitigation). The
 * instruction may fault: registers are the program's where it stands. */
#include "engine/inline.h"
#include "engine/translate.h"

static bool is_timed(const struct translation *x, uint32_t index)
{
    return x->e->hooks.timed >> index & 1;
}

static void stamp(struct emit *to, int32_t slot)
{
    emit_rdtsc(to);
    emit_mov_mr(to, 4, emit_gs(slot), X86_RAX);
    emit_mov_mr(to, 4, emit_gs(slot + 4), X86_RDX);
}

static void spill(struct emit *to)
{
    emit_mov_mr(to, 8, emit_gs(ENGINE_T_TIME_RAX), X86_RAX);
    emit_mov_mr(to, 8, emit_gs(ENGINE_T_TIME_RDX), X86_RDX);
}

static void unspill(struct emit *to)
{
    emit_mov_rm(to, 8, X86_RAX, emit_gs(ENGINE_T_TIME_RAX));
    emit_mov_rm(to, 8, X86_RDX, emit_gs(ENGINE_T_TIME_RDX));
}

void hook_time_begin_as(struct translation *x, uint32_t index)
{
    struct emit *to = &x->hot;
    if (!is_timed(x, index))
        return;
    spill(to);
    emit_lfence(to);
    stamp(to, ENGINE_T_TIME);
    unspill(to);
    emit_lfence(to);
    span_close_as(x, SPAN_BETWEEN, 0, 0);
}

void hook_time_end_as(struct translation *x, uint32_t index)
{
    struct emit *to = &x->hot;
    if (!is_timed(x, index))
        return;
    emit_lfence(to);
    spill(to);
    stamp(to, ENGINE_T_TIME_END);
    emit_mov_rm(to, 8, X86_RAX, emit_gs(ENGINE_T_TIME_END));
    emit_mov_rm(to, 8, X86_RDX, emit_gs(ENGINE_T_TIME));
    emit_not_r(to, 8, X86_RDX);
    emit_lea(to, 8, X86_RAX, emit_indexed(X86_RAX, X86_RDX, 1, 1));
    emit_mov_mr(to, 8, emit_gs(ENGINE_T_TIME), X86_RAX);
    unspill(to);
    span_close_as(x, SPAN_BETWEEN, 0, 0);
}
