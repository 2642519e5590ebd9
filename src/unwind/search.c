/* Finding a frame pointer that nobody has saved: of a thread in another process only rsp and rip
 * are known.
 *
 *     rsp ─>  | what the function keeps     |
 *             | stale words                 |
 *     rbp ─>  | the caller's rbp            |   words * 8 below ...
 *             | return address              |   ... the word behind a call of this function
 *
 * Stale return addresses may lie in between. A direct call of this function is nearly certain; then
 * comes a chain of frame pointers; then the first return address whose callers can be followed. */
#include "unwind/step.h"
#include "unwind/table.h"

enum { SEARCH_BYTES = 1 << 16, FUNCTION_MOST = 1 << 16, CHAIN_MOST = 1 << 20 };

/* The function's entry has its return address on top of the stack, as no other instruction of most
 * functions has but the last. */
static bool is_entry_of(struct step_state *s, const struct step_place *place, uint64_t target)
{
    struct step_place there;
    uint64_t rip = s->frame.regs.r[UNWIND_RIP];
    bool exact = s->exact;
    if (target > place->pc || place->pc - target > FUNCTION_MOST)
        return false;
    s->frame.regs.r[UNWIND_RIP] = target;
    s->exact = true;
    step_locate_as(s, &there);
    s->frame.regs.r[UNWIND_RIP] = rip;
    s->exact = exact;
    return there.image == place->image && there.rule == rule_make(RULE_RSP, 0, 1);
}

/* Whether the call before a return address is a direct one of the function at place. */
static bool calls_it(struct step_state *s, const struct step_place *place, uint64_t return_address)
{
    uint64_t before;
    if (!unwind_memory_read_as(&s->memory, return_address - 8, &before) ||
        (before >> 24 & 0xff) != 0xe8)
        return false;
    return is_entry_of(s, place, return_address + (uint64_t)(int64_t)(int32_t)(before >> 32));
}

static bool is_chained(uint64_t at, uint64_t saved)
{
    return saved % 16 == 0 && saved > at && saved - at < CHAIN_MOST;
}

static void frame_copy(struct cfi_frame *to, const struct cfi_frame *from)
{
    for (unsigned i = 0; i < UNWIND_REGISTERS; i++)
        to->regs.r[i] = from->regs.r[i];
    to->known = from->known;
}

/* Whether the callers of the frame that this one would return to can be followed: to a root, or for
 * a while. */
static bool leads_on(struct step_state *s, uint64_t ra, uint64_t rsp, uint64_t rbp)
{
    enum { FRAMES = 16 };
    struct cfi_frame kept;
    frame_copy(&kept, &s->frame);
    bool exact = s->exact;
    enum step_outcome outcome = STEP_OK;
    s->frame.regs.r[UNWIND_RIP] = ra;
    s->frame.regs.r[UNWIND_RSP] = rsp;
    s->frame.regs.r[UNWIND_RBP] = rbp;
    s->frame.known = 1u << UNWIND_RIP | 1u << UNWIND_RSP | 1u << UNWIND_RBP;
    s->exact = false;
    s->tries = true;
    for (int i = 0; i < FRAMES && outcome == STEP_OK; i++) {
        struct step_place place;
        struct step_result result;
        step_locate_as(s, &place);
        outcome = step_apply_as(s, &place, &result);
    }
    s->tries = false;
    frame_copy(&s->frame, &kept);
    s->exact = exact;
    return outcome == STEP_OK || outcome == STEP_ROOT;
}

uint64_t step_search_as(struct step_state *s, const struct step_place *place, uint64_t words)
{
    uint64_t rsp = s->frame.regs.r[UNWIND_RSP], chained = 0, any = 0, saved, ra;
    for (uint64_t at = (rsp + 7) & ~UINT64_C(7); at - rsp < SEARCH_BYTES; at += 8) {
        if (!unwind_memory_read_as(&s->memory, at, &saved) ||
            !unwind_memory_read_as(&s->memory, at + 8 * words, &ra))
            break;
        if (ra < 8 || !unwind_index_find_as(s->index, ra) || !step_is_called_as(s, ra))
            continue;
        if (calls_it(s, place, ra))
            return at;
        if (!chained && is_chained(at, saved))
            chained = at;
        if (!any && leads_on(s, ra, at + 8 * words + 8, saved))
            any = at;
    }
    return chained ? chained : any;
}
