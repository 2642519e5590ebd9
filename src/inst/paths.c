/* Acyclic paths within functions: the thread's stack of paths that are being executed, one a frame,
 * and their counts in its table in the spool (sigsafe/spool_paths.h), where the engine's are, too.
 *
 *     frames   [ main | parse | next ]             by address: that of a callee is lower
 *                 │       │       └───────┐
 *     ids      [ m m m | p p p p p | n n ... ]     of the blocks so far
 *
 * A frame that is below the one that comes next is gone, or on another stack: its path is cut. So
 * is one that is begun again before it has ended, and what there is no room for. */
#include <sys/mman.h>

#include "inst/inst.h"
#include "sigsafe/hash.h"
#include "sigsafe/own_memory.h"
#include "sigsafe/spool_paths.h"
#include "sigsafe/sys.h"
#include "sigsafe/tools.h"

enum { FRAMES = 1 << 14, IDS = 1 << 18 }; /* address space; pages are taken as they are used */

struct inst_frame {
    uint64_t address, hash;
    uint32_t weight; /* of the burst that it began in */
    uint32_t first, length; /* in ids */
    uint32_t instructions;
};

struct inst_paths {
    struct path_store store;
    const struct spool_counts *counts; /* that the store belongs to: a forked child has its own */
    uint32_t depth; /* of frames */
    struct inst_frame frames[FRAMES];
    uint32_t ids[IDS];
};

/* Of a module: where the blocks of its paths are. Stays: when the program ends, threads may still
 * be in modules that have been unregistered. */
struct inst_places {
    uint32_t *things; /* atomic: by place, 1 + its thing's id; 0: not asked for yet */
    uint32_t first[]; /* by value, 1 + its first place; 0: it has none */
};

/* ---- places ---- */

static bool has_places(const struct penumbra_inst_module *m)
{
    return m->bytes >= offsetof(struct penumbra_inst_module, places_end) + sizeof m->places_end &&
           m->places != m->places_end;
}

bool inst_paths_begin(const struct penumbra_inst_module *m, struct inst_module *own)
{
    if (!has_places(m))
        return true;
    uint64_t values = (uint64_t)(m->values_end - m->values);
    uint64_t places = (uint64_t)(m->places_end - m->places);
    uint64_t bytes = sizeof *own->places + (values + places) * sizeof(uint32_t);
    long at = own_map_as(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (sys_failed(at))
        return false;
    own->places = (struct inst_places *)at;
    own->places->things = own->places->first + values;
    for (const struct penumbra_inst_place *p = m->places_end; p-- > m->places;) {
        const struct penumbra_inst_value *of = penumbra_inst_at(&p->of);
        if (of >= m->values && of < m->values_end)
            own->places->first[of - m->values] = (uint32_t)(p - m->places) + 1;
    }
    return true;
}

/* COUNTS_NONE: there is no room, or it is none that a profile can have. */
static uint32_t thing_of_as(struct inst_places *known, uint32_t number,
                            const struct penumbra_inst_place *p)
{
    uint32_t is = __atomic_load_n(&known->things[number], __ATOMIC_RELAXED);
    if (is)
        return is - 1;
    if (!p->bytes || p->bytes > UINT16_MAX || !p->instructions || p->instructions > UINT8_MAX)
        return COUNTS_NONE;
    struct spool_thing thing = {.key = inst_key_as((uint64_t)(uintptr_t)penumbra_inst_at(&p->at)),
                                .block = {.bytes = (uint16_t)p->bytes,
                                          .instructions = (uint16_t)p->instructions},
                                .kind = THING_BLOCK,
                                .tool = TOOL_PATHS};
    is = counts_thing_as(&guest.spool, inst.counts, &thing);
    if (is != COUNTS_NONE)
        __atomic_store_n(&known->things[number], is + 1, __ATOMIC_RELAXED);
    return is;
}

/* ---- counts ---- */

static void cut_as(struct inst_paths *p, const struct inst_frame *f)
{
    struct spool_paths *record = p->store.record;
    if (!f->length)
        return;
    if (!record) {
        inst_drop_as(DROP_SPOOL_FULL);
        return;
    }
    uint64_t weight = f->weight, instructions = weight * f->instructions;
    __asm__("addq %1, %0" : "+m"(record->cut) : "r"(weight) : "cc");
    __asm__("addq %1, %0" : "+m"(record->cut_instructions) : "r"(instructions) : "cc");
}

static void count_as(struct inst_paths *p, const struct inst_frame *f)
{
    uint64_t hash = f->hash | !f->hash, more = f->weight - 1;
    if (!p->store.record)
        inst_drop_as(DROP_SPOOL_FULL);
    if (!p->store.record || !f->length || paths_add_as(&p->store, hash, f->weight))
        return;
    paths_insert_as(&p->store, hash, p->ids + f->first, f->length, f->instructions);
    if (!paths_add_as(&p->store, hash, more)) {
        p->store.record->dropped += more;
        p->store.record->dropped_instructions += more * f->instructions;
    }
}

/* Paths that a forked child's parent has begun are cut in the child. */
static void store_begin_as(struct inst_thread *t, struct inst_paths *p)
{
    paths_begin_as(&p->store, &guest.spool, inst.counts, t->record->tid);
    p->counts = inst.counts;
    while (p->depth)
        cut_as(p, &p->frames[--p->depth]);
}

/* NULL: no memory. */
static struct inst_paths *paths_of_as(struct inst_thread *t)
{
    if (!t->paths) {
        long at = own_map_as(0, sizeof *t->paths, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1);
        t->paths = sys_failed(at) ? NULL : (struct inst_paths *)at;
    }
    if (t->paths && t->paths->counts != inst.counts)
        store_begin_as(t, t->paths);
    return t->paths;
}

void inst_paths_free_as(struct inst_paths *p)
{
    while (p && p->depth)
        cut_as(p, &p->frames[--p->depth]);
    if (p)
        own_unmap_as(p, sizeof *p);
}

void inst_paths_thread_end_as(struct inst_thread *t)
{
    struct inst_paths *p = t->paths;
    t->paths = NULL;
    __atomic_signal_fence(__ATOMIC_SEQ_CST); /* a handler may come */
    inst_paths_free_as(p);
}

/* ---- steps ---- */

/* NULL: it has begun none that is counted. */
static struct inst_frame *frame_find_as(struct inst_paths *p, uint64_t address)
{
    while (p->depth && p->frames[p->depth - 1].address < address)
        cut_as(p, &p->frames[--p->depth]);
    struct inst_frame *top = p->depth ? &p->frames[p->depth - 1] : NULL;
    return top && top->address == address ? top : NULL;
}

static void begin_as(struct inst_paths *p, uint64_t address, uint32_t weight)
{
    struct inst_frame *f = frame_find_as(p, address);
    if (f)
        cut_as(p, f);
    p->depth -= f != NULL;
    const struct inst_frame *below = p->depth ? &p->frames[p->depth - 1] : NULL;
    const struct inst_frame begun = {.address = address, .weight = weight,
                                     .first = below ? below->first + below->length : 0};
    if (weight && p->depth < FRAMES)
        p->frames[p->depth++] = begun;
    else if (weight)
        cut_as(p, &(struct inst_frame){.weight = weight, .length = 1});
}

/* False: there is no room. Long ones are counted in pieces, as the engine's are. */
static bool append_as(struct inst_paths *p, struct inst_frame *f, uint32_t id,
                      uint32_t instructions)
{
    if (f->length == PATH_BLOCKS) {
        count_as(p, f);
        f->length = f->instructions = 0;
        f->hash = 0;
    }
    if (id == COUNTS_NONE || f->first + f->length >= IDS)
        return false;
    p->ids[f->first + f->length++] = id;
    f->instructions += instructions;
    f->hash = hash_word(f->hash ^ (id + 1));
    f->hash ^= f->hash >> 29;
    return true;
}

static void block_as(const struct penumbra_inst_module *m, struct inst_paths *p,
                     const struct penumbra_inst_value *block, struct inst_frame *f)
{
    const struct inst_module *own = m->data;
    uint32_t first = own->places ? own->places->first[block - m->values] : 0;
    bool is = first;
    for (uint32_t n = first - 1; is && n < (uint32_t)(m->places_end - m->places) &&
                                 penumbra_inst_at(&m->places[n].of) == block; n++)
        is = append_as(p, f, thing_of_as(own->places, n, &m->places[n]), m->places[n].instructions);
    if (is)
        return;
    f->length += !f->length;
    cut_as(p, f);
    p->depth--;
}

static void step_as(const struct penumbra_inst_module *m, struct inst_paths *p,
                    const struct penumbra_inst_value *step, uint64_t address, uint32_t weight)
{
    bool begins = step->index == PENUMBRA_INST_PATH_BEGIN;
    struct inst_frame *f = begins ? NULL : frame_find_as(p, address);
    if (begins) {
        begin_as(p, address, weight);
    } else if (f && step->index == PENUMBRA_INST_PATH_BLOCK) {
        block_as(m, p, step, f);
    } else if (f) {
        count_as(p, f);
        p->depth--;
    }
}

/* What is not counted as there is no memory, or not yet: a handler that came in a step. */
static void lose_as(struct inst_paths *p, uint32_t weight)
{
    if (p)
        cut_as(p, &(struct inst_frame){.weight = weight, .length = weight != 0});
    else if (weight)
        inst_drop_as(DROP_SPOOL_FULL);
}

void inst_path_as(struct penumbra_inst_module *m, const struct penumbra_inst_value *step,
                  uint64_t address)
{
    uint32_t weight = 0;
    bool begins = step->index == PENUMBRA_INST_PATH_BEGIN;
    struct inst_thread *t = begins ? inst_counting_as(m, &weight) : inst_thread_known_as();
    if (!t || (!weight && !t->paths))
        return;
    if (t->in_step) {
        lose_as(t->paths, weight);
        return;
    }
    t->in_step = 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    struct inst_paths *p = paths_of_as(t);
    if (p)
        step_as(m, p, step, address, weight);
    else
        lose_as(NULL, weight);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    t->in_step = 0;
}
