/* Counting by target at an indirect end, without a call of C code where the target has been seen
 * before: each thread has a table of (end, target) and their counters, below its area.
 *
 *      gs:[TARGETS + 16 i]    0 - (target + end << 47)     i: the low 16 bits of target + a constant of the end
 *                        +8   offset of the counter from GS
 *
 *      lea   r11, [rcx + constant]     ; rcx: the target, r11: free; both are in the lookup's slots
 *      movzx r11d, r11w
 *      lea   r11d, [r11 + r11]
 *      mov   gs:[rip], rcx
 *      mov   gs:[slot_hook], r11
 *      mov   r11, gs:[TARGETS + r11 * 8]
 *      lea   rcx, [rcx + r11]
 *      mov   r11, end << 47
 *      lea   rcx, [rcx + r11]
 *      jrcxz hit
 *      jmp   miss                      ; cold: mov gs:[site], end; the hook is called; jmp on
 * hit: mov   r11, gs:[slot_hook]
 *      mov   r11, gs:[TARGETS + r11 * 8 + 8]
 *      mov   rcx, gs:[r11]
 *      lea   rcx, [rcx + 1]
 *      mov   gs:[r11], rcx
 *      mov   rcx, gs:[rip]
 *  on:
 *
 * Addresses of code are below 2^47, so the key says which end and which target it is. Ends are
 * numbered as they are translated, and never again: what is remembered of code that has gone is
 * never asked for. The tables are the threads' own: no other one writes to them. */
#include "tools/inline/target.h"

#include "engine/inline.h"
#include "engine/translate.h"

enum { SITES_MOST = 1 << 17, SITE_SHIFT = 47, INDEX_MASK = 0xffff, HOT = 112, COLD = 80 };

static uint32_t constant_of(uint32_t site)
{
    return site * 0x9e3779b1u >> 16; /* spreads what goes to the same place from several ends */
}

static struct emit_mem in_targets(int32_t more)
{
    struct emit_mem m = emit_table(ENGINE_T_TARGETS + more, X86_R11, 8);
    m.segment = EMIT_GS;
    return m;
}

/* Where `miss` is: the hook is called as it would be without a table. */
static uint64_t miss_emit(struct translation *x, const struct hook *hook, uint32_t site,
                          uint64_t on)
{
    struct engine *e = x->e;
    struct emit cold = inline_cold_begin(e, COLD);
    uint64_t at = emit_here(&cold);
    emit_mov_mi(&cold, 4, emit_gs(ENGINE_T_SITE), (int32_t)site);
    emit_mov_rm(&cold, 8, X86_RCX, emit_gs(ENGINE_T_RIP));
    hook_call_emit(e, &cold, hook, (struct hook_way){.indirect = true});
    emit_jmp(&cold, on);
    return at;
}

static void emit_as(struct translation *x, const struct hook *hook, uint32_t index,
                    struct live live)
{
    (void)index;
    (void)live;
    struct engine *e = x->e;
    struct emit *to = &x->hot;
    if (e->sites + 1 == SITES_MOST) {
        emit_mov_mi(to, 4, emit_gs(ENGINE_T_SITE), 0);
        hook_call_emit(e, to, hook, (struct hook_way){.indirect = true});
        return;
    }
    uint32_t site = ++e->sites;
    emit_lea(to, 8, X86_R11, emit_at(X86_RCX, (int32_t)constant_of(site)));
    emit_movzx_rr(to, 2, X86_R11, X86_R11);
    emit_lea(to, 4, X86_R11, emit_indexed(X86_R11, X86_R11, 1, 0));
    emit_mov_mr(to, 8, emit_gs(ENGINE_T_RIP), X86_RCX);
    emit_mov_mr(to, 8, emit_gs(ENGINE_T_SLOT_HOOK), X86_R11);
    emit_mov_rm(to, 8, X86_R11, in_targets(0));
    emit_lea(to, 8, X86_RCX, emit_indexed(X86_RCX, X86_R11, 1, 0));
    emit_mov_ri64(to, X86_R11, (uint64_t)site << SITE_SHIFT);
    emit_lea(to, 8, X86_RCX, emit_indexed(X86_RCX, X86_R11, 1, 0));
    uint8_t *hit = emit_jump8(to, EMIT_JRCXZ8);
    emit_jmp(to, emit_here(to)); /* to be bound below */
    uint8_t *miss = to->at;
    emit_bind8(to, hit);
    emit_mov_rm(to, 8, X86_R11, emit_gs(ENGINE_T_SLOT_HOOK));
    emit_mov_rm(to, 8, X86_R11, in_targets(8));
    struct emit_mem counter = emit_at(X86_R11, 0);
    counter.segment = EMIT_GS;
    emit_mov_rm(to, 8, X86_RCX, counter);
    emit_lea(to, 8, X86_RCX, emit_at(X86_RCX, 1));
    emit_mov_mr(to, 8, counter, X86_RCX);
    emit_mov_rm(to, 8, X86_RCX, emit_gs(ENGINE_T_RIP));
    struct emit jump = { .at = miss - 5, .end = miss + EMIT_LONGEST };
    emit_jmp(&jump, miss_emit(x, hook, site, emit_here(to)));
}

bool target_count_as(struct hooks *h, hook_function *miss, uint64_t argument)
{
    static const struct hook_inline piece = {emit_as, HOT, COLD};
    return inline_add_as(h, HOOK_INDIRECT, 0, &piece, miss, argument, 0);
}

uint32_t target_counter_as(struct engine_thread *t, uint32_t kind, uint64_t from, uint64_t to)
{
    return inline_counter_make_as(t, kind, from, to);
}

void target_remember_as(struct engine_thread *t, uint64_t target, uint32_t counter)
{
    uint64_t site = t->site;
    if (!site || target >> SITE_SHIFT)
        return;
    uint64_t index = (target + constant_of((uint32_t)site)) & INDEX_MASK;
    uint64_t *entry = (uint64_t *)(void *)((uint8_t *)t + ENGINE_T_TARGETS) + 2 * index;
    entry[0] = 0 - (target + (site << SITE_SHIFT));
    entry[1] = ENGINE_T_SIZE + (uint64_t)counter * t->counter_size;
}
