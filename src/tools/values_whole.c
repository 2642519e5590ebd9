/* Values in whole runs and shadows, where every instruction is observed: appended to the engine's
 * ring in line, and made tuples of (sigsafe/tuples.h) when that is emptied.
 *
 *      before A ── A ── after A ── before B ── B ── ...
 *        │                │
 *        │                └ AFTER A: results; TAKEN, NOT_TAKEN; the target
 *        └ BEFORE A: source operands, registers that make addresses; left out where there are none and
 *          an AFTER comes
 *
 *      ring:   head │ registers, 8 bytes each │ head │ ...
 *
 *              31   28 27            0
 *             +-------+---------------+
 *             | part  | site          |
 *             +-------+---------------+
 *
 * A site is an instruction as the code cache has it: what is captured of it, and the record that
 * names it in the spool. What cannot be appended in line (memory, vector registers, flags, times) a
 * called hook appends, as the tuple's words (BEFORE_DONE, AFTER_DONE).
 *
 * A tuple whose instruction did not come to its end (it faulted, a signal's handler runs) is taken
 * back: something else follows than what had to.
 *
 * Context: block_as under the engine's lock; the rest in the thread concerned.
 * Ownership: sites stay until the process ends; a forked child knows its parent's. */
#include <stddef.h>

#include "engine/hook_line.h"
#include "engine/hook_run.h"
#include "sigsafe/hash.h"
#include "sigsafe/settings.h"
#include "tools/values_flush.h"
#include "tools/values_plan.h"
#include "tools/values_warm.h"

enum { SITES = 1 << 20, INDEX = SITES * 2 };

static struct {
    struct values_site *sites; /* from 1 on */
    uint32_t *index;    /* by hash of the address: the site; 0: free */
    uint32_t used;
    bool arguments;     /* some are asked for */
    const struct tuple_capture *capture; /* plans are by this */
} whole;

/* ---- sites ---- */

static bool arguments_wanted(const struct tuple_capture *capture)
{
    const uint16_t *what = &capture->what[0][0][0];
    for (uint32_t i = 0; i < sizeof capture->what / sizeof *what; i++)
        if (what[i] & PENUMBRA_ARGUMENTS)
            return true;
    return false;
}

/* By the process's first thread. */
static bool sites_make_as(void)
{
    if (values.settings->sample.lines && !values_warm_make_as())
        return false;
    if (whole.sites) {
        own_unmap_as(whole.sites, SITES * sizeof *whole.sites);
        own_unmap_as(whole.index, INDEX * sizeof *whole.index);
    }
    whole.index = memory_map_as(INDEX * sizeof *whole.index);
    whole.sites = whole.index ? memory_map_as(SITES * sizeof *whole.sites) : NULL;
    whole.arguments = arguments_wanted(values.capture);
    whole.capture = values.capture;
    whole.used = 0;
    return whole.sites;
}

static bool same_code(const struct tuple_insn *r, uint64_t pc, const uint8_t *code, unsigned length)
{
    bool same = r->address == pc && r->length == length;
    for (unsigned i = 0; same && i < length; i++)
        same = r->bytes[i] == code[i];
    return same;
}

struct values_site *values_site(uint32_t number)
{
    return &whole.sites[number];
}

uint32_t values_site_make_as(const struct hooks *h, uint64_t pc, const uint8_t *code,
                          const struct x86_insn *insn)
{
    uint32_t at = (uint32_t)(hash_word(pc) >> 32) % INDEX;
    for (; whole.index[at]; at = (at + 1) % INDEX)
        if (same_code(&whole.sites[whole.index[at]].plan, pc, code, insn->length))
            return whole.index[at];
    if (whole.used + 1 >= SITES)
        return 0;
    uint32_t number = whole.used + 1;
    struct values_site *s = &whole.sites[number];
    for (unsigned i = 0; i < insn->length; i++)
        s->plan.bytes[i] = code[i];
    s->plan.address = pc;
    s->plan.key = hook_key_as(h, pc);
    values_plan_as(&s->plan, insn, values.capture);
    s->plan.length = insn->length;
    whole.used = number;
    s->repeated = insn->kind == X86_STRING_REP;
    whole.index[at] = number;
    return number;
}

bool values_record_find_as(struct engine_thread *t, struct values_site *s, uint32_t *id)
{
    const struct spool_counts *counts = values.counts;
    if (__atomic_load_n(&s->of, __ATOMIC_ACQUIRE) == counts) {
        *id = s->record;
        return true;
    }
    struct tuple_insn *r = tuples_insn_make_as(hook_spool(t), values.tuples, id);
    if (!r) {
        __atomic_fetch_add(&values.tuples->dropped[TUPLE_DROP_RECORDS], 1, __ATOMIC_RELAXED);
        return false;
    }
    uint8_t *to = (uint8_t *)r;
    const uint8_t *from = (const uint8_t *)&s->plan;
    for (uint32_t i = 0; i < sizeof *r; i++)
        if (i != offsetof(struct tuple_insn, length))
            to[i] = from[i];
    __atomic_store_n(&r->length, s->plan.length, __ATOMIC_RELEASE);
    s->record = *id;
    __atomic_store_n(&s->of, counts, __ATOMIC_RELEASE);
    return true;
}

/* ---- called hooks ---- */

static void put_head(uint32_t *at, enum values_part part, uint32_t site, uint32_t words)
{
    at[0] = (uint32_t)part << PART_SHIFT | site;
    at[1] = words;
}

static void put_word(uint32_t *at, uint32_t word, uint64_t value)
{
    at[2 + 2 * word] = (uint32_t)value;
    at[3 + 2 * word] = (uint32_t)(value >> 32);
}

static void before_called_as(struct engine_thread *t, uint64_t site, uint64_t value)
{
    const struct tuple_insn *r = &whole.sites[site].plan;
    struct tuple_ring *ring = t->tools[TOOL_VALUES];
    uint32_t words = r->before;
    (void)value;
    if (!ring)
        return;
    for (unsigned i = 0; i < r->memories; i++)
        ring->cursor.now[i] = memory_address_as(t, &r->memory[i]);
    uint32_t *at = hook_append_as(t, &tool_values_whole, 8 + WORD * words);
    put_head(at, BEFORE_DONE, (uint32_t)site, words);
    for (uint32_t i = 0; i < words; i++) {
        uint64_t word = 0;
        values_value_as(t, ring->cursor.now, r, &r->values[i], r->address, &word);
        put_word(at, i, word);
    }
    t->time = (uint64_t)VALUES_UNTIMED;
}

/* next: where the instruction goes. */
static void after_append_as(struct engine_thread *t, uint64_t site, uint64_t next)
{
    const struct tuple_insn *r = &whole.sites[site].plan;
    struct tuple_ring *ring = t->tools[TOOL_VALUES];
    uint64_t words[TUPLE_VALUES_MAX];
    uint32_t count = 0;
    if (!ring)
        return;
    for (unsigned i = r->before; i < r->count; i++) {
        if (!values_value_as(t, ring->cursor.now, r, &r->values[i], next, &words[count]))
            break;
        count++;
    }
    uint32_t *at = hook_append_as(t, &tool_values_whole, 8 + WORD * count);
    put_head(at, AFTER_DONE, (uint32_t)site, count);
    for (uint32_t i = 0; i < count; i++)
        put_word(at, i, words[i]);
}

static void after_called_as(struct engine_thread *t, uint64_t site, uint64_t value)
{
    const struct tuple_insn *r = &whole.sites[site].plan;
    after_append_as(t, site, value ? value : r->address + r->length);
}

static void taken_called_as(struct engine_thread *t, uint64_t site, uint64_t value)
{
    (void)value;
    after_append_as(t, site, whole.sites[site].plan.target);
}

static void arguments_called_as(struct engine_thread *t, uint64_t site, uint64_t value)
{
    static const uint8_t order[] = {ENGINE_RDI, ENGINE_RSI, ENGINE_RDX,
                                    ENGINE_RCX, ENGINE_R8,  ENGINE_R9};
    uint32_t *at = hook_append_as(t, &tool_values_whole, 4 + WORD * TUPLE_ARGUMENT_COUNT);
    (void)value;
    at[0] = (uint32_t)ARGUMENTS << PART_SHIFT | (uint32_t)site;
    for (unsigned i = 0; i < TUPLE_ARGUMENT_COUNT; i++) {
        at[1 + 2 * i] = (uint32_t)t->gpr[order[i]];
        at[2 + 2 * i] = (uint32_t)(t->gpr[order[i]] >> 32);
    }
}

/* ---- the block ---- */

/* What is asked of one instruction. */
struct asked {
    const struct hook_block *block;
    struct hooks *hooks;
    uint32_t index, site;
    struct values_site *s;
    bool called; /* parts that a hook appends: memory is read after the instruction */
    bool ok;
};

static void head_as(struct asked *a, enum hook_point point, uint32_t index, enum values_part part)
{
    a->ok = a->ok && hook_append_constant_as(a->hooks, point, index,
                                             (uint32_t)part << PART_SHIFT | a->site, 4);
}

static void register_as(struct asked *a, enum hook_point point, uint32_t index, unsigned reg)
{
    a->ok =
        a->ok && hook_append_register_as(a->hooks, point, index, (enum engine_register)reg, WORD);
}

static bool is_general(const struct tuple_value *v)
{
    return v->reg < TUPLE_VECTOR;
}

static bool is_way(const struct tuple_value *v)
{
    return v->what == TUPLE_TAKEN || v->what == TUPLE_TARGET;
}

/* Can all that is captured after the instruction be appended in line? */
static bool after_in_line(const struct asked *a, bool indirect)
{
    const struct tuple_insn *r = &a->s->plan;
    for (unsigned i = r->before; i < r->count; i++) {
        const struct tuple_value *v = &r->values[i];
        if (!is_way(v) && (!is_general(v) || indirect))
            return false;
    }
    return true;
}

bool values_registers_append_as(struct hooks *h, uint32_t index, const struct tuple_insn *r)
{
    bool ok = true;
    for (unsigned i = 0; i < r->memories; i++) {
        const uint8_t of[] = {r->memory[i].base, r->memory[i].index, r->memory[i].add8};
        for (unsigned k = 0; k < sizeof of; k++)
            if (of[k] < 16)
                ok = ok && hook_append_register_as(h, HOOK_BEFORE, index,
                                                   (enum engine_register)of[k], WORD);
    }
    return ok;
}

static void before_as(struct asked *a)
{
    const struct tuple_insn *r = &a->s->plan;
    if (a->called) {
        a->ok = a->ok &&
                hook_call_appending_as(a->hooks, HOOK_BEFORE, a->index, before_called_as, a->site);
        return;
    }
    head_as(a, HOOK_BEFORE, a->index, BEFORE);
    a->ok = a->ok && values_registers_append_as(a->hooks, a->index, r);
    for (unsigned i = 0; i < r->before; i++)
        if (is_general(&r->values[i]))
            register_as(a, HOOK_BEFORE, a->index, r->values[i].reg);
}

static void after_as(struct asked *a, enum hook_point point, uint32_t index)
{
    const struct tuple_insn *r = &a->s->plan;
    bool indirect = point == HOOK_INDIRECT, taken = point == HOOK_TAKEN;
    if (!after_in_line(a, indirect)) {
        a->ok = a->ok && hook_call_appending_as(a->hooks, point, index,
                                                taken ? taken_called_as : after_called_as, a->site);
        return;
    }
    bool branch = r->flags & TUPLE_INSN_BRANCH;
    head_as(a, point, index, !branch ? AFTER : taken ? TAKEN : NOT_TAKEN);
    if (indirect)
        register_as(a, point, index, ENGINE_RCX);
    for (unsigned i = r->before; i < r->count; i++)
        if (is_general(&r->values[i]))
            register_as(a, point, index, r->values[i].reg);
}

static void arguments_as(struct asked *a)
{
    static const uint8_t order[] = {ENGINE_RDI, ENGINE_RSI, ENGINE_RDX,
                                    ENGINE_RCX, ENGINE_R8,  ENGINE_R9};
    if (!whole.arguments)
        return;
    if (a->block->end == END_CALL_INDIRECT) {
        a->ok = a->ok &&
                hook_call_appending_as(a->hooks, HOOK_INDIRECT, 0, arguments_called_as, a->site);
        return;
    }
    head_as(a, HOOK_TAKEN, 0, ARGUMENTS);
    for (unsigned i = 0; i < sizeof order; i++)
        register_as(a, HOOK_TAKEN, 0, order[i]);
}

/* The last instruction's: on every way out of the block. */
static void end_as(struct asked *a)
{
    enum block_end end = a->block->end;
    bool after = a->s->plan.count > a->s->plan.before;
    if (end == END_JUMP_INDIRECT || end == END_CALL_INDIRECT || end == END_RETURN)
        after_as(a, HOOK_INDIRECT, 0);
    if (after && (end == END_JUMP || end == END_CALL || end == END_BRANCH))
        after_as(a, HOOK_TAKEN, 0);
    if (after && (end == END_FALL || end == END_BRANCH))
        after_as(a, HOOK_FALL, 0);
    if (end == END_CALL || end == END_CALL_INDIRECT)
        arguments_as(a);
}

/* Is something read behind the instruction that has to be known before it: where its operands are,
 * or a time? FS may have changed when the ring is emptied. */
static bool is_called(const struct asked *a)
{
    const struct tuple_insn *r = &a->s->plan;
    for (unsigned i = 0; i < r->memories; i++)
        if (r->memory[i].segment)
            return true;
    for (unsigned i = r->before; i < r->count; i++)
        if (!is_general(&r->values[i]) && !is_way(&r->values[i]) &&
            (r->values[i].reg >= TUPLE_MEMORY || r->values[i].what == TUPLE_LATENCY))
            return true;
    return false;
}

static bool insn_as(struct asked *a, uint64_t pc)
{
    const struct x86_insn *insn = &a->block->insns[a->index];
    const uint8_t *code = a->block->code[a->index];
    a->site = values_site_make_as(a->hooks, pc, code, insn);
    if (!a->site) {
        __atomic_fetch_add(&values.tuples->dropped[TUPLE_DROP_RECORDS], 1, __ATOMIC_RELAXED);
        return true;
    }
    a->s = &whole.sites[a->site];
    const struct tuple_insn *r = &a->s->plan;
    bool last = a->index + 1 == a->block->count;
    bool syscall = a->block->end == END_SYSCALL && last;
    a->called = is_called(a);
    a->s->brief =
        !a->called && !r->before && !r->memories && r->count && !(r->flags & TUPLE_INSN_SYSCALL);
    if (!a->s->brief)
        before_as(a);
    if (!last && values_loads_as(insn, code) && r->what & PENUMBRA_LATENCY)
        a->ok = a->ok && hook_time_as(a->hooks, a->index);
    if (!last && r->count > r->before)
        after_as(a, HOOK_AFTER, a->index);
    if (last && !syscall)
        end_as(a);
    return a->ok;
}

/* The result of a system call is there where its next instruction begins. */
static void arrival_as(const struct hook_block *block, struct hooks *h)
{
    enum { PAGE = 4096, SYSCALL_0 = 0x0f, SYSCALL_1 = 0x05 };
    const uint8_t *code = (const uint8_t *)block->pc;
    if (block->pc % PAGE < 2 || code[-2] != SYSCALL_0 || code[-1] != SYSCALL_1)
        return;
    hook_append_constant_as(h, HOOK_ENTRY, 0, (uint32_t)ARRIVED << PART_SHIFT, 4);
    hook_append_register_as(h, HOOK_ENTRY, 0, ENGINE_RAX, WORD);
}

void values_whole_block_as(const struct hook_block *block, struct hooks *h)
{
    if (!values.capture || !whole.sites)
        return;
    struct asked a = {.block = block, .hooks = h, .ok = true};
    uint64_t pc = block->pc; /* block->code may be a copy */
    arrival_as(block, h);
    for (; a.ok && a.index < block->count; a.index++) {
        if (!insn_as(&a, pc))
            hook_refuse_as(h);
        pc += block->insns[a.index].length;
    }
}

/* ---- tuples ---- */

static struct tuple_head *open_head(const struct values_flush *f)
{
    return (void *)values_word_at(f, f->c->open);
}

static void put(struct values_flush *f, uint64_t word)
{
    *values_word_at(f, f->c->at) = word;
    f->c->at += WORD;
}

/* What is put without c->at: a sequence lies in one piece. */
static uint64_t *put_begin(const struct values_flush *f)
{
    return values_word_at(f, f->c->at);
}

static void put_end(struct values_flush *f, const uint64_t *to)
{
    uint64_t words = (uint64_t)(to - put_begin(f));
    open_head(f)->count = (uint8_t)(open_head(f)->count + words);
    f->c->at += WORD * words;
}

static struct tuple_sequence *sequence_of(const struct values_flush *f)
{
    return (void *)values_word_at(f, f->c->begin);
}

/* The open tuple's instruction went to pc, if it came to its end; indirect: that is known. */
static inline __attribute__((always_inline)) void complete(struct values_flush *f, uint64_t pc)
{
    struct tuple_cursor *c = f->c;
    const struct tuple_insn *r = &whole.sites[c->site].plan;
    bool needs = r->count > r->before && !(r->flags & TUPLE_INSN_SYSCALL);
    bool on = pc == r->address + r->length && !(r->flags & (TUPLE_INSN_JUMP | TUPLE_INSN_INDIRECT));
    if ((needs && !c->after) || (!on && !values_goes_to(r, pc, c->after))) {
        c->at = c->open;
        c->open = 0;
        c->called = 0;
        return;
    }
    if (r->flags & TUPLE_INSN_SYSCALL && c->arrived && pc == r->address + r->length &&
        r->count > r->before) {
        put(f, c->result);
        open_head(f)->count++;
    }
    c->open = 0;
    sequence_of(f)->count++;
    c->left--;
}

/* None has a segment: is_called. */
static void addresses_take(struct values_flush *f, const struct tuple_insn *r)
{
    for (unsigned i = 0; i < r->memories; i++)
        f->c->address[i] = values_address_take(f, &r->memory[i]);
}

static const uint8_t *behind_before(const struct tuple_insn *r, const uint8_t *at)
{
    for (unsigned i = 0; i < r->memories; i++)
        at += WORD *
              ((r->memory[i].base < 16) + (r->memory[i].index < 16) + (r->memory[i].add8 < 16));
    for (unsigned i = 0; i < r->before; i++)
        at += WORD * is_general(&r->values[i]);
    return at;
}

static void arguments_put(struct values_flush *f)
{
    open_head(f)->flags |= TUPLE_ARGUMENTS;
    for (unsigned i = 0; i < TUPLE_ARGUMENT_COUNT; i++)
        put(f, f->c->arguments[i]);
    open_head(f)->count = TUPLE_ARGUMENT_COUNT;
}

/* A tuple for the instruction at the site. False: it is not observed. */
static inline __attribute__((always_inline)) bool open_tuple(struct values_flush *f, uint32_t site)
{
    struct tuple_cursor *c = f->c;
    struct values_site *s = &whole.sites[site];
    const struct tuple_insn *r = &s->plan;
    uint32_t id;
    if (c->open)
        complete(f, r->address);
    c->arrived = 0;
    bool called = c->called;
    c->called = 0;
    if (c->passing) {
        values_warm_alone_as(f, s);
        return false;
    }
    if (c->skip && c->skip--)
        return false;
    if (c->at && !c->left)
        values_sequence_end_as(f->thread, f->ring);
    if (!c->at && !values_sequence_begin_as(f->thread, f->ring, r->address))
        return false;
    if (!values_record_find_as(f->thread, s, &id)) {
        c->left--;
        return false;
    }
    c->open = c->at;
    c->site = site;
    c->after = 0;
    *(struct tuple_head *)(void *)values_word_at(f, c->at) = (struct tuple_head){.id = id};
    c->at += WORD;
    if (called && r->what & PENUMBRA_ARGUMENTS)
        arguments_put(f);
    return true;
}

static void before(struct values_flush *f, uint32_t site)
{
    const struct values_site *s = &whole.sites[site];
    const struct tuple_insn *r = &s->plan;
    if (!open_tuple(f, site)) {
        const uint8_t *behind = behind_before(r, f->from.at);
        if (f->c->passing && s->alone)
            values_warm_touch_as(f, r);
        f->from.at = behind;
        return;
    }
    uint64_t *to = put_begin(f);
    addresses_take(f, r);
    for (unsigned i = 0; i < r->before; i++) {
        const struct tuple_value *v = &r->values[i];
        *to++ = is_general(v) ? values_narrowed(take64(&f->from), v->bytes)
                              : f->c->address[v->index / 2];
    }
    put_end(f, to);
}

/* The tuple's own words. */
static void words_put(struct values_flush *f, bool wanted)
{
    uint32_t count = take32(&f->from);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t word = take64(&f->from);
        if (wanted)
            put(f, word);
    }
    if (wanted)
        open_head(f)->count = (uint8_t)(open_head(f)->count + count);
}

/* The site's tuple, which waits for what is there after the instruction; a brief one begins with
 * that. */
static inline __attribute__((always_inline)) bool is_opened(struct values_flush *f, uint32_t site)
{
    if (whole.sites[site].brief)
        return open_tuple(f, site);
    return f->c->open && f->c->site == site && !f->c->after;
}

static void after(struct values_flush *f, uint32_t site, enum values_part part)
{
    const struct tuple_insn *r = &whole.sites[site].plan;
    bool wanted = is_opened(f, site);
    bool indirect = r->flags & TUPLE_INSN_INDIRECT;
    uint64_t target = indirect ? take64(&f->from) : 0, *to = put_begin(f);
    for (unsigned i = r->before; i < r->count; i++) {
        const struct tuple_value *v = &r->values[i];
        uint64_t word = v->what == TUPLE_TARGET  ? target
                        : v->what == TUPLE_TAKEN ? part == TAKEN
                                                 : values_narrowed(take64(&f->from), v->bytes);
        if (wanted)
            *to++ = word;
    }
    if (!wanted)
        return;
    put_end(f, to);
    f->c->after = 1;
}

static void arguments_take(struct values_flush *f, uint32_t site)
{
    for (unsigned i = 0; i < TUPLE_ARGUMENT_COUNT; i++)
        f->c->arguments[i] = take64(&f->from);
    f->c->called = f->c->open && f->c->site == site;
}

/* Of a sampled simulation, which has some. */
static void lines_forget(struct values_flush *f)
{
    for (uint32_t i = 0; i < values.settings->sample.lines; i++)
        f->warm.lines[i] = 0;
}

/* The last instruction of a window is not complete: where it went was not appended. Lines that it
 * touched are not those that were touched last before it. */
static void window_take(struct values_flush *f, uint32_t window)
{
    struct tuple_cursor *c = f->c;
    if (c->open)
        c->at = c->open;
    c->open = c->called = 0;
    values_warm_end_as(f);
    if (c->at)
        values_sequence_end_as(f->thread, f->ring);
    c->continues = 0;
    c->passing = !window;
    c->window = window;
    lines_forget(f);
}

void values_whole_window_as(struct engine_thread *t, uint32_t window)
{
    uint32_t *at = hook_append_as(t, &tool_values_sampled, sizeof *at);
    *at = (uint32_t)WINDOW << PART_SHIFT | (window & SITE_MASK);
}

static void part_take(struct values_flush *f)
{
    uint32_t head = take32(&f->from), site = head & SITE_MASK;
    bool wanted;
    switch (head >> PART_SHIFT) {
    case BEFORE: before(f, site); break;
    case BEFORE_DONE: words_put(f, open_tuple(f, site)); break;
    case AFTER_DONE:
        wanted = is_opened(f, site);
        words_put(f, wanted);
        f->c->after |= wanted;
        break;
    case ARGUMENTS: arguments_take(f, site); break;
    case ARRIVED:
        f->c->result = take64(&f->from);
        f->c->arrived = 1;
        break;
    case WINDOW: window_take(f, site); break;
    case ENTERED: values_warm_enter_as(f, site); break;
    case TOUCHED: values_warm_touched_as(f, site); break;
    default: after(f, site, (enum values_part)(head >> PART_SHIFT)); break;
    }
}

/* Publishes what is complete. The open tuple goes on in another sequence. */
static void publish_as(struct values_flush *f)
{
    struct tuple_cursor *c = f->c;
    uint64_t words[TUPLE_WORDS_MAX];
    uint32_t count = 0;
    if (!c->at || !sequence_of(f)->count)
        return;
    for (uint64_t at = c->open; c->open && at < c->at; at += WORD)
        words[count++] = *values_word_at(f, at);
    if (c->open)
        c->at = c->open;
    values_sequence_end_as(f->thread, f->ring);
    if (!count || !values_sequence_begin_as(f->thread, f->ring, whole.sites[c->site].plan.address))
        return;
    c->open = c->at;
    for (uint32_t i = 0; i < count; i++)
        put(f, words[i]);
}

void values_whole_flush_as(struct engine_thread *t, const uint8_t *records, uint64_t size,
                           bool ends)
{
    struct tuple_ring *ring = t->tools[TOOL_VALUES];
    if (!ring)
        return;
    struct values_flush f = {.thread = t, .ring = ring, .c = &ring->cursor, .mask = ring->size - 1,
                      .data = tuples_word_as(hook_spool(t), ring, 0),
                      .from = {records}};
    uint64_t lines[WARM_LINES_MOST];
    f.warm.lines = lines;
    f.warm.mask = values.settings->sample.lines ? values.settings->sample.lines - 1 : 0;
    lines_forget(&f);
    while (f.from.at < records + size)
        part_take(&f);
    values_warm_end_as(&f);
    if (ends && ring->cursor.open)
        complete(&f, t->rip);
    publish_as(&f);
}

bool values_whole_begin_as(struct engine_thread *t)
{
    struct tuple_ring *ring;
    if (!values_thread_begin_as(t) || !values.capture)
        return true;
    ring = t->tools[TOOL_VALUES];
    if (ring)
        ring->cursor.after = ring->cursor.arrived = 0;
    return (whole.sites && whole.capture == values.capture) || sites_make_as();
}

const struct tool tool_values_whole = {
    .flags = TOOL_STEALS_R15 | TOOL_DEAD, .block = values_whole_block_as,
    .thread_begin = values_whole_begin_as,
    .flush = values_whole_flush_as,
};
