/* Deciding in line whether a hook is called for the memory that an instruction accesses
 * (watch.h): by a table of the thread, of a byte for each 256 bytes of 64 kB.
 *
 *      mov   gs:[slot_hook], rcx       unless it is dead; where the flags are, too, another one of
 *                                      rax, rcx, rdx and rbx may be: the one that is read last
 *      lea   rcx, [the operand]
 *      movzx ecx, ch
 *      cmp   byte gs:[rcx + watch], 0  ; where the flags are live: movzx ecx, byte gs:[rcx + watch]
 *      jne   look                      ; jrcxz 1f, jmp look
 *   1: mov   rcx, gs:[slot_hook]
 *  on:
 *
 * Of returns, by the stack pointer:
 *
 *      mov   gs:[slot_hook], rcx
 *      mov   rcx, gs:[floor]
 *      lea   rcx, [rcx + rsp]
 *      not   rcx                       ; ~floor - rsp
 *      mov   gs:[slot_link], rcx
 *      movzx ecx, byte gs:[slot_link + 7]
 *      jrcxz 1f
 *      jmp   look
 *   1: mov   rcx, gs:[slot_hook]
 *  on:
 *
 * Of instructions executed, so that what is watched can be changed where nothing is:
 *
 *      sub   qword gs:[alarm], n       ; where the flags are live: mov rcx, gs:[alarm],
 *                                      ; lea rcx, [rcx - n], mov gs:[alarm], rcx,
 *      js    look                      ; movzx ecx, byte gs:[alarm + 7], jrcxz 1f, jmp look
 *
 * look, which is cold:
 *      mov   rcx, gs:[slot_hook]
 *      the call, jmp on
 *
 * Of a block with two copies, at its beginning, after the alarm:
 *
 *      cmp   byte gs:[watching], 0     ; where the flags are live: movzx ecx, byte gs:[watching],
 *      jne   open                      ; jrcxz 1f, jmp open
 *   1: mov   rcx, gs:[slot_hook]
 *
 * open, which is cold:
 *      mov   rcx, gs:[slot_hook]
 *      jmp   the other copy
 *
 * Nothing here can fault: the operand's address is formed, and not read. */
#include "tools/inline/watch.h"

#include "engine/inline.h"
#include "engine/link.h"
#include "engine/translate.h"

enum {
    HOT = 80, /* at the most */
    RELOAD = 9, /* of the scratch register, if it was spilled */
    CALL = 37, JUMP = 5, LINK = 12,
    COLD = RELOAD + CALL + JUMP,
    GATE_RELOADS = 3,
    GATE_COLD = GATE_RELOADS * RELOAD + CALL + JUMP + LINK,
    TOP_BYTE = 7,
};
_Static_assert(WATCH_BYTES == 1 << 8 && WATCH_PARTS == 1 << 8,
               "the part is the second byte of an address");
_Static_assert(BLOCK_INSNS * X86_MEMORY_MAX * (HOT + COLD) < TRANSLATE_ROOM - (16 << 10),
               "what is behind a gate has room: it cannot be divided");

/* False: the address is not the sum of general registers as they are, and a displacement. */
static bool in_line(const struct engine *e, const struct x86_insn *insn, const struct x86_memory *m)
{
    bool vector = insn->traits & X86_VSIB && m->index != X86_NONE;
    bool stolen = e->steals && (m->base == X86_R15 || m->index == X86_R15);
    return !vector && !stolen && !m->segment && !m->address32 && m->add8 == X86_NONE &&
           m->disp == (int32_t)m->disp;
}

/* What is borrowed; it comes back from memory, for which whoever reads it next waits. */
struct scratch {
    unsigned reg;
    bool spilled, flags; /* those are live, too */
};

static void spill(struct emit *to, struct scratch s)
{
    if (s.spilled)
        emit_mov_mr(to, 8, emit_gs(ENGINE_T_SLOT_HOOK), s.reg);
}

static void restore(struct emit *to, struct scratch s)
{
    if (s.spilled)
        emit_mov_rm(to, 8, s.reg, emit_gs(ENGINE_T_SLOT_HOOK));
}

static struct scratch scratch_choose(const struct translation *x, uint32_t index, struct live live)
{
    enum { HIGH_BYTES = 4 }; /* rax, rcx, rdx, rbx have one */
    bool flags = live.flags & X86_STATUS_FLAGS;
    unsigned best = X86_RCX, candidates = (1u << HIGH_BYTES) - 1;
    for (uint32_t i = index; !flags && i < x->count && candidates; i++) {
        best = (unsigned)__builtin_ctz(candidates);
        candidates &= ~(unsigned)x->e->insns[i].reads;
    }
    if (candidates && !flags)
        best = (unsigned)__builtin_ctz(candidates);
    return (struct scratch){ best, live.registers >> best & 1, flags };
}

/* To cold code unless rcx is 0, or if the condition is met. */
static void leave_emit(struct emit *to, struct scratch s, unsigned condition, uint64_t cold)
{
    if (s.flags) {
        uint8_t *passed = emit_jump8(to, EMIT_JRCXZ8);
        emit_jmp(to, cold);
        emit_bind8(to, passed);
    } else {
        emit_jcc(to, condition, cold);
    }
}

/* The end of all but gates. */
static void end_emit(struct translation *x, const struct hook *hook, struct scratch s,
                     unsigned condition)
{
    uint32_t size = COLD - (s.spilled ? 0 : RELOAD);
    struct emit *to = &x->hot, cold = inline_cold_begin(x->e, size);
    leave_emit(to, s, condition, emit_here(&cold));
    restore(to, s);
    restore(&cold, s);
    hook_call_emit(x->e, &cold, hook, (struct hook_way){0});
    emit_jmp(&cold, emit_here(to));
}

/* Its address to the scratch register, and which byte of the table that is. */
static struct emit_mem part_emit(struct translation *x, uint32_t index, const struct x86_memory *m,
                                 unsigned scratch)
{
    struct emit *to = &x->hot;
    const struct x86_insn *insn = &x->e->insns[index];
    if (m->base == X86_RIP) {
        uint64_t pc = x->pc;
        for (uint32_t i = 0; i < index; i++)
            pc += x->e->insns[i].length;
        uint64_t address = relocate_address(insn, x->e->code[index], pc);
        return emit_gs(ENGINE_T_WATCH + (int32_t)watch_part(address));
    }
    struct emit_mem at =
        emit_indexed(m->base, m->index, m->index == X86_NONE ? 1 : m->scale, (int32_t)m->disp);
    emit_lea(to, 8, scratch, at);
    emit_movzx_rh(to, scratch, scratch);
    struct emit_mem part = emit_at(scratch, ENGINE_T_WATCH);
    part.segment = EMIT_GS;
    return part;
}

static void memory_emit_as(struct translation *x, const struct hook *hook, uint32_t index,
                           struct live live)
{
    struct x86_memory memory[X86_MEMORY_MAX];
    const struct x86_insn *insn = &x->e->insns[index];
    unsigned count = x86_memory_as(insn, x->e->code[index], memory);
    const struct x86_memory *m = &memory[hook->size];
    if (hook->size >= count || !in_line(x->e, insn, m)) {
        hook_call_emit(x->e, &x->hot, hook, (struct hook_way){0});
        return;
    }
    struct scratch s = scratch_choose(x, index, live);
    s.spilled &= s.flags || m->base != X86_RIP;
    spill(&x->hot, s);
    struct emit_mem part = part_emit(x, index, m, s.reg);
    if (s.flags)
        emit_movzx_rm(&x->hot, 1, X86_RCX, part);
    else
        emit_alu_mi(&x->hot, EMIT_CMP, 1, part, 0);
    end_emit(x, hook, s, EMIT_NZ);
}

static void return_emit_as(struct translation *x, const struct hook *hook, uint32_t index,
                           struct live live)
{
    (void)index;
    struct emit *to = &x->hot;
    struct scratch s = { X86_RCX, live.registers >> X86_RCX & 1, true };
    spill(to, s);
    emit_mov_rm(to, 8, X86_RCX, emit_gs(ENGINE_T_FLOOR));
    emit_lea(to, 8, X86_RCX, emit_indexed(X86_RSP, X86_RCX, 1, 0));
    emit_not_r(to, 8, X86_RCX);
    emit_mov_mr(to, 8, emit_gs(ENGINE_T_SLOT_LINK), X86_RCX);
    emit_movzx_rm(to, 1, X86_RCX, emit_gs(ENGINE_T_SLOT_LINK + TOP_BYTE));
    end_emit(x, hook, s, EMIT_NZ);
}

/* The sign of what is left becomes the condition, or rcx. */
static struct scratch alarm_take(struct translation *x, const struct hook *hook, struct live live)
{
    struct emit *to = &x->hot;
    struct emit_mem alarm = emit_gs(ENGINE_T_ALARM);
    bool flags = live.flags & X86_STATUS_FLAGS;
    struct scratch s = { X86_RCX, flags && live.registers >> X86_RCX & 1, flags };
    if (!flags) {
        emit_alu_mi(to, EMIT_SUB, 8, alarm, hook->size);
    } else {
        spill(to, s);
        emit_mov_rm(to, 8, X86_RCX, alarm);
        emit_lea(to, 8, X86_RCX, emit_at(X86_RCX, -(int32_t)hook->size));
        emit_mov_mr(to, 8, alarm, X86_RCX);
        emit_movzx_rm(to, 1, X86_RCX, emit_gs(ENGINE_T_ALARM + TOP_BYTE));
    }
    return s;
}

static void alarm_emit_as(struct translation *x, const struct hook *hook, uint32_t index,
                          struct live live)
{
    (void)index;
    end_emit(x, hook, alarm_take(x, hook, live), EMIT_S);
}

static void gate_emit_as(struct translation *x, const struct hook *hook, uint32_t index,
                         struct live live)
{
    (void)index;
    struct emit *to = &x->hot;
    struct scratch s = alarm_take(x, hook, live);
    uint32_t size = GATE_COLD - (s.spilled ? 0 : GATE_RELOADS * RELOAD);
    struct emit cold = inline_cold_begin(x->e, size);
    leave_emit(to, s, EMIT_S, emit_here(&cold));
    uint64_t on = emit_here(to);
    restore(&cold, s);
    hook_call_emit(x->e, &cold, hook, (struct hook_way){0});
    spill(&cold, s);
    emit_jmp(&cold, on);
    if (s.flags)
        emit_movzx_rm(to, 1, X86_RCX, emit_gs(ENGINE_T_WATCHING));
    else
        emit_alu_mi(to, EMIT_CMP, 1, emit_gs(ENGINE_T_WATCHING), 0);
    leave_emit(to, s, EMIT_NZ, emit_here(&cold));
    restore(to, s);
    restore(&cold, s);
    link_observed_emit_as(x->e, &cold, x->number, hook->argument);
}

bool watch_memory_as(struct hooks *h, uint32_t index, unsigned operand, hook_function *function,
                     uint64_t argument)
{
    static const struct hook_inline piece = {memory_emit_as, HOT, COLD};
    return inline_add_as(h, HOOK_BEFORE, index, &piece, function, argument, operand);
}

bool watch_return_as(struct hooks *h, uint32_t index, hook_function *function, uint64_t argument)
{
    static const struct hook_inline piece = {return_emit_as, HOT, COLD};
    return inline_add_as(h, HOOK_BEFORE, index, &piece, function, argument, 0);
}

bool watch_alarm_as(struct hooks *h, uint32_t amount, hook_function *function, uint64_t argument)
{
    static const struct hook_inline piece = {alarm_emit_as, HOT, COLD};
    return amount <= BLOCK_INSNS &&
           inline_add_as(h, HOOK_ENTRY, 0, &piece, function, argument, amount);
}

bool watch_gate_as(struct hooks *h, uint32_t amount, hook_function *function, uint64_t argument)
{
    static const struct hook_inline piece = {gate_emit_as, HOT, GATE_COLD};
    h->gated = true;
    return amount <= BLOCK_INSNS &&
           inline_add_as(h, HOOK_ENTRY, 0, &piece, function, argument, amount);
}
