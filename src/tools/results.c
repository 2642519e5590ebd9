/* The most frequent results of every instruction: each value that an instruction writes to a general register, as
 * wide as it writes it (what is kept: sigsafe/spool_results.h). Of two registers, the first; the stack pointer's
 * excepted where push, pop, call and return move it. What ends a block by transferring control is not observed
 * (system calls, loop, string instructions that are blocks of their own).
 *
 *      block entry            id | BLOCK          4 bytes
 *      behind an instruction  id | form, value    4 and 8
 *
 * Records stand alone: a signal or a fault may end a block anywhere between two of them.
 *
 * Context: block_as under the engine's lock; the rest in the thread concerned.
 * Ownership: each thread's rows stay until the process ends. */
#include <stddef.h>

#include "sigsafe/spool_results.h"
#include "tools/classify.h"
#include "tools/rows.h"
#include "tools/tools.h"

/* Above the bits of an id. */
#define BLOCK (UINT32_C(1) << 31)
#define HIGH (UINT32_C(1) << 30) /* bits 8 to 15 of the register */
enum { WIDTH_SHIFT = 27, WIDTH_MASK = 7 };
#define ID_MASK ((UINT32_C(1) << WIDTH_SHIFT) - 1)
_Static_assert(COUNTS_IDS_MAX <= ID_MASK, "ids leave room");
/* The number of a width is how many times it doubles: 1, 2, 4, 8 bytes. */
static const uint64_t masks[] = { 0xff, 0xffff, UINT32_MAX, UINT64_MAX };

struct results {
    struct rows_store store;
    struct hotlist_random random;
};

static bool result_as(const struct hook_block *block, uint32_t index, uint64_t pc, struct hooks *h)
{
    struct x86_definition d;
    if (!classify_result(&block->insns[index], &d))
        return true;
    struct spool_thing thing = { .key = hook_key_as(h, pc), .kind = THING_RESULT, .bytes = d.width,
                                 .instructions = d.reg };
    uint32_t id = hook_thing_make_as(h, &thing);
    if (id >= COUNTS_IDS_MAX)
        return false;
    uint32_t form = (uint32_t)__builtin_ctz(d.width) << WIDTH_SHIFT | (d.high ? HIGH : 0);
    bool last = index + 1 == block->count;
    enum hook_point point = last ? HOOK_FALL : HOOK_AFTER;
    return hook_append_constant_as(h, point, last ? 0 : index, id | form, 4) &&
           hook_append_register_as(h, point, last ? 0 : index, (enum engine_register)d.reg, 8);
}

static void block_as(void *data, const struct hook_block *block, struct hooks *h)
{
    (void)data;
    struct spool_thing thing = classify_block_as(h, block);
    uint32_t id = hook_thing_make_as(h, &thing);
    uint32_t observed = block->end == END_FALL || !block->count ? block->count : block->count - 1;
    uint64_t pc = block->pc;
    bool ok = id < COUNTS_IDS_MAX && hook_append_constant_as(h, HOOK_ENTRY, 0, id | BLOCK, 4);
    for (uint32_t i = 0; ok && i < observed; i++) {
        ok = result_as(block, i, pc, h);
        pc += block->insns[i].length;
    }
    if (!ok)
        hook_refuse_as(h);
}

/* ---- values ---- */

static void flush_as(void *data, struct engine_thread *t, const uint8_t *records, uint64_t size,
                     bool ends)
{
    (void)data;
    (void)ends;
    struct results *s = t->tool;
    if (!s || !s->store.record)
        return;
    for (struct records r = { records }; r.at < records + size;) {
        uint32_t word = take32(&r);
        struct spool_result *row = rows_find_as(t, &s->store, word & ID_MASK);
        if (word & BLOCK) {
            if (row)
                row->list.observed++;
            continue;
        }
        uint64_t value = take64(&r);
        value = (word & HIGH ? value >> 8 : value) & masks[word >> WIDTH_SHIFT & WIDTH_MASK & 3];
        if (row)
            result_add_as(row, value, &s->random);
        else
            s->store.record->missed++;
    }
}

static bool thread_begin_as(void *data, struct engine_thread *t)
{
    struct spool_counts *counts = hook_counts(t);
    (void)data;
    if (!rows_thread_begin_as(t, sizeof(struct results), counts ? &counts->results : NULL, RESULT_ROW_SIZE))
        return false;
    struct results *s = t->tool;
    if (s->store.record)
        hotlist_random_seed(&s->random, (uint64_t)s->store.record->tid);
    return true;
}

const struct tool tool_results = {
    .name = "results", .flags = TOOL_STEALS_R15 | TOOL_SHARED, .block = block_as,
    .thread_begin = thread_begin_as, .flush = flush_as,
};
