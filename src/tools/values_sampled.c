/* Values in windows of a whole run (settings.h, struct sample_settings): the rest of it is executed
 * at the engine's speed.
 *
 *     between windows    blocks subtract their instructions from t->alarm (tools/inline/watch.h),
 *                        and have no other hooks
 *     in a window        t->watching is set, so that copies of the blocks are executed that have
 *                        those of values_whole.c
 *
 * Windows begin and end where a block does. A mark in the ring says where, as the ring is emptied
 * later. A block without a second copy (code that may change) always appends: what lies between two
 * windows is thrown away when the ring is emptied.
 *
 * Context: block_as under the engine's lock; the rest in the thread concerned.
 * Ownership: as in values_whole.c. */
#include "sigsafe/settings.h"
#include "tools/inline/watch.h"
#include "tools/values_warm.h"

enum {
    /* Windows are longer by as much than what is modelled of them: of the last block, and of what
     * did not come to its end. */
    MARGIN = 512,
};
/* t->alarm that no run comes to the end of */
#define NEVER (INT64_MAX / 2)

/* From where the window before it begins, or from the thread's beginning. */
static int64_t distance(const struct sample_settings *s, uint32_t window)
{
    uint64_t from = window > 1 ? sample_place(s, window - 1) : 0;
    return (int64_t)(sample_place(s, window) - from);
}

/* A window whose place is in the one before it begins where that ends; t->alarm is below 0 then, so
 * that the next ones are in their places. */
static void alarm_as(struct engine_thread *t, uint64_t instructions, uint64_t value)
{
    struct tuple_ring *ring = t->tools[TOOL_VALUES];
    (void)instructions, (void)value;
    if (!ring) {
        t->alarm = NEVER;
        return;
    }
    struct tuple_cursor *c = &ring->cursor;
    const struct sample_settings *s = &values.settings->sample;
    if (!c->inside)
        c->windows++;
    int64_t length = (int64_t)sample_length(s, c->windows) + MARGIN;
    t->alarm += c->inside ? distance(s, c->windows + 1) - length : length;
    c->inside = !c->inside;
    __atomic_store_n(&t->watching, c->inside, __ATOMIC_RELAXED);
    values_whole_window_as(t, c->inside ? c->windows : 0);
}

/* What is appended besides of a block that is executed between windows. False: it is not to be
 * translated. */
static bool warm_as(const struct hook_block *block, bool gate, struct hooks *h)
{
    if (block->observed || !values.settings->sample.lines)
        return true;
    return gate ? values_warm_block_as(block, h) : values_warm_alone_make_as(block, h);
}

static void block_as(const struct hook_block *block, struct hooks *h)
{
    bool gate = block->watch_gate && block->end != END_SYSCALL;
    bool ok = true;
    if (!values.capture)
        return;
    if (!block->observed)
        ok = gate ? watch_gate_as(h, block->count, alarm_as, block->count)
                  : watch_alarm_as(h, block->count, alarm_as, block->count);
    if (!ok)
        hook_refuse_as(h);
    else if (warm_as(block, gate, h) && (block->observed || !gate))
        values_whole_block_as(block, h);
}

static bool thread_begin_as(struct engine_thread *t)
{
    if (!values_whole_begin_as(t))
        return false;
    struct tuple_ring *ring = t->tools[TOOL_VALUES];
    if (ring)
        ring->cursor.passing = 1;
    t->alarm = ring ? distance(&values.settings->sample, 1) : NEVER;
    __atomic_store_n(&t->watching, false, __ATOMIC_RELAXED);
    return true;
}

const struct tool tool_values_sampled = {
    .flags = TOOL_STEALS_R15 | TOOL_DEAD | TOOL_WATCHES, .block = block_as,
    .thread_begin = thread_begin_as, .flush = values_whole_flush_as,
};
