#include "profile/encode.h"

#include <stdlib.h>

#include "base/buf.h"
#include "profile/container.h"
#include "profile/frames.h"
#include "profile/sections.h"
#include "profile/section_names.h"
#include "profile/section_shadows.h"
#include "profile/sections_counts.h"
#include "profile/sections_paths.h"
#include "profile/sections_streams.h"
#include "profile/sections_values.h"

static void put_counts(struct buf *b, const uint64_t *counts, unsigned first, unsigned end)
{
    for (unsigned i = first; i < end; i++)
        buf_put_uleb(b, counts[i]);
}

static void put_meta(struct buf *b, const struct profile *p)
{
    buf_put_string(b, p->command);
    buf_put_string(b, p->trigger);
    buf_put_string(b, p->unit);
    buf_put_uleb(b, p->period);
    buf_put_uleb(b, p->randomized);
    buf_put_uleb(b, p->budget_ppm);
    buf_put_uleb(b, p->delivery_ns);
    buf_put_uleb(b, p->start_realtime_ns);
    buf_put_uleb(b, p->duration_ns);
    buf_put_string(b, p->kernel);
    buf_put_string(b, p->cpu);
    buf_put_uleb(b, p->cpus);
    buf_put_uleb(b, p->recovered);
    buf_put_sleb(b, p->exit_status);
    buf_put_string(b, p->notes);
    put_counts(b, p->drops, 0, DROP_COUNT);
}

static void put_reasons(struct buf *b)
{
    buf_put_uleb(b, DROP_COUNT);
    for (unsigned i = 0; i < DROP_COUNT; i++)
        buf_put_string(b, profile_drop_name(i));
    buf_put_uleb(b, TRUNC_COUNT - 1);
    for (unsigned i = 1; i < TRUNC_COUNT; i++)
        buf_put_string(b, profile_truncation_name(i));
}

static void put_images(struct buf *b, const struct profile *p)
{
    buf_put_uleb(b, p->image_count);
    for (uint32_t i = 0; i < p->image_count; i++) {
        const struct profile_image *m = &p->images[i];
        buf_put_string(b, m->path);
        buf_put_uleb(b, m->build_id_size);
        buf_put(b, m->build_id, m->build_id_size);
        buf_put_uleb(b, m->flags);
        buf_put_uleb(b, m->file_size);
        buf_put_sleb(b, m->mtime_ns);
        buf_put_uleb(b, m->first_vaddr);
        buf_put_uleb(b, m->last_vaddr);
    }
}

/* Addresses are stored as differences modulo 2^64, so any order round-trips. */
static void put_process(struct buf *b, const struct profile_process *r)
{
    buf_put_sleb(b, r->pid);
    buf_put_sleb(b, r->ppid);
    buf_put_string(b, r->name);
    buf_put_string(b, r->command);
    buf_put_uleb(b, r->start_ns);
    buf_put_uleb(b, r->end_ns);
    buf_put_uleb(b, r->end);
    buf_put_uleb(b, r->epochs);
    buf_put_uleb(b, r->mechanism);
    buf_put_uleb(b, r->arm_error);
    buf_put_uleb(b, r->exclude_kernel);
    put_counts(b, r->drops, 0, DROP_COUNT);
    uint64_t last = 0;
    buf_put_uleb(b, r->map_count);
    for (uint32_t i = 0; i < r->map_count; i++) {
        const struct profile_map *m = &r->maps[i];
        buf_put_uleb(b, m->image);
        buf_put_uleb(b, m->epoch_first);
        buf_put_uleb(b, m->epoch_last);
        buf_put_sleb(b, (int64_t)(m->lo - last));
        buf_put_sleb(b, (int64_t)(m->hi - m->lo));
        buf_put_sleb(b, (int64_t)(m->lo - m->bias));
        last = m->lo;
    }
    last = 0;
    buf_put_uleb(b, r->jit_count);
    for (uint32_t i = 0; i < r->jit_count; i++) {
        buf_put_uleb(b, r->jit[i].address - last);
        buf_put_uleb(b, r->jit[i].size);
        buf_put_string(b, r->jit[i].name);
        last = r->jit[i].address;
    }
}

static bool has_ranks(const struct profile *p)
{
    for (uint32_t i = 0; i < p->process_count; i++)
        if (p->processes[i].rank)
            return true;
    return false;
}

static void put_ranks(struct section_out *out, const struct profile *p)
{
    struct buf *b = &out->raw;
    out->type = SECTION_RANKS;
    out->optional = true;
    buf_put_uleb(b, p->process_count);
    for (uint32_t i = 0; i < p->process_count; i++)
        buf_put_uleb(b, p->processes[i].rank);
}

static void put_threads(struct buf *b, const struct profile *p)
{
    buf_put_uleb(b, p->thread_count);
    for (uint32_t i = 0; i < p->thread_count; i++) {
        const struct profile_thread *t = &p->threads[i];
        buf_put_uleb(b, t->process);
        buf_put_sleb(b, t->tid);
        buf_put_string(b, t->name);
        buf_put_uleb(b, t->start_ns);
        buf_put_uleb(b, t->end_ns);
        buf_put_uleb(b, t->cpu_ns);
        buf_put_uleb(b, t->taken);
        buf_put_uleb(b, t->weight);
        buf_put_uleb(b, t->weight_squares);
        buf_put_uleb(b, t->guessed);
        put_counts(b, t->truncated, 1, TRUNC_COUNT);
        put_counts(b, t->drops, 0, DROP_COUNT);
        buf_put_uleb(b, t->cost_ns);
        buf_put_uleb(b, t->deliveries);
        buf_put_uleb(b, t->node_count);
    }
}

/* Three columns, each in the frames' sorted order. */
static void put_frames(struct buf *b, const struct frames *f)
{
    uint32_t image = 0;
    uint64_t offset = 0;
    buf_put_uleb(b, f->count);
    for (uint32_t i = 0; i < f->count; i++) {
        buf_put_uleb(b, f->sorted[i].image - image);
        image = f->sorted[i].image;
    }
    for (uint32_t i = 0; i < f->count; i++) {
        bool same = i && f->sorted[i].image == f->sorted[i - 1].image;
        buf_put_uleb(b, f->sorted[i].offset - (same ? offset : 0));
        offset = f->sorted[i].offset;
    }
    for (uint32_t i = 0; i < f->count; i++)
        buf_put_u8(b, (uint8_t)f->sorted[i].guessed);
}

enum { COLUMN_CHILDREN, COLUMN_FRAMES, COLUMN_SELF, COLUMN_CALLS, COLUMNS };

/* One thread's nodes, each to the end of every column. The nodes are known to be in preorder. */
static bool put_tree(struct buf *columns, const struct profile_thread *t, const struct frames *f)
{
    uint32_t n = t->node_count;
    uint32_t *children = calloc(n, sizeof *children);
    uint32_t *last = calloc(n, sizeof *last); /* frame of the last child so far */
    bool ok = children && last;
    for (uint32_t i = 1; ok && i < n; i++)
        children[t->nodes[i].parent]++;
    for (uint32_t i = 0; ok && i < n; i++) {
        const struct profile_node *node = &t->nodes[i];
        uint32_t frame = frames_find(f, node);
        uint32_t before = i ? last[node->parent] : 0;
        buf_put_uleb(&columns[COLUMN_CHILDREN], children[i]);
        buf_put_sleb(&columns[COLUMN_FRAMES], (int64_t)frame - (int64_t)before);
        buf_put_uleb(&columns[COLUMN_SELF], node->self);
        buf_put_uleb(&columns[COLUMN_CALLS], node->calls);
        if (i)
            last[node->parent] = frame;
    }
    free(children);
    free(last);
    return ok;
}

static void put_trees(struct buf *b, const struct profile *p, const struct frames *f)
{
    struct buf columns[COLUMNS] = {{0}};
    for (uint32_t i = 0; i < p->thread_count; i++)
        if (p->threads[i].node_count && !put_tree(columns, &p->threads[i], f))
            b->failed = true;
    for (unsigned i = 0; i < COLUMNS; i++)
        buf_put_uleb(b, columns[i].size);
    for (unsigned i = 0; i < COLUMNS; i++) {
        b->failed |= !buf_ok(&columns[i]);
        buf_put(b, columns[i].data, columns[i].size);
        buf_free(&columns[i]);
    }
}

/* In preorder, the parent of a node is the node before it or an ancestor of that one. The climb is
 * paid for by the descents before it, so this is linear. */
static bool check_tree(const struct profile *p, const struct profile_thread *t)
{
    for (uint32_t i = 0; i < t->node_count; i++) {
        const struct profile_node *n = &t->nodes[i];
        if (n->image >= p->image_count && n->image < PROFILE_IMAGE_PSEUDO)
            return false;
        if (i == 0) {
            if (n->parent != UINT32_MAX || n->image != PROFILE_IMAGE_PSEUDO ||
                n->offset != KEY_ROOT || n->guessed)
                return false;
            continue;
        }
        uint32_t at = i - 1;
        while (at != n->parent && at != UINT32_MAX)
            at = t->nodes[at].parent;
        if (at == UINT32_MAX)
            return false;
    }
    return true;
}

/* What the reader would refuse must not be written. */
static bool check(const struct profile *p, struct err *e)
{
    for (uint32_t i = 0; i < p->image_count; i++)
        if (p->images[i].build_id_size > PROFILE_BUILD_ID_MAX)
            return err_set(e, ERR_INTERNAL, "the profile cannot be written: the build-id of image %u "
                           "is too long", i);
    for (uint32_t i = 0; i < p->process_count; i++) {
        const struct profile_process *r = &p->processes[i];
        for (uint32_t k = 0; k < r->map_count; k++)
            if (r->maps[k].image >= p->image_count)
                return err_set(e, ERR_INTERNAL, "the profile cannot be written: map %u of process %u "
                               "is of no image", k, i);
        for (uint32_t k = 1; k < r->jit_count; k++)
            if (r->jit[k].address < r->jit[k - 1].address)
                return err_set(e, ERR_INTERNAL, "the profile cannot be written: the JIT symbols of "
                               "process %u are not sorted", i);
    }
    for (uint32_t i = 0; i < p->thread_count; i++)
        if (p->threads[i].process >= p->process_count || p->threads[i].phase > p->phase_count ||
            !check_tree(p, &p->threads[i]))
            return err_set(e, ERR_INTERNAL, "the profile cannot be written: thread %u has no process "
                           "or phase, or its tree is not in preorder under a root", i);
    if (p->names && !profile_names_good(p->names, p->image_count))
        return err_set(e, ERR_INTERNAL, "the profile cannot be written: its names are not in order");
    return sections_counts_check(p, e) && sections_values_check(p, e);
}

static bool collect_frames(struct frames *f, const struct profile *p)
{
    for (uint32_t i = 0; i < p->thread_count; i++)
        for (uint32_t k = 0; k < p->threads[i].node_count; k++)
            if (!frames_add(f, &p->threads[i].nodes[k]))
                return false;
    return frames_sort(f);
}

/* Sections written. s: NULL: there are none. */
static uint32_t put_shadows(struct section_out *to, const struct profile_shadows *s)
{
    uint32_t count = 0;
    if (!s)
        return 0;
    section_shadows_put(&to[count++], s);
    if (s->burst_length)
        section_places_put(&to[count++], s);
    if (profile_shadows_stopped(s))
        section_stopped_put(&to[count++], s);
    if (s->replayed || s->input_lost)
        section_input_put(&to[count++], s);
    if (s->cost_ns)
        section_spent_put(&to[count++], s);
    if (s->asleep || s->fell_asleep)
        section_sleepers_put(&to[count++], s);
    if (s->passed)
        section_passed_put(&to[count++], s);
    if (s->huge_ns)
        section_huge_put(&to[count++], s);
    return count;
}

static uint32_t put_optional(struct section_out *s, const struct profile *p)
{
    uint32_t count = 0;
    if (has_ranks(p))
        put_ranks(&s[count++], p);
    if (section_phases_needed(p))
        section_phases_put(&s[count++], p);
    if (section_heap_needed(p))
        section_heap_put(&s[count++], p);
    if (section_sandboxes_needed(p))
        section_sandboxes_put(&s[count++], p);
    if (section_cpu_time_needed(p))
        section_cpu_time_put(&s[count++], p);
    if (section_delivered_needed(p))
        section_delivered_put(&s[count++], p);
    if (p->names)
        section_names_put(&s[count++], p->names);
    count += put_shadows(&s[count], p->shadows);
    return count;
}

uint8_t *profile_encode_with(const struct profile *p, bool compress, size_t *size, struct err *e)
{
    enum { META, REASONS, IMAGES, PROCESSES, FRAMES, THREADS, TREES, COUNT };
    struct section_out s[SECTION_TYPES] = { /* none occurs twice */
        [META] = {.type = SECTION_META},           [REASONS] = {.type = SECTION_REASONS},
        [IMAGES] = {.type = SECTION_IMAGES},       [PROCESSES] = {.type = SECTION_PROCESSES},
        [FRAMES] = {.type = SECTION_FRAMES},       [THREADS] = {.type = SECTION_THREADS},
        [TREES] = {.type = SECTION_TREES},
    };
    struct frames frames = {0};
    uint8_t *result = NULL;
    uint32_t count = COUNT;
    if (!check(p, e))
        return NULL;
    if (!collect_frames(&frames, p)) {
        err_set(e, ERR_INTERNAL, "out of memory while the profile's frames were collected");
        goto out;
    }
    put_meta(&s[META].raw, p);
    put_reasons(&s[REASONS].raw);
    put_images(&s[IMAGES].raw, p);
    buf_put_uleb(&s[PROCESSES].raw, p->process_count);
    for (uint32_t i = 0; i < p->process_count; i++)
        put_process(&s[PROCESSES].raw, &p->processes[i]);
    put_frames(&s[FRAMES].raw, &frames);
    put_threads(&s[THREADS].raw, p);
    put_trees(&s[TREES].raw, p, &frames);
    count += put_optional(&s[count], p);
    if (p->counts) {
        sections_counts_put(&s[count], p->counts);
        count += SECTIONS_COUNTS;
        if (p->counts->paths)
            section_paths_put(&s[count++], p->counts->paths);
        if (p->counts->streams)
            section_streams_put(&s[count++], p->counts->streams);
    }
    if (p->values) {
        sections_values_put(&s[count], p->values);
        count += SECTIONS_VALUES;
        if (profile_values_unobserved(p->values))
            section_unobserved_put(&s[count++], p->values);
    }
    result = container_finish(CONTAINER_PROFILE, s, count, compress, size, e);
out:
    for (unsigned i = 0; i < count; i++)
        buf_free(&s[i].raw);
    frames_free(&frames);
    return result;
}

uint8_t *profile_encode(const struct profile *p, size_t *size, struct err *e)
{
    return profile_encode_with(p, true, size, e);
}
