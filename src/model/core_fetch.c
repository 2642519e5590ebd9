/* The front end: where and when instructions come from. */
#include "model/core_internal.h"

void core_redirect(struct model_core *core, uint64_t at, enum cost_cause why)
{
    if (at < core->fetch)
        return;
    core->fetch = at;
    core->late = why;
    core->insns = core->bytes = core->slots = 0;
    core->window = 0;
}

static void next_group(struct model_core *core)
{
    core->fetch++;
    core->late = COST_FRONT_END;
    core->insns = core->bytes = core->slots = 0;
}

static void fetch_line(struct model_core *core, uint64_t address, struct model_cost *cost)
{
    core->line = (address >> LINE_SHIFT) + 1;
    struct memory_answer a = memory_code(&core->memory, address, core->fetch);
    if (a.done <= core->fetch)
        return;
    cost->events[COST_EVENT_L1I_MISSES] += a.level != LEVEL_L1;
    core_redirect(core, a.done, COST_CODE);
}

bool core_window_find(struct model_core *core, uint64_t address)
{
    bool hit = false;
    uint64_t evicted, real = memory_translate(&core->memory, address);
    core->window = (address >> WINDOW_SHIFT) + 1;
    if (core->m->uop_cache_size)
        set_table_find(&core->uop_cache, real >> WINDOW_SHIFT, true, &hit, &evicted);
    return hit;
}

static void fetch_window(struct model_core *core, uint64_t address)
{
    bool hit = core_window_find(core, address);
    if (hit != core->cached && (core->insns || core->slots))
        next_group(core);
    core->cached = hit;
}

static bool is_full(const struct model_core *core, const struct uop_insn *insn, uint32_t slots)
{
    const struct machine *m = core->m;
    if (core->cached)
        return core->slots && core->slots + slots > m->uop_cache_width;
    return core->insns && (core->insns + 1 > m->fetch_width ||
                           core->bytes + insn->length > m->fetch_bytes);
}

/* What takes more slots than a cycle has from the cache comes over several. */
static void take(struct model_core *core, const struct uop_insn *insn, uint32_t slots)
{
    core->insns++;
    core->bytes += insn->length;
    core->slots += slots;
    while (core->cached && core->slots > core->m->uop_cache_width) {
        uint32_t left = core->slots - core->m->uop_cache_width;
        next_group(core);
        core->slots = left;
    }
}

uint64_t core_fetch(struct model_core *core, const struct uop_insn *insn,
                    const struct uop_executed *x, uint32_t slots, struct model_cost *cost)
{
    uint64_t last = x->pc + insn->length - 1;
    if (core->expected && core->expected != x->pc) /* a signal's handler, or something is missing */
        core_redirect(core, core->commit, COST_SERIAL);
    if (insn->flags & INSN_SERIAL)
        core_redirect(core, core->commit, COST_SERIAL);
    if (core->line != (x->pc >> LINE_SHIFT) + 1)
        fetch_line(core, x->pc, cost);
    if (core->line != (last >> LINE_SHIFT) + 1)
        fetch_line(core, last, cost);
    if (core->window != (x->pc >> WINDOW_SHIFT) + 1)
        fetch_window(core, x->pc);
    if (is_full(core, insn, slots))
        next_group(core);
    if (queue_free_at(&core->buffer) > core->fetch) {
        core->fetch = queue_free_at(&core->buffer);
        core->late = COST_FRONT_END;
        core->insns = core->bytes = core->slots = 0;
    }
    uint64_t at = core->fetch;
    take(core, insn, slots);
    return at;
}

uint64_t core_fetch_inserted(struct model_core *core, uint64_t pc, struct model_cost *cost)
{
    if (core->line != (pc >> LINE_SHIFT) + 1)
        fetch_line(core, pc, cost);
    if (core->insns >= core->m->fetch_width ||
        (core->cached && core->slots >= core->m->uop_cache_width))
        next_group(core);
    if (queue_free_at(&core->buffer) > core->fetch) {
        core->fetch = queue_free_at(&core->buffer);
        core->late = COST_FRONT_END;
        core->insns = core->bytes = core->slots = 0;
    }
    core->insns++;
    core->slots++;
    return core->fetch;
}

/* Cycles in which nothing is fetched, behind a taken branch that is predicted rightly. */
static uint32_t bubble(const struct machine *m, enum uop_transfer transfer, enum prediction p)
{
    uint32_t target = transfer == TRANSFER_RETURN ? m->return_penalty
                      : transfer == TRANSFER_CALL_INDIRECT || transfer == TRANSFER_JUMP_INDIRECT
                          ? m->indirect_penalty
                          : 0;
    uint32_t late = p == PREDICTED_LATE ? m->btb_l2_penalty : 0;
    return target > late ? target : late;
}

void core_follow(struct model_core *core, const struct uop_insn *insn, const struct uop_executed *x,
                 uint64_t done, struct model_cost *cost)
{
    uint64_t behind = x->pc + insn->length;
    core->expected = insn->transfer == TRANSFER_NONE && !(insn->flags & INSN_REPEATED) ? behind
                                                                                       : x->next;
    if (insn->flags & INSN_SERIAL)
        core_redirect(core, core->commit, COST_SERIAL);
    if (insn->transfer == TRANSFER_NONE || !x->next)
        return;
    uint64_t pc = memory_translate(&core->memory, x->pc);
    enum prediction p = predictor_judge(&core->predictor, (enum uop_transfer)insn->transfer, pc,
                                        behind, x->next);
    cost->events[COST_EVENT_BRANCHES]++;
    cost->events[COST_EVENT_MISPREDICTED] += p == MISPREDICTED;
    if (p == MISPREDICTED)
        core_redirect(core, done, COST_BRANCH);
    else if (p == REDIRECTED)
        core_redirect(core, core->fetch + 1 + core->m->decode_redirect_penalty, COST_FRONT_END);
    else if (x->next != behind) {
        next_group(core);
        core->fetch += bubble(core->m, (enum uop_transfer)insn->transfer, p);
    }
}
