/* How blocks end: transfers of control, each form headed by what is written for it. */
#include "engine/inline.h"
#include "engine/link.h"
#include "engine/lookup.h"
#include "engine/pairs.h"
#include "engine/translate.h"

/* Hooks at the end, where registers are all live, and flags but for what the tool's own look ahead
 * says. */
static void hooks(struct translation *x, enum hook_point point)
{
    if (x->hooked)
        hooks_emit_as(x, point, 0, x->e->live[x->count]);
}

static bool hooked(const struct translation *x, enum hook_point point)
{
    return x->hooked && hooks_any(x->e, point, 0);
}

/* What a tool wants to see of a call or return is not paired. */
static bool paired(const struct translation *x, enum hook_point point)
{
    return x->e->paired && !hooked(x, point);
}

static uint64_t here(const struct translation *x)
{
    return emit_here(&x->hot);
}

/* jmp target */
void end_jump_as(struct translation *x, uint64_t target)
{
    link_emit_as(x->e, &x->hot, x->number, LINK_ALWAYS, target);
    span_close_as(x, SPAN_BETWEEN, 0, 0);
}

/* jcc over hooks that may take more than 127 bytes: a rel32, bound by bind_over. */
static uint8_t *branch_over(struct translation *x, unsigned condition)
{
    emit_jcc(&x->hot, condition, here(x));
    return x->hot.at;
}

static void bind_over(struct translation *x, uint8_t *behind)
{
    struct emit to = { .at = behind - 4, .end = behind + EMIT_LONGEST };
    emit_u32_(&to, (uint32_t)(x->hot.at - behind));
}

/* jcc taken
 *
 *      jncc 1f                 with hooks on the way
 *      (hooks)
 *      jmp  taken
 *   1:                                                                                           */
static void branch(struct translation *x, unsigned condition, uint32_t size)
{
    if (hooked(x, HOOK_TAKEN)) {
        uint8_t *over = branch_over(x, condition ^ 1);
        span_close_as(x, SPAN_SAME, size, 0);
        hooks(x, HOOK_TAKEN);
        end_jump_as(x, x->taken);
        bind_over(x, over);
        return;
    }
    link_emit_as(x->e, &x->hot, x->number, condition, x->taken);
    span_close_as(x, SPAN_SAME, size, 0);
}

/*      loop 1f     (or jrcxz, with its prefixes; eight bits of displacement are all there is)
 *      jmp  2f
 *   1: (hooks, alignment)
 *      jmp  taken
 *   2:                                                                                          */
static void branch_short(struct translation *x, const struct x86_insn *insn, const uint8_t *code)
{
    emit_copy(&x->hot, code, insn->at_imm);
    emit_copy(&x->hot, (const uint8_t[]){ 5 }, 1); /* over the jump that follows */
    span_close_as(x, SPAN_SAME, insn->length, 0);
    emit_jmp(&x->hot, here(x));
    uint8_t *over = x->hot.at;
    hooks(x, HOOK_TAKEN);
    end_jump_as(x, x->taken);
    bind_over(x, over);
    span_close_as(x, SPAN_BETWEEN, 0, 0);
}

void push_address_as(struct engine *e, struct emit *to, uint64_t address)
{
    if (address == (uint64_t)(int32_t)address) {
        emit_push_i32(to, (int32_t)address);
        return;
    }
    uint32_t place = cache_cold_as(&e->cache, 8, 8);
    uint8_t *literal = cache_at(&e->cache, place);
    struct emit data = { .at = literal, .end = literal + EMIT_LONGEST };
    emit_literal(&data, address);
    emit_push_m(to, emit_rip((uint64_t)(uintptr_t)literal));
}

/* mov gs:[slot_rcx], rcx;  mov gs:[slot_r11], r11 */
static void spill_for_lookup(struct translation *x)
{
    emit_mov_mr(&x->hot, 8, emit_gs(ENGINE_T_SLOT_RCX), X86_RCX);
    emit_mov_mr(&x->hot, 8, emit_gs(ENGINE_T_SLOT_R11), X86_R11);
    span_close_as(x, SPAN_SAME, 0, 0);
}

static void lookup(struct translation *x)
{
    lookup_emit_as(x->e, &x->hot);
    span_close_as(x, SPAN_BETWEEN, 0, 0);
}

/* Returns where the code runs on to. */
static uint64_t jump_indirect(struct translation *x, uint32_t index)
{
    uint32_t size = x->e->insns[index].length;
    spill_for_lookup(x);
    relocate_target_as(x, index);
    if (x->end == END_CALL_INDIRECT && paired(x, HOOK_INDIRECT)) {
        pairs_call_indirect_as(x, size);
        return x->next;
    }
    if (x->end == END_CALL_INDIRECT) {
        push_address_as(x->e, &x->hot, x->next);
        span_close_as(x, SPAN_CORE_RCX, size, 0);
    }
    hooks(x, HOOK_INDIRECT);
    lookup(x);
    return 0;
}

/* pop rcx, and the argument bytes of ret n */
static void jump_return(struct translation *x, const struct x86_insn *insn, const uint8_t *code)
{
    spill_for_lookup(x);
    if (!insn->imm_size && paired(x, HOOK_INDIRECT)) {
        pairs_return_as(x, insn->length);
        return;
    }
    emit_pop_r(&x->hot, X86_RCX);
    span_close_as(x, SPAN_SAME, insn->length, 0);
    if (insn->imm_size) {
        int32_t bytes = code[insn->at_imm] | code[insn->at_imm + 1] << 8;
        emit_lea(&x->hot, 8, X86_RSP, emit_at(X86_RSP, bytes));
    }
    hooks(x, HOOK_INDIRECT);
    lookup(x);
}

uint64_t end_emit_as(struct translation *x)
{
    struct engine *e = x->e;
    uint32_t last = x->count - 1;
    const struct x86_insn *insn = &e->insns[last];
    const uint8_t *code = e->code[last];
    switch (x->end) {
    case END_FALL:
        if (x->tail) {
            exit_emit_as(e, &x->hot, exit_make_as(e, x->number, EXIT_TAIL, x->next));
            span_close_as(x, SPAN_SAME, 0, 0);
            return 0;
        }
        hooks(x, HOOK_FALL);
        return x->next;
    case END_JUMP:
        if (x86_is_xbegin(insn)) /* no reason, and no hint that it might succeed another time */
            emit_mov_ri(&x->hot, X86_RAX, 0);
        span_close_as(x, SPAN_BETWEEN, insn->length, 0);
        hooks(x, HOOK_TAKEN);
        return x->taken;
    case END_BRANCH:
        if (insn->kind == X86_JCC)
            branch(x, insn->opcode & 15, insn->length);
        else
            branch_short(x, insn, code);
        hooks(x, HOOK_FALL);
        return x->next;
    case END_CALL:
        if (paired(x, HOOK_TAKEN)) {
            pairs_call_as(x, insn->length);
            return x->next;
        }
        push_address_as(e, &x->hot, x->next);
        span_close_as(x, SPAN_SAME, insn->length, 0);
        hooks(x, HOOK_TAKEN);
        return x->taken;
    case END_JUMP_INDIRECT:
    case END_CALL_INDIRECT:
        return jump_indirect(x, last);
    case END_RETURN:
        jump_return(x, insn, code);
        return 0;
    case END_SYSCALL:
        exit_emit_as(e, &x->hot, exit_make_as(e, x->number, EXIT_SYSCALL, x->next));
        span_close_as(x, SPAN_SAME, insn->length, 0);
        return 0;
    case END_STOP:
        break;
    }
    return 0;
}
