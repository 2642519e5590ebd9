#include "profile/decode.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/frames.h"
#include "profile/sections.h"
#include "profile/section_names.h"
#include "profile/section_shadows.h"
#include "profile/sections_counts.h"
#include "profile/sections_values.h"

bool decode_open(struct decoder *d, enum section_type type, struct cursor *c)
{
    *c = (struct cursor){.file = &d->file, .type = type, .e = d->e};
    c->data = container_load(&d->file, type, &c->size, d->e);
    return c->data != NULL;
}

bool decode_close(struct cursor *c)
{
    bool ok = cursor_end(c);
    free((void *)(uintptr_t)c->data);
    return ok;
}

uint32_t decode_image_step(const struct decoder *d, struct cursor *c, uint32_t *rank)
{
    uint64_t most = (uint64_t)d->p->image_count + FRAME_IMAGE_FIRST - 1;
    uint64_t least = *rank < FRAME_IMAGE_NONE ? FRAME_IMAGE_NONE - *rank : 0;
    uint64_t step = cursor_uleb(c, most - *rank, "the step to the image of a record");
    if (step < least)
        cursor_fail(c, "the step to the image of a record, which is never 0");
    *rank += (uint32_t)step;
    return *rank - FRAME_IMAGE_FIRST;
}

uint32_t decode_process_index(const struct decoder *d, struct cursor *c)
{
    if (!d->p->process_count)
        cursor_fail(c, "no record, as there is no process");
    return (uint32_t)cursor_uleb(c, (uint64_t)d->p->process_count - 1, "the index of a process");
}

void *decode_array(struct cursor *c, uint32_t count, size_t each)
{
    void *array = c->failed ? NULL : calloc(count ? count : 1, each);
    if (!array && !c->failed) {
        err_set(c->e, ERR_INTERNAL, "%s: no memory for %" PRIu32 " records of section %s",
                c->file->name, count, section_name(c->type));
        c->failed = true;
    }
    return array;
}

static uint32_t get_u32(struct cursor *c, const char *what)
{
    return (uint32_t)cursor_uleb(c, UINT32_MAX, what);
}

static uint64_t get_u64(struct cursor *c, const char *what)
{
    return cursor_uleb(c, UINT64_MAX, what);
}

static int32_t get_i32(struct cursor *c, const char *what)
{
    int64_t value = cursor_sleb(c, what);
    if (value < INT32_MIN || value > INT32_MAX)
        cursor_fail(c, what);
    return (int32_t)value;
}

static void replace_string(char **to, struct cursor *c, const char *what)
{
    char *s = cursor_string(c, what);
    if (!s)
        return;
    free(*to);
    *to = s;
}

static void get_counts(struct cursor *c, struct reason_map *map, uint64_t *counts)
{
    for (uint32_t i = 0; i < map->count; i++) {
        uint64_t n = get_u64(c, "a count of samples");
        if (map->known[i] == UINT32_MAX)
            map->unknown[i] += n;
        else
            counts[map->known[i]] += n;
    }
}

static void get_reason_map(struct cursor *c, struct reason_map *map, unsigned first, unsigned end,
                           const char *(*name)(unsigned))
{
    uint32_t count = (uint32_t)cursor_uleb(c, REASONS_MAX, "a number of reasons up to 64");
    for (; map->count < count && !c->failed; map->count++) {
        uint32_t i = map->count;
        map->names[i] = cursor_string(c, "the name of a reason");
        map->known[i] = UINT32_MAX;
        for (unsigned k = first; map->names[i] && k < end; k++)
            if (strcmp(map->names[i], name(k)) == 0)
                map->known[i] = k;
    }
}

static bool get_reasons(struct decoder *d)
{
    struct cursor c;
    if (!decode_open(d, SECTION_REASONS, &c))
        return false;
    get_reason_map(&c, &d->drops, 0, DROP_COUNT, profile_drop_name);
    get_reason_map(&c, &d->truncations, 1, TRUNC_COUNT, profile_truncation_name);
    return decode_close(&c);
}

static bool get_meta(struct decoder *d)
{
    struct profile *p = d->p;
    struct cursor c;
    if (!decode_open(d, SECTION_META, &c))
        return false;
    replace_string(&p->command, &c, "the command");
    replace_string(&p->trigger, &c, "the trigger's name");
    replace_string(&p->unit, &c, "the unit of the period");
    p->period = get_u64(&c, "the period");
    p->randomized = get_u32(&c, "whether the period is randomized");
    p->budget_ppm = get_u32(&c, "the budget");
    p->delivery_ns = get_u32(&c, "the cost of a signal");
    p->start_realtime_ns = get_u64(&c, "the time of the start");
    p->duration_ns = get_u64(&c, "the duration");
    replace_string(&p->kernel, &c, "the kernel's release");
    replace_string(&p->cpu, &c, "the processor's name");
    p->cpus = get_u32(&c, "the number of processors");
    p->recovered = get_u32(&c, "whether it was recovered");
    p->exit_status = get_i32(&c, "the exit status");
    replace_string(&p->notes, &c, "the notes");
    get_counts(&c, &d->drops, p->drops);
    return decode_close(&c);
}

static bool get_images(struct decoder *d)
{
    struct profile *p = d->p;
    struct cursor c;
    if (!decode_open(d, SECTION_IMAGES, &c))
        return false;
    uint32_t count = cursor_count(&c, 7, "a number of images that fits the section");
    p->images = decode_array(&c, count, sizeof *p->images);
    for (uint32_t i = 0; i < count && !c.failed; i++) {
        struct profile_image *m = &p->images[p->image_count++];
        m->path = cursor_string(&c, "the path of an image");
        m->build_id_size =
            (uint32_t)cursor_uleb(&c, PROFILE_BUILD_ID_MAX, "the size of a build-id, up to 32");
        const uint8_t *id = cursor_bytes(&c, m->build_id_size, "a build-id");
        if (id)
            memcpy(m->build_id, id, m->build_id_size);
        m->flags = get_u32(&c, "an image's flags");
        m->file_size = get_u64(&c, "a file size");
        m->mtime_ns = cursor_sleb(&c, "a file's time");
        m->first_vaddr = get_u64(&c, "an image's first address");
        m->last_vaddr = get_u64(&c, "an image's last address");
    }
    return decode_close(&c);
}

static void get_maps(struct decoder *d, struct cursor *c, struct profile_process *r)
{
    uint64_t last = 0;
    uint32_t count = cursor_count(c, 6, "a number of maps that fits the section");
    r->maps = decode_array(c, count, sizeof *r->maps);
    for (; r->map_count < count && !c->failed; r->map_count++) {
        struct profile_map *m = &r->maps[r->map_count];
        uint64_t images = d->p->image_count;
        if (!images)
            cursor_fail(c, "no map, as there is no image");
        m->image = (uint32_t)cursor_uleb(c, images - 1, "the index of an image");
        m->epoch_first = get_u32(c, "an epoch");
        m->epoch_last = get_u32(c, "an epoch");
        m->lo = last + (uint64_t)cursor_sleb(c, "where a map begins");
        m->hi = m->lo + (uint64_t)cursor_sleb(c, "how long a map is");
        m->bias = m->lo - (uint64_t)cursor_sleb(c, "the bias of a map");
        last = m->lo;
    }
}

static void get_jit(struct cursor *c, struct profile_process *r)
{
    uint64_t last = 0;
    uint32_t count = cursor_count(c, 3, "a number of JIT symbols that fits the section");
    r->jit = decode_array(c, count, sizeof *r->jit);
    for (; r->jit_count < count && !c->failed; r->jit_count++) {
        struct profile_jit_symbol *s = &r->jit[r->jit_count];
        last += cursor_uleb(c, UINT64_MAX - last, "an address not below the one before it");
        s->address = last;
        s->size = get_u64(c, "the size of a JIT symbol");
        s->name = cursor_string(c, "the name of a JIT symbol");
    }
}

static bool get_processes(struct decoder *d)
{
    struct profile *p = d->p;
    struct cursor c;
    if (!decode_open(d, SECTION_PROCESSES, &c))
        return false;
    uint32_t count = cursor_count(&c, 13 + d->drops.count, "a number of processes that fits");
    p->processes = decode_array(&c, count, sizeof *p->processes);
    while (p->process_count < count && !c.failed) {
        struct profile_process *r = &p->processes[p->process_count++];
        r->pid = get_i32(&c, "a process id");
        r->ppid = get_i32(&c, "a parent's process id");
        r->name = cursor_string(&c, "the name of a process");
        r->command = cursor_string(&c, "the command of a process");
        r->start_ns = get_u64(&c, "when a process began");
        r->end_ns = get_u64(&c, "when a process ended");
        r->end = (uint32_t)cursor_uleb(&c, PROFILE_END_KILLED, "how a process ended, 0 to 3");
        r->epochs = get_u32(&c, "the number of epochs");
        r->mechanism = get_u32(&c, "a mechanism");
        r->arm_error = get_u32(&c, "an error number");
        r->exclude_kernel = get_u32(&c, "whether the kernel is excluded");
        get_counts(&c, &d->drops, r->drops);
        get_maps(d, &c, r);
        get_jit(&c, r);
    }
    return decode_close(&c);
}

static bool get_threads(struct decoder *d)
{
    struct profile *p = d->p;
    struct cursor c;
    if (!decode_open(d, SECTION_THREADS, &c))
        return false;
    uint32_t count = cursor_count(&c, 13 + d->drops.count + d->truncations.count,
                                  "a number of threads that fits the section");
    p->threads = decode_array(&c, count, sizeof *p->threads);
    if (count && !p->process_count)
        cursor_fail(&c, "no thread, as there is no process");
    while (p->thread_count < count && !c.failed) {
        struct profile_thread *t = &p->threads[p->thread_count++];
        t->process = (uint32_t)cursor_uleb(&c, (uint64_t)p->process_count - 1,
                                           "the index of a process");
        t->tid = get_i32(&c, "a thread id");
        t->name = cursor_string(&c, "the name of a thread");
        t->start_ns = get_u64(&c, "when a thread began");
        t->end_ns = get_u64(&c, "when a thread ended");
        t->cpu_ns = get_u64(&c, "a thread's CPU time");
        t->taken = get_u64(&c, "the number of samples taken");
        t->weight = get_u64(&c, "the weight of the samples");
        t->weight_squares = get_u64(&c, "the sum of the squared weights");
        t->guessed = get_u64(&c, "the number of guessed samples");
        get_counts(&c, &d->truncations, t->truncated);
        get_counts(&c, &d->drops, t->drops);
        t->cost_ns = get_u64(&c, "the cost of the samples");
        t->deliveries = get_u64(&c, "the number of signals");
        t->node_count = (uint32_t)cursor_uleb(&c, UINT32_MAX - 2, "the number of a tree's nodes");
    }
    return decode_close(&c);
}

static bool get_ranks(struct decoder *d)
{
    struct cursor c;
    if (!d->file.known[SECTION_RANKS].offset)
        return true;
    if (!decode_open(d, SECTION_RANKS, &c))
        return false;
    if (cursor_count(&c, 1, "a number of ranks") != d->p->process_count && !c.failed)
        cursor_fail(&c, "as many ranks as there are processes");
    for (uint32_t i = 0; i < d->p->process_count && !c.failed; i++)
        d->p->processes[i].rank =
            (uint32_t)cursor_uleb(&c, (uint64_t)INT32_MAX + 1, "a rank plus 1");
    return decode_close(&c);
}

static bool note_unknown(struct decoder *d, struct reason_map *map, const char *verb)
{
    for (uint32_t i = 0; i < map->count; i++) {
        char *notes;
        if (!map->unknown[i])
            continue;
        const char *old = d->p->notes;
        if (asprintf(&notes, "%s%s%" PRIu64 " samples were %s for the reason '%s', which this version "
                     "does not know", old, *old ? "\n" : "", map->unknown[i], verb,
                     map->names[i]) < 0)
            return err_set(d->e, ERR_INTERNAL, "%s: out of memory", d->file.name);
        free(d->p->notes);
        d->p->notes = notes;
    }
    return true;
}

static void free_reasons(struct reason_map *map)
{
    for (uint32_t i = 0; i < REASONS_MAX; i++)
        free(map->names[i]);
}

static bool decode_all(struct decoder *d)
{
    return get_reasons(d) && get_meta(d) && get_images(d) && get_processes(d) && get_ranks(d) &&
           get_threads(d) && decode_trees(d) && section_phases_get(d) && section_heap_get(d) &&
           section_sandboxes_get(d) && section_cpu_time_get(d) && section_delivered_get(d) &&
           sections_counts_get(d) && section_shadows_get(d) && sections_values_get(d) &&
           section_names_get(d) &&
           note_unknown(d, &d->drops, "dropped") &&
           note_unknown(d, &d->truncations, "truncated");
}

struct profile *profile_read_memory(const uint8_t *data, size_t size, const char *name,
                                    struct err *e)
{
    struct decoder *d = calloc(1, sizeof *d);
    struct profile *p = profile_new();
    bool ok = false;
    if (!d || !p) {
        err_set(e, ERR_INTERNAL, "%s: out of memory", name);
    } else if (container_open(&d->file, data, size, name, e)) {
        d->p = p;
        d->e = e;
        if (d->file.kind == CONTAINER_LIVE)
            err_set(e, ERR_FORMAT, "%s: its recording has not ended: either it still runs, then wait "
                    "for it or end it, or it was killed, then run `penumbra recover %s`", name, name);
        else
            ok = decode_all(d);
    }
    if (d) {
        free_reasons(&d->drops);
        free_reasons(&d->truncations);
    }
    free(d);
    if (!ok)
        profile_free(p);
    return ok ? p : NULL;
}
