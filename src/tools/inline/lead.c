/* Deciding in line whether a hook is called (lead.h). What is looked at is the thread's own, in its
 * counter window: left and bits, 16 bytes by id.
 *
 *      dec   qword gs:[left]           where the flags are dead
 *      jns   on
 *      cmp   reg, gs:[bits]
 *      jne   call                      ; cold: the call, jmp on
 *  on:
 *
 *      mov   gs:[slot_hook], rcx       elsewhere; unless rcx is dead
 *      mov   rcx, gs:[left]
 *      lea   rcx, [rcx - 1]
 *      mov   gs:[left], rcx
 *      movzx ecx, byte gs:[left + 7]   ; the sign: 0 or 0xff
 *      jrcxz out
 *      jmp   look                      ; cold: is ~bits + reg + 1, in the register's width, 0? jmp out
 * out: mov   rcx, gs:[slot_hook]       ; else rcx again, the call, jmp on
 *  on:
 *
 * r15, where it is stolen, is looked at in its slot, through r11, in the second way whatever the
 * flags are.
 *
 * Of vector registers the cold part begins right behind the look at `left`, with rcx as it was:
 *
 *      movq  gs:[slot_hook], xmm       ; mov gs:[slot_link], r11, mov r11, gs:[slot_hook]
 *      cmp   r11, gs:[bits]            ; mov r11, gs:[slot_link]
 *      je    on                        ; where the flags are live: is ~bits + r11 + 1 0? in rcx, which is in slot A meanwhile
 *      the call, jmp on
 *
 * Nothing here can fault but the first access to a window that is mapped when it is counted in: it
 * is made again. */
#include "tools/inline/lead.h"

#include "engine/inline.h"
#include "engine/translate.h"

enum { COLD_CALL = 68, COLD_LOOK = 132, COLD_MORE = 192 /* stolen, vector */, HOT = 64,
      LINE_LEAST = 4, SIGN_BYTE = 7, BITS = 8 };

struct look {
    struct emit_mem left, bits;
    unsigned reg, width;
    bool spill; /* rcx is in its slot */
    bool stolen; /* the register is, and so in another */
};

/* Is the call made through the tool's own code? */
static bool has_line(const struct engine *e, const struct hook *hook)
{
    return inline_has_line(e, hook) && lead_width(hook->argument) >= LINE_LEAST;
}

static bool is_vector(const struct look *l)
{
    return l->reg >= LEAD_XMM;
}

static struct look look_of(const struct engine *e, const struct hook *hook, struct live live)
{
    int32_t at =
        (int32_t)(ENGINE_T_SIZE + (uint64_t)(uint32_t)hook->argument * sizeof(struct counts_lead));
    unsigned reg = lead_register(hook->argument);
    return (struct look){
        .left = emit_gs(at), .bits = emit_gs(at + BITS), .reg = reg,
        .width = lead_width(hook->argument),
        .spill = reg == X86_RCX || live.registers >> X86_RCX & 1,
        .stolen = reg == X86_R15 && e->steals,
    };
}

/* rcx = 0 if the register is the same. */
static void compare_without_flags(struct emit *to, const struct look *l)
{
    bool slot = l->reg == X86_RCX || l->stolen;
    unsigned reg = slot ? X86_R11 : l->reg;
    if (slot) {
        emit_mov_mr(to, 8, emit_gs(ENGINE_T_SLOT_LINK), X86_R11);
        emit_mov_rm(to, 8, X86_R11, emit_gs(l->stolen ? ENGINE_T_STOLEN : ENGINE_T_SLOT_HOOK));
    }
    emit_mov_rm(to, 8, X86_RCX, l->bits);
    emit_not_r(to, 8, X86_RCX);
    emit_lea(to, l->width == 8 ? 8 : 4, X86_RCX, emit_indexed(reg, X86_RCX, 1, 1));
    if (l->width < 4)
        emit_movzx_rr(to, l->width, X86_RCX, X86_RCX);
    if (slot)
        emit_mov_rm(to, 8, X86_R11, emit_gs(ENGINE_T_SLOT_LINK));
}

static void vector_store(struct emit *to, const struct look *l)
{
    struct emit_mem upper = emit_gs(ENGINE_T_SLOT_HOOK + 4);
    unsigned number = l->reg & 15;
    if (l->reg >= LEAD_XMM_UPPER)
        emit_movh_mx(to, emit_gs(ENGINE_T_SLOT_HOOK), number);
    else
        emit_mov_mx(to, l->width, emit_gs(ENGINE_T_SLOT_HOOK), number);
    if (l->width < 8)
        emit_mov_mi(to, 4, upper, 0);
}

static void general_store(struct emit *to, const struct look *l)
{
    unsigned reg = l->stolen ? X86_R11 : l->reg;
    if (l->stolen) {
        emit_mov_mr(to, 8, emit_gs(ENGINE_T_SLOT_LINK), X86_R11);
        emit_mov_rm(to, 8, X86_R11, emit_gs(ENGINE_T_STOLEN));
    }
    emit_mov_mr(to, 8, emit_gs(ENGINE_T_SLOT_HOOK), reg);
    if (l->stolen)
        emit_mov_rm(to, 8, X86_R11, emit_gs(ENGINE_T_SLOT_LINK));
}

static void call_emit(struct translation *x, struct emit *cold, const struct hook *hook,
                      const struct look *l)
{
    if (!is_vector(l) && has_line(x->e, hook))
        general_store(cold, l);
    hook_call_emit(x->e, cold, hook, (struct hook_way){.line = has_line(x->e, hook)});
    emit_jmp(cold, emit_here(&x->hot));
}

/* On from here if it is the same, else the call. */
static void vector_emit(struct translation *x, struct emit *cold, const struct hook *hook,
                        const struct look *l, bool flags)
{
    vector_store(cold, l);
    emit_mov_mr(cold, 8, emit_gs(ENGINE_T_SLOT_LINK), X86_R11);
    emit_mov_rm(cold, 8, X86_R11, emit_gs(ENGINE_T_SLOT_HOOK));
    if (!flags) {
        emit_alu_rm(cold, EMIT_CMP, 8, X86_R11, l->bits);
        emit_mov_rm(cold, 8, X86_R11, emit_gs(ENGINE_T_SLOT_LINK));
        emit_jcc(cold, EMIT_Z, emit_here(&x->hot));
        call_emit(x, cold, hook, l);
        return;
    }
    emit_mov_mr(cold, 8, emit_gs(ENGINE_T_SLOT_A), X86_RCX);
    emit_mov_rm(cold, 8, X86_RCX, l->bits);
    emit_not_r(cold, 8, X86_RCX);
    emit_lea(cold, 8, X86_RCX, emit_indexed(X86_R11, X86_RCX, 1, 1));
    emit_mov_rm(cold, 8, X86_R11, emit_gs(ENGINE_T_SLOT_LINK));
    uint8_t *same = emit_jump8(cold, EMIT_JRCXZ8);
    emit_mov_rm(cold, 8, X86_RCX, emit_gs(ENGINE_T_SLOT_A));
    call_emit(x, cold, hook, l);
    emit_bind8(cold, same);
    emit_mov_rm(cold, 8, X86_RCX, emit_gs(ENGINE_T_SLOT_A));
    emit_jmp(cold, emit_here(&x->hot));
}

static void emit_with_flags(struct translation *x, const struct hook *hook, const struct look *l)
{
    struct emit *to = &x->hot, cold = inline_cold_begin(x->e, is_vector(l) ? COLD_MORE : COLD_CALL);
    emit_dec_m(to, 8, l->left);
    if (is_vector(l)) {
        emit_jcc(to, EMIT_S, emit_here(&cold));
        vector_emit(x, &cold, hook, l, false);
        return;
    }
    uint8_t *passed = emit_jump8(to, EMIT_JCC8 | EMIT_NS);
    emit_alu_rm(to, EMIT_CMP, l->width, l->reg, l->bits);
    emit_jcc(to, EMIT_NZ, emit_here(&cold));
    emit_bind8(to, passed);
    call_emit(x, &cold, hook, l);
}

static void emit_without_flags(struct translation *x, const struct hook *hook, const struct look *l)
{
    struct emit *to = &x->hot,
                cold = inline_cold_begin(x->e, l->stolen || is_vector(l) ? COLD_MORE : COLD_LOOK);
    if (l->spill)
        emit_mov_mr(to, 8, emit_gs(ENGINE_T_SLOT_HOOK), X86_RCX);
    emit_mov_rm(to, 8, X86_RCX, l->left);
    emit_lea(to, 8, X86_RCX, emit_at(X86_RCX, -1));
    emit_mov_mr(to, 8, l->left, X86_RCX);
    emit_movzx_rm(to, 1, X86_RCX, emit_gs(l->left.disp + SIGN_BYTE));
    uint8_t *passed = emit_jump8(to, EMIT_JRCXZ8);
    emit_jmp(to, emit_here(&cold));
    emit_bind8(to, passed);
    uint64_t out = emit_here(to);
    if (l->spill)
        emit_mov_rm(to, 8, X86_RCX, emit_gs(ENGINE_T_SLOT_HOOK));
    uint8_t *same = NULL;
    if (!is_vector(l)) {
        compare_without_flags(&cold, l);
        same = emit_jump8(&cold, EMIT_JRCXZ8);
    }
    if (l->spill)
        emit_mov_rm(&cold, 8, X86_RCX, emit_gs(ENGINE_T_SLOT_HOOK));
    if (!same) {
        vector_emit(x, &cold, hook, l, true);
        return;
    }
    call_emit(x, &cold, hook, l);
    emit_bind8(&cold, same);
    emit_jmp(&cold, out);
}

static void emit_as(struct translation *x, const struct hook *hook, uint32_t index,
                    struct live live)
{
    struct look l = look_of(x->e, hook, live);
    (void)index;
    if (live.flags & X86_STATUS_FLAGS || l.stolen)
        emit_without_flags(x, hook, &l);
    else
        emit_with_flags(x, hook, &l);
}

bool lead_as(struct hooks *h, enum hook_point point, uint32_t index, hook_function *function,
             uint64_t argument)
{
    static const struct hook_inline piece = {emit_as, HOT, COLD_MORE};
    return inline_add_as(h, point, index, &piece, function, argument, 0);
}
