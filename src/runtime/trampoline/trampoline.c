#include "runtime/trampoline/trampoline.h"

#include "runtime/path/deep.h"
#include "runtime/trampoline/forbidden.h"
#include "runtime/trampoline/own_address.h"
#include "runtime/trampoline/trampoline_layout.h"
#include "guest/images.h"
#include "runtime/interpose/alternate.h"
#include "runtime/self.h"
#include "runtime/thread.h"
#include "sigsafe/sample_path.h"
#include "unwind/memory.h"

enum entry_state {
    ENTRY_FREE,     /* used again when all others have been */
    ENTRY_OWNED,    /* a thread uses it, or keeps it for the next time */
    ENTRY_RESOLVED, /* owned; but another thread has returned through it */
    ENTRY_LOST,     /* its word may be anywhere: never used again */
};

struct trampoline_data {
    uint64_t real;           /* the true return address */
    uint64_t slot;           /* where it was taken from */
    struct rt_thread *owner;
    uint32_t state;          /* atomic enum entry_state */
    uint32_t reserved;
};
_Static_assert(sizeof(struct trampoline_data) == TRAMPOLINE_DATA_SIZE, "as trampoline.S has it");
_Static_assert(offsetof(struct trampoline_data, real) == TRAMPOLINE_DATA_REAL, "for the CFI");

#define HIDDEN __attribute__((visibility("hidden")))
HIDDEN extern const uint8_t trampoline_entries[], trampoline_end[];
HIDDEN extern const uint8_t nonlocal_begin[], nonlocal_end[]; /* interpose/nonlocal.S */
HIDDEN extern struct trampoline_data trampoline_data[];
HIDDEN struct trampoline_data trampoline_data[TRAMPOLINE_ENTRIES];

/* Where the search for a free entry begins. Each starts behind the last one that was found, so that
 * a freed entry keeps its address as long as possible: a thread that is just returning through it
 * still finds it, and so does a copy of the stack that the program made meanwhile. */
static uint32_t entry_hint;

/* Frames that may be skipped to find one that may be marked. */
enum { SKIP_MAX = 16 };

static uint64_t entry_address(uint32_t entry)
{
    return (uint64_t)trampoline_entries + (uint64_t)entry * TRAMPOLINE_STRIDE;
}

uint64_t trampoline_true_as(uint64_t word)
{
    uint64_t offset = word - entry_address(0);
    if (offset >= (uint64_t)TRAMPOLINE_ENTRIES * TRAMPOLINE_STRIDE)
        return word;
    return trampoline_data[offset / TRAMPOLINE_STRIDE].real;
}

static uint64_t load(uint64_t slot)
{
    return __atomic_load_n((const uint64_t *)slot, __ATOMIC_RELAXED);
}

/* The word at slot may be another thread's stack by now: only ours is replaced. */
static bool replace(uint64_t slot, uint64_t from, uint64_t to)
{
    return __atomic_compare_exchange_n((uint64_t *)slot, &from, to, false, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED);
}

static void compiler_fence(void)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

void trampoline_disable_as(enum trampoline_state why)
{
    uint32_t on = TRAMPOLINE_ON;
    if (rt_profiled_as())
        __atomic_compare_exchange_n(&guest.process->trampoline, &on, why, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
}

SAMPLE_PATH
static bool enabled(void)
{
    return rt_running_as() &&
           __atomic_load_n(&guest.process->trampoline, __ATOMIC_RELAXED) == TRAMPOLINE_ON;
}

static bool leaves_as(uint64_t key)
{
    return forbidden_look_as(key) == FORBIDDEN_LEAVING;
}

void trampoline_thread_begin_as(struct rt_thread *t)
{
    t->trampoline = (struct rt_trampoline){.entry = RT_NO_ENTRY};
    t->unwind.marks = (struct unwind_marks){
        entry_address(0),
        entry_address(TRAMPOLINE_ENTRIES),
        entry_address(0),
        (uint64_t)trampoline_end,
        (uint64_t)nonlocal_begin,
        (uint64_t)nonlocal_end,
        leaves_as};
}

/* The thread will use another entry next time. */
static void entry_leave_as(struct rt_thread *t, enum entry_state state)
{
    t->trampoline.lost |= state == ENTRY_LOST;
    __atomic_store_n(&trampoline_data[t->trampoline.entry].state, state, __ATOMIC_RELEASE);
    t->trampoline.entry = RT_NO_ENTRY;
}

/* One that has not been used for long: the word of the last one may have been copied with the
 * stack. */
static bool entry_take_as(struct rt_thread *t)
{
    if (t->trampoline.entry != RT_NO_ENTRY)
        entry_leave_as(t, ENTRY_FREE);
    for (uint32_t i = 0; i < TRAMPOLINE_ENTRIES; i++) {
        uint32_t entry =
            __atomic_fetch_add(&entry_hint, 1, __ATOMIC_RELAXED) % TRAMPOLINE_ENTRIES;
        uint32_t free_state = ENTRY_FREE;
        if (!__atomic_compare_exchange_n(&trampoline_data[entry].state, &free_state, ENTRY_OWNED,
                                         false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            continue;
        trampoline_data[entry].owner = t;
        t->trampoline.entry = entry;
        return true;
    }
    trampoline_disable_as(TRAMPOLINE_LOST);
    return false;
}

static void install_as(struct rt_thread *t, uint64_t slot, uint64_t real, uint32_t at)
{
    struct trampoline_data *d = &trampoline_data[t->trampoline.entry];
    d->real = real;
    d->slot = slot;
    t->trampoline.at = at;
    t->trampoline.lifted = 0;
    compiler_fence();
    if (replace(slot, real, entry_address(t->trampoline.entry)))
        t->trampoline.set = true;
}

/* Whether `slot` may hold the thread's stack above sp, which is there as long as the thread
 * runs. */
static bool slot_live(const struct rt_thread *t, uint64_t slot, uint64_t sp)
{
    return slot >= sp && sp >= t->unwind.stack_lo && slot < t->unwind.stack_hi;
}

/* Whether slot is on the stack that sp is on. Where the stack's bounds are not known: if it is
 * near. */
static bool same_stack(const struct rt_thread *t, uint64_t slot, uint64_t sp)
{
    enum { NEAR = 1 << 23 };
    uint64_t lo = t->unwind.stack_lo, hi = t->unwind.stack_hi;
    if (sp >= lo && sp < hi)
        return slot >= lo && slot < hi;
    return slot - sp + NEAR < 2 * (uint64_t)NEAR;
}

void trampoline_left_as(struct rt_thread *t, uint64_t sp)
{
    struct trampoline_data *d = &trampoline_data[t->trampoline.entry];
    uint64_t entry = entry_address(t->trampoline.entry);
    struct unwind_memory memory;
    if (!t->trampoline.set)
        return;
    t->trampoline.set = false;
    t->trampoline.lifted = t->trampoline.at ? t->trampoline.at + 1 : 0;
    t->trampoline.fired = 0;
    if (slot_live(t, d->slot, sp) && replace(d->slot, entry, d->real))
        return;
    /* On the stack that the thread is on, but not where it was seen: the program has gone past it,
     * or has put another stack's contents there, and may put its own back. */
    bool elsewhere = !same_stack(t, d->slot, sp);
    unwind_memory_init_as(&memory, &t->unwind, sp);
    bool restored = (elsewhere || d->slot >= sp) && unwind_memory_probe_as(&memory, d->slot) &&
                    replace(d->slot, entry, d->real);
    bool resolved = __atomic_load_n(&d->state, __ATOMIC_ACQUIRE) == ENTRY_RESOLVED;
    entry_leave_as(t, restored || resolved ? ENTRY_FREE : ENTRY_LOST);
}

SAMPLE_PATH
bool trampoline_held_as(const struct rt_thread *t, const struct unwind_result *walk)
{
    return (t->trampoline.set || walk->stopped_at) && walk->leaving;
}

/* Between its entry and its end the trampoline is at work for memo[at], which returns: before
 * trampoline_fire_as has noted that `set` and `at` say so, afterwards `fired`. Frames on top of it
 * are a signal handler's, of which this knows nothing. */
uint32_t trampoline_path_as(const struct rt_thread *t, const struct unwind_result *walk)
{
    const struct rt_trampoline *p = &t->trampoline;
    uint32_t at = p->fired ? p->fired : p->set ? p->at : 0;
    return walk->frames || walk->leaving || p->tree != t->memo[0].node || at < 2 ? 0 : at;
}

/* The word of entry d, not the thread's present one, is on its stack. If the thread has taken it
 * away, or has seen it overwritten, it comes from a copy. There may be more of them, that come back
 * when their entries have long been used again. */
static void copy_note_as(const struct rt_thread *t, const struct trampoline_data *d)
{
    uint32_t state = __atomic_load_n(&d->state, __ATOMIC_RELAXED);
    if (d->owner == t && (state == ENTRY_FREE || state == ENTRY_LOST))
        trampoline_disable_as(TRAMPOLINE_COPIED);
}

SAMPLE_PATH
bool trampoline_met_as(struct rt_thread *t, struct unwind_result *walk, uint32_t *kept)
{
    uint32_t entry = (uint32_t)((walk->stopped_at - entry_address(0)) / TRAMPOLINE_STRIDE);
    struct trampoline_data *d = &trampoline_data[entry];
    if (t->trampoline.set && entry == t->trampoline.entry) {
        d->slot = walk->stopped_slot; /* procedures may move their return address */
        if (t->trampoline.tree != t->memo[0].node)
            return false;
        if (walk->frames && t->frames[walk->frames - 1].ra == walk->stopped_at)
            t->frames[walk->frames - 1].ra = d->real;
        if (deep_surveys_as(t) && !deep_goes_on_as(t, walk, kept))
            return true;
        *kept = t->trampoline.at;
        walk->truncation = t->trampoline.truncation;
        return *kept + walk->frames + 2 <= t->max_depth;
    }
    /* Left by another thread, or lost and found: this stack is ours, so it ends here. */
    uint32_t owned = ENTRY_OWNED;
    if (walk->leaving)
        return false;
    if (!walk->guessed)
        copy_note_as(t, d);
    if (replace(walk->stopped_slot, walk->stopped_at, d->real) && d->owner != t)
        __atomic_compare_exchange_n(&d->state, &owned, ENTRY_RESOLVED, false, __ATOMIC_RELEASE,
                                    __ATOMIC_RELAXED);
    return false;
}

/* Whether the return address of frame `key`, at cfa - 8, may be replaced; caller: the key above. */
static bool markable(uint64_t key, uint64_t cfa, uint64_t ra, uint64_t caller)
{
    unsigned image = key_image(caller);
    return ra && cfa % 8 == 0 && image != 0 && image != KEY_IMAGE_PSEUDO &&
           !own_address_read_as(images_current_as(), key) &&
           unwind_follows_call(unwind_memory_load_as(ra - 8));
}

static void calls_count(const struct rt_memo *m)
{
    struct cct_node *node =
        (struct cct_node *)(void *)(guest.spool.base + (uint64_t)m->node * SPOOL_UNIT);
    if (node->calls != UINT32_MAX)
        node->calls++;
}

void trampoline_count_gone_as(struct rt_thread *t, uint32_t frames, uint32_t lead)
{
    uint32_t end = t->trampoline.lifted, i = lead;
    t->trampoline.lifted = 0;
    if (end > t->memo_depth || t->trampoline.tree != t->memo[0].node)
        return;
    const struct unwind_frame *frame = t->frames + frames;
    while (i < end && frame != t->frames && frame[-1].cfa == t->memo[i].cfa &&
           frame[-1].key == t->memo[i].key) {
        frame--;
        i++;
    }
    if (i < end && frame != t->frames && frame[-1].cfa == t->memo[i].cfa)
        i++; /* the same activation, now calling from elsewhere */
    if (i == lead) /* another stack, or an unknown one: they may go on */
        return;
    for (; i < end; i++)
        calls_count(&t->memo[i]);
}

/* The first frame of memo[1 .. lifted) that is left where the stack pointer becomes sp; `lifted`:
 * none is. Frames on other stacks are left if one further out is on the stack of sp: they are a
 * signal handler's. Else they are a coroutine's, which goes on. */
static uint32_t first_left(const struct rt_thread *t, uint64_t sp)
{
    uint32_t first = t->trampoline.lifted;
    for (uint32_t i = first; i-- > 1 && t->memo[i].cfa;) {
        if (!same_stack(t, t->memo[i].cfa - 8, sp))
            continue;
        if (t->memo[i].cfa > sp)
            return i + 1;
        first = i;
    }
    return first;
}

void trampoline_leave(struct rt_thread *t, uint64_t sp)
{
    if (!t->trampoline.lifted || sp < (uint64_t)__builtin_frame_address(0))
        return;
    t->busy = 1;
    compiler_fence();
    uint32_t end = t->trampoline.lifted, first = 0;
    if (end <= t->memo_depth && t->trampoline.tree == t->memo[0].node)
        first = first_left(t, sp);
    for (uint32_t i = first; first && i < end; i++)
        calls_count(&t->memo[i]);
    t->trampoline.lifted = first > 1 ? first : 0;
    compiler_fence();
    t->busy = 0;
}

SAMPLE_PATH
void trampoline_place_as(struct rt_thread *t, const struct unwind_result *walk, uint32_t kept,
                         uint64_t sp)
{
    bool used = enabled() && t->trampoline.allowed;
    if (!used && !t->trampoline.set)
        return; /* before any frame is looked at: without trampolines walks are whole stacks */
    if (walk->leaving || walk->guessed)
        return;
    if (!used) {
        trampoline_left_as(t, sp);
        return;
    }
    if (!walk->stopped_at)
        t->trampoline.truncation = walk->truncation;
    for (uint32_t i = 0; i < walk->frames && i < SKIP_MAX; i++) {
        uint32_t at = kept + walk->frames - 1 - i;
        const struct rt_memo *m = &t->memo[at];
        uint64_t slot = m->cfa - 8;
        if (walk->stopped_at && slot == walk->stopped_slot) {
            t->trampoline.at = at;
            return;
        }
        /* may become read-only */
        if (!markable(m->key, m->cfa, m->ra, m[-1].key) || alternate_is_program_as(t, slot))
            continue;
        if (t->trampoline.set) {
            replace(walk->stopped_slot, walk->stopped_at,
                    trampoline_data[t->trampoline.entry].real);
            t->trampoline.set = false;
        }
        t->trampoline.tree = t->memo[0].node;
        if (entry_take_as(t))
            install_as(t, slot, m->ra, at);
        return;
    }
}

uint32_t trampoline_anchor_as(struct rt_thread *t, uint32_t frames)
{
    if (t->trampoline.set)
        return 0;
    for (uint32_t n = 0, i = frames - 2; n < SKIP_MAX && i > 0; n++, i--) {
        const struct unwind_frame *f = &t->frames[i];
        if (!markable(f->key, f->cfa, f->ra, f[1].key) || alternate_is_program_as(t, f->cfa - 8))
            continue;
        t->trampoline.tree = t->memo[0].node;
        if (entry_take_as(t))
            install_as(t, f->cfa - 8, f->ra, 0);
        return t->trampoline.set ? i : 0;
    }
    return 0;
}

bool trampoline_allowed_as(const struct rt_thread *t)
{
    return enabled() && t->trampoline.allowed;
}

void trampoline_lift(struct rt_thread *t)
{
    if (!t || !t->trampoline.set)
        return;
    t->busy = 1; /* samples that come now are dropped */
    compiler_fence();
    trampoline_left_as(t, (uint64_t)__builtin_frame_address(0));
    compiler_fence();
    t->busy = 0;
}

void trampoline_thread_end(struct rt_thread *t)
{
    t->trampoline.allowed = false; /* first: a sample may come between any two of these */
    compiler_fence();
    trampoline_lift(t);
    if (t->trampoline.entry != RT_NO_ENTRY)
        entry_leave_as(t, ENTRY_FREE);
    if (!t->trampoline.lost)
        return;
    /* Nothing comes back to the stack of a thread that has ended. */
    for (uint32_t i = 0; i < TRAMPOLINE_ENTRIES; i++) {
        struct trampoline_data *d = &trampoline_data[i];
        if (d->owner == t && d->state == ENTRY_LOST && d->slot >= t->unwind.stack_lo &&
            d->slot < t->unwind.stack_hi)
            __atomic_store_n(&d->state, ENTRY_FREE, __ATOMIC_RELEASE);
    }
}

void trampoline_fork_child(struct rt_thread *t)
{
    trampoline_lift(t);
    uint32_t used = __atomic_load_n(&entry_hint, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < used && i < TRAMPOLINE_ENTRIES; i++)
        if (trampoline_data[i].state != ENTRY_FREE && trampoline_data[i].owner != t)
            trampoline_data[i].state = ENTRY_FREE;
}

/* Marks the next frame up that may be marked. */
SAMPLE_PATH
static void climb(struct rt_thread *t, uint32_t at)
{
    for (uint32_t i = at - 1, n = 0; i >= 1 && n < SKIP_MAX; i--, n++) {
        const struct rt_memo *m = &t->memo[i];
        if (!markable(m->key, m->cfa, m->ra, m[-1].key))
            continue;
        if (load(m->cfa - 8) == m->ra)
            install_as(t, m->cfa - 8, m->ra, i);
        return;
    }
}

/* A marked procedure has returned. *slot: its return address was here; now the address behind the
 * entry's call is, and the true one must be when this function returns. */
HIDDEN void trampoline_fire_as(uint64_t *slot);
SAMPLE_PATH
void trampoline_fire_as(uint64_t *slot)
{
    uint32_t entry = (uint32_t)((*slot - entry_address(0)) / TRAMPOLINE_STRIDE);
    struct trampoline_data *d = &trampoline_data[entry];
    struct rt_thread *t = d->owner, *self = self_get();
    *slot = d->real;
    if (!t || t != self) {
        uint32_t owned = ENTRY_OWNED;
        if (self)
            self->trampoline.fired = 0;
        __atomic_compare_exchange_n(&d->state, &owned, ENTRY_RESOLVED, false, __ATOMIC_RELEASE,
                                    __ATOMIC_RELAXED);
        return;
    }
    if (!t->trampoline.set || t->trampoline.entry != entry) {
        t->trampoline.fired = 0;
        copy_note_as(t, d);
        return;
    }
    uint32_t at = t->trampoline.at;
    t->trampoline.fired = at;
    compiler_fence();
    t->trampoline.set = false;
    compiler_fence();
    if (!at) /* the survey of a deep stack is over */
        return;
    calls_count(&t->memo[at]);
    if (enabled())
        climb(t, at);
}
