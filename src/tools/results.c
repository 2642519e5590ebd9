/* The most frequent results of every instruction: each value that an instruction writes to a general register, as
 * wide as it writes it (what is kept: sigsafe/spool_results.h). Of two registers, the first; the stack pointer's
 * excepted where push, pop, call and return move it. What ends a block by transferring control is not observed
 * (system calls, loop, string instructions that are blocks of their own).
 *
 *      block entry            counter + 1
 *      behind an instruction  lead (engine/hook.h): passed over, or the same as before?
 *                             else results_line.S: one of the most frequent? else drawn_as
 *
 * Context: block_as under the engine's lock; the rest in the thread concerned.
 * Ownership: each thread's rows stay until the process ends. */
#include <stddef.h>

#include "sigsafe/spool_results.h"
#include "tools/classify.h"
#include "tools/results_layout.h"
#include "tools/rows.h"
#include "tools/tools.h"

enum { BYTE = 8 };

struct results {
    struct rows_store store;
    struct hotlist_random random;
};

_Static_assert(offsetof(struct result_front, of[0].value) == 0 && offsetof(struct result_front, of[0].count) == FRONT_COUNT &&
               offsetof(struct result_front, of[1]) == FRONT_SIZE && sizeof(struct result_front) == 1 << FRONT_SHIFT &&
               offsetof(struct counts_lead, left) == 0 && offsetof(struct counts_lead, bits) == LEAD_BITS &&
               sizeof(struct counts_lead) == 1 << LEAD_SHIFT && ROWS_CHUNK == 1 << CHUNK_SHIFT, "results_layout.h");

extern const uint8_t results_line_begin[], results_line_end[];

static void drawn_as(struct engine_thread *t, uint64_t argument, uint64_t value)
{
    struct results *s = t->tool;
    uint32_t id = (uint32_t)argument;
    unsigned width = argument >> HOOK_LEAD_WIDTH & 15;
    uint64_t bits = t->gpr[argument >> HOOK_LEAD_REGISTER & 15];
    (void)value;
    if (!s || !s->store.record)
        return;
    struct counts_lead *lead = hook_lead(t, id);
    struct spool_result *row = rows_find_as(t, &s->store, id);
    if (!row) {
        lead->left++;
        s->store.record->missed++;
        return;
    }
    result_draw_as(lead, result_front_at(rows_chunk(&s->store, id), id), row,
                   width == sizeof bits ? bits : bits & ((UINT64_C(1) << BYTE * width) - 1), &s->random);
}

/* ah and its kin, which are rare. */
static void high_as(struct engine_thread *t, uint64_t argument, uint64_t value)
{
    unsigned reg = argument >> HOOK_LEAD_REGISTER & 15;
    struct counts_lead *lead = hook_lead(t, (uint32_t)argument);
    uint64_t bits = t->gpr[reg], high = bits >> BYTE & 0xff;
    if (--lead->left >= 0 || high == lead->bits)
        return;
    t->gpr[reg] = high;
    drawn_as(t, argument, value);
    t->gpr[reg] = bits;
}

static bool result_as(const struct hook_block *block, uint32_t index, uint64_t pc, struct hooks *h)
{
    struct x86_definition d;
    if (!classify_result(&block->insns[index], &d))
        return true;
    struct spool_thing thing = { .key = hook_key_as(h, pc), .kind = THING_RESULT, .bytes = d.width,
                                 .instructions = d.reg };
    uint32_t id = hook_counter_make_as(h, &thing);
    bool last = index + 1 == block->count;
    enum hook_point point = last ? HOOK_FALL : HOOK_AFTER;
    uint64_t argument = hook_lead_argument(id, (enum engine_register)d.reg, d.width);
    if (id >= COUNTS_IDS_MAX)
        return false;
    return d.high ? hook_call_as(h, point, last ? 0 : index, high_as, argument)
                  : hook_lead_as(h, point, last ? 0 : index, drawn_as, argument);
}

static void block_as(void *data, const struct hook_block *block, struct hooks *h)
{
    (void)data;
    struct spool_thing thing = classify_block_as(h, block);
    uint32_t id = hook_counter_make_as(h, &thing);
    uint32_t observed = block->end == END_FALL || !block->count ? block->count : block->count - 1;
    uint64_t pc = block->pc;
    bool ok = id < COUNTS_IDS_MAX && hook_count_as(h, HOOK_ENTRY, 0, id, 1);
    for (uint32_t i = 0; ok && i < observed; i++) {
        ok = result_as(block, i, pc, h);
        pc += block->insns[i].length;
    }
    if (!ok)
        hook_refuse_as(h);
}

static bool thread_begin_as(void *data, struct engine_thread *t)
{
    struct spool_counts *counts = hook_counts(t);
    (void)data;
    if (!rows_thread_begin_as(t, sizeof(struct results), counts ? &counts->results : NULL, RESULT_LAYOUT))
        return false;
    struct results *s = t->tool;
    t->line = s->store.chunks;
    if (s->store.record)
        hotlist_random_seed(&s->random, (uint64_t)s->store.record->tid);
    return true;
}

static const struct tool_line line = {
    .begin = results_line_begin, .end = results_line_end, .entries = { results_line_begin, results_line_begin, results_line_begin },
};

const struct tool tool_results = {
    .name = "results", .line = &line, .flags = TOOL_LEADS | TOOL_SHARED, .block = block_as, .thread_begin = thread_begin_as,
};
