/* The most frequent results of every instruction: each value that an instruction writes to a general register, as
 * wide as it writes it (what is kept: sigsafe/spool_results.h). Of two registers, the first; the stack pointer's
 * excepted where push, pop, call and return move it. What ends a block by transferring control is not observed
 * (system calls, loop, string instructions that are blocks of their own).
 *
 *      block entry            counter + 1
 *      behind an instruction  lead (engine/hook.h): passed over, or the same as before?
 *                             else results_line.S: one of the most frequent? else drawn_as
 *                        none, where a register is copied whose value the block has observed
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

/* Where in the block a general register's value has been observed already. */
struct observed {
    uint32_t id;   /* 0: nowhere; that of the process's first thing, a block */
    uint8_t width; /* bytes of the register that were */
    bool whole;    /* what is above them is 0 */
};

/* What `mov` between two registers copies: the source's number, or -1. */
static int copied_from(const struct x86_insn *insn)
{
    bool mov = insn->map == X86_MAP_ONE_BYTE && insn->encoding == X86_LEGACY && (insn->opcode & ~2u) == 0x89 && !insn->access;
    return !mov ? -1 : insn->opcode == 0x89 ? insn->reg : insn->base;
}

static void observed_note(struct observed *of, const struct x86_insn *insn, const struct x86_definition *d, uint32_t id)
{
    int from = copied_from(insn);
    for (unsigned i = 0; i < 16; i++)
        if (insn->writes >> i & 1)
            of[i].id = 0;
    if (!d || d->conditional || d->width < 4)
        return;
    of[d->reg] = (struct observed){.id = id, .width = d->width, .whole = true};
    if (from >= 0 && !of[from].id)
        of[from] = (struct observed){.id = id, .width = d->width, .whole = d->width == 8};
}

/* The id of the same block that has the same result, always; 0: none. */
static uint32_t observed_before(const struct observed *of, const struct x86_insn *insn, const struct x86_definition *d)
{
    int from = copied_from(insn);
    if (from < 0 || !of[from].id)
        return 0;
    return (d->width == 8 && of[from].whole) || (d->width == 4 && of[from].width == 4) ? of[from].id : 0;
}

static uint32_t thing_make_as(struct hooks *h, uint64_t pc, const struct x86_definition *d, uint32_t same)
{
    struct spool_thing thing = { .key = hook_key_as(h, pc), .kind = THING_RESULT, .bytes = d->width,
                                 .instructions = d->reg, .to = same };
    return hook_counter_make_as(h, &thing);
}

static bool result_as(const struct hook_block *block, uint32_t index, uint64_t pc, struct hooks *h, struct observed *of)
{
    const struct x86_insn *insn = &block->insns[index];
    struct x86_definition d;
    if (!classify_result(insn, &d)) {
        observed_note(of, insn, NULL, 0);
        return true;
    }
    uint32_t same = observed_before(of, insn, &d), id = thing_make_as(h, pc, &d, same);
    if (same && !result_is_copy(same, id)) {
        same = 0;
        id = thing_make_as(h, pc, &d, 0);
    }
    if (id >= COUNTS_IDS_MAX)
        return false;
    observed_note(of, insn, &d, same ? same : id);
    if (same)
        return true;
    bool last = index + 1 == block->count;
    enum hook_point point = last ? HOOK_FALL : HOOK_AFTER;
    uint64_t argument = hook_lead_argument(id, (enum engine_register)d.reg, d.width);
    return d.high ? hook_call_as(h, point, last ? 0 : index, high_as, argument)
                  : hook_lead_as(h, point, last ? 0 : index, drawn_as, argument);
}

static void block_as(void *data, const struct hook_block *block, struct hooks *h)
{
    (void)data;
    struct spool_thing thing = classify_block_as(h, block);
    struct observed of[16];
    uint32_t id = hook_counter_make_as(h, &thing);
    uint32_t observed = block->end == END_FALL || !block->count ? block->count : block->count - 1;
    uint64_t pc = block->pc;
    bool ok = id < COUNTS_IDS_MAX && hook_count_as(h, HOOK_ENTRY, 0, id, 1);
    for (uint32_t i = 0; i < 16; i++)
        of[i].id = 0;
    for (uint32_t i = 0; ok && i < observed; i++) {
        ok = result_as(block, i, pc, h, of);
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
