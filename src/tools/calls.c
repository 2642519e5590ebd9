/* Exact calls in their calling context: the tree that sampling would give if each call were a sample,
 * taken at the first instruction of what is called.
 *
 *      shadow stack (grows up)             calling context tree
 *
 *      { slot, node } main calls f         main @ call of f ── f @ entry      calls++
 *      { slot, node } f calls g             └ f @ call of g ── g @ entry      calls++
 *        ^ where the return address is
 *
 * A call pushes, a return pops. Which frames are gone is decided by the stack pointer alone: those whose
 * return address lies below it. So longjmp, exceptions, tail calls and functions that never return
 * leave nothing wrong behind. A thread may run on several stacks (signal handlers, coroutines): each
 * has a shadow stack of its own, found by where its return addresses lie.
 *
 * Context: called hooks: the thread concerned, on its engine stack.
 * Ownership: shadow stacks stay with the thread area. */
#include <stddef.h>

#include "sigsafe/cct_grow.h"
#include "tools/memory.h"
#include "tools/tools.h"
#include "x86/insn.h"

enum {
    DEPTH = 1 << 18,      /* frames that are kept of each stack */
    STACKS = 16,
    CACHE = 4096,         /* calls whose nodes are remembered */
    NEAR = 256 << 10,     /* so far from what was seen of a stack it is still the same one */
};

struct frame {
    uint64_t slot; /* address of the return address */
    spool_ref node; /* of the call */
};

struct stack {
    uint64_t lo, hi;  /* slots seen */
    uint64_t used;    /* when it was used last */
    struct frame *frames;
    uint32_t depth;
    spool_ref base;   /* context of what runs on it without having been called */
};

struct known_call {
    uint64_t from, to;
    spool_ref context, node, entry;
};

struct calls {
    struct cct_store store;
    struct stack stacks[STACKS];
    struct stack *current;
    uint64_t now;
    struct known_call cache[CACHE];
};

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
        oldest->frames = memory_map_as(DEPTH * sizeof(struct frame));
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

/* The state of the thread; NULL until its tree has a root. */
static struct calls *calls_of(struct engine_thread *t)
{
    struct calls *c = t->tool;
    if (!c->store.spool && t->record && t->record->tree) {
        c->store.spool = hook_spool(t);
        c->store.nodes = &t->record->nodes;
        c->current->base = t->record->tree;
    }
    return c->store.spool ? c : NULL;
}

static struct known_call *call_find_as(struct engine_thread *t, struct calls *c, spool_ref context,
                                       uint64_t from, uint64_t to)
{
    uint64_t hash = (from * 31 + to + context) * UINT64_C(0x9e3779b97f4a7c15);
    struct known_call *known = &c->cache[hash >> 32 & (CACHE - 1)];
    if (known->from == from && known->to == to && known->context == context && known->node)
        return known;
    spool_ref node = cct_child_as(&c->store, context, hook_key_late_as(t, from));
    spool_ref entry = node ? cct_child_as(&c->store, node, hook_key_late_as(t, to)) : 0;
    if (!entry)
        return NULL;
    *known = (struct known_call){ from, to, context, node, entry };
    return known;
}

/* `from`: the return address minus one. The return address has been pushed. */
static void called_as(struct engine_thread *t, uint64_t from, uint64_t to)
{
    struct calls *c = calls_of(t);
    uint64_t slot = t->gpr[ENGINE_RSP];
    struct stack *s = c ? stack_at_as(c, slot) : NULL;
    struct known_call *call = s ? call_find_as(t, c, context_of(s), from, to) : NULL;
    if (!call)
        return;
    struct cct_node *entry = cct_node_at(c->store.spool, call->entry);
    entry->samples++;
    entry->calls += entry->calls != UINT32_MAX;
    t->record->taken++;
    t->record->weight++;
    if (s->depth < DEPTH)
        s->frames[s->depth++] = (struct frame){ slot, call->node };
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
    struct calls *c = calls_of(t);
    if (c)
        stack_at_as(c, t->gpr[ENGINE_RSP] - 8 - argument);
}

static void block_as(void *data, const struct hook_block *block, struct hooks *h)
{
    (void)data;
    const struct x86_insn *last = &block->insns[block->count - 1];
    if (block->end == END_CALL)
        hook_call_as(h, HOOK_TAKEN, 0, called_direct_as, block->next - 1);
    else if (block->end == END_CALL_INDIRECT)
        hook_call_as(h, HOOK_INDIRECT, 0, called_as, block->next - 1);
    else if (block->end == END_RETURN)
        hook_call_as(h, HOOK_INDIRECT, 0, returned_as,
                     last->imm_size ? *(const uint16_t *)(const void *)
                                          (block->code[block->count - 1] + last->at_imm) : 0);
}

static bool thread_begin_as(void *data, struct engine_thread *t)
{
    (void)data;
    struct calls *c = t->tool ? t->tool : memory_map_as(sizeof *c);
    if (!c)
        return false;
    t->tool = c;
    c->store = (struct cct_store){ 0 }; /* a forked child has nodes of its own */
    c->current = &c->stacks[0];
    for (uint32_t i = 0; i < STACKS; i++) {
        c->stacks[i].depth = 0;
        c->stacks[i].lo = UINT64_MAX;
        c->stacks[i].hi = 0;
    }
    for (uint32_t i = 0; i < CACHE; i++)
        c->cache[i].node = 0;
    if (!c->current->frames)
        c->current->frames = memory_map_as(DEPTH * sizeof(struct frame));
    return c->current->frames;
}

const struct tool tool_calls = {
    .name = "calls", .block = block_as, .thread_begin = thread_begin_as,
};
