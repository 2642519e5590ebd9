/* What instructions read, write and do, as tuples for a module (docs/values.md).
 *
 *      before A ── A ── before B ── B ── before C
 *        │                │
 *        │                ├ completes A's tuple: B's address is where A had to go
 *        │                └ begins B's: source operands, addresses
 *        └ begins A's tuple
 *
 *      indirect transfers are completed by a hook of their own, with their target; the last tuple where
 *      the burst ends.
 *
 * A tuple whose instruction did not come to its end (it faulted, a signal's handler runs) is taken
 * back.
 *
 * Context: called hooks: the thread concerned, on its engine stack. Each writes its own ring;
 * records are shared, and made without a lock.
 * Ownership: rings and records live in the spool. */
#include <linux/futex.h>
#include <stddef.h>
#include <sys/mman.h>

#include "engine/hook_line.h"
#include "engine/hook_run.h"
#include "engine/probe.h"
#include "sigsafe/hash.h"
#include "sigsafe/key.h"
#include "sigsafe/own_memory.h"
#include "sigsafe/settings.h"
#include "sigsafe/spool_counts.h"
#include "sigsafe/sys.h"
#include "sigsafe/tuples.h"
#include "tools/memory.h"
#include "tools/values_plan.h"
#include "tools/values_shared.h"
#include "tools/wide.h"

enum {
    /* of the tables from address to record: what 64 bytes of code have at most, mostly */
    LINE_SLOTS = 16,
    LINES_FRONT = 1 << 14,
    LINES = 1 << 18,
    PROBES = 4,              /* lines of the back table */
    SLOT_ID = (1 << 22) - 1, /* of a slot: id + 1; above it the tag */
    LENGTH_SHIFT = 56,       /* hooks' argument: address | length << 56 | is a system call << 60 */
    SYSCALL_SHIFT = 60,
    LENGTH_MASK = 15,
    SEQUENCE_WHOLE = TUPLE_LENGTH_MAX,     /* tuples of a sequence of a whole run */
    WAIT_NS = 1000000, WAITS = 3000,
    FLAGS_SHOWN = 0xcd5,     /* CF PF AF ZF SF DF OF */
    SPINS = 10000000,
};
#define ADDRESS_MASK ((UINT64_C(1) << LENGTH_SHIFT) - 1)

/* Which record an address has: a line of slots for each 64 bytes of code, by hash. Most programs'
 * records all lie in the front table, a page of which is touched by many bursts; those that find
 * their line full there go to the back.
 *
 *       31    26 25   22 21       0
 *      | address | hash | id + 1   |     0: free */
struct values_slots {
    uint32_t front[LINES_FRONT][LINE_SLOTS]; /* atomic, each */
    uint32_t back[LINES][LINE_SLOTS];
};
_Static_assert(TUPLES_CHUNK * TUPLES_CHUNKS < SLOT_ID, "an id fits");

struct values values;

/* ---- the process ---- */

static struct values_slots *slots_map_as(void)
{
    long base = own_map_as(0, sizeof(struct values_slots), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    return sys_failed(base) ? NULL : (struct values_slots *)base;
}

/* Records of a parent are not the child's: it begins with none. */
static bool slots_empty_as(void)
{
    if (!values.slots)
        return (values.slots = slots_map_as()) != NULL;
    return sys_call3_as(SYS_madvise, (long)values.slots, sizeof(struct values_slots),
                        MADV_DONTNEED) == 0;
}

/* False: nobody has said what to capture. */
static bool settings_look_as(const struct spool *s)
{
    const struct spool_config *sampling = settings_sampling_as(s);
    const struct burst_settings *burst = settings_burst_as(s);
    values.settings = settings_values_as(s);
    values.exact = sampling && sampling->carrier == CARRIER_EXACT;
    values.every = burst && burst->every ? burst->every : 1;
    values.capture = values.settings
                         ? spool_at(s, values.settings->capture, sizeof *values.capture)
                         : NULL;
    return values.capture != NULL;
}

static bool process_make_as(const struct spool *s, struct spool_counts *counts)
{
    if (!settings_look_as(s) || !slots_empty_as())
        return false;
    values.tuples = tuples_begin_as(s, counts);
    if (!values.tuples)
        return false;
    __atomic_store_n(&values.counts, counts, __ATOMIC_RELEASE);
    return true;
}

/* The process's state is made for `counts`. Signals are blocked, as around all that the engine
 * locks. */
static bool process_ready_as(const struct spool *s, struct spool_counts *counts)
{
    if (__atomic_load_n(&values.counts, __ATOMIC_ACQUIRE) == counts)
        return true;
    for (unsigned spins = 0; __atomic_exchange_n(&values.lock, 1, __ATOMIC_ACQUIRE); spins++) {
        if (spins == SPINS)
            return false; /* its owner was left behind by a fork */
        __builtin_ia32_pause();
    }
    bool ready = values.counts == counts || process_make_as(s, counts);
    __atomic_store_n(&values.lock, 0, __ATOMIC_RELEASE);
    return ready;
}

/* The thread is observed if there is room for its ring. */
bool values_thread_begin_as(struct engine_thread *t)
{
    const struct spool *s = hook_spool(t);
    struct spool_counts *counts = hook_counts(t);
    struct tuple_ring *ring = t->tools[TOOL_VALUES];
    if (!s || !counts || !process_ready_as(s, counts)) {
        t->tools[TOOL_VALUES] = NULL;
        return true;
    }
    if (!ring || ring->counts != (uint64_t)(uintptr_t)counts) {
        uint32_t size = values.exact ? TUPLE_RING_EXACT : TUPLE_RING_BURST;
        do
            ring = tuples_ring_make_as(s, values.tuples, t->window.record->tid, size);
        while (!ring && hook_wait_as(t));
        t->tools[TOOL_VALUES] = ring;
    }
    if (!ring) {
        __atomic_fetch_add(&values.tuples->dropped[TUPLE_DROP_SPOOL_FULL], 1, __ATOMIC_RELAXED);
        return true;
    }
    ring->counts = (uint64_t)(uintptr_t)counts;
    ring->window = t->window.record ? spool_ref_of(s, t->window.record) : 0;
    ring->cursor.at = ring->cursor.open = ring->cursor.skip = 0;
    ring->cursor.called = ring->cursor.continues = 0;
    ring->cursor.windows = ring->cursor.window = 0;
    ring->cursor.inside = ring->cursor.passing = 0;
    ring->cursor.total = hook_is_burst(t) ? 0 : UINT64_MAX;
    return true;
}

/* ---- records ---- */

static bool same_code(const struct tuple_insn *r, const uint8_t *code, unsigned length)
{
    if (r->length != length)
        return false;
    for (unsigned i = 0; i < length; i++)
        if (r->bytes[i] != code[i])
            return false;
    return true;
}

static struct tuple_insn *record_make_as(struct engine_thread *t, uint64_t pc, unsigned length,
                                         uint32_t *id)
{
    struct tuple_insn *r = tuples_insn_make_as(hook_spool(t), values.tuples, id);
    struct x86_insn insn;
    if (!r)
        return NULL;
    for (unsigned i = 0; i < length; i++)
        r->bytes[i] = ((const uint8_t *)pc)[i];
    r->address = pc;
    r->key = hook_key_late_as(t, pc);
    /* Changed since it was translated: what is left is an instruction without values. */
    if (x86_decode_as(r->bytes, length, &insn) == length)
        values_plan_as(r, &insn, values.capture);
    __atomic_store_n(&r->length, (uint8_t)length, __ATOMIC_RELEASE);
    return r;
}

/* Looks through a line for the record of the instruction at pc. *slot: where one was found, or is
 * to be; NULL: it is full. */
static struct tuple_insn *line_look_as(const struct engine_thread *t, uint32_t *line, uint32_t tag,
                                       uint64_t pc, unsigned length, uint32_t **slot)
{
    for (uint32_t i = 0; i < LINE_SLOTS; i++) {
        uint32_t found = __atomic_load_n(&line[i], __ATOMIC_ACQUIRE);
        *slot = &line[i];
        if (!found)
            return NULL;
        if ((found ^ tag) & ~(uint32_t)SLOT_ID)
            continue;
        struct tuple_insn *r = tuples_insn_at(hook_spool(t), values.tuples, (found & SLOT_ID) - 1);
        if (r && r->address == pc && same_code(r, (const uint8_t *)pc, length))
            return r;
    }
    *slot = NULL;
    return NULL;
}

/* The record of the instruction at pc, made at its first execution; NULL: there is no room. */
static struct tuple_insn *record_of_as(struct engine_thread *t, uint64_t pc, unsigned length,
                                       uint32_t *id)
{
    enum { CODE = 64, TAG_SHIFT = 26, HASH_SHIFT = 22, HASH = 15 };
    uint64_t hash = hash_word(pc / CODE);
    uint32_t tag = (uint32_t)(pc % CODE) << TAG_SHIFT | (uint32_t)(hash >> 28 & HASH) << HASH_SHIFT,
             *slot;
    struct tuple_insn *r = line_look_as(t, values.slots->front[hash >> 32 & (LINES_FRONT - 1)], tag,
                                        pc, length, &slot);
    for (uint32_t i = 0; !slot && i < PROBES; i++)
        r = line_look_as(t, values.slots->back[((hash >> 32) + i) & (LINES - 1)], tag, pc, length,
                         &slot);
    if (r) {
        *id = (*slot & SLOT_ID) - 1;
        return r;
    }
    r = slot ? record_make_as(t, pc, length, id) : NULL;
    /* of two threads that met it first, each has a record of its own: one of them is found */
    if (r)
        __atomic_store_n(slot, tag | (*id + 1), __ATOMIC_RELEASE);
    else
        __atomic_fetch_add(&values.tuples->dropped[TUPLE_DROP_RECORDS], 1, __ATOMIC_RELAXED);
    return r;
}

/* ---- values ---- */

bool values_value_as(const struct engine_thread *t, const uint64_t address[TUPLE_MEMORIES],
                     const struct tuple_insn *r, const struct tuple_value *v, uint64_t pc,
                     uint64_t *to)
{
    switch (v->what) {
    case TUPLE_FLAGS: *to = t->rflags & FLAGS_SHOWN; return true;
    case TUPLE_ADDRESS: *to = address[v->index / 2]; return true;
    case TUPLE_TAKEN: *to = pc == r->target; return true;
    case TUPLE_TARGET: *to = pc; return true;
    case TUPLE_LATENCY: *to = t->time; return t->time != (uint64_t)VALUES_UNTIMED;
    case TUPLE_LOADED: case TUPLE_STORED:
        if (v->reg >= TUPLE_VECTOR)
            return engine_probe_as(address[v->index / 2] + (v->index & 1u) * 8, v->bytes, to);
        break;
    default: break;
    }
    *to = values_narrowed(v->reg < TUPLE_VECTOR ? hook_register(t, v->reg)
                                                : wide_word_as(v->reg, v->index),
                          v->bytes);
    return true;
}

/* ---- sequences ---- */

static uint64_t *word(const struct engine_thread *t, const struct tuple_ring *ring, uint64_t at)
{
    return tuples_word_as(hook_spool(t), ring, at);
}

static struct tuple_sequence *header(const struct engine_thread *t, const struct tuple_ring *ring)
{
    return (void *)word(t, ring, ring->cursor.begin);
}

static uint32_t cpu_number(void)
{
    enum { CPU_SEGMENT = 0x7b, CPU_MASK = 0xfff }; /* as the vdso's getcpu finds it */
    uint32_t limit;
    __asm__("lsl %1, %0" : "=r"(limit) : "r"(CPU_SEGMENT) : "cc");
    return limit & CPU_MASK;
}

/* Waits until the consumer has made room: everything is to be seen. False: it does not go on. */
static bool room_wait_as(const struct engine_thread *t, struct tuple_ring *ring, uint32_t words)
{
    const struct spool *s = hook_spool(t);
    const struct spool_header *h = spool_header(s);
    uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_RELAXED);
    for (unsigned waits = 0; waits < WAITS; waits++) {
        struct { int64_t sec, nsec; } time = {0, WAIT_NS};
        if (__atomic_load_n(&h->host, __ATOMIC_RELAXED) != HOST_READING ||
            __atomic_load_n(&h->state, __ATOMIC_RELAXED) != SPOOL_RUNNING)
            return false;
        sys_call6_as(SYS_futex, (long)&ring->tail, FUTEX_WAIT, (long)(uint32_t)tail, (long)&time, 0,
                     0);
        if (tuples_reserve_as(s, ring, words))
            return true;
        uint64_t now = __atomic_load_n(&ring->tail, __ATOMIC_RELAXED);
        if (now != tail)
            waits = 0;
        tail = now;
    }
    ring->cursor.lost = 1;
    return false;
}

static bool room_find_as(const struct engine_thread *t, struct tuple_ring *ring, uint32_t words)
{
    bool there = tuples_reserve_as(hook_spool(t), ring, words);
    if (there)
        ring->cursor.lost = 0;
    else if (!hook_is_burst(t) && !ring->cursor.lost)
        there = room_wait_as(t, ring, words);
    if (!there)
        ring->dropped[hook_is_burst(t) ? TUPLE_DROP_RING_FULL : TUPLE_DROP_GONE]++;
    return there;
}

bool values_sequence_begin_as(struct engine_thread *t, struct tuple_ring *ring, uint64_t pc)
{
    struct tuple_cursor *c = &ring->cursor;
    uint32_t most = hook_is_burst(t) ? TUPLE_LENGTH_MAX : SEQUENCE_WHOLE;
    c->left = c->total < most ? (uint32_t)c->total : most;
    if (!room_find_as(t, ring, TUPLE_SEQUENCE_WORDS + c->left * TUPLE_WORDS_MAX)) {
        c->skip = c->left; /* those are not seen */
        c->total = hook_is_burst(t) ? 0 : c->total;
        c->continues = 0;
        c->counted = 1;
        return false;
    }
    struct tuple_sequence *s = header(t, ring);
    bool context = values.settings->context & PENUMBRA_RETURN_ADDRESS;
    s->count = 0;
    s->flags = (uint16_t)((values.exact ? TUPLE_EXACT : 0) |
                          (c->continues ? TUPLE_CONTINUES : 0));
    s->tid = t->window.record->tid;
    s->cpu = values.settings->context & PENUMBRA_CPU ? cpu_number() : UINT32_MAX;
    s->ticks = sys_ticks_as();
    s->return_address = context ? hook_caller_as(t, pc) : 0;
    s->context = s->return_address ? hook_key_late_as(t, s->return_address - 1) : 0;
    s->every = hook_is_burst(t) ? values.every : 1;
    s->skipped = c->skipped;
    s->window = c->window;
    s->process = 0;
    c->at = c->begin + sizeof *s;
    c->open = 0;
    return true;
}

bool values_warm_sequence_as(struct engine_thread *t, struct tuple_ring *ring, uint32_t words)
{
    struct tuple_cursor *c = &ring->cursor;
    if (!room_find_as(t, ring, words))
        return false;
    *header(t, ring) = (struct tuple_sequence){
        .flags = TUPLE_WARM, .tid = t->window.record->tid, .cpu = UINT32_MAX,
        .ticks = sys_ticks_as()};
    c->at = c->begin + sizeof(struct tuple_sequence);
    return true;
}

void values_sequence_end_as(struct engine_thread *t, struct tuple_ring *ring)
{
    struct tuple_cursor *c = &ring->cursor;
    if (header(t, ring)->count) {
        tuples_publish_as(hook_spool(t), ring, c->at);
        c->counted = 1;
    }
    c->at = c->open = 0;
    c->continues = 1;
}

/* ---- tuples ---- */

static struct tuple_insn *record_at(const struct engine_thread *t, const struct tuple_head *head)
{
    return tuples_insn_at(hook_spool(t), values.tuples, head->id);
}

bool values_goes_to(const struct tuple_insn *r, uint64_t pc, bool indirect)
{
    uint64_t next = r->address + r->length;
    if (r->flags & TUPLE_INSN_INDIRECT)
        return indirect;
    if (r->flags & TUPLE_INSN_JUMP)
        return pc == r->target;
    return pc == next || (r->flags & TUPLE_INSN_BRANCH && pc == r->target) ||
           r->flags & TUPLE_INSN_SYSCALL;
}

/* The open tuple's instruction is over, and pc the next one's address. */
static void tuple_complete_as(struct engine_thread *t, struct tuple_ring *ring, uint64_t pc,
                              bool indirect)
{
    struct tuple_cursor *c = &ring->cursor;
    struct tuple_head *head = (void *)word(t, ring, c->open);
    const struct tuple_insn *r = record_at(t, head);
    if (!values_goes_to(r, pc, indirect)) {
        c->at = c->open;
        c->open = 0;
        c->called = 0;
        return;
    }
    c->open = 0;
    bool over = !(r->flags & TUPLE_INSN_SYSCALL) || pc == r->address + r->length;
    for (unsigned i = r->before; over && i < r->count; i++) {
        if (!values_value_as(t, c->address, r, &r->values[i], pc, word(t, ring, c->at)))
            break;
        c->at += 8;
        head->count++;
    }
    c->called = (r->flags & TUPLE_INSN_CALL) != 0;
    header(t, ring)->count++;
    c->left--;
    c->total--;
}

static void arguments_add(struct engine_thread *t, struct tuple_ring *ring, struct tuple_head *head)
{
    static const uint8_t order[TUPLE_ARGUMENT_COUNT] = {ENGINE_RDI, ENGINE_RSI, ENGINE_RDX,
                                                        ENGINE_RCX, ENGINE_R8,  ENGINE_R9};
    head->flags |= TUPLE_ARGUMENTS;
    for (unsigned i = 0; i < TUPLE_ARGUMENT_COUNT; i++) {
        *word(t, ring, ring->cursor.at) = t->gpr[order[i]];
        ring->cursor.at += 8;
    }
    head->count = (uint8_t)(head->count + TUPLE_ARGUMENT_COUNT);
}

/* The instruction at pc is about to be executed. */
static void tuple_open_as(struct engine_thread *t, struct tuple_ring *ring, uint64_t pc,
                          unsigned length)
{
    struct tuple_cursor *c = &ring->cursor;
    uint32_t id;
    const struct tuple_insn *r = record_of_as(t, pc, length, &id);
    if (!r) {
        c->called = 0;
        c->left--;
        c->total--;
        return;
    }
    c->open = c->at;
    struct tuple_head *head = (void *)word(t, ring, c->at);
    *head = (struct tuple_head){.id = id};
    c->at += 8;
    if (c->called && r->what & PENUMBRA_ARGUMENTS)
        arguments_add(t, ring, head);
    for (unsigned i = 0; i < r->memories; i++)
        c->address[i] = memory_address_as(t, &r->memory[i]);
    for (unsigned i = 0; i < r->before; i++) {
        values_value_as(t, c->address, r, &r->values[i], pc, word(t, ring, c->at));
        c->at += 8;
        head->count++;
    }
    t->time = (uint64_t)VALUES_UNTIMED;
}

/* ---- hooks ---- */

static void before_as(struct engine_thread *t, uint64_t argument, uint64_t value)
{
    struct tuple_ring *ring = t->tools[TOOL_VALUES];
    uint64_t pc = argument & ADDRESS_MASK;
    (void)value;
    if (ring && ring->cursor.open)
        tuple_complete_as(t, ring, pc, false);
    if (!ring || !ring->cursor.total) {
        if (hook_is_burst(t))
            hook_stop_as(t, pc);
        return;
    }
    struct tuple_cursor *c = &ring->cursor;
    if (hook_is_burst(t) ? !hook_is_late(t) : c->skip && c->skip--)
        return;
    /* A system call may take long, or never come back: what was seen before it is not to wait. */
    bool leaves = argument >> SYSCALL_SHIFT && !hook_is_burst(t);
    if (c->at && (!c->left || leaves))
        values_sequence_end_as(t, ring);
    if (c->total && (c->at || values_sequence_begin_as(t, ring, pc)))
        tuple_open_as(t, ring, pc, (unsigned)(argument >> LENGTH_SHIFT) & LENGTH_MASK);
}

static void target_as(struct engine_thread *t, uint64_t argument, uint64_t target)
{
    struct tuple_ring *ring = t->tools[TOOL_VALUES];
    (void)argument;
    if (!ring || !ring->cursor.open)
        return;
    tuple_complete_as(t, ring, target, true);
    if (hook_is_burst(t) && !ring->cursor.total)
        hook_stop_as(t, target);
}

static void block_as(const struct hook_block *block, struct hooks *h)
{
    bool indirect = block->end == END_JUMP_INDIRECT || block->end == END_CALL_INDIRECT ||
                    block->end == END_RETURN;
    if (!values.capture)
        return;
    uint64_t pc = block->pc; /* block->code may be a copy */
    for (uint32_t i = 0; i < block->count; pc += block->insns[i++].length) {
        const struct x86_insn *insn = &block->insns[i];
        hook_call_as(h, HOOK_BEFORE, i, before_as,
                     pc | (uint64_t)insn->length << LENGTH_SHIFT |
                         (uint64_t)(insn->kind == X86_SYSCALL) << SYSCALL_SHIFT);
        if (i + 1 < block->count && values_loads_as(insn, block->code[i]) &&
            values_wanted_as(values.capture, insn, block->code[i]) & PENUMBRA_LATENCY)
            hook_time_as(h, i);
    }
    if (indirect)
        hook_call_as(h, HOOK_INDIRECT, 0, target_as, 0);
}

/* ---- bursts ---- */

static void burst_begin_as(struct engine_thread *t, uint32_t skip, uint64_t length)
{
    struct tuple_ring *ring = t->tools[TOOL_VALUES];
    if (!ring)
        return;
    ring->cursor.skipped = skip;
    ring->cursor.at = ring->cursor.open = 0;
    ring->cursor.called = ring->cursor.continues = ring->cursor.counted = 0;
    ring->cursor.total = length;
}

static void burst_end_as(struct engine_thread *t)
{
    struct tuple_ring *ring = t->tools[TOOL_VALUES];
    if (!ring)
        return;
    if (ring->cursor.open)
        tuple_complete_as(t, ring, t->rip, false);
    if (ring->cursor.at)
        values_sequence_end_as(t, ring);
    if (!ring->cursor.counted)
        ring->dropped[TUPLE_DROP_EMPTY]++;
    ring->cursor.total = 0;
}

static void thread_end_as(struct engine_thread *t)
{
    struct tuple_ring *ring = t->tools[TOOL_VALUES];
    if (ring && ring->cursor.at && ring->counts == (uint64_t)(uintptr_t)values.counts)
        values_sequence_end_as(t, ring);
}

const struct tool tool_values = {
    .flags = TOOL_CONTEXT | TOOL_DEAD, .block = block_as, .thread_begin = values_thread_begin_as,
    .thread_end = thread_end_as,
    .burst_begin = burst_begin_as, .burst_end = burst_end_as,
};
