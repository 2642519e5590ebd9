#include "modules/simulate_paths.h"

#include <stdlib.h>

#include "modules/simulate_rows.h"
#include "sigsafe/hash.h"
#include "sigsafe/key.h"

enum {
    STACKS = 16,
    NEAR = 256 << 10,      /* so far from what was seen of a stack it is still the same one */
    FRAMES_FIRST = 64,
    FRAMES_MOST = 1 << 18, /* that are kept of each stack */
    DEPTH_MOST = 1024,     /* calls of a context; deeper ones are folded */
    NODES_FIRST = 1 << 10,
    NODES_MOST = 1 << 18,  /* then new contexts are folded into those that there are */
};

/* Where a procedure's own costs go. */
struct own {
    struct spool_context_cost *row; /* NULL: not known yet */
    uint64_t function;
};

struct frame {
    uint64_t slot; /* address of the return address */
    uint32_t call; /* node of the call; 0: the root */
    bool folded;
    bool called; /* it began where a function begins, or a stub of one */
    struct own own;
};

struct stack {
    uint64_t lo, hi;      /* slots seen */
    uint64_t used;        /* when it was used last */
    struct frame *frames; /* [0] is of what runs on it without having been called */
    uint32_t count, capacity;
};

/* A row of the spool; [0] is the root, which has none. */
struct node {
    uint64_t key;
    uint64_t function; /* that a call is in */
    uint32_t parent, depth;
    struct simulate_node is;
};

struct simulate_paths {
    int32_t thread;
    const struct host_process *process; /* that the nodes are of */
    struct stack stacks[STACKS];
    struct stack *current;
    uint64_t now;
    struct node *nodes;
    uint32_t *slots; /* indices of nodes, 0: free; open addressing, twice as many as nodes */
    uint32_t count, capacity;
};

/* ---- nodes ---- */

static uint32_t *slot_of(const struct simulate_paths *p, uint32_t parent, uint64_t key)
{
    uint64_t hash = hash_word(key ^ (uint64_t)parent << 32);
    uint32_t mask = p->capacity * 2 - 1, at = (uint32_t)(hash >> 32) & mask;
    while (p->slots[at] &&
           (p->nodes[p->slots[at]].key != key || p->nodes[p->slots[at]].parent != parent))
        at = (at + 1) & mask;
    return &p->slots[at];
}

static bool grow(struct simulate_paths *p)
{
    uint32_t capacity = p->capacity ? p->capacity * 2 : NODES_FIRST;
    struct node *nodes = reallocarray(p->nodes, capacity, sizeof *nodes);
    p->nodes = nodes ? nodes : p->nodes;
    uint32_t *slots = nodes ? calloc((size_t)capacity * 2, sizeof *slots) : NULL;
    if (!slots)
        return false;
    free(p->slots);
    p->slots = slots;
    p->capacity = capacity;
    if (!p->count)
        p->nodes[p->count++] = (struct node){0};
    for (uint32_t i = 1; i < p->count; i++)
        *slot_of(p, p->nodes[i].parent, p->nodes[i].key) = i;
    return true;
}

/* The node `key` below the node `parent`; 0: there is no room. */
static uint32_t child(struct penumbra_host *host, struct simulate_paths *p, uint32_t parent,
                      uint64_t key, uint64_t function)
{
    if (p->count == p->capacity && !grow(p))
        return 0;
    uint32_t *slot = slot_of(p, parent, key);
    if (*slot || p->count >= 2 * NODES_MOST)
        return *slot;
    struct spool_context_cost row = {
        .key = key, .parent = p->nodes[parent].is.number, .thread = p->thread};
    struct simulate_node is = simulate_node_new(host, &row);
    if (!is.number)
        return 0;
    p->nodes[p->count] = (struct node){key, function, parent, p->nodes[parent].depth + 1, is};
    return *slot = p->count++;
}

/* The call of the activation of that function that is nearest above the call `at`; `at`: there is
 * none. Functions are told by where calls are. */
static uint32_t active(const struct simulate_paths *p, uint32_t at, uint64_t function)
{
    for (uint32_t i = at; i && function; i = p->nodes[i].parent)
        if (p->nodes[i].function == function)
            return p->nodes[i].parent;
    return at;
}

/* ---- frames ---- */

static bool frame_push(struct stack *s, const struct frame *f)
{
    if (s->count == FRAMES_MOST)
        return true;
    if (s->count == s->capacity || !s->frames) {
        uint32_t capacity = s->count ? s->count * 2 : FRAMES_FIRST;
        struct frame *frames = reallocarray(s->frames, capacity, sizeof *frames);
        if (!frames)
            return false;
        s->frames = frames;
        s->capacity = capacity;
    }
    s->frames[s->count++] = *f;
    return true;
}

/* NULL: there was no memory for any. */
static struct frame *top(const struct simulate_paths *p)
{
    const struct stack *s = p->current;
    return s->count ? &s->frames[s->count - 1] : NULL;
}

static bool is_near(const struct stack *s, uint64_t slot)
{
    return s->used && slot + NEAR >= s->lo && slot <= s->hi + NEAR;
}

/* The stack that the slot belongs to; a new one goes on in the context of the last one: what
 * interrupted it. NULL without memory. */
static struct stack *stack_find(struct simulate_paths *p, uint64_t slot)
{
    struct stack *oldest = &p->stacks[0];
    for (uint32_t i = 0; i < STACKS; i++) {
        struct stack *s = &p->stacks[i];
        if (is_near(s, slot))
            return p->current = s;
        if (s->used < oldest->used)
            oldest = s;
    }
    struct frame *last = top(p);
    struct frame base = last ? *last : (struct frame){0};
    base.slot = UINT64_MAX;
    base.called = false;
    base.own.row = NULL;
    oldest->count = 0;
    oldest->lo = oldest->hi = slot;
    return frame_push(oldest, &base) ? p->current = oldest : NULL;
}

/* The slot's stack, with all frames gone whose return address lies at or below it. */
static struct stack *stack_at(struct simulate_paths *p, uint64_t slot)
{
    struct stack *s = is_near(p->current, slot) ? p->current : stack_find(p, slot);
    if (!s)
        return NULL;
    s->used = ++p->now;
    s->lo = slot < s->lo ? slot : s->lo;
    s->hi = slot > s->hi ? slot : s->hi;
    while (s->count > 1 && s->frames[s->count - 1].slot <= slot)
        s->count--;
    return s;
}

/* ---- one thread ---- */

struct simulate_paths *simulate_paths_new(int32_t thread)
{
    struct simulate_paths *p = calloc(1, sizeof *p);
    if (p)
        *p = (struct simulate_paths){.thread = thread, .current = &p->stacks[0]};
    return p;
}

static void forget_stacks(struct simulate_paths *p)
{
    for (unsigned i = 0; i < STACKS; i++) {
        free(p->stacks[i].frames);
        p->stacks[i] = (struct stack){0};
    }
    p->current = &p->stacks[0];
}

void simulate_paths_free(struct simulate_paths *p)
{
    if (!p)
        return;
    forget_stacks(p);
    free(p->nodes);
    free(p->slots);
    free(p);
}

/* Whatever runs on the first stack. */
static struct frame *begin(struct simulate_paths *p, uint32_t call)
{
    return frame_push(p->current, &(struct frame){.slot = UINT64_MAX, .call = call}) ? top(p)
                                                                                      : NULL;
}

/* Another program's nodes are others. */
static void enter(struct simulate_paths *p, const struct host_process *process)
{
    forget_stacks(p);
    free(p->nodes);
    free(p->slots);
    p->nodes = NULL;
    p->slots = NULL;
    p->count = p->capacity = 0;
    p->process = process;
}

bool simulate_paths_break(struct penumbra_host *host, struct simulate_paths *p)
{
    if (p->process != host->current)
        enter(p, host->current);
    forget_stacks(p);
    uint32_t call = child(host, p, 0, key_pseudo(KEY_TRUNCATED), 0);
    return call && begin(p, call);
}

/* Control has come to a function, by a call of it or otherwise. */
static bool own_find(struct penumbra_host *host, struct simulate_paths *p, struct frame *f,
                     const struct simulate_place *at)
{
    bool first = f->called && !f->own.row;
    if (!f->folded)
        f->call = active(p, f->call, at->function);
    uint32_t own =
        child(host, p, f->call, first || !at->function ? at->key : at->function, 0);
    if (own)
        f->own = (struct own){p->nodes[own].is.row, at->function};
    return own;
}

struct spool_context_cost *simulate_paths_enter(struct penumbra_host *host,
                                                struct simulate_paths *p,
                                                const struct simulate_place *at)
{
    if (p->process != host->current)
        enter(p, host->current);
    struct frame *f = top(p) ? top(p) : begin(p, 0);
    if (!f || ((!f->own.row || f->own.function != at->function) && !own_find(host, p, f, at)))
        return NULL;
    return f->own.row;
}

/* The address of the last operand of that class; false: it is not known. */
static bool slot_find(const struct uop_insn *insn, const struct uop_executed *x, unsigned class,
                      uint64_t *slot)
{
    for (unsigned i = insn->count; i-- > 0;) {
        const struct uop *u = &insn->uops[i];
        if (u->class != class || u->operand >= INSN_OPERANDS)
            continue;
        *slot = x->address[u->operand];
        return x->known[u->operand];
    }
    return false;
}

/* The frame of what is called from that place in the top frame. */
static bool call(struct penumbra_host *host, struct simulate_paths *p,
                 const struct simulate_place *at, uint64_t slot)
{
    struct frame f = *top(p);
    bool folds = p->nodes[f.call].depth >= DEPTH_MOST || p->count >= NODES_MOST;
    if (!f.folded) {
        f.call = child(host, p, f.call, folds ? key_pseudo(KEY_FOLDED) : at->call_key,
                       folds ? 0 : at->function);
        f.folded = folds;
    }
    f.slot = slot;
    f.called = true;
    f.own = (struct own){0};
    return (f.call || f.folded) && frame_push(p->current, &f);
}

bool simulate_paths_follow(struct penumbra_host *host, struct simulate_paths *p,
                           const struct simulate_place *at, const struct uop_insn *insn,
                           const struct uop_executed *x)
{
    bool calls = insn->transfer == TRANSFER_CALL || insn->transfer == TRANSFER_CALL_INDIRECT;
    uint64_t slot;
    if (!top(p) || !p->count || !(calls || insn->transfer == TRANSFER_RETURN) ||
        x->next == x->pc + insn->length ||
        !slot_find(insn, x, calls ? UOP_STORE_ADDRESS : UOP_LOAD, &slot))
        return true;
    return stack_at(p, slot) && (!calls || call(host, p, at, slot));
}
