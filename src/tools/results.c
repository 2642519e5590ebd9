/* The most frequent results of every instruction: each value that an instruction writes to a general register, as
 * wide as it writes it (what is kept: sigsafe/spool_results.h). Of two registers, the first; the stack pointer's
 * excepted where push, pop, call and return move it. What ends a block by transferring control is not observed
 * (system calls, loop, string instructions that are blocks of their own).
 *
 *      block entry            counter + 1
 *      behind an instruction  id | form, the register        4 and 8 bytes
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

/* Above the bits of an id: which of the masks. */
enum { FORM_SHIFT = 27, FORM_HIGH = 4 };
#define ID_MASK ((UINT32_C(1) << FORM_SHIFT) - 1)
_Static_assert(COUNTS_IDS_MAX <= ID_MASK, "ids leave room");
/* The bits of a register that an instruction writes: 1, 2, 4, 8 bytes; bits 8 to 15. */
static const uint64_t masks[] = { 0xff, 0xffff, UINT32_MAX, UINT64_MAX, 0xff00 };
enum { RECORD_SIZE = 12, LATER_MOST = 1024, AHEAD = 4 };

struct results {
    struct rows_store store;
    struct hotlist_random random;
    struct later {
        uint32_t word;
        uint64_t bits;
    } later[LATER_MOST + AHEAD];
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
    uint32_t form = (d.high ? FORM_HIGH : (uint32_t)__builtin_ctz(d.width)) << FORM_SHIFT;
    bool last = index + 1 == block->count;
    enum hook_point point = last ? HOOK_FALL : HOOK_AFTER;
    return hook_append_constant_as(h, point, last ? 0 : index, id | form, 4) &&
           hook_append_register_as(h, point, last ? 0 : index, (enum engine_register)d.reg, 8);
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

/* ---- values ---- */

static void take_as(struct engine_thread *t, struct results *s, uint32_t word, uint64_t bits)
{
    uint32_t id = word & ID_MASK, form = word >> FORM_SHIFT;
    struct spool_result *row = rows_find_as(t, &s->store, id);
    uint8_t *chunk = rows_chunk(&s->store, id);
    if (!row || !chunk) {
        s->store.record->missed++;
        return;
    }
    struct result_lead *lead = result_lead_at(chunk, id);
    if (form < sizeof masks / sizeof *masks)
        result_add_as(lead, row, bits, masks[form], &s->random);
}

static void prefetch(const struct results *s, uint32_t id)
{
    uint8_t *chunk = rows_chunk(&s->store, id);
    const uint8_t *row = chunk ? rows_row(&s->store, chunk, id) : NULL;
    __builtin_prefetch(row);
    __builtin_prefetch(row + 64);
}

/* Counts those that are simple; the others are put into `later`. The order of a row's results changes, but each is
 * still taken once. */
static uint32_t sieve(struct results *s, const uint8_t *records, const uint8_t *end)
{
    uint32_t count = 0;
    for (struct records r = { records }; r.at < end;) {
        uint32_t word = take32(&r);
        uint64_t bits = take64(&r);
        uint8_t *chunk = rows_chunk(&s->store, word & ID_MASK);
        if (!chunk || !result_count_simple(result_lead_at(chunk, word & ID_MASK), bits))
            s->later[count++] = (struct later){ word, bits };
    }
    return count;
}

static void flush_as(void *data, struct engine_thread *t, const uint8_t *records, uint64_t size,
                     bool ends)
{
    (void)data;
    (void)ends;
    struct results *s = t->tool;
    if (!s || !s->store.record)
        return;
    for (uint64_t left = size / RECORD_SIZE, n; left; left -= n, records += n * RECORD_SIZE) {
        n = left < LATER_MOST ? left : LATER_MOST;
        uint32_t count = sieve(s, records, records + n * RECORD_SIZE);
        for (uint32_t i = 0; i < count; i++) {
            prefetch(s, s->later[i + AHEAD].word & ID_MASK);
            take_as(t, s, s->later[i].word, s->later[i].bits);
        }
    }
}

static bool thread_begin_as(void *data, struct engine_thread *t)
{
    struct spool_counts *counts = hook_counts(t);
    (void)data;
    if (!rows_thread_begin_as(t, sizeof(struct results), counts ? &counts->results : NULL, RESULT_LAYOUT))
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
