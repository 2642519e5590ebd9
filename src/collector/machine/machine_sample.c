#include "collector/machine/machine_sample.h"

#include <stdlib.h>
#include <string.h>

#include "sigsafe/cct_grow.h"
#include "sigsafe/key.h"

/* enum perf_callchain_context: not addresses, but what follows them is of. */
#define MARKER_FIRST ((uint64_t)-4095)

enum { MACHINE_KERNEL_MOST = 1024 }; /* frames */

struct machine_sampler *machine_sampler_make(struct machine_processes *processes,
                                             uint32_t frames_max, uint64_t period_ns, bool timeline)
{
    struct machine_sampler *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->processes = processes;
    s->frames_max = frames_max;
    s->frames = calloc(frames_max, sizeof *s->frames);
    s->path_most = frames_max + MACHINE_KERNEL_MOST + 1;
    s->path = calloc(s->path_most, sizeof *s->path);
    s->period_ns = period_ns;
    s->timeline = timeline;
    s->unwind.fetch = machine_memory_fetch;
    s->unwind.fetch_context = &s->memory;
    s->unwind.fetch_registers = true;
    if (s->frames && s->path)
        return s;
    machine_sampler_free(s);
    return NULL;
}

void machine_sampler_free(struct machine_sampler *s)
{
    if (!s)
        return;
    free(s->frames);
    free(s->path);
    free(s);
}

/* ---- the user's part ---- */

static const struct machine_map *map_of(const struct machine_process *p,
                                        const struct machine_image *image)
{
    for (uint32_t i = 0; i < p->map_count; i++)
        if (p->maps[i].image == image)
            return &p->maps[i];
    return NULL;
}

/* Prepares images that the walk went through. True: it may come out otherwise now. */
static bool images_prepare(struct machine_sampler *s, const struct machine_process *p,
                           const struct unwind_result *walk)
{
    struct machine_images *images = s->processes->images;
    uint32_t before = images->changes;
    for (uint32_t i = 0; i < walk->frames; i++) {
        uint64_t key = s->frames[i].key;
        struct machine_image *image = machine_image_numbered(images, key_image(key));
        bool ends = i + 1 == walk->frames && walk->truncation == TRUNC_NO_CFI;
        const struct machine_map *map =
            image && machine_image_walked(image, ends || (key & KEY_GUESSED))
                ? map_of(p, image)
                : NULL;
        if (map)
            machine_image_prepare(images, image, p->pid, map);
    }
    return images->changes != before;
}

/* Whether the words at `at` are what the kernel puts at the base of a process's first stack: the
 * number of arguments, their addresses further up, and a null (System V ABI AMD64 supplement,
 * figure 3.9). */
static bool is_arguments(struct machine_memory *m, uint64_t at)
{
    enum { ARGUMENTS_MOST = 4096 };
    uint64_t count, first, null;
    return machine_memory_fetch(m, at, &count) && count >= 1 && count <= ARGUMENTS_MOST &&
           machine_memory_fetch(m, at + 8, &first) && first > at && first - at < 16u << 20 &&
           machine_memory_fetch(m, at + 8 * (count + 1), &null) && null == 0;
}

/* The loader's entry has no unwind information: what lies above its frame are the arguments. */
static bool is_beginning(struct machine_sampler *s, const struct machine_record *sample,
                         const struct unwind_result *walk)
{
    enum { NEAR = 64 };
    uint64_t rsp = walk->frames > 1 ? s->frames[walk->frames - 2].cfa : sample->regs.r[UNWIND_RSP];
    for (uint64_t at = rsp; at <= rsp + NEAR; at += 8)
        if (is_arguments(&s->memory, at))
            return true;
    return false;
}

/* A 32-bit program's: the interrupted address alone. */
static struct unwind_result leaf_alone(struct machine_sampler *s, const struct machine_process *p,
                                       const struct machine_record *sample)
{
    uint64_t pc = sample->regs.r[UNWIND_RIP], bias;
    const struct machine_map *map = machine_process_map(p, pc);
    bool known = map && map->image && map->image->number &&
                 machine_image_bias(map->image, map, &bias);
    s->frames[0].key = known ? key_make(map->image->number, pc - bias) : key_make(0, pc);
    return (struct unwind_result){.frames = 1, .truncation = TRUNC_MODE};
}

/* Whether there is no user part: a kernel thread; or the middle of exec, when the registers are the
 * old program's, and its stack is gone. */
static bool has_no_user_part(struct machine_sampler *s, const struct machine_process *p,
                             const struct machine_record *sample)
{
    enum { SYSCALL = 0x050f, SYSCALL_SHIFT = 48 };
    uint64_t pc = sample->regs.r[UNWIND_RIP], before;
    if (sample->abi == PERF_SAMPLE_REGS_ABI_NONE)
        return true;
    if (!sample->kernel_count || p->unreadable || p->outside || sample->stack_size)
        return false;
    return !machine_process_map(p, pc) || (machine_memory_fetch(&s->memory, pc - 8, &before) &&
                                           before >> SYSCALL_SHIFT == SYSCALL);
}

static struct unwind_result walk(struct machine_sampler *s, struct machine_process *p,
                                 const struct machine_record *sample)
{
    struct unwind_result result = {.truncation = TRUNC_NO_CFI};
    const struct unwind_index *index = machine_process_index(s->processes, p);
    machine_memory_begin(&s->memory, p, sample);
    if (has_no_user_part(s, p, sample))
        return (struct unwind_result){0};
    if (p->outside)
        return (struct unwind_result){.truncation = TRUNC_OUTSIDE};
    if (index && sample->abi != PERF_SAMPLE_REGS_ABI_64)
        return leaf_alone(s, p, sample);
    do {
        index = machine_process_index(s->processes, p);
        if (!index)
            return result;
        result = unwind_walk_as(&s->unwind, index, &sample->regs, s->frames, s->frames_max);
    } while (images_prepare(s, p, &result));
    if (result.truncation == TRUNC_NO_CFI && result.frames && is_beginning(s, sample, &result))
        result.truncation = TRUNC_NONE;
    /* The kernel copied no more of it. */
    if (result.truncation != TRUNC_NONE && s->memory.beyond)
        result.truncation = TRUNC_DEPTH;
    return result;
}

/* ---- what the kernel has walked ---- */

static void walked_count(struct machine_walked *w, const struct machine_record *sample)
{
    enum { LEAST = 28, MOST = 32 };
    uint32_t bin = sample->walk_ns / MACHINE_WALK_BIN_NS;
    if (bin >= MACHINE_WALK_BINS)
        bin = MACHINE_WALK_BINS - 1;
    w->count++;
    w->frames += sample->user_count;
    w->ns += sample->walk_ns;
    w->by_ns[bin] += sample->user_count != 0;
    w->thirty_by_ns[bin] += sample->user_count >= LEAST && sample->user_count <= MOST;
}

/* What the kernel took for the mapping of an address must have been it at the sample. */
static bool walked_key(const struct machine_process *p, const struct machine_record *sample,
                       uint32_t i, const struct machine_map **last, uint64_t *key)
{
    uint64_t pc = sample->user[i], bias;
    if (!*last || pc < (*last)->lo || pc >= (*last)->hi)
        *last = machine_process_map(p, pc);
    const struct machine_map *map = *last;
    if (!map || !map->image || !map->image->number || map->since > sample->at ||
        !machine_image_bias(map->image, map, &bias))
        return false;
    *key = key_make(map->image->number, pc - bias);
    return true;
}

static struct unwind_result walked(struct machine_sampler *s, const struct machine_process *p,
                                   const struct machine_record *sample)
{
    struct unwind_result result = {.truncation = TRUNC_NONE};
    const struct machine_map *last = NULL;
    walked_count(&s->walked, sample);
    for (uint32_t i = 0; i < sample->user_count; i++) {
        if (i == s->frames_max) {
            result.truncation = TRUNC_DEPTH;
            break;
        }
        if (!walked_key(p, sample, i, &last, &s->frames[i].key)) {
            s->walked.stale++;
            return (struct unwind_result){.truncation = TRUNC_BAD_STACK};
        }
        result.frames = i + 1;
    }
    return result;
}

/* ---- the tree ---- */

struct growth {
    struct cct_store store;
    spool_ref node;
    struct machine_sampler *notes; /* NULL: its path is not to be known */
};

static void below(struct growth *g, uint64_t key)
{
    struct machine_sampler *s = g->notes;
    g->node = g->node ? cct_child_as(&g->store, g->node, key) : 0;
    if (s && s->path_count < s->path_most)
        s->path[s->path_count++] = key;
}

/* The first frame of the kernel's part that is to be seen: of a wait, what called the scheduler,
 * and of a wake, what called for it. In front of those there are the BPF program's own. */
static uint64_t kernel_first(const struct machine_sampler *s, const struct machine_record *sample)
{
    const struct machine_ranges *k = &s->kernel;
    uint64_t lo = sample->subject == WALK_WAIT ? k->waits_lo : k->wakes_lo,
             hi = sample->subject == WALK_WAIT ? k->waits_hi : k->wakes_hi, first = 0;
    while (first < sample->kernel_count && sample->kernel[first] >= MARKER_FIRST)
        first++;
    if (sample->subject == WALK_CPU)
        return first;
    uint64_t at = first;
    while (at < sample->kernel_count && sample->kernel[at] - lo >= hi - lo)
        at++;
    if (at == sample->kernel_count)
        return first;
    while (at < sample->kernel_count && sample->kernel[at] - lo < hi - lo)
        at++;
    return at;
}

/* Where in the kernel's part of a wake the innermost interrupt begins; its end: nowhere. */
static uint64_t interrupt_at(const struct machine_sampler *s, const struct machine_record *sample)
{
    const struct machine_ranges *k = &s->kernel;
    for (uint64_t i = 0; sample->subject == WALK_WAKE && i < sample->kernel_count; i++)
        if (sample->kernel[i] - k->interrupts_lo < k->interrupts_hi - k->interrupts_lo)
            return i;
    return sample->kernel_count;
}

bool machine_sample_is_interrupt(const struct machine_sampler *s,
                                 const struct machine_record *sample)
{
    return interrupt_at(s, sample) < sample->kernel_count;
}

static void kernel_add(const struct machine_sampler *s, struct growth *g,
                       const struct machine_record *sample)
{
    uint64_t first = kernel_first(s, sample);
    uint64_t end = interrupt_at(s, sample);
    for (uint64_t i = end < sample->kernel_count ? end + 1 : end; i > first; i--) {
        uint64_t address = sample->kernel[i - 1];
        bool interrupted = i - 1 == first && sample->subject == WALK_CPU;
        if (address < MARKER_FIRST && machine_kernel_is(address))
            below(g, key_make(0, interrupted ? address : address - 1));
    }
}

static struct growth growth_of(const struct machine_sampler *s, const struct machine_place *place,
                               spool_ref node)
{
    return (struct growth){{s->processes->spool, place->thread->block, place->thread->block_end,
                            &place->record->nodes, NULL},
                           node, NULL};
}

static spool_ref grown(const struct machine_place *place, const struct growth *g)
{
    place->thread->block = g->store.block;
    place->thread->block_end = g->store.block_end;
    return g->node;
}

spool_ref machine_place_below(const struct machine_sampler *s, const struct machine_place *place,
                              spool_ref node, uint64_t key)
{
    struct growth g = growth_of(s, place, node);
    below(&g, key);
    return grown(place, &g);
}

/* 0: the spool is full. */
static spool_ref path_add(struct machine_sampler *s, const struct machine_place *place,
                          const struct machine_record *sample)
{
    const struct unwind_result *walk = &place->walk;
    struct growth g = growth_of(s, place, place->record->tree);
    s->path_count = 0;
    g.notes = sample->subject == WALK_WAIT ? s : NULL;
    if (walk->truncation != TRUNC_NONE)
        below(&g, key_pseudo(KEY_TRUNCATED));
    for (uint32_t i = walk->frames; i > 0; i--)
        below(&g, s->frames[i - 1].key);
    kernel_add(s, &g, sample);
    return grown(place, &g);
}

void machine_sampler_charge(struct machine_sampler *s, struct spool_thread *record,
                            spool_ref node, uint64_t periods)
{
    if (!node) {
        record->drops[DROP_SPOOL_FULL] += periods;
        return;
    }
    cct_node_at(s->processes->spool, node)->samples += periods;
    record->taken++;
    record->weight += periods;
    record->weight_squares += periods * periods;
}

void machine_sampler_time(struct machine_sampler *s, const struct machine_place *place,
                          spool_ref node, uint64_t time, uint64_t periods, uint64_t span_ns)
{
    const struct spool *spool = s->processes->spool;
    uint64_t start = spool_header(spool)->start_monotonic_ns;
    const struct timeline_moment moment = {.ns = time > start ? time - start : 0,
                                           .span_ns = span_ns, .weight = periods, .node = node};
    if (s->timeline)
        timeline_add_as(&place->thread->timeline, spool, &place->record->timeline, &moment);
}

static void note_full(const struct machine_sampler *s)
{
    __atomic_fetch_add(&spool_header(s->processes->spool)->drops[DROP_SPOOL_FULL], 1,
                       __ATOMIC_RELAXED);
}

bool machine_sampler_place(struct machine_sampler *s, const struct machine_record *sample,
                           struct machine_place *place)
{
    *place = (struct machine_place){0};
    if (sample->pid >= 0)
        place->process = machine_process_at(s->processes, sample->pid);
    else
        s->over++;
    if (!place->process || (sample->subject != WALK_WAKE &&
                            !machine_process_is_selected(s->processes, place->process)))
        return false;
    place->thread = machine_thread_at(place->process, sample->tid);
    if (place->thread)
        place->record = sample->subject == WALK_WAKE
                            ? machine_thread_waking(s->processes, place->process, place->thread)
                            : machine_thread_record(s->processes, place->process, place->thread);
    if (!place->record) {
        note_full(s);
        return false;
    }
    if (!machine_sample_is_interrupt(s, sample))
        place->walk = sample->kind == MACHINE_WALK ? walked(s, place->process, sample)
                                                   : walk(s, place->process, sample);
    place->node = path_add(s, place, sample);
    if (!place->node)
        note_full(s);
    return place->node;
}

void machine_sampler_take(struct machine_sampler *s, const struct machine_record *sample)
{
    struct machine_place place;
    if (!machine_sampler_place(s, sample, &place))
        return;
    s->taken++;
    place.record->cpu_ns += s->period_ns;
    machine_sampler_charge(s, place.record, place.node, 1);
    machine_sampler_time(s, &place, place.node, sample->time, 1, 0);
    place.record->guessed += place.walk.guessed;
    if (place.walk.truncation != TRUNC_NONE && place.walk.truncation < TRUNC_COUNT)
        place.record->truncated[place.walk.truncation]++;
}
