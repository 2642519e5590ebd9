/* Exact calls in their calling context: the tree that sampling would give if each call were a
 * sample, taken at the first instruction of what is called.
 *
 *      shadow stack (grows up)             calling context tree
 *
 *      { slot, node } main calls f         main @ call of f ── f @ entry      calls++
 *      { slot, node } f calls g             └ f @ call of g ── g @ entry      calls++
 *        ^ where the return address is
 *
 * A call pushes, a return pops. Which frames are gone is decided by the stack pointer alone: those
 * whose return address lies below it. So longjmp, exceptions, tail calls and functions that never
 * return leave nothing wrong behind. A thread may run on several stacks (signal handlers,
 * coroutines): each has a shadow stack of its own, found by where its return addresses lie.
 *
 * The tree is bounded: where it is as large as it may be (spool_config.contexts), the contexts with
 * the smallest shares of all calls are folded into their parents (calls_fold.h), unless another
 * tool keeps nodes of it (tool_about.in_context). So is a context that is too deep
 * (spool_config.max_depth), and a new one where that has not made room. What is called there keeps
 * its counts, by callee, below the parent's [folded], and so does all that those call. Where not
 * even that has room (twice as many nodes), calls are counted in [folded] below the root. With
 * spool_config.fold_recursion the context of a function that is active already is that of its
 * activation.
 *
 * The profiler's own functions are not shown: what they call is called by whoever called them.
 *
 * What is met again and again, a known call from the frame on top and the return of that frame, is
 * done by code of the tool's own in the code cache (calls_line.S), which moves `top` alone. The
 * functions here begin by taking over what it has done, and end by saying what it finds.
 *
 * Context: called hooks: the thread concerned, on its engine stack.
 * Ownership: shadow stacks stay with the thread area. */
#include "tools/calls.h"

#include <stddef.h>

#include "engine/hook_line.h"
#include "engine/hook_run.h"
#include "sigsafe/cct_grow.h"
#include "sigsafe/key.h"
#include "sigsafe/settings.h"
#include "tools/calls_fold.h"
#include "tools/calls_layout.h"
#include "tools/memory.h"
#include "tools/plt.h"
#include "tools/tools.h"
#include "x86/insn.h"

enum {
    DEPTH = 1 << 18,      /* frames that are kept of each stack */
    STACKS = 16,
    KNOWN = 1 << KNOWN_BITS, /* calls whose nodes are remembered */
    NEAR = CALLS_NEAR,
};

struct frame {
    uint64_t slot; /* address of the return address */
    spool_ref node; /* of the call: the context of what the callee does */
    uint32_t callee; /* the low half of its address */
};

struct stack {
    uint64_t lo, hi;  /* slots seen */
    uint64_t used;    /* when it was used last */
    struct frame *frames; /* frames[-1] is a frame of no call */
    uint32_t depth;
    spool_ref base;   /* context of what runs on it without having been called */
};

struct known_call {
    uint64_t from, to;
    spool_ref context, node; /* node 0: free */
    struct cct_node *entry;
};

/* What the code in the cache works with. */
struct line {
    struct frame *top;   /* the current stack's; `nothing` while there is no tree */
    struct frame *limit; /* above it nothing is pushed */
    struct known_call *known;
    uint64_t *taken, *weight;
};

#define LAYOUT(type, field, offset)                                                                \
    _Static_assert(offsetof(struct type, field) == (offset), "calls_layout.h: " #field)
LAYOUT(line, top, LINE_TOP);
LAYOUT(line, limit, LINE_LIMIT);
LAYOUT(line, known, LINE_KNOWN);
LAYOUT(line, taken, LINE_TAKEN);
LAYOUT(line, weight, LINE_WEIGHT);
LAYOUT(frame, slot, FRAME_SLOT);
LAYOUT(frame, node, FRAME_NODE);
LAYOUT(frame, callee, FRAME_CALLEE);
LAYOUT(known_call, from, KNOWN_FROM);
LAYOUT(known_call, to, KNOWN_TO);
LAYOUT(known_call, context, KNOWN_CONTEXT);
LAYOUT(known_call, node, KNOWN_NODE);
LAYOUT(known_call, entry, KNOWN_ENTRY);
LAYOUT(cct_node, samples, NODE_SAMPLES);
LAYOUT(cct_node, calls, NODE_CALLS);
#undef LAYOUT
_Static_assert(sizeof(struct frame) == FRAME_SIZE && sizeof(struct known_call) == 1 << KNOWN_SHIFT,
               "calls_layout.h");

extern const uint8_t calls_line_begin[], calls_line_end[], calls_line_direct[],
    calls_line_indirect[], calls_line_return[];
enum { LINE_DIRECT, LINE_INDIRECT, LINE_RETURN };

struct calls {
    struct line line;
    struct frame nothing; /* its slot is 0: no frame of a call */
    struct cct_store store;
    uint64_t nodes_most; /* that the tree has before contexts are folded */
    uint32_t depth_most;
    bool fold_recursion;
    bool crowded; /* folding what is cold makes no room, or nothing may be folded */
    struct stack stacks[STACKS];
    struct stack *current;
    uint64_t now;
};

static struct frame *frames_make_as(void)
{
    struct frame *made = memory_map_as((DEPTH + 1) * sizeof *made);
    return made ? made + 1 : NULL;
}

static bool is_near(const struct stack *s, uint64_t slot)
{
    return s->frames && slot + NEAR >= s->lo && slot <= s->hi + NEAR;
}

/* The context of what runs now. */
static spool_ref context_of(const struct stack *s)
{
    return s->depth ? s->frames[s->depth - 1].node : s->base;
}

/* The shadow stack that the slot belongs to; a new one goes on in the context of the last one: what
 * interrupted it. NULL without memory. */
static struct stack *stack_find_as(struct calls *c, uint64_t slot)
{
    struct stack *oldest = &c->stacks[0];
    for (uint32_t i = 0; i < STACKS; i++) {
        struct stack *s = &c->stacks[i];
        if (is_near(s, slot))
            return c->current = s;
        if (s->used < oldest->used)
            oldest = s;
    }
    spool_ref base = context_of(c->current);
    if (!oldest->frames)
        oldest->frames = frames_make_as();
    if (!oldest->frames)
        return NULL;
    oldest->base = base;
    oldest->depth = 0;
    oldest->lo = oldest->hi = slot;
    return c->current = oldest;
}

/* The current stack with all frames gone whose return address lies at or below the slot. */
static struct stack *stack_at_as(struct calls *c, uint64_t slot)
{
    struct stack *s = is_near(c->current, slot) ? c->current : stack_find_as(c, slot);
    if (!s)
        return NULL;
    s->used = ++c->now;
    if (slot < s->lo)
        s->lo = slot;
    if (slot > s->hi)
        s->hi = slot;
    while (s->depth && s->frames[s->depth - 1].slot <= slot)
        s->depth--;
    return s;
}

/* The state of the thread, with what was done in line; NULL until its tree has a root. */
static struct calls *calls_take(struct engine_thread *t)
{
    struct calls *c = t->tools[TOOL_CALLS];
    struct stack *s = c->current;
    if (!c->store.spool && t->record && t->record->tree) {
        c->store.spool = hook_spool(t);
        c->store.nodes = &t->record->nodes;
        c->line.taken = &t->record->taken;
        c->line.weight = &t->record->weight;
        s->base = t->record->tree;
    } else if (c->line.top != &c->nothing) {
        s->depth = (uint32_t)(c->line.top + 1 - s->frames);
        if (s->depth && s->frames[s->depth - 1].slot < s->lo)
            s->lo = s->frames[s->depth - 1].slot;
    }
    return c->store.spool ? c : NULL;
}

static void calls_give(struct calls *c)
{
    c->line.top = c->current->frames + c->current->depth - 1;
    c->line.limit = c->current->frames + DEPTH - 1;
}

spool_ref calls_context_as(const struct engine_thread *t)
{
    const struct calls *c = t->tools[TOOL_CALLS];
    if (!c || c->line.top == &c->nothing)
        return 0;
    for (const struct frame *top = c->line.top; top >= c->current->frames; top--) {
        uint64_t above = top->slot - t->gpr[ENGINE_RSP];
        if (above < NEAR)
            return top->node;
        if (-above >= NEAR)
            return 0; /* on a stack on which nothing has been called yet */
    }
    return c->current->base;
}

static spool_ref child_as(struct engine_thread *t, struct calls *c, spool_ref parent, uint64_t key)
{
    spool_ref child = cct_child_as(&c->store, parent, key);
    if (child)
        return child;
    while (!child && hook_wait_as(t))
        child = cct_child_as(&c->store, parent, key);
    if (child)
        hook_waited(t);
    return child;
}

/* Where a call is counted (`entry`), and what its callee does (`context`); entry 0: there is no
 * room, or it is not counted. */
struct place {
    spool_ref context, entry;
    bool hidden; /* it is not counted */
};

/* The activation of the callee that is nearest on the stack. */
static const struct frame *active(const struct stack *s, uint64_t callee)
{
    for (uint32_t i = s->depth; i > 0; i--)
        if (s->frames[i - 1].callee == (uint32_t)callee)
            return &s->frames[i - 1];
    return NULL;
}

static bool is_folded(const struct calls *c, spool_ref context)
{
    return cct_node_at(c->store.spool, context)->key == key_pseudo(KEY_FOLDED);
}

static struct place place_find_as(struct engine_thread *t, struct calls *c, const struct stack *s,
                                  uint64_t from, uint64_t callee)
{
    struct place p = { .context = context_of(s), .hidden = hook_is_own(t, callee) };
    bool own = hook_is_own(t, from);
    if (p.hidden && own)
        return p;
    if (!own && !is_folded(c, p.context)) {
        bool deep = !c->fold_recursion && s->depth >= c->depth_most;
        bool kept = !deep && *c->store.nodes < c->nodes_most;
        if (!kept && *c->store.nodes >= 2 * c->nodes_most) {
            p.entry = child_as(t, c, t->record->tree, key_pseudo(KEY_FOLDED));
            return p;
        }
        spool_ref node =
            child_as(t, c, p.context, kept ? hook_key_late_as(t, from) : key_pseudo(KEY_FOLDED));
        if (!node)
            return p;
        p.context = node;
    }
    if (!p.hidden)
        p.entry = *c->store.nodes < 2 * c->nodes_most
                      ? child_as(t, c, p.context, hook_key_late_as(t, callee))
                      : p.context;
    return p;
}

static struct known_call *known_at(const struct calls *c, spool_ref context, uint64_t from)
{
    uint32_t hash = ((uint32_t)from * CALLS_HASH_FROM + context) * CALLS_HASH_ALL;
    return &c->line.known[hash >> (32 - KNOWN_BITS)];
}

/* Where the call goes in the tree; in `known`, too, unless that may be another place the next time,
 * or none. */
static struct place call_find_as(struct engine_thread *t, struct calls *c, const struct stack *s,
                                 uint64_t from, uint64_t to)
{
    spool_ref context = context_of(s);
    struct known_call *known = known_at(c, context, from);
    if (known->from == from && known->to == to && known->context == context && known->node)
        return (struct place){ known->node, spool_ref_of(c->store.spool, known->entry), false };
    uint64_t callee;
    bool settled = plt_target_as(to, &callee);
    struct place place = place_find_as(t, c, s, from, callee);
    if (!place.entry)
        return place;
    const struct frame *again = c->fold_recursion ? active(s, to) : NULL;
    place.context = again ? again->node : place.context;
    /* A stub that looks its function up goes elsewhere the next time: no call is known by this. */
    *known = (struct known_call){settled ? from : 0, to, context, place.context,
                                 cct_node_at(c->store.spool, place.entry)};
    return place;
}

static void push(struct stack *s, uint64_t slot, spool_ref node, uint64_t callee)
{
    if (s->depth < DEPTH)
        s->frames[s->depth++] = (struct frame){ slot, node, (uint32_t)callee };
}

static void count(struct engine_thread *t, struct cct_node *entry)
{
    entry->samples++;
    entry->calls += entry->calls != UINT32_MAX;
    t->record->taken++;
    t->record->weight++;
}

/* ---- room ---- */

/* Everything that refers to the tree's nodes: roots of stacks and their frames. */
static void refs_each(struct calls *c, struct fold_moved *moved,
                      void (*look)(struct fold_moved *moved, spool_ref *ref))
{
    for (uint32_t i = 0; i < STACKS; i++) {
        struct stack *s = &c->stacks[i];
        if (s->base)
            look(moved, &s->base);
        for (uint32_t k = 0; s->frames && k < s->depth; k++)
            if (s->frames[k].node)
                look(moved, &s->frames[k].node);
    }
}

static void ref_note(struct fold_moved *moved, spool_ref *ref)
{
    fold_moved_add(moved, *ref);
}

static void ref_move(struct fold_moved *moved, spool_ref *ref)
{
    *ref = fold_moved_to(moved, *ref);
}

static uint32_t refs_count(const struct calls *c)
{
    uint32_t count = STACKS;
    for (uint32_t i = 0; i < STACKS; i++)
        count += c->stacks[i].depth;
    return count;
}

/* The record has the one tree or the other at every moment. */
static void room_make_as(struct engine_thread *t, struct calls *c)
{
    enum { SHARE = 4 };
    struct fold_moved moved;
    c->crowded = true;
    if (!c->store.blocks || !fold_moved_make_as(&moved, refs_count(c)))
        return;
    refs_each(c, &moved, ref_note);
    fold_moved_add(&moved, t->record->tree);
    spool_ref made = fold_cold_as(&c->store, t->record->tree, c->nodes_most, &moved);
    if (made) {
        __atomic_store_n(&t->record->tree, made, __ATOMIC_RELEASE);
        refs_each(c, &moved, ref_move);
        for (uint32_t i = 0; i < KNOWN; i++)
            c->line.known[i].node = c->line.known[i].context = 0;
        c->crowded = *c->store.nodes > c->nodes_most - c->nodes_most / SHARE;
    }
    fold_moved_free_as(&moved);
}

/* `from`: the return address minus one. The return address has been pushed. A call without room is
 * lost, and counted; what its callee calls is called in its caller's context. */
static void called_as(struct engine_thread *t, uint64_t from, uint64_t to)
{
    struct calls *c = calls_take(t);
    uint64_t slot = t->gpr[ENGINE_RSP];
    if (!c)
        return;
    struct stack *s = stack_at_as(c, slot);
    struct place place = { 0 };
    if (s && *c->store.nodes >= c->nodes_most && !c->crowded)
        room_make_as(t, c);
    if (s)
        place = call_find_as(t, c, s, from, to);
    if (place.entry)
        count(t, cct_node_at(c->store.spool, place.entry));
    else if (!place.hidden)
        t->record->drops[DROP_SPOOL_FULL]++;
    if (s)
        push(s, slot, place.context, to);
    calls_give(c);
}

/* A handler is about to begin: what it calls is called where it interrupts the program; where it
 * interrupts the profiler's own code, by whoever called that. */
static void interrupted_as(struct engine_thread *t, uint64_t pc)
{
    struct calls *c = calls_take(t);
    if (!c)
        return;
    uint64_t slot = t->gpr[ENGINE_RSP];
    struct stack *s = stack_at_as(c, slot);
    if (s) {
        spool_ref node = 0;
        if (!hook_is_own(t, pc) && !is_folded(c, context_of(s)) && *c->store.nodes < c->nodes_most)
            node = child_as(t, c, context_of(s), hook_key_late_as(t, pc));
        push(s, slot, node ? node : context_of(s), t->rip);
    }
    calls_give(c);
}

static void called_direct_as(struct engine_thread *t, uint64_t from, uint64_t value)
{
    (void)value;
    /* The displacement of call rel32 is its last four bytes. */
    int32_t rel = ((const struct { int32_t v; } __attribute__((packed, may_alias)) *)(uintptr_t)
                   (from - 3))->v;
    called_as(t, from, from + 1 + (uint64_t)(int64_t)rel);
}

static void returned_as(struct engine_thread *t, uint64_t argument, uint64_t value)
{
    (void)value;
    struct calls *c = calls_take(t);
    if (!c)
        return;
    stack_at_as(c, t->gpr[ENGINE_RSP] - 8 - argument);
    calls_give(c);
}

static void block_as(const struct hook_block *block, struct hooks *h)
{
    const struct x86_insn *last = &block->insns[block->count - 1];
    if (block->end == END_CALL)
        hook_line_as(h, HOOK_TAKEN, LINE_DIRECT, called_direct_as, block->next - 1);
    else if (block->end == END_CALL_INDIRECT)
        hook_line_as(h, HOOK_INDIRECT, LINE_INDIRECT, called_as, block->next - 1);
    else if (block->end == END_RETURN && last->imm_size)
        hook_call_as(
            h, HOOK_INDIRECT, 0, returned_as,
            *(const uint16_t *)(const void *)(block->code[block->count - 1] + last->at_imm));
    else if (block->end == END_RETURN)
        hook_line_as(h, HOOK_INDIRECT, LINE_RETURN, returned_as, 0);
}

/* Somebody else keeps the tree's nodes: they stay where they are. */
static bool is_kept(const struct spool_config *config)
{
    uint32_t kind = tools_next(config->tools, 0);
    while (kind < TOOL_KIND_COUNT && !tool_about(kind)->in_context)
        kind = tools_next(config->tools, kind + 1);
    return kind < TOOL_KIND_COUNT;
}

/* 0 is no bound. */
static void bounds_set(struct calls *c, const struct spool *spool)
{
    enum { NODES_MOST = INT32_MAX / 2 };
    const struct spool_config *config = spool ? settings_sampling_as(spool) : NULL;
    c->nodes_most = config && config->contexts ? config->contexts : NODES_MOST;
    c->depth_most = config && config->max_depth ? config->max_depth : UINT32_MAX;
    c->fold_recursion = config && config->fold_recursion;
    c->crowded = config && is_kept(config);
}

/* Empty; NULL without memory: nothing is folded for being cold. */
static struct cct_blocks *blocks_of_as(struct calls *c)
{
    struct cct_blocks *b = c->store.blocks ? c->store.blocks : memory_map_as(sizeof *b);
    if (b)
        b->used_count = b->free_count = 0;
    return b;
}

static bool thread_begin_as(struct engine_thread *t)
{
    struct calls *c = t->tools[TOOL_CALLS] ? t->tools[TOOL_CALLS] : memory_map_as(sizeof *c);
    if (!c)
        return false;
    t->tools[TOOL_CALLS] = c;
    bounds_set(c, hook_spool(t));
    /* A forked child has nodes of its own. */
    c->store = (struct cct_store){.blocks = blocks_of_as(c)};
    c->current = &c->stacks[0];
    for (uint32_t i = 0; i < STACKS; i++) {
        c->stacks[i].depth = 0;
        c->stacks[i].lo = UINT64_MAX;
        c->stacks[i].hi = 0;
    }
    if (!c->current->frames)
        c->current->frames = frames_make_as();
    if (c->line.known)
        own_unmap_as(c->line.known, KNOWN * sizeof *c->line.known);
    c->line.known = memory_map_as(KNOWN * sizeof *c->line.known);
    c->line.top = c->line.limit = &c->nothing;
    t->lines[LINE_OF_CALLS] = &c->line;
    return c->current->frames && c->line.known;
}

static const struct tool_line line = {
    .begin = calls_line_begin, .end = calls_line_end,
    .entries = { [LINE_DIRECT] = calls_line_direct, [LINE_INDIRECT] = calls_line_indirect,
                 [LINE_RETURN] = calls_line_return },
};

const struct tool tool_calls = {
    .flags = TOOL_OWN, .line = &line, .block = block_as, .thread_begin = thread_begin_as,
    .interrupted = interrupted_as,
};
