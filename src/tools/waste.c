/* Stores in vain and loads of what was loaded (docs/waste.md). Of memory that is looked at, a
 * table of lines says what was done with each byte last:
 *
 *      access ──watch (tools/inline/watch.c)──> touch_as ──> line ──> rows of the accesses, in the spool
 *      return ──watch──> return_as: stores below the stack pointer
 *      system call ────> system_call_as: what the kernel reads
 *
 * waste_line.h has the picture of a line.
 *
 * Beside `calls`, struct line_contexts has the contexts of store[] and load[], and pairs are kept
 * by both (sigsafe/spool_waste_paths.h), too.
 *
 * Contents that change though nothing was stored are somebody else's doing (the kernel's, a
 * thread's between two looks): those bytes are neither unread nor loaded any more.
 *
 * Which lines are looked at is drawn by windows (docs/waste.md): `epoch` says in which one a line
 * was last looked at, and what is known of it from another one is forgotten. In a whole run
 * windows are the process's, else a thread's.
 *
 * Context: block_as under the engine's lock; the rest in the thread concerned. Threads share the
 * table. A place of it is locked while a line there is looked at; who waits too long goes on all
 * the same, for a fork may have left the owner behind: the worst is a wrong count.
 * Ownership: the table, what is known of accesses, and each thread's rows stay until the process
 * ends. */
#include <stddef.h>

#include "engine/hook_run.h"
#include "engine/probe.h"
#include "sigsafe/concise.h"
#include "sigsafe/prefetch.h"
#include "sigsafe/spool_waste_paths.h"
#include "sigsafe/sys.h"
#include "tools/calls.h"
#include "tools/inline/watch.h"
#include "tools/kernel_reads.h"
#include "tools/memory.h"
#include "tools/rows.h"
#include "tools/tools.h"
#include "tools/waste_line.h"
#include "tools/waste_plan.h"

enum {
    FULL = 1 << 24, /* instructions of a whole run in whose time all memory is looked at */
    STRETCH = 24 << 20, /* of these, later, there is one window in each ... */
    WINDOW = STRETCH / WASTE_RUN_STRETCHES, /* ... of so many */
    PROGRESS = 1 << 14, /* instructions that a thread executes before it tells the process */
    STACK = 64 << 10,   /* bytes above the stack pointer, and below a returning one, that are taken
                           for the stack */
    RED_ZONE = 128,
    SPINS = 1 << 12,
    STRING_MOST = 4096, /* bytes that instructions are taken to read that end at what they find */
};

/* A thread. */
struct observer {
    struct rows_store rows;
    const struct waste_common *common; /* of the engine that runs the thread */
    struct spool_waste_paths *paths; /* NULL: no contexts are known */
    const struct spool_counts *paths_of;
    struct engine_thread *thread; /* NULL: it has ended */
    struct observer *next;
    struct waste_totals *totals;
    struct hotlist_random random;
    uint32_t epoch, runs;
    uint32_t weight;     /* one line in so many is looked at */
    bool sampled;        /* runs begin and end anywhere */
    int64_t alarm;       /* t->alarm when it was looked at last */
    struct waste_sums window; /* its seen_... */
};

/* The process's. */
static struct {
    struct line *lines;
    struct line_contexts *contexts; /* NULL: none are known */
    struct spool_counts *counts; /* whose observers are listed: a forked child has its own */
    struct observer *observers;
    bool several;                /* there has been more than one thread */
    uint32_t lock;               /* of the list, and for the next window */
    uint32_t epoch, weight;      /* of a whole run's window */
    bool watching;               /* it is a time of a window */
    uint32_t voids;
    uint32_t epochs;             /* given out */
    uint64_t progress, until;    /* instructions, and when that changes next */
    uint64_t stretch;            /* where the last one of these ends that has been drawn from */
    uint8_t watch[WATCH_PARTS];
} waste;

/* ---- locks ---- */

/* Who waits too long goes on. */
static void lock_wait(uint32_t *lock)
{
    for (unsigned spins = 0; __atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE) && spins < SPINS;
         spins++)
        __builtin_ia32_pause();
}

/* Of a line. */
static void lock_take(uint32_t *lock)
{
    if (waste.several)
        lock_wait(lock);
}

static void lock_release(uint32_t *lock)
{
    __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

/* ---- windows ---- */

/* One in which everything was looked at has no error. */
static void window_close(struct observer *o)
{
    struct waste_sums *w = &o->window;
    if (o->totals && (o->weight > 1 || o->sampled) &&
        (w->seen_stores || w->seen_loads))
        waste_window_note(&o->totals->sums, w);
    w->seen_stores = w->seen_dead = w->seen_silent = w->seen_loads = w->seen_redundant = 0;
}

/* So many of all, each as likely as any other. */
static void parts_draw(struct hotlist_random *random, unsigned count,
                       uint8_t watch[WATCH_PARTS])
{
    for (unsigned i = 0; i < WATCH_PARTS; i++)
        watch[i] = 0;
    for (unsigned drawn = 0; drawn < count;) {
        unsigned part = hotlist_random_next(random) % WATCH_PARTS;
        drawn += !watch[part];
        watch[part] = 1;
    }
}

static void watch_set(struct engine_thread *t)
{
    for (unsigned i = 0; i < WATCH_PARTS; i++)
        t->watch[i] = waste.watch[i];
    __atomic_store_n(&t->watching, waste.watching, __ATOMIC_RELAXED);
}

/* Other lines, of which nothing is known yet. */
static void window_begin(struct observer *o, uint64_t now)
{
    parts_draw(&o->random, WATCH_PARTS / WASTE_RUN_LINES, waste.watch);
    waste.until = now + WINDOW - PROGRESS / 2; /* it is noticed half of that later */
    waste.weight = WASTE_RUN_WEIGHT;
    __atomic_store_n(&waste.epoch, __atomic_add_fetch(&waste.epochs, 1, __ATOMIC_RELAXED),
                     __ATOMIC_RELEASE);
}

/* The next one begins anywhere in the next stretch that ends later than now. */
static void window_end(struct observer *o, uint64_t now)
{
    for (unsigned i = 0; i < WATCH_PARTS; i++)
        waste.watch[i] = 0;
    while (waste.stretch + STRETCH <= now)
        waste.stretch += STRETCH;
    waste.until = waste.stretch + hotlist_random_next(&o->random) % STRETCH;
    waste.stretch += STRETCH;
}

/* A whole run: for all threads. */
static void window_next(struct observer *o)
{
    lock_wait(&waste.lock);
    uint64_t now = __atomic_load_n(&waste.progress, __ATOMIC_RELAXED);
    if (now >= waste.until) {
        waste.watching = !waste.watching;
        if (waste.watching)
            window_begin(o, now);
        else
            window_end(o, now);
        for (struct observer *each = waste.observers; each; each = each->next)
            if (each->thread)
                watch_set(each->thread);
    }
    lock_release(&waste.lock);
}

/* What the thread does is a part of which window? */
static void window_look(struct observer *o)
{
    struct engine_thread *t = o->thread;
    if (o->sampled) {
        if (o->runs == t->runs)
            return;
        window_close(o);
        o->runs = t->runs;
        o->epoch = __atomic_add_fetch(&waste.epochs, 1, __ATOMIC_RELAXED);
        if (!hook_is_burst(t)) {
            o->weight = WASTE_WEIGHT;
            parts_draw(&o->random, WATCH_PARTS / WASTE_WEIGHT, t->watch);
        }
        return;
    }
    uint32_t epoch = __atomic_load_n(&waste.epoch, __ATOMIC_ACQUIRE);
    if (epoch != o->epoch) {
        window_close(o);
        o->epoch = epoch;
        o->weight = waste.weight;
    }
}

/* ---- rows ---- */

static struct spool_waste *row_of(struct observer *o, uint32_t id)
{
    struct spool_waste *row = rows_find_as(o->thread, &o->rows, id);
    o->rows.record->missed += !row;
    return row;
}

/* The thread's sums. NULL: there is no room. */
static struct waste_totals *totals_of(struct observer *o)
{
    const struct spool *s = o->rows.spool;
    struct spool_waste *row = row_of(o, (uint32_t)o->common->totals - 1);
    struct waste_totals *made = NULL;
    if (!row || row->first)
        return row ? spool_at(s, row->first, sizeof *made) : NULL;
    while (!(made = spool_alloc_as(s, sizeof *made)))
        if (!hook_wait_as(o->thread))
            return NULL;
    hook_waited(o->thread);
    __atomic_store_n(&row->first, spool_ref_of(s, made), __ATOMIC_RELEASE);
    return made;
}

/* Instances and bytes of the access (NULL: it has no room) that are of a kind; `with`: of waste,
 * with which other access (+ 1; 0: it is not known). */
static void note(struct observer *o, struct spool_waste *row, uint32_t kind, uint32_t with,
                 uint64_t count, uint64_t bytes)
{
    struct waste_cell more = {.kind = kind, .with = with, .count = count, .bytes = bytes};
    while (row && !waste_note_as(o->rows.spool, o->totals, row, more))
        if (!hook_wait_as(o->thread)) {
            o->rows.record->missed++;
            return;
        }
}

/* An access in vain, and the one that it makes a pair with. */
struct waste_of {
    uint32_t id, with; /* + 1; with 0: it is not known */
    spool_ref from, to;
};

static void path_note(const struct observer *o, const struct waste_of *w, enum waste_kind kind,
                      uint64_t count, uint64_t bytes)
{
    struct waste_path one = {w->id, w->with, w->from, w->to, kind, 0, count, bytes, 0};
    struct waste_path_set *set = NULL;
    if (!o->paths || !w->with)
        return;
    while (!(set = waste_path_set_as(o->rows.spool, o->paths, waste_path_number(&one))))
        if (!hook_wait_as(o->thread))
            break;
    if (set)
        waste_path_note_as(o->paths, set, &one);
    else
        o->paths->evicted += count;
}

/* ---- lines ---- */

static struct line *place_of(uint64_t address)
{
    return &waste.lines[line_place(address)];
}

static void line_release(const struct line *l)
{
    lock_release(&waste.lines[(l - waste.lines) % PLACES].lock);
}

/* NULL: nothing is known of it. */
static struct line *line_at(const struct observer *o, struct line *place, uint64_t address)
{
    struct line *other = place + PLACES;
    if (place->address == address && place->epoch == o->epoch)
        return place;
    return other->address == address && other->epoch == o->epoch ? other : NULL;
}

/* Locked. NULL: nothing is known of it. */
static struct line *line_find(const struct observer *o, uint64_t address)
{
    struct line *place = place_of(address);
    lock_take(&place->lock);
    struct line *l = line_at(o, place, address);
    if (!l)
        lock_release(&place->lock);
    return l;
}

static struct line_contexts *contexts_of(const struct line *l)
{
    return waste.contexts ? &waste.contexts[l - waste.lines] : NULL;
}

/* In the first half, whose line goes to the second. */
static struct line *line_make(struct observer *o, struct line *l, uint64_t address)
{
    struct line *other = l + PLACES;
    if (other->address == address) /* another window's */
        other->address = 0;
    if (l->address && l->epoch == o->epoch) {
        o->totals->sums.evicted += other->address && other->epoch == o->epoch;
        line_move(other, l);
        if (waste.contexts)
            line_contexts_move(contexts_of(other), contexts_of(l));
    }
    l->address = address;
    l->epoch = o->epoch;
    l->unread = l->heads = l->loaded = l->pending = 0;
    l->voids = waste.voids;
    for (unsigned i = 0; i < CELLS; i++)
        l->store[i] = l->load[i] = 0;
    return l;
}

/* The last store has been executed: did it change anything? */
static void pending_judge(struct observer *o, struct line *l, uint64_t changed)
{
    uint64_t bytes = (uint64_t)count_bits(l->pending) * l->weight;
    uint64_t count = l->pending & l->heads ? l->weight : 0;
    const struct line_contexts *c = contexts_of(l);
    o->totals->sums.judged_bytes += bytes;
    if (!(changed & l->pending)) {
        o->window.seen_silent += count_bits(l->pending);
        note(o, row_of(o, l->pending_id - 1), WASTE_SILENT, l->pending_before, count, bytes);
        if (c)
            path_note(o, &(struct waste_of){l->pending_id, l->pending_before,
                                            c->store[(unsigned)__builtin_ctzll(l->pending) / CELL],
                                            c->pending_before},
                      WASTE_SILENT, count, bytes);
    }
    l->pending = 0;
}

/* It is not as it was at the last look, or there has been a store since. False: it cannot be
 * read. */
static bool line_changes(struct observer *o, struct line *l, bool same)
{
    uint64_t now[LINE / 8], changed = 0;
    if (!same && !engine_probe_64_as(l->address, now))
        return false;
    if (!same)
        changed = differing(now, l->copy);
    l->unread &= ~(changed & ~l->pending);
    l->loaded &= ~changed;
    if (l->pending)
        pending_judge(o, l, changed);
    for (unsigned i = 0; !same && i < LINE / 8; i++)
        l->copy[i] = now[i];
    return true;
}

/* What is known of the line at this place, after a look at its memory. NULL: it cannot be read. */
static struct line *line_look_at(struct observer *o, struct line *place, uint64_t address)
{
    struct line *l = line_at(o, place, address);
    if (!l) {
        uint64_t now[LINE / 8];
        if (!engine_probe_64_as(address, now))
            return NULL;
        l = line_make(o, place, address);
        for (unsigned i = 0; i < LINE / 8; i++)
            l->copy[i] = now[i];
        return l;
    }
    struct engine_probed other = engine_probe_compare_64(address, l->copy);
    if (other.failed || ((other.value || l->pending) && !line_changes(o, l, !other.value)))
        return NULL;
    if (l->voids != waste.voids) {
        l->unread = 0;
        l->voids = waste.voids;
    }
    return l;
}

/* Locked. */
static struct line *line_look(struct observer *o, uint64_t address)
{
    struct line *place = place_of(address);
    lock_take(&place->lock);
    struct line *l = line_look_at(o, place, address);
    if (!l)
        lock_release(&place->lock);
    return l;
}

/* ---- accesses ---- */

/* A piece of an access: within one line. */
struct piece {
    uint32_t id;
    uint64_t mask;
    unsigned first, last; /* bytes */
    bool head;      /* the access begins with it */
    spool_ref context;
};

/* These bytes are read, by whomever. */
static void bytes_live(struct observer *o, struct line *l, uint64_t mask)
{
    uint64_t live = l->unread & mask;
    if (live)
        o->totals->sums.live_bytes += (uint64_t)count_bits(live) * o->weight;
    l->unread &= ~mask;
}

static void piece_load(struct observer *o, struct line *l, const struct piece *p)
{
    struct spool_waste *row = row_of(o, p->id);
    struct line_contexts *c = contexts_of(l);
    uint64_t count = p->head ? o->weight : 0, size = p->last - p->first + 1;
    uint64_t bytes = size * o->weight;
    bool again = (l->loaded & p->mask) == p->mask;
    uint32_t with = l->load[p->first / CELL];
    bytes_live(o, l, p->mask);
    o->window.seen_loads += size;
    o->window.seen_redundant += again ? size : 0;
    note(o, row, WASTE_LOADS, 0, count, bytes);
    if (again)
        note(o, row, WASTE_REDUNDANT, with, count, bytes);
    if (again && c)
        path_note(o, &(struct waste_of){p->id + 1, with, p->context, c->load[p->first / CELL]},
                  WASTE_REDUNDANT, count, bytes);
    l->loaded |= p->mask;
    for (unsigned i = p->first / CELL; i <= p->last / CELL; i++) {
        l->load[i] = p->id + 1;
        if (c)
            c->load[i] = p->context;
    }
}

/* Bytes that nobody has read are overwritten by the access `by`, or their frame is gone (NULL). */
static void bytes_dead(struct observer *o, struct line *l, uint64_t mask, const struct piece *by)
{
    const struct line_contexts *c = contexts_of(l);
    uint64_t dead = l->unread & mask;
    while (dead) {
        unsigned cell = (unsigned)__builtin_ctzll(dead) / CELL;
        uint32_t site = l->store[cell];
        spool_ref from = c ? c->store[cell] : 0;
        uint64_t bits = 0;
        for (; cell < CELLS && l->store[cell] == site && (!c || c->store[cell] == from) &&
               dead >> CELL * cell & 15;
             cell++)
            bits |= dead & UINT64_C(15) << CELL * cell;
        dead &= ~bits;
        uint64_t count = (uint64_t)count_bits(bits & l->heads) * o->weight;
        uint64_t bytes = (uint64_t)count_bits(bits) * o->weight;
        o->window.seen_dead += by ? count_bits(bits) : 0;
        if (site && by) {
            note(o, row_of(o, site - 1), WASTE_DEAD, by->id + 1, count, bytes);
            path_note(o, &(struct waste_of){site, by->id + 1, from, by->context}, WASTE_DEAD, count,
                      bytes);
        } else if (site) {
            note(o, row_of(o, site - 1), WASTE_FRAME, 0, count, bytes);
        }
    }
    l->unread &= ~mask;
}

static void piece_store(struct observer *o, struct line *l, const struct piece *p)
{
    struct line_contexts *c = contexts_of(l);
    uint64_t size = p->last - p->first + 1;
    note(o, row_of(o, p->id), WASTE_STORES, 0, p->head ? o->weight : 0, size * o->weight);
    o->window.seen_stores += size;
    bytes_dead(o, l, p->mask, p);
    l->unread |= p->mask;
    l->heads = (l->heads & ~p->mask) | (p->head ? UINT64_C(1) << p->first : 0);
    l->pending = p->mask;
    l->pending_id = p->id + 1;
    l->pending_before = l->store[p->first / CELL];
    l->weight = o->weight;
    if (c)
        c->pending_before = c->store[p->first / CELL];
    for (unsigned i = p->first / CELL; i <= p->last / CELL; i++) {
        l->store[i] = p->id + 1;
        if (c)
            c->store[i] = p->context;
    }
}

/* The stack pointer's side: a return above this store ends its frame. */
static void floor_note(struct engine_thread *t, uint64_t address)
{
    if (address - (t->gpr[ENGINE_RSP] - RED_ZONE) < STACK && address < ~t->floor)
        t->floor = ~address;
}

static void range_touch(struct observer *o, uint32_t id, unsigned kind, uint64_t address,
                        uint64_t size)
{
    struct engine_thread *t = o->thread;
    uint64_t end = address + size;
    spool_ref context = o->paths ? calls_context_as(t) : 0;
    for (uint64_t at = address; at < end;) {
        uint64_t begin = at & ~(uint64_t)(LINE - 1);
        unsigned first = (unsigned)(at - begin),
                 count = end - begin < LINE ? (unsigned)(end - at) : LINE - first;
        struct piece p = {id,    mask_of(first, count), first, first + count - 1,
                          at == address, context};
        at += count;
        struct line *l = t->watch[watch_part(begin)] ? line_look(o, begin) : NULL;
        if (!l)
            continue;
        if (kind & ACCESS_LOAD)
            piece_load(o, l, &p);
        if (kind & ACCESS_STORE)
            piece_store(o, l, &p);
        line_release(l);
    }
    if (kind & ACCESS_STORE)
        floor_note(t, address);
}

/* What is read by who is not an access of the program's: the kernel, or an instruction of which it
 * is not known how much it reads. */
static void range_read(struct observer *o, uint64_t address, uint64_t size)
{
    for (uint64_t at = address; at < address + size;) {
        uint64_t begin = at & ~(uint64_t)(LINE - 1);
        unsigned first = (unsigned)(at - begin);
        unsigned count =
            address + size - begin < LINE ? (unsigned)(address + size - at) : LINE - first;
        struct line *l = o->thread->watch[watch_part(begin)] ? line_find(o, begin) : NULL;
        if (l) {
            bytes_live(o, l, mask_of(first, count));
            line_release(l);
        }
        at += count;
    }
}

static void void_all(struct observer *o)
{
    __atomic_fetch_add(&waste.voids, 1, __ATOMIC_RELAXED);
    o->totals->sums.voids++;
}

/* ---- hooks ---- */

static struct observer *observer_of(struct engine_thread *t)
{
    struct observer *o = t->tools[TOOL_WASTE];
    if (!o || !o->rows.record)
        return NULL;
    if (!o->totals)
        o->totals = totals_of(o);
    window_look(o);
    return o->totals ? o : NULL;
}

static void executed_note(struct observer *o)
{
    struct engine_thread *t = o->thread;
    uint64_t executed = (uint64_t)(o->alarm - t->alarm);
    o->alarm = t->alarm;
    if (o->totals)
        o->totals->sums.instructions += executed;
    if (__atomic_add_fetch(&waste.progress, executed, __ATOMIC_RELAXED) >= waste.until &&
        !o->sampled)
        window_next(o);
}

void waste_alarm_as(struct engine_thread *t, uint64_t argument, uint64_t value)
{
    struct observer *o = observer_of(t);
    (void)argument;
    (void)value;
    if (o)
        executed_note(o);
    t->alarm = PROGRESS;
    if ((o = t->tools[TOOL_WASTE]))
        o->alarm = PROGRESS;
}

/* What range_touch needs, all at once: little of it is in a near cache. */
static void prefetch_all(struct observer *o, uint32_t id, uint64_t address)
{
    const char *line = (const char *)place_of(address);
    uint8_t *chunk = rows_chunk(&o->rows, id);
    for (unsigned i = 0; i < sizeof(struct line); i += LINE)
        prefetch_write(line + i);
    const struct spool_waste *row = chunk ? rows_row(&o->rows, chunk, id) : NULL;
    if (row && row->first)
        prefetch_write(waste_cell_at(o->rows.spool, row->first));
}

void waste_touch_as(struct engine_thread *t, uint64_t id, uint64_t value)
{
    struct observer *o = observer_of(t);
    (void)value;
    if (!o)
        return;
    const struct waste_site *a = &o->common->sites[id];
    uint64_t address = memory_address_as(t, &a->memory);
    prefetch_all(o, (uint32_t)id, address);
    range_touch(o, (uint32_t)id, a->kind, address, a->memory.size);
}

/* A repeated string instruction: all its elements. */
void waste_string_as(struct engine_thread *t, uint64_t id, uint64_t value)
{
    enum { DOWNWARDS = 0x400 };
    struct observer *o = observer_of(t);
    (void)value;
    if (!o)
        return;
    const struct waste_site *a = &o->common->sites[id];
    uint64_t times = t->gpr[ENGINE_RCX], address = memory_address_as(t, &a->memory);
    /* a string's end is sought with all ones */
    if (a->searches && times > STRING_MOST / a->element)
        times = STRING_MOST / a->element;
    if (!times || times >> 40)
        return;
    uint64_t size = times * a->element;
    if (t->rflags & DOWNWARDS)
        address -= size - a->element;
    if (a->searches)
        range_read(o, address, size);
    else
        range_touch(o, (uint32_t)id, a->kind, address, size);
}

/* It is not known what it reads. */
void waste_unknown_as(struct engine_thread *t, uint64_t reads, uint64_t value)
{
    struct observer *o = observer_of(t);
    (void)value;
    if (!o)
        return;
    o->totals->sums.unfollowed++;
    if (reads)
        void_all(o);
}

void waste_return_as(struct engine_thread *t, uint64_t argument, uint64_t value)
{
    struct observer *o = observer_of(t);
    uint64_t sp = t->gpr[ENGINE_RSP], low = ~t->floor;
    (void)argument;
    (void)value;
    t->floor = ~sp;
    if (!o)
        return;
    if (low + STACK < sp)
        low = sp - STACK;
    for (uint64_t at = low & ~(uint64_t)(LINE - 1); at < sp; at += LINE) {
        struct line *l = t->watch[watch_part(at)] ? line_find(o, at) : NULL;
        if (!l)
            continue;
        if (l->voids == waste.voids)
            bytes_dead(o, l, sp - at < LINE ? mask_of(0, (unsigned)(sp - at)) : UINT64_MAX, NULL);
        line_release(l);
    }
}

void waste_system_call_as(struct engine_thread *t, uint64_t argument, uint64_t value)
{
    struct observer *o = observer_of(t);
    struct kernel_read reads[KERNEL_READS];
    unsigned count;
    (void)argument;
    (void)value;
    if (!o)
        return;
    executed_note(o); /* it may be the last */
    if (!kernel_reads_as(t, reads, &count))
        void_all(o);
    else
        for (unsigned i = 0; i < count; i++)
            range_read(o, reads[i].address, reads[i].bytes);
}

/* ---- threads ---- */

/* The process's part; a forked child goes on with what its parent knew. */
static bool process_ready(struct spool_counts *counts, bool in_context)
{
    lock_wait(&waste.lock);
    if (!waste.lines) {
        waste.lines = memory_map_as(LINES * sizeof(struct line));
        waste.epoch = waste.epochs = waste.weight = 1;
        waste.until = waste.stretch = FULL;
        waste.watching = true;
        for (unsigned i = 0; i < WATCH_PARTS; i++)
            waste.watch[i] = 1;
    }
    if (in_context && !waste.contexts)
        waste.contexts = memory_map_as(LINES * sizeof(struct line_contexts));
    if (waste.counts != counts) {
        waste.counts = counts;
        waste.observers = NULL;
    }
    lock_release(&waste.lock);
    return waste.lines && (waste.contexts || !in_context);
}

/* Its table of pairs by call paths, where contexts are known. */
static bool paths_begin_as(struct engine_thread *t, struct observer *o, struct spool_counts *counts)
{
    struct spool_waste_paths *made = o->paths;
    if (!waste.contexts || (made && o->paths_of == counts))
        return true;
    while (!(made = spool_alloc_as(hook_spool(t), sizeof *made)))
        if (!hook_wait_as(t))
            return false;
    hook_waited(t);
    spool_push_as(hook_spool(t), &counts->tables[WASTE_PATHS_TABLE], made);
    o->paths = made;
    o->paths_of = counts;
    return true;
}

static bool thread_begin_as(struct engine_thread *t)
{
    struct spool_counts *counts = hook_counts(t);
    bool known = t->tools[TOOL_WASTE] != NULL;
    t->floor = ~(UINT64_C(1) << WATCH_FLOOR_BITS);
    for (unsigned i = 0; i < WATCH_PARTS; i++)
        t->watch[i] = 1;
    t->watching = true;
    if (!counts)
        return true;
    if (!process_ready(counts, t->tools[TOOL_CALLS] != NULL) ||
        !rows_thread_begin_as(t, sizeof(struct observer), TOOL_WASTE, TABLE_WASTE, WASTE_LAYOUT))
        return false;
    struct observer *o = t->tools[TOOL_WASTE];
    if (!paths_begin_as(t, o, counts))
        return false;
    if (!known) {
        hotlist_random_seed(&o->random, sys_ticks_as() ^ (uint64_t)(uintptr_t)t);
        o->weight = 1;
    }
    o->totals = NULL;
    o->sampled = hook_is_sampled(t);
    o->common = hook_common(t, TOOL_WASTE);
    o->alarm = t->alarm = 0;
    lock_wait(&waste.lock);
    watch_set(t);
    bool listed = false;
    for (struct observer *each = waste.observers; each; each = each->next)
        listed |= each == o;
    if (!listed) {
        o->next = waste.observers;
        waste.several |= o->next != NULL;
        waste.observers = o;
    }
    o->thread = t;
    lock_release(&waste.lock);
    return true;
}

static void thread_end_as(struct engine_thread *t)
{
    struct observer *o = t->tools[TOOL_WASTE];
    if (!o || !o->rows.record)
        return;
    executed_note(o);
    window_close(o);
    lock_wait(&waste.lock);
    o->thread = NULL;
    lock_release(&waste.lock);
}

const struct tool tool_waste = {
    .flags = TOOL_SHARED | TOOL_WATCHES,
    .common_size = sizeof(struct waste_common) + WASTE_IDS * sizeof(struct waste_site),
    .block = waste_block_as,
    .thread_begin = thread_begin_as,
    .thread_end = thread_end_as,
};
