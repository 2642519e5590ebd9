/* The walk: a tight loop over cached return addresses, and a careful step (step.h) for every frame
 * that the loop cannot take.
 *
 *     leaf: careful ──> cached, cached, ... ──> miss, signal frame: careful ──> ... ──> root
 *
 * The loop follows rsp, rbp and rip only. In optimized code that is enough for nearly every frame;
 * where it is not, the walk begins again with the interpreter and all registers. */
#include "unwind/unwind.h"

#include "sigsafe/hash.h"
#include "sigsafe/sample_path.h"
#include "unwind/step.h"
#include "unwind/table.h"

enum {
    ENTRY_HIDDEN = 1,
    ENTRY_LEAVING = 2,
    ENTRY_ROOT = 4,
    ENTRY_SPECIAL = ENTRY_HIDDEN | ENTRY_LEAVING | ENTRY_ROOT,
    ENTRY_RBP = 8, /* the CFA is above rbp, not rsp */
};

/* Frames of hidden images are not written, so they are not bounded by the caller's array. */
enum { HIDDEN_MAX = 64 };

struct walk {
    struct step_state state;
    struct unwind_thread *thread;
    struct unwind_frame *frames;
    uint32_t max;
    uint32_t written;
    uint32_t hidden;
    struct unwind_result result;
};

_Static_assert((UNWIND_CACHE_SLOTS & (UNWIND_CACHE_SLOTS - 1)) == 0, "indexed by bits of a hash");

static inline struct unwind_cached *cached_at(struct unwind_thread *thread, uint64_t pc)
{
    enum { SLOT_BITS = 10 };
    _Static_assert(1 << SLOT_BITS == UNWIND_CACHE_SLOTS, "bits and slots agree");
    return &thread->cache[hash_word(pc) >> (64 - SLOT_BITS)];
}

static inline bool readable(struct unwind_memory *m, uint64_t address)
{
    return __builtin_expect(address - m->low < m->span, 1) || unwind_memory_probe_as(m, address);
}

/* Takes frames that are in the cache, are written and have all on the known stack. Few variables:
 * they stay in registers. False: the next frame is not in the cache. */
static bool walk_plain(struct walk *w)
{
    struct unwind_thread *const thread = w->thread;
    const uint64_t low = w->state.memory.low, span = w->state.memory.span;
    struct unwind_frame *out = w->frames + w->written, *const end = w->frames + w->max;
    uint64_t *r = w->state.frame.regs.r;
    uint64_t rip = r[UNWIND_RIP], rsp = r[UNWIND_RSP], rbp = r[UNWIND_RBP];
    bool hit = true;
    while (out != end && rip != 0) {
        const struct unwind_cached *known = cached_at(thread, rip);
        uint32_t flags = known->flags, below = known->rbp_below;
        if (known->pc != rip) {
            hit = false;
            break;
        }
        if (flags & ENTRY_SPECIAL)
            break;
        uint64_t cfa = (flags & ENTRY_RBP ? rbp : rsp) + known->cfa_above;
        if (cfa <= rsp || cfa - 8 - low >= span || (below && cfa - below - low >= span))
            break;
        rip = unwind_memory_load_as(cfa - 8);
        if (below)
            rbp = unwind_memory_load_as(cfa - below);
        *out++ = (struct unwind_frame){known->key, cfa, rip};
        rsp = cfa;
    }
    if (rsp == r[UNWIND_RSP])
        return hit;
    w->state.frame.known = UNWIND_KNOWN_FAST;
    w->written = (uint32_t)(out - w->frames);
    r[UNWIND_RIP] = rip;
    r[UNWIND_RSP] = rsp;
    r[UNWIND_RBP] = rbp;
    return hit;
}

enum cached_outcome { CACHED_NONE, CACHED_NEXT, CACHED_ROOT };

/* Takes one frame that is in the cache. What cannot be read is left to the careful step, which says
 * why. */
static enum cached_outcome walk_cached_one(struct walk *w)
{
    uint64_t *r = w->state.frame.regs.r, rip = r[UNWIND_RIP], rsp = r[UNWIND_RSP];
    const struct unwind_cached *known = cached_at(w->thread, rip);
    if (w->written == w->max || rip == 0 || known->pc != rip)
        return CACHED_NONE;
    uint64_t cfa = r[known->flags & ENTRY_RBP ? UNWIND_RBP : UNWIND_RSP] + known->cfa_above;
    bool root = known->flags & ENTRY_ROOT;
    if (!root && (cfa <= rsp || !readable(&w->state.memory, cfa - 8) ||
                  (known->rbp_below && !readable(&w->state.memory, cfa - known->rbp_below))))
        return CACHED_NONE;
    uint64_t ra = root ? 0 : unwind_memory_load_as(cfa - 8);
    if (!(known->flags & ENTRY_HIDDEN))
        w->frames[w->written++] = (struct unwind_frame){known->key, cfa, ra};
    else if (++w->hidden > HIDDEN_MAX)
        return CACHED_NONE;
    w->result.leaving |= (known->flags & ENTRY_LEAVING) != 0;
    w->state.frame.known = UNWIND_KNOWN_FAST;
    if (root)
        return CACHED_ROOT;
    r[UNWIND_RIP] = ra;
    r[UNWIND_RSP] = cfa;
    if (known->rbp_below)
        r[UNWIND_RBP] = unwind_memory_load_as(cfa - known->rbp_below);
    return CACHED_NEXT;
}

/* Takes frames as long as they are in the cache. True: the last one was the root. */
static bool walk_cached(struct walk *w)
{
    enum cached_outcome outcome = CACHED_NEXT;
    while (outcome == CACHED_NEXT && walk_plain(w))
        outcome = walk_cached_one(w);
    return outcome == CACHED_ROOT;
}

static void cache_fill(struct walk *w, const struct step_place *place, uint64_t key, uint32_t flags)
{
    uint64_t rip = w->state.frame.regs.r[UNWIND_RIP];
    enum unwind_rule_kind kind = rule_kind(place->rule);
    uint64_t leaving = rip - w->thread->marks.leaving_lo;
    if (w->state.exact || leaving < w->thread->marks.leaving_hi - w->thread->marks.leaving_lo ||
        (kind != RULE_RSP && kind != RULE_RBP && kind != RULE_ROOT))
        return;
    flags |= kind == RULE_ROOT ? ENTRY_ROOT : kind == RULE_RBP ? ENTRY_RBP : 0;
    *cached_at(w->thread, rip) = (struct unwind_cached){
        .pc = rip,
        .key = key,
        .cfa_above = 8 * rule_offset(place->rule),
        .rbp_below = (uint16_t)(8 * rule_slot(place->rule)),
        .flags = (uint16_t)flags,
    };
}

static void note_missing(struct walk *w, uint64_t pc)
{
    enum { KERNEL_BIT = 63, LOWEST = 4096 };
    if (w->result.images_missing || pc < LOWEST || pc >> KERNEL_BIT)
        return;
    w->result.images_missing = true;
    w->result.missing_pc = pc;
}

enum walk_next { WALK_ON, WALK_RESTART, WALK_END };

static enum walk_next walk_end(struct walk *w, enum truncation truncation)
{
    const struct cfi_frame *f = &w->state.frame;
    w->result.truncation = truncation;
    if (truncation == TRUNC_DEPTH)
        w->result.point = (struct unwind_point){f->regs.r[UNWIND_RIP], f->regs.r[UNWIND_RSP],
                                                f->regs.r[UNWIND_RBP], f->known >> UNWIND_RBP & 1};
    return WALK_END;
}

/* True if the walk ends here because of a trampoline. */
static bool marked(struct walk *w)
{
    const struct unwind_marks *marks = &w->thread->marks;
    uint64_t rip = w->state.frame.regs.r[UNWIND_RIP];
    if (!w->state.exact && rip - marks->stop_lo < marks->stop_hi - marks->stop_lo) {
        w->result.stopped_at = rip;
        w->result.stopped_slot = w->state.frame.regs.r[UNWIND_RSP] - 8;
        return true;
    }
    w->result.inside = rip - marks->inside_lo < marks->inside_hi - marks->inside_lo;
    w->result.leaving |= rip - marks->leaving_lo < marks->leaving_hi - marks->leaving_lo;
    return w->result.inside;
}

/* The return address that the frame will return to, if it lies where CFI says it does. */
static uint64_t return_address(const struct walk *w, const struct step_place *place,
                               const struct step_result *step)
{
    enum unwind_rule_kind kind = rule_kind(place->rule);
    bool certain = (kind == RULE_RSP || kind == RULE_RBP) && !step->guessed && place->image;
    return certain && w->state.frame.regs.r[UNWIND_RSP] == step->cfa
               ? w->state.frame.regs.r[UNWIND_RIP]
               : 0;
}

/* True of the loader's entry, whose code has no unwind information: what lies above is the
 * program's arguments. */
static bool at_beginning(const struct unwind_thread *thread, uint64_t rsp)
{
    enum { NEAR = 64 };
    return rsp < thread->stack_hi && thread->stack_hi - rsp <= NEAR;
}

static enum walk_next walk_careful(struct walk *w)
{
    struct step_place place;
    struct step_result step;
    if (marked(w))
        return WALK_END;
    step_locate_as(&w->state, &place);
    bool hidden = place.image && place.image->hidden;
    if (hidden ? w->hidden++ >= HIDDEN_MAX : w->written == w->max)
        return walk_end(w, TRUNC_DEPTH);
    uint64_t key = place.image ? key_make(place.image->number, place.pc - place.image->bias)
                               : key_make(0, place.pc);
    if (!place.image)
        note_missing(w, place.pc);
    bool leaving = !hidden && w->thread->marks.leaving_as && w->thread->marks.leaving_as(key);
    w->result.leaving |= leaving;
    cache_fill(w, &place, key, (hidden ? ENTRY_HIDDEN : 0) | (leaving ? ENTRY_LEAVING : 0));
    uint64_t rsp = w->state.frame.regs.r[UNWIND_RSP];
    enum step_outcome outcome = step_apply_as(&w->state, &place, &step);
    if (outcome == STEP_RESTART)
        return WALK_RESTART;
    if (step.guessed) {
        key |= KEY_GUESSED;
        w->result.guessed = true;
    }
    key += step.planted; /* the address itself: no call is before it */
    if (!hidden) {
        w->frames[w->written].key = key;
        w->frames[w->written].cfa = step.cfa;
        w->frames[w->written].ra = outcome == STEP_OK ? return_address(w, &place, &step) : 0;
        w->written++;
    }
    if (outcome == STEP_OK)
        return WALK_ON;
    bool root =
        outcome == STEP_ROOT || (step.truncation == TRUNC_NO_CFI && at_beginning(w->thread, rsp));
    return walk_end(w, root ? TRUNC_NONE : step.truncation);
}

static void walk_begin(struct walk *w, const struct unwind_regs *start, bool full)
{
    struct cfi_frame *f = &w->state.frame;
#pragma GCC unroll 17
    for (unsigned i = 0; i < UNWIND_REGISTERS; i++)
        f->regs.r[i] = start->r[i];
    f->known = w->thread->fetch && !w->thread->fetch_registers
                   ? 1u << UNWIND_RSP | 1u << UNWIND_RIP
                   : UNWIND_KNOWN_ALL;
    w->state.exact = true;
    w->state.tries = false;
    w->state.full = full;
    w->state.sender_for = 0;
    w->written = 0;
    w->hidden = 0;
    w->result.frames = 0;
    w->result.truncation = TRUNC_NONE;
    w->result.guessed = false;
    w->result.images_missing = false;
    w->result.missing_pc = 0;
    w->result.stopped_at = w->result.stopped_slot = 0;
    w->result.inside = w->result.leaving = false;
}

static void cache_clear(struct unwind_thread *thread, const struct unwind_index *index)
{
    thread->vm_structs = 0;
    for (uint32_t i = 0; i < index->count; i++)
        thread->vm_structs =
            index->image[i].vm_structs ? index->image[i].vm_structs : thread->vm_structs;
    for (unsigned i = 0; i < UNWIND_CACHE_SLOTS; i++)
        thread->cache[i].pc = 0;
    thread->generation = index->generation;
}

static void walk_init(struct walk *w, struct unwind_thread *thread,
                      const struct unwind_index *index, const struct unwind_regs *start,
                      struct unwind_frame *frames, uint32_t max)
{
    if (thread->generation != index->generation)
        cache_clear(thread, index);
    w->thread = thread;
    w->frames = frames;
    w->max = max;
    w->state.index = index;
    unwind_memory_init_as(&w->state.memory, thread, start->r[UNWIND_RSP]);
    walk_begin(w, start, false);
}

/* To the end, or to a frame that needs all registers. */
SAMPLE_PATH
static enum walk_next walk_run(struct walk *w)
{
    for (;;) {
        bool root = !w->state.exact && !w->state.full && !w->thread->fetch &&
                    (w->state.frame.known >> UNWIND_RBP & 1) && walk_cached(w);
        /* As in step_apply_as: a cleared return address ends the stack. */
        root = root || (w->state.frame.regs.r[UNWIND_RIP] == 0 && !w->state.exact);
        enum walk_next next = root ? WALK_END : walk_careful(w);
        if (next != WALK_ON)
            return next;
    }
}

SAMPLE_PATH
struct unwind_result unwind_walk_as(struct unwind_thread *thread, const struct unwind_index *index,
                                    const struct unwind_regs *start, struct unwind_frame *frames,
                                    uint32_t max)
{
    struct walk w;
    walk_init(&w, thread, index, start, frames, max);
    while (walk_run(&w) == WALK_RESTART)
        walk_begin(&w, start, true);
    w.result.frames = w.written;
    return w.result;
}

struct unwind_result unwind_walk_on_as(struct unwind_thread *thread,
                                       const struct unwind_index *index,
                                       const struct unwind_point *point,
                                       struct unwind_frame *frames, uint32_t max)
{
    struct walk w;
    struct unwind_regs start = {{0}};
    start.r[UNWIND_RIP] = point->rip;
    start.r[UNWIND_RSP] = point->rsp;
    start.r[UNWIND_RBP] = point->rbp;
    walk_init(&w, thread, index, &start, frames, max);
    w.state.exact = false;
    w.state.frame.known =
        1u << UNWIND_RIP | 1u << UNWIND_RSP | (point->has_rbp ? 1u << UNWIND_RBP : 0);
    if (walk_run(&w) == WALK_RESTART)
        walk_end(&w, TRUNC_DEPTH);
    w.result.frames = w.written;
    return w.result;
}
