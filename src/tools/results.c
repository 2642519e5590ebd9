/* The most frequent results of every instruction: each value that an instruction writes to a
 * register, as wide as it writes it (what is kept: sigsafe/spool_results.h). Of general registers
 * the first two; the stack pointer excepted where push, pop, call and return move it. Of others,
 * the first, in words of 8 bytes. Besides, what is divided or shifted by, where that is a register:
 * often nothing in sight has computed it. What ends a block by transferring control is not observed
 * (system calls, loop); that is counted, as is what else is not.
 *
 *      block entry            counter + 1; gate (tools/inline): is this execution observed? Where not all have to be, p of
 *                             blocks that are executed often becomes less (sigsafe/spool_results.h)
 *                             by reason: + so many instructions with a register that is not observed
 *      behind an instruction  lead (tools/inline): passed over, or the same as before?
 *                             else results_line.S: one of the most frequent? else drawn_as
 *                        none, where a register is copied whose value the block has observed
 *                        wide_as, for what is above 16 bytes, x87, MMX and masks
 *
 * Context: block_as under the engine's lock; the rest in the thread concerned.
 * Ownership: each thread's rows stay until the process ends. */
#include <stddef.h>

#include "engine/hook_line.h"
#include "engine/hook_run.h"
#include "sigsafe/spool_results.h"
#include "tools/classify.h"
#include "tools/inline/gate.h"
#include "tools/inline/lead.h"
#include "tools/results_layout.h"
#include "tools/rows.h"
#include "tools/tools.h"
#include "tools/wide.h"

enum { BYTE = 8 };

struct results {
    struct rows_store store;
    struct hotlist_random random;
    uint64_t most; /* values of a row that are kept */
};

_Static_assert(offsetof(struct result_front, of[0].value) == 0 &&
                   offsetof(struct result_front, of[0].count) == FRONT_COUNT &&
                   offsetof(struct result_front, of[1]) == FRONT_SIZE &&
                   sizeof(struct result_front) == 1 << FRONT_SHIFT &&
                   FRONT_ENTRIES == RESULT_FRONT && offsetof(struct counts_lead, left) == 0 &&
                   offsetof(struct counts_lead, bits) == LEAD_BITS &&
                   sizeof(struct counts_lead) == 1 << LEAD_SHIFT && ROWS_CHUNK == 1 << CHUNK_SHIFT,
               "results_layout.h");

extern const uint8_t results_line_begin[], results_line_end[];

static uint64_t narrowed(uint64_t bits, unsigned width)
{
    return width == sizeof bits ? bits : bits & ((UINT64_C(1) << BYTE * width) - 1);
}

/* One was taken off the id's lead for `bits`, and it is neither passed over nor the same as
 * before. */
static void draw_as(struct engine_thread *t, struct results *s, uint32_t id, uint64_t bits)
{
    struct counts_lead *lead = lead_of(t, id);
    if (result_first(lead, bits))
        return;
    struct spool_result *row = rows_find_as(t, &s->store, id);
    if (!row) {
        lead->left++;
        s->store.record->missed++;
        return;
    }
    result_draw_as(lead, result_front_at(rows_chunk(&s->store, id), id), row, bits, s->most,
                   &s->random);
}

static void drawn_as(struct engine_thread *t, uint64_t argument, uint64_t value)
{
    struct results *s = t->tools[TOOL_RESULTS];
    unsigned reg = lead_register(argument);
    (void)value;
    if (!s || !s->store.record)
        return;
    uint64_t bits = reg < LEAD_XMM ? hook_register(t, reg)
                                   : wide_word_as(TUPLE_VECTOR + (reg & 15), reg >= LEAD_XMM_UPPER);
    draw_as(t, s, (uint32_t)argument, narrowed(bits, lead_width(argument)));
}

/* ah and its kin, which are rare. */
static void high_as(struct engine_thread *t, uint64_t argument, uint64_t value)
{
    unsigned reg = lead_register(argument);
    struct counts_lead *lead = lead_of(t, (uint32_t)argument);
    uint64_t bits = t->gpr[reg], high = bits >> BYTE & 0xff;
    if (--lead->left >= 0 || high == lead->bits)
        return;
    t->gpr[reg] = high;
    drawn_as(t, argument, value);
    t->gpr[reg] = bits;
}

/* In a gate's argument. */
enum { GATE_RESULTS = 32 };

/* Words that are not looked at in line: those of consecutive ids. */
enum { WIDE_NUMBER = 32, WIDE_WORD = 40, WIDE_COUNT = 44, WIDE_WIDTH = 48 };

static void wide_as(struct engine_thread *t, uint64_t argument, uint64_t value)
{
    struct results *s = t->tools[TOOL_RESULTS];
    uint32_t id = (uint32_t)argument;
    unsigned number = argument >> WIDE_NUMBER & 0xff, word = argument >> WIDE_WORD & 15,
             count = argument >> WIDE_COUNT & 15;
    (void)value;
    if (!s || !s->store.record)
        return;
    for (; count; count--, id++, word++) {
        struct counts_lead *lead = lead_of(t, id);
        if (--lead->left >= 0)
            continue;
        uint64_t bits = narrowed(wide_word_as(number, word), argument >> WIDE_WIDTH & 15);
        if (bits != lead->bits)
            draw_as(t, s, id, bits);
    }
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
    bool mov = insn->map == X86_MAP_ONE_BYTE && insn->encoding == X86_LEGACY &&
               (insn->opcode & ~2u) == 0x89 && !insn->access;
    return !mov ? -1 : insn->opcode == 0x89 ? insn->reg : insn->base;
}

static void observed_note(struct observed *of, const struct x86_insn *insn,
                          const struct x86_definition *d, uint32_t id)
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
static uint32_t observed_before(const struct observed *of, const struct x86_insn *insn,
                                const struct x86_definition *d)
{
    int from = copied_from(insn);
    if (from < 0 || !of[from].id)
        return 0;
    return (d->width == 8 && of[from].whole) || (d->width == 4 && of[from].width == 4) ? of[from].id
                                                                                       : 0;
}

/* A block that is being asked about. */
struct asked {
    const struct hook_block *block;
    struct hooks *hooks;
    struct observed of[16];
    uint32_t unobserved[UNOBSERVED_COUNT]; /* instructions */
    uint32_t last; /* id that was made for a result */
    bool made;     /* those behind `last` were, when it was asked first */
    bool observes; /* hooks are asked for, not only ids */
    bool torn;     /* somebody else made ids meanwhile: they do not follow one another */
};

static uint32_t thing_make_as(struct asked *a, uint64_t pc, unsigned bytes, unsigned what,
                              uint32_t same)
{
    struct spool_thing thing = {
        .key = hook_key_as(a->hooks, pc), .kind = THING_RESULT,
        .result = {.copy_of = same, .bytes = (uint16_t)bytes, .what = (uint16_t)what},
    };
    uint32_t next = a->last + 1, id = a->made ? next : hook_counter_make_as(a->hooks, &thing);
    a->torn |= id != next;
    return a->last = id;
}

/* Which execution of the block is to be observed next; the argument: its id, and how many ids
 * behind it have results. */
static void gate_asked_as(struct engine_thread *t, uint64_t argument, uint64_t value)
{
    struct results *s = t->tools[TOOL_RESULTS];
    uint32_t block = (uint32_t)argument, last = block + (uint32_t)(argument >> GATE_RESULTS);
    struct counts_gate *gate = gate_of(t, block);
    (void)value;
    gate->left = 0;
    gate->asked = 1;
    if (!s || !s->store.record || !result_gate_as(gate, &s->random))
        return;
    for (uint32_t id = block + 1; id <= last; id++) {
        struct spool_result *row = rows_find_as(t, &s->store, id);
        if (row)
            result_thin(lead_of(t, id), result_front_at(rows_chunk(&s->store, id), id), row,
                        gate->steps, &s->random);
    }
}

/* Where the instruction's results are there: the last one's on the way to the next block. */
static enum hook_point point_of(const struct asked *a, uint32_t *index)
{
    if (*index + 1 < a->block->count)
        return HOOK_AFTER;
    *index = 0;
    return HOOK_FALL;
}

static bool general_hook_as(struct asked *a, uint32_t index, uint32_t id,
                            const struct x86_definition *d)
{
    enum hook_point point = point_of(a, &index);
    uint64_t argument = lead_argument(id, d->reg, d->width);
    if (!a->observes)
        return true;
    return d->high ? hook_call_as(a->hooks, point, index, high_as, argument)
                   : lead_as(a->hooks, point, index, drawn_as, argument);
}

static bool is_division(const struct x86_insn *insn)
{
    enum { DIV = 6 /* modrm.reg; 7: idiv */ };
    return insn->map == X86_MAP_ONE_BYTE && insn->encoding == X86_LEGACY &&
           (insn->opcode & 0xfe) == 0xf6 && (insn->reg & 7) >= DIV;
}

static bool is_shift_by_cl(const struct x86_insn *insn)
{
    return insn->encoding == X86_LEGACY &&
           ((insn->map == X86_MAP_ONE_BYTE && (insn->opcode & 0xfe) == 0xd2) ||
            (insn->map == X86_MAP_0F && (insn->opcode & 0xf7) == 0xa5));
}

/* What a division or a shift takes from a register that it leaves as it is: 0 if there is none,
 * else RESULT_... */
static unsigned operand_find(const struct x86_insn *insn, struct x86_definition *d)
{
    unsigned what = 0;
    if (is_shift_by_cl(insn)) {
        *d = (struct x86_definition){ .reg = X86_RCX, .width = 1 };
        what = RESULT_COUNT;
    } else if (is_division(insn) && !(insn->access & X86_MEM) && !(insn->traits & X86_HIGH_BYTE)) {
        unsigned width = !(insn->opcode & 1)           ? 1
                         : insn->traits & X86_REX_W    ? 8
                         : insn->traits & X86_PREFIX66 ? 2
                                                       : 4;
        *d = (struct x86_definition){ .reg = insn->base, .width = (uint8_t)width };
        what = RESULT_DIVISOR;
    }
    return what && !(insn->writes >> d->reg & 1) ? what : 0;
}

/* Behind the instruction the register still holds it. */
static bool operand_as(struct asked *a, uint32_t index, uint64_t pc)
{
    struct x86_definition d;
    unsigned what = operand_find(&a->block->insns[index], &d);
    if (!what)
        return true;
    const struct observed *of = &a->of[d.reg];
    bool known = of->id && ((d.width == 8 && of->whole) || (d.width == 4 && of->width == 4));
    uint32_t same = known ? of->id : 0, id = thing_make_as(a, pc, d.width, d.reg | what, same);
    if (same && !result_is_copy(same, id)) {
        same = 0;
        id = thing_make_as(a, pc, d.width, d.reg | what, 0);
    }
    return id < COUNTS_IDS_MAX && (same || general_hook_as(a, index, id, &d));
}

static bool general_as(struct asked *a, uint32_t index, uint64_t pc)
{
    const struct x86_insn *insn = &a->block->insns[index];
    struct x86_definition d[CLASSIFY_RESULTS];
    unsigned count = classify_results(insn, d);
    a->unobserved[UNOBSERVED_GENERAL] += count > CLASSIFY_RESULTS;
    if (!count) {
        observed_note(a->of, insn, NULL, 0);
        return true;
    }
    uint32_t same = observed_before(a->of, insn, &d[0]),
             id = thing_make_as(a, pc, d[0].width, d[0].reg, same);
    if (same && !result_is_copy(same, id)) {
        same = 0;
        id = thing_make_as(a, pc, d[0].width, d[0].reg, 0);
    }
    if (id >= COUNTS_IDS_MAX)
        return false;
    observed_note(a->of, insn, &d[0], same ? same : id);
    bool ok = same || general_hook_as(a, index, id, &d[0]);
    if (count > 1 && ok) {
        id = thing_make_as(a, pc, d[1].width, d[1].reg | RESULT_SECOND, 0);
        ok = id < COUNTS_IDS_MAX && general_hook_as(a, index, id, &d[1]);
    }
    return ok;
}

/* What reports are to know of a word of the register. */
static unsigned wide_what(const struct x86_wide *w, struct x86_lanes lanes, unsigned word)
{
    unsigned what = wide_number(w) | (word ? RESULT_REST : 0u);
    if (w->bank == X86_BANK_X87)
        return what | X86_DOUBLE << RESULT_FORM_SHIFT;
    unsigned lane = lanes.bytes == 1 ? 1 : lanes.bytes == 2 ? 2 : lanes.bytes == 4 ? 3 : 0;
    return what | lane << RESULT_LANE_SHIFT | (unsigned)lanes.form << RESULT_FORM_SHIFT;
}

/* Is the word looked at in line? Those of the low 16 bytes of xmm0 to xmm15 are. */
static bool word_in_line(const struct x86_wide *w, unsigned word, unsigned width)
{
    return w->bank <= X86_BANK_ZMM && w->reg < 16 && word < 2 && width >= 4;
}

static bool word_hook_as(struct asked *a, uint32_t index, uint32_t id, const struct x86_wide *w,
                         unsigned word, unsigned width)
{
    enum hook_point point = point_of(a, &index);
    unsigned reg = w->reg + (unsigned)(word ? LEAD_XMM_UPPER : LEAD_XMM);
    return lead_as(a->hooks, point, index, drawn_as, lead_argument(id, reg, width));
}

/* One hook for so many words, whose ids follow one another. */
static bool words_hook_as(struct asked *a, uint32_t index, uint32_t id, const struct x86_wide *w,
                          unsigned word, unsigned count, unsigned width)
{
    enum hook_point point = point_of(a, &index);
    return hook_call_as(a->hooks, point, index, wide_as,
                        id | (uint64_t)wide_number(w) << WIDE_NUMBER | (uint64_t)word << WIDE_WORD |
                            (uint64_t)count << WIDE_COUNT | (uint64_t)width << WIDE_WIDTH);
}

static bool wide_hooks_as(struct asked *a, uint32_t index, const uint32_t ids[WIDE_WORDS_MAX],
                          const struct x86_wide *w, unsigned words, unsigned width)
{
    bool ok = true;
    for (unsigned word = 0, count; a->observes && ok && word < words; word += count) {
        count = 1;
        if (word_in_line(w, word, width)) {
            ok = word_hook_as(a, index, ids[word], w, word, width);
            continue;
        }
        while (word + count < words && ids[word + count] == ids[word] + count)
            count++;
        ok = words_hook_as(a, index, ids[word], w, word, count, width);
    }
    return ok;
}

static bool wide_result_as(struct asked *a, uint32_t index, uint64_t pc)
{
    const struct x86_insn *insn = &a->block->insns[index];
    struct x86_wide w;
    bool more, is = x86_wide_result_as(insn, a->block->code[index], &w, &more);
    struct x86_lanes lanes = x86_lanes_as(insn);
    uint32_t ids[WIDE_WORDS_MAX];
    a->unobserved[UNOBSERVED_WIDE] += more;
    unsigned words = is ? wide_words(&w, lanes) : 0;
    unsigned width = lanes.scalar && is && w.bank <= X86_BANK_ZMM ? lanes.bytes : BYTE;
    for (unsigned word = 0; word < words; word++) {
        ids[word] = thing_make_as(a, pc, width, wide_what(&w, lanes, word), 0);
        if (ids[word] >= COUNTS_IDS_MAX)
            return false;
    }
    return wide_hooks_as(a, index, ids, &w, words, width);
}

/* The instruction that ends the block by going somewhere, or is the last before the engine
 * stops. */
static void end_note(struct asked *a, uint32_t index)
{
    const struct x86_insn *insn = &a->block->insns[index];
    struct x86_definition d[CLASSIFY_RESULTS];
    struct x86_wide w;
    bool more, wide = x86_wide_result_as(insn, a->block->code[index], &w, &more);
    if (classify_results(insn, d) || insn->kind == X86_SYSCALL || wide || more)
        a->unobserved[insn->kind == X86_SYSCALL ? UNOBSERVED_CALL : UNOBSERVED_TRANSFER]++;
}

static bool unobserved_as(struct asked *a)
{
    for (unsigned i = 0; i < UNOBSERVED_COUNT; i++) {
        struct spool_thing thing = {.key = hook_key_as(a->hooks, a->block->pc),
                                    .kind = THING_UNOBSERVED,
                                    .unobserved.reason = (uint16_t)i};
        uint32_t id = a->unobserved[i] ? hook_counter_make_as(a->hooks, &thing) : 0;
        if (a->unobserved[i] &&
            (id >= COUNTS_IDS_MAX || !hook_count_as(a->hooks, HOOK_ENTRY, 0, id, a->unobserved[i])))
            return false;
    }
    return true;
}

/* The block's instructions, but for one that ends it by going somewhere. */
static bool instructions_as(struct asked *a)
{
    const struct hook_block *block = a->block;
    uint32_t observed = block->end == END_FALL || !block->count ? block->count : block->count - 1;
    uint64_t pc = block->pc;
    bool ok = true;
    for (uint32_t i = 0; ok && i < observed; i++) {
        ok = operand_as(a, i, pc) && general_as(a, i, pc) && wide_result_as(a, i, pc);
        pc += block->insns[i].length;
    }
    if (observed < block->count)
        end_note(a, observed);
    return ok;
}

/* Its ids are made, and nothing is hooked: behind a gate, all else that every execution is asked
 * about before it. Where there is no result, or it would not be known whose those of some ids are
 * (in another piece of a window), each execution is observed. */
static bool gated_as(struct asked *a, uint32_t block)
{
    uint64_t count = a->last - block;
    struct asked again = {
        .block = a->block, .hooks = a->hooks, .last = block, .made = !a->torn, .observes = true};
    if (count && !a->torn && a->last / COUNTS_PIECE == block / COUNTS_PIECE)
        return gate_as(a->hooks, gate_asked_as, block | count << GATE_RESULTS);
    return instructions_as(&again);
}

/* What is behind the gate, with the ids that there are. */
static void observed_as(const struct hook_block *block, struct hooks *h)
{
    struct asked a = {
        .block = block, .hooks = h, .last = (uint32_t)block->gated, .made = true, .observes = true};
    if (!instructions_as(&a))
        hook_refuse_as(h);
}

static void block_as(const struct hook_block *block, struct hooks *h)
{
    if (block->observed) {
        observed_as(block, h);
        return;
    }
    struct spool_thing thing = classify_block_as(h, block);
    struct asked a = { .block = block, .hooks = h, .observes = !block->gate };
    uint32_t id = a.last = hook_counter_make_as(h, &thing);
    bool ok = id < COUNTS_IDS_MAX && hook_count_as(h, HOOK_ENTRY, 0, id, 1) && instructions_as(&a);
    if (!ok || !unobserved_as(&a) || (block->gate && !gated_as(&a, id)))
        hook_refuse_as(h);
}

static bool thread_begin_as(struct engine_thread *t)
{
    if (!rows_thread_begin_as(t, sizeof(struct results), TOOL_RESULTS, TABLE_RESULTS,
                              RESULT_LAYOUT))
        return false;
    struct results *s = t->tools[TOOL_RESULTS];
    t->lines[LINE_OF_RESULTS] = s->store.chunks;
    s->most = hook_is_sampled(t) ? RESULT_SAMPLED_MOST : RESULT_ALL;
    if (s->store.record)
        hotlist_random_seed(&s->random, (uint64_t)s->store.record->tid);
    return true;
}

static const struct tool_line line = {
    .begin = results_line_begin, .end = results_line_end,
    .entries = { results_line_begin, results_line_begin, results_line_begin },
};

const struct tool tool_results = {
    .line = &line,
    .flags = TOOL_LEADS | TOOL_SHARED | TOOL_LOOSE,
    .block = block_as,
    .thread_begin = thread_begin_as,
};
