#include "callbacks.h"

#include "engine/hook_line.h"
#include "engine/hook_run.h"
#include "engine/state.h"
#include "run.h"
#include "tools/inline/gate.h"
#include "tools/inline/lead.h"
#include "tools/inline/watch.h"
#include "tools/list.h"
#include "tools/memory.h"
#include "x86/insn.h"

static struct trust_range trust(void *data, uint64_t address)
{
    struct rig *r = data;
    if (address >= r->code_lo && address < r->code_hi) {
        r->asked++;
        return (struct trust_range){ r->code_lo, r->code_hi, r->code_trust };
    }
    if (address < 4096)
        return (struct trust_range){ 0, 4096, TRUST_NONE };
    uint64_t end = UINT64_C(1) << 47;
    if (address < r->code_lo)
        return (struct trust_range){ 4096, r->code_lo, r->trust };
    return (struct trust_range){ r->code_hi > 4096 ? r->code_hi : 4096, end, r->trust };
}

static enum engine_action system_call(struct engine_thread *t)
{
    struct rig *r = t->carrier;
    r->calls++;
    return ENGINE_RUN_SYSCALL;
}

static enum engine_action stopped(struct engine_thread *t, enum stop_reason why)
{
    (void)t;
    (void)why;
    return ENGINE_RETURN;
}

static enum engine_action signals(struct engine_thread *t)
{
    t->pending = 0;
    return ENGINE_CONTINUE;
}

const struct engine_carrier rig_carrier = {
    .trust = trust, .system_call = system_call, .stopped = stopped, .signals = signals,
};

/* Counts what it asks for, by itself: hooks at every point, of known frequency. */
struct asked asked;

static void noted(struct engine_thread *t, uint64_t argument, uint64_t value)
{
    (void)t;
    (void)value;
    asked.calls += argument;
}

static void block_all_points(const struct hook_block *block, struct hooks *h)
{
    struct spool_thing thing = { 0 };
    static uint32_t ids[3];
    if (!asked.blocks++)
        for (int i = 0; i < 3; i++)
            ids[i] = hook_counter_make_as(h, &thing);
    hook_count_as(h, HOOK_ENTRY, 0, ids[0], block->count);
    for (uint32_t i = 0; i < block->count; i++)
        hook_count_as(h, HOOK_BEFORE, i, ids[1], 1);
    for (uint32_t i = 0; i + 1 < block->count; i++)
        hook_count_as(h, HOOK_AFTER, i, ids[2], 1);
    hook_call_as(h, HOOK_ENTRY, 0, noted, block->count);
}

const struct tool tool_all_points = { .block = block_all_points };

static void timed(struct engine_thread *t, uint64_t argument, uint64_t value)
{
    (void)argument;
    (void)value;
    asked.timed++;
    asked.time += t->time;
}

static void block_times(const struct hook_block *block, struct hooks *h)
{
    for (uint32_t i = 0; i + 1 < block->count; i++)
        if (block->insns[i].access & X86_MEM_READ || block->insns[i].kind == X86_STRING_REP) {
            hook_time_as(h, i);
            hook_call_as(h, HOOK_AFTER, i, timed, 0);
        }
}

const struct tool tool_times = {
    .block = block_times,
};

static bool same(const char *own, const char *name)
{
    while (*own && *own == *name) {
        own++;
        name++;
    }
    return *own == *name;
}

const struct tool *tool_named(const char *name)
{
    for (uint32_t kind = 0; kind < TOOL_KIND_COUNT; kind++)
        if (same(tool_about(kind)->name, name))
            return tool_of_kind(kind);
    return same(name, "times") ? &tool_times : same(name, "gates") ? &tool_gates : NULL;
}

struct led led;

enum { LEADS = 1 << 14 };
static struct counts_lead expected[LEADS];
static uint32_t led_now; /* id + 1 of the lead that has just called */

static uint64_t led_value(const struct engine_thread *t, uint64_t argument)
{
    unsigned width = argument >> LEAD_WIDTH & 15;
    uint64_t bits = hook_register(t, lead_register(argument));
    return width == 8 ? bits : bits & ((UINT64_C(1) << 8 * width) - 1);
}

static void lead_called(struct engine_thread *t, uint64_t argument, uint64_t value)
{
    (void)value;
    led_now = (uint32_t)argument + 1;
    struct counts_lead lead = {(int64_t)(led.calls++ % 4), led_value(t, argument)};
    *lead_of(t, led_now - 1) = lead;
}

static void lead_check(struct engine_thread *t, uint64_t argument, uint64_t value)
{
    uint32_t id = (uint32_t)argument;
    const struct counts_lead *lead = lead_of(t, id);
    struct counts_lead *e = &expected[id];
    (void)value;
    bool calls = --e->left < 0 && led_value(t, argument) != e->bits;
    led.results++;
    led.of_r15 += lead_register(argument) == ENGINE_R15;
    led.wrong += calls != (led_now == id + 1) ||
                 (!calls && (lead->left != e->left || lead->bits != e->bits));
    *e = *lead;
    led_now = 0;
}

static void block_leads(const struct hook_block *block, struct hooks *h)
{
    if (block->number == 1)
        for (uint32_t i = 0; i < LEADS; i++)
            expected[i] = (struct counts_lead){0};
    for (uint32_t i = 0; i + 1 < block->count; i++) {
        struct x86_definition d[X86_DEFINITIONS_MAX];
        struct spool_thing thing = { 0 };
        if (!x86_definitions_as(&block->insns[i], d) || d[0].high)
            continue;
        uint32_t id = hook_counter_make_as(h, &thing);
        uint64_t argument = lead_argument(id, (enum engine_register)d[0].reg, d[0].width);
        if (id < LEADS && lead_as(h, HOOK_AFTER, i, lead_called, argument))
            hook_call_as(h, HOOK_AFTER, i, lead_check, argument);
    }
}

const struct tool tool_leads = {
    .flags = TOOL_LEADS | TOOL_LOOSE, .block = block_leads,
};

struct gated gated;

/* The block that is being executed. */
static struct {
    struct counts_gate gate; /* what is to be in it, unless it is asked */
    uint32_t id;
    bool observes, asks, observed, asked;
} at_gate;

static void gate_met(struct engine_thread *t, uint64_t argument, uint64_t value)
{
    const struct counts_gate *was = gate_of(t, at_gate.id);
    (void)value;
    if (gated.blocks++)
        gated.wrong +=
            at_gate.observes != at_gate.observed || at_gate.asks != at_gate.asked ||
            (!at_gate.asks && (was->left != at_gate.gate.left || was->asked != at_gate.gate.asked));
    at_gate.id = (uint32_t)argument;
    at_gate.gate = *gate_of(t, at_gate.id);
    at_gate.observes = --at_gate.gate.left < 0;
    at_gate.asks = at_gate.observes && !at_gate.gate.asked;
    at_gate.gate.asked -= at_gate.observes;
    at_gate.observed = at_gate.asked = false;
}

static void gate_asked(struct engine_thread *t, uint64_t argument, uint64_t value)
{
    struct counts_gate *gate = gate_of(t, (uint32_t)argument);
    (void)value;
    at_gate.asked = true;
    gate->left = (int32_t)(gated.asked % 5 ? gated.asked % 7 : 300);
    gate->asked = (uint16_t)(1 + gated.asked % 3);
    at_gate.observes = !gate->left; /* it is looked at once more */
    gated.asked++;
}

static void gate_passed(struct engine_thread *t, uint64_t argument, uint64_t value)
{
    (void)t;
    (void)value;
    gated.wrong += argument != at_gate.id;
    gated.observed += !at_gate.observed;
    at_gate.observed = true;
}

static void block_gates(const struct hook_block *block, struct hooks *h)
{
    struct spool_thing thing = { 0 };
    if (block->observed) {
        hook_call_as(h, HOOK_BEFORE, block->count - 1, gate_passed, block->gated);
        return;
    }
    uint32_t id = hook_counter_make_as(h, &thing);
    if (!block->gate || !block->count)
        return;
    hook_count_as(h, HOOK_ENTRY, 0, id, 1);
    hook_call_as(h, HOOK_ENTRY, 0, gate_met, id);
    gate_as(h, gate_asked, id);
}

const struct tool tool_gates = {
    .flags = TOOL_LEADS | TOOL_LOOSE | TOOL_SHARED, .block = block_gates,
};

struct flushed flushed;

enum { MARK = 0x5a5a0000 };

static void block_appending(const struct hook_block *block, struct hooks *h)
{
    static uint32_t ids[2];
    struct spool_thing thing = { 0 };
    if (block->number == 1)
        for (int i = 0; i < 2; i++)
            ids[i] = hook_counter_make_as(h, &thing);
    hook_count_as(h, HOOK_ENTRY, 0, ids[0], 1);
    hook_count_as(h, HOOK_ENTRY, 0, ids[1], block->count);
    hook_append_constant_as(h, HOOK_ENTRY, 0, MARK | block->count, 4);
    hook_append_constant_as(h, HOOK_BEFORE, block->count - 1, ~(uint64_t)block->count, 4);
}

static void flush(struct engine_thread *t, const uint8_t *records, uint64_t size, bool ends)
{
    const uint32_t *word = (const uint32_t *)(const void *)records;
    flushed.times++;
    flushed.ends += ends;
    flushed.wrong += size % 8 + (t->ring != t->ring_from);
    if (size > flushed.largest)
        flushed.largest = size;
    uint64_t before = flushed.instructions;
    for (uint64_t i = 0; i + 2 <= size / 4; i += 2) {
        flushed.records++;
        flushed.instructions += word[i] & 0xffff;
        flushed.wrong += (word[i] & 0xffff0000) != MARK || ~word[i + 1] != (word[i] & 0xffff);
    }
    hook_executed(t, flushed.instructions - before);
}

const struct tool tool_appending = {
    .flags = TOOL_STEALS_R15 | TOOL_LOOSE, .block = block_appending, .flush = flush,
};

struct marked marked;

enum { SECOND_MARK = 0x3c3c0000 };

static void block_marking(const struct hook_block *block, struct hooks *h)
{
    for (uint32_t i = 0; i < block->count; i++) {
        hook_append_constant_as(h, HOOK_BEFORE, i, SECOND_MARK | i, 4);
        hook_append_register_as(h, HOOK_BEFORE, i, ENGINE_RSP, 8);
    }
}

static void flush_marks(struct engine_thread *t, const uint8_t *records, uint64_t size, bool ends)
{
    enum { RECORD = 12, STACK = 1 << 23 };
    typedef struct { uint32_t mark; uint64_t stack; } __attribute__((packed, may_alias)) record;
    marked.ends += ends;
    marked.wrong += size % RECORD;
    for (uint64_t i = 0; i + RECORD <= size; i += RECORD) {
        const record *r = (const record *)(const void *)(records + i);
        uint64_t far = r->stack - t->gpr[ENGINE_RSP] + STACK;
        marked.records++;
        marked.wrong += (r->mark & 0xffff0000) != SECOND_MARK || far > 2 * STACK;
    }
    hook_executed(t, size / RECORD); /* said by the first that appends only */
}

const struct tool tool_marking = {
    .flags = TOOL_STEALS_R15 | TOOL_LOOSE, .block = block_marking, .flush = flush_marks,
};

struct watched watched;
struct copies copies;

enum { OPERANDS = 1 << 14 };
static struct tuple_memory operands[OPERANDS];
static uint32_t operand_count;
static uint32_t watched_now; /* number + 1 of the hook that has just been called */

static uint64_t random_next(void)
{
    static uint64_t state = 1;
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static void touched(struct engine_thread *t, uint64_t number, uint64_t value)
{
    (void)t;
    (void)value;
    watched_now = (uint32_t)number + 1;
}

/* Behind the watch: has it called, if it had to, and only then? Then other parts are watched. */
static void touch_check(struct engine_thread *t, uint64_t number, uint64_t value)
{
    const struct tuple_memory *m = &operands[number];
    uint8_t *watch = &t->watch[watch_part(memory_address_as(t, m))];
    bool called = watched_now == number + 1;
    bool stolen = t->engine->steals && (m->base == X86_R15 || m->index == X86_R15);
    (void)value;
    watched.accesses++;
    watched.called += called;
    watched.wrong += called != (*watch || stolen);
    watched_now = 0;
    *watch = random_next() % 4 ? 0 : (uint8_t)random_next();
}

static void return_check(struct engine_thread *t, uint64_t argument, uint64_t value)
{
    bool called = watched_now, above = t->gpr[ENGINE_RSP] > ~t->floor;
    (void)argument;
    (void)value;
    watched.returns++;
    watched.returns_called += called;
    watched.wrong += called != above;
    watched_now = 0;
    t->floor = ~(t->gpr[ENGINE_RSP] + random_next() % 256 - 128);
}

static void alarm_called(struct engine_thread *t, uint64_t argument, uint64_t value)
{
    (void)value;
    watched.alarms++;
    watched.wrong += t->alarm >= 0 || t->alarm < -(int64_t)argument;
    watched.alarmed += (uint64_t)(watched.alarm_set - t->alarm);
    t->alarm = watched.alarm_set = (int64_t)(random_next() % 100);
}

/* As the alarm should have it. */
static void alarm_check(struct engine_thread *t, uint64_t count, uint64_t value)
{
    (void)value;
    watched.executed += count;
    watched.wrong += watched.executed != watched.alarmed + (uint64_t)(watched.alarm_set - t->alarm);
}

static void watch_operand(const struct hook_block *block, struct hooks *h, uint32_t index,
                          uint64_t next, unsigned k, const struct x86_memory *m)
{
    if (operand_count == OPERANDS || !m->size || m->segment ||
        (block->insns[index].traits & X86_VSIB && m->index != X86_NONE) || m->add8 != X86_NONE ||
        m->address32)
        return;
    operands[operand_count] = (struct tuple_memory){
        .disp = m->disp + (m->base == X86_RIP ? (int64_t)next : 0),
        .base = m->base == X86_RIP ? X86_NONE : m->base, .index = m->index, .scale = m->scale,
        .add8 = X86_NONE};
    uint32_t number = operand_count++;
    watch_memory_as(h, index, k, touched, number);
    hook_call_as(h, HOOK_BEFORE, index, touch_check, number);
}

static void block_watching(const struct hook_block *block, struct hooks *h)
{
    uint64_t next = block->pc;
    watch_alarm_as(h, block->count, alarm_called, block->count);
    hook_call_as(h, HOOK_ENTRY, 0, alarm_check, block->count);
    for (uint32_t i = 0; i < block->count; i++) {
        struct x86_memory memory[X86_MEMORY_MAX];
        const struct x86_insn *insn = &block->insns[i];
        next += insn->length;
        if (insn->kind == X86_RET) {
            watch_return_as(h, i, touched, 0);
            hook_call_as(h, HOOK_BEFORE, i, return_check, 0);
            continue;
        }
        unsigned count = x86_memory_as(insn, block->code[i], memory);
        for (unsigned k = 0; k < count; k++)
            watch_operand(block, h, i, next, k, &memory[k]);
    }
}

static bool watching_begin(struct engine_thread *t)
{
    t->floor = ~(UINT64_C(1) << WATCH_FLOOR_BITS);
    t->alarm = watched.alarm_set = 0;
    return true;
}

const struct tool tool_watching = {
    .flags = TOOL_WATCHES | TOOL_LOOSE, .block = block_watching, .thread_begin = watching_begin,
};

/* What has been charged while it watched is what the other copies have executed. */
static void copy_executed(struct engine_thread *t, uint64_t count, uint64_t value)
{
    (void)value;
    copies.observed += count;
    copies.wrong += !t->watching;
    copies.wrong +=
        copies.observed != copies.charged[1] + copies.last + (uint64_t)(copies.set - t->alarm);
}

/* The block that it is called in has been charged, and belongs to the time that begins. */
static void copies_change(struct engine_thread *t, uint64_t count, uint64_t value)
{
    (void)value;
    copies.charged[t->watching] += copies.last + (uint64_t)(copies.set - t->alarm) - count;
    copies.last = count;
    copies.changes++;
    t->watching = !t->watching;
    t->alarm = copies.set = (int64_t)(copies.changes * 37 % 100);
}

static void block_copies(const struct hook_block *block, struct hooks *h)
{
    if (!block->observed) {
        copies.ungated += !block->watch_gate;
        watch_gate_as(h, block->count, copies_change, block->count);
        return;
    }
    hook_call_as(h, HOOK_ENTRY, 0, copy_executed, block->count);
    for (uint32_t i = 0; i < block->count; i++)
        hook_call_as(h, HOOK_BEFORE, i, noted, 1);
}

static bool copies_begin(struct engine_thread *t)
{
    copies = (struct copies){0};
    t->watching = false;
    t->alarm = 0;
    return true;
}

const struct tool tool_copies = {
    .flags = TOOL_WATCHES, .block = block_copies, .thread_begin = copies_begin,
};

/* More than fits a long block. */
static void block_crowding(const struct hook_block *block, struct hooks *h)
{
    enum { EACH = 16 };
    struct spool_thing thing = {0};
    static uint32_t id;
    if (!asked.blocks)
        id = hook_counter_make_as(h, &thing);
    bool all = true;
    for (uint32_t i = 0; i < block->count && all; i++)
        for (unsigned k = 0; k < EACH && all; k++)
            all = hook_count_as(h, HOOK_BEFORE, i, id, 1) &&
                  hook_call_as(h, HOOK_BEFORE, i, noted, 1);
    asked.blocks++;
    asked.crowded += !all;
}

const struct tool tool_crowding = {.block = block_crowding};
