#include "runtime/path/sample.h"

#include "runtime/path/deep.h"
#include "runtime/trampoline/trampoline.h"
#include "runtime/path/tree.h"
#include "guest/images.h"
#include "guest/phases.h"
#include "runtime/thread.h"
#include "sigsafe/sample_path.h"

enum { IMAGES_ADDED_MAX = 8 };

/* Walks; when the walk meets code that the index does not know, asks the loader and walks again.
 * False if the index was replaced and reused underneath the walk, which is then worth nothing. */
static bool stack_walk(struct rt_thread *t, const struct unwind_regs *regs,
                       struct unwind_result *result)
{
    for (unsigned added = 0;; added++) {
        const struct unwind_index *index = images_current_as();
        uint32_t generation = __atomic_load_n(&index->generation, __ATOMIC_ACQUIRE);
        *result = unwind_walk_as(&t->unwind, index, regs, t->frames, deep_limit_as(t));
        if (!generation || __atomic_load_n(&index->generation, __ATOMIC_ACQUIRE) != generation)
            return false;
        if (!result->images_missing || added == IMAGES_ADDED_MAX || rt_quiet_as() ||
            !images_add_as(result->missing_pc))
            return true;
    }
}

/* Walks to the root, or to the thread's trampoline: then the first *kept elements of the memo are
 * the rest of the path. */
static bool stack_walk_new(struct rt_thread *t, const struct unwind_regs *regs,
                           struct unwind_result *walk, uint32_t *kept)
{
    enum { STRAYS_MAX = 64 }; /* trampolines that other threads left on this stack */
    uint64_t sp = regs->r[UNWIND_RSP];
    for (unsigned strays = 0; strays < STRAYS_MAX; strays++) {
        *kept = 1;
        if (!stack_walk(t, regs, walk))
            return false;
        if (walk->inside || (walk->stopped_at && trampoline_met_as(t, walk, kept)))
            return true;
        walk->inside = trampoline_held_as(t, walk);
        if (walk->inside)
            return true;
        trampoline_left_as(t, sp);
        if (!walk->stopped_at)
            return true;
    }
    return false;
}

static void sample_account_as(struct spool_thread *record, uint64_t weight,
                              enum truncation truncation)
{
    record->taken++;
    record->weight += weight;
    record->weight_squares += weight * weight;
    if (truncation != TRUNC_NONE && truncation < TRUNC_COUNT)
        record->truncated[truncation] += weight;
}

/* The sample came while the trampoline was at work. It is the caller's of the procedure that
 * returns, if that is known: the caller's code is about to go on. The trampoline is left to what it
 * is doing. */
static void sample_take_returning_as(struct rt_thread *t, const struct unwind_result *walk,
                                     uint64_t weight)
{
    uint32_t path = trampoline_path_as(t, walk);
    if (!path) {
        t->record->drops[DROP_TRAMPOLINE] += weight;
        return;
    }
    tree_count_as(t, path, weight);
    sample_account_as(t->record, weight, t->trampoline.truncation);
}

/* Of a path whose outer part is not known yet, the inner part is counted. */
static void sample_take_deep_as(struct rt_thread *t, const struct unwind_result *walk,
                                uint64_t weight)
{
    enum { INNER = 128 };
    if (tree_add_beside_as(t, walk->frames < INNER ? walk->frames : INNER, weight))
        sample_account_as(t->record, weight, TRUNC_DEPTH);
    else
        t->record->drops[DROP_SPOOL_FULL] += weight;
}

SAMPLE_PATH
void sample_take_as(struct rt_thread *t, const struct unwind_regs *regs,
                    struct trigger_charge charge)
{
    thread_follow_phase_as(t);
    struct spool_thread *record = t->record;
    /* The wall clock stands still while the recording is paused: what it charges is older. Not in a
     * sandbox. */
    if (phases_paused_as() && (t->clock.trigger != TRIGGER_WALL || rt_quiet_as())) {
        record->drops[DROP_PAUSED] += charge.weight + charge.unattributed;
        return;
    }
    tree_add_unattributed_as(t, charge.unattributed);
    if (t->kernel.ring)
        kernel_read_as(t);
    if (!charge.weight)
        return;
    struct unwind_result walk;
    t->unwind.no_system_calls = rt_quiet_as();
    uint32_t kept;
    if (!stack_walk_new(t, regs, &walk, &kept)) {
        record->drops[DROP_IMAGES_CHANGED] += charge.weight;
        return;
    }
    if (walk.inside) {
        sample_take_returning_as(t, &walk, charge.weight);
        return;
    }
    if (!kept || deep_begin_as(t, &walk)) {
        sample_take_deep_as(t, &walk, charge.weight);
        return;
    }
    uint64_t prefix = walk.truncation == TRUNC_NONE ? 0 : key_pseudo(KEY_TRUNCATED);
    if (kept == 1 && t->trampoline.lifted)
        trampoline_count_gone_as(t, walk.frames, prefix ? 2 : 1);
    if (!tree_add_as(t, kept, walk.frames, prefix, charge.weight)) {
        record->drops[DROP_SPOOL_FULL] += charge.weight;
        return;
    }
    t->trampoline.fired = 0;
    /* Of a stack that is too deep, if its outer frames could not be marked: the collector may have
     * compiled their table meanwhile. A trampoline on the inner ones would keep the path cut. */
    if (!deep_begin_as(t, &walk))
        trampoline_place_as(t, &walk, kept, regs->r[UNWIND_RSP]);
    record->guessed += walk.guessed;
    sample_account_as(record, charge.weight, walk.truncation);
}
