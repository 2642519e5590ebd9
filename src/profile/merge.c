#include "profile/merge.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"

static bool out_of_memory(struct err *e)
{
    return err_set(e, ERR_INTERNAL, "out of memory while profiles were merged");
}

static bool check_same(const struct profile *a, const struct profile *b, struct err *e)
{
    if (strcmp(a->trigger, b->trigger) != 0)
        return err_set(e, ERR_USAGE, "the profiles cannot be merged: one was recorded with trigger "
                       "'%s', the other with '%s'", a->trigger, b->trigger);
    if (strcmp(a->unit, b->unit) != 0)
        return err_set(e, ERR_USAGE, "the profiles cannot be merged: one counts %s, the other %s",
                       a->unit, b->unit);
    const struct profile_counts *x = a->counts, *y = b->counts;
    if (!x != !y || (x && (strcmp(x->carrier, y->carrier) != 0 || strcmp(x->tool, y->tool) != 0)))
        return err_set(e, ERR_USAGE, "the profiles cannot be merged: one was recorded by %s%s%s, the "
                       "other by %s%s%s", x ? x->carrier : "sampling", x ? " with tool " : "",
                       x ? x->tool : "", y ? y->carrier : "sampling", y ? " with tool " : "",
                       y ? y->tool : "");
    if (x && x->length != y->length)
        return err_set(e, ERR_USAGE, "the profiles cannot be merged: the bursts of one are %" PRIu64
                       " instructions long, of the other %" PRIu64 "; record both with the same "
                       "--length", x->length, y->length);
    const char *differ = a->values && b->values ? profile_values_differ(a->values, b->values) : NULL;
    if (!a->values != !b->values)
        differ = "only one of them has values";
    if (differ)
        return err_set(e, ERR_USAGE, "the profiles cannot be merged: %s", differ);
    if (a->period != b->period)
        return err_set(e, ERR_USAGE, "the profiles cannot be merged: the period of one is %" PRIu64
                       " %s, of the other %" PRIu64 "; record both with the same -F or -c", a->period,
                       a->unit, b->period);
    return true;
}

/* The array with room for `more` records after the first `count`; NULL, and `array` as it was. */
static void *extend(void *array, uint32_t count, uint32_t more, size_t each)
{
    size_t n = (size_t)count + more;
    return more > UINT32_MAX - 2 - count ? NULL : realloc(array, (n ? n : 1) * each);
}

static bool same_image(const struct profile_image *a, const struct profile_image *b)
{
    if (a->build_id_size || b->build_id_size)
        return a->build_id_size == b->build_id_size &&
               memcmp(a->build_id, b->build_id, a->build_id_size) == 0;
    return a->file_size == b->file_size && a->mtime_ns == b->mtime_ns && strcmp(a->path, b->path) == 0;
}

static bool merge_names(struct profile *into, const struct profile *from, const uint32_t *index_of)
{
    if (!into->names && !from->names)
        return true;
    if (!into->names && !(into->names = profile_names_new(into->image_count)))
        return false;
    struct profile_names *none = from->names ? NULL : profile_names_new(from->image_count);
    const struct profile_names *names = from->names ? from->names : none;
    bool ok = names && profile_names_merge(into->names, names, index_of, into->image_count);
    profile_names_free(none);
    return ok;
}

/* index_of[i]: where image i of `from` is in `into`. */
static bool merge_images(struct profile *into, const struct profile *from, uint32_t *index_of)
{
    uint32_t old = into->image_count;
    struct profile_image *images = extend(into->images, old, from->image_count, sizeof *images);
    if (!images)
        return false;
    into->images = images;
    for (uint32_t i = 0; i < from->image_count; i++) {
        uint32_t k = 0;
        while (k < old && !same_image(&into->images[k], &from->images[i]))
            k++;
        index_of[i] = k < old ? k : into->image_count;
        if (k < old)
            continue;
        struct profile_image *m = &into->images[into->image_count];
        *m = from->images[i];
        m->path = strdup(from->images[i].path);
        if (!m->path)
            return false;
        into->image_count++;
    }
    return true;
}

static bool copy_process(struct profile_process *to, const struct profile_process *from,
                         const uint32_t *index_of)
{
    *to = *from;
    to->jit_count = 0;
    to->name = strdup(from->name);
    to->command = strdup(from->command);
    to->maps = calloc(from->map_count ? from->map_count : 1, sizeof *to->maps);
    to->jit = calloc(from->jit_count ? from->jit_count : 1, sizeof *to->jit);
    if (!to->name || !to->command || !to->maps || !to->jit)
        return false;
    for (uint32_t i = 0; i < from->map_count; i++) {
        to->maps[i] = from->maps[i];
        to->maps[i].image = index_of[from->maps[i].image];
    }
    for (; to->jit_count < from->jit_count; to->jit_count++) {
        struct profile_jit_symbol *s = &to->jit[to->jit_count];
        *s = from->jit[to->jit_count];
        s->name = strdup(from->jit[to->jit_count].name);
        if (!s->name)
            return false;
    }
    return true;
}

static bool merge_processes(struct profile *into, const struct profile *from,
                            const uint32_t *index_of)
{
    struct profile_process *processes =
        extend(into->processes, into->process_count, from->process_count, sizeof *processes);
    if (!processes)
        return false;
    into->processes = processes;
    for (uint32_t i = 0; i < from->process_count; i++)
        if (!copy_process(&into->processes[into->process_count++], &from->processes[i], index_of))
            return false;
    return true;
}

/* phase_of[i]: where phase i of `from` is in `into`. Outer phases come before those in them. */
static bool merge_phases(struct profile *into, const struct profile *from, uint32_t *phase_of)
{
    for (uint32_t i = 0; i < from->phase_count; i++) {
        const struct profile_phase *phase = &from->phases[i];
        uint32_t outer = phase->outer ? phase_of[phase->outer - 1] + 1 : 0;
        phase_of[i] = profile_phase_intern(into, phase->name, outer);
        if (phase_of[i] == UINT32_MAX)
            return false;
        into->phases[phase_of[i]].begun += phase->begun;
        into->phases[phase_of[i]].elapsed_ns += phase->elapsed_ns;
    }
    return true;
}

static bool merge_threads(struct profile *into, const struct profile *from,
                          const uint32_t *index_of, const uint32_t *phase_of,
                          uint32_t first_process)
{
    struct profile_thread *threads =
        extend(into->threads, into->thread_count, from->thread_count, sizeof *threads);
    if (!threads)
        return false;
    into->threads = threads;
    for (uint32_t i = 0; i < from->thread_count; i++) {
        const struct profile_thread *s = &from->threads[i];
        struct profile_thread *t = &into->threads[into->thread_count++];
        *t = *s;
        t->process += first_process;
        t->phase = s->phase ? phase_of[s->phase - 1] + 1 : 0;
        t->name = strdup(s->name);
        t->nodes = calloc(s->node_count ? s->node_count : 1, sizeof *t->nodes);
        if (!t->name || !t->nodes)
            return false;
        for (uint32_t k = 0; k < s->node_count; k++) {
            t->nodes[k] = s->nodes[k];
            if (s->nodes[k].image < PROFILE_IMAGE_PSEUDO)
                t->nodes[k].image = index_of[s->nodes[k].image];
        }
    }
    return true;
}

static bool merge_notes(struct profile *into, const struct profile *from)
{
    char *notes;
    if (!*from->notes || strcmp(into->notes, from->notes) == 0)
        return true;
    if (asprintf(&notes, "%s%s%s", into->notes, *into->notes ? "\n" : "", from->notes) < 0)
        return false;
    free(into->notes);
    into->notes = notes;
    return true;
}

static void shift(struct profile *p, uint32_t first_process, uint32_t first_thread, uint64_t by)
{
    for (uint32_t i = first_process; i < p->process_count; i++) {
        p->processes[i].start_ns += by;
        p->processes[i].end_ns += p->processes[i].end_ns ? by : 0;
    }
    for (uint32_t i = first_thread; i < p->thread_count; i++) {
        p->threads[i].start_ns += by;
        p->threads[i].end_ns += p->threads[i].end_ns ? by : 0;
    }
}

/* Recordings that ran side by side, as those of ranks do, become one stretch of time, in which
 * each keeps its place. Of others the durations are added up. */
static void merge_times(struct profile *into, const struct profile *from, uint32_t first_process,
                        uint32_t first_thread)
{
    uint64_t a = into->start_realtime_ns, b = from->start_realtime_ns;
    uint64_t start = a < b ? a : b, after = (a < b ? b : a) - start;
    uint64_t first = a < b ? into->duration_ns : from->duration_ns;
    uint64_t second = a < b ? from->duration_ns : into->duration_ns;
    into->start_realtime_ns = start;
    into->duration_ns = first + second;
    if (after >= first)
        return;
    into->duration_ns = after + second > first ? after + second : first;
    shift(into, 0, 0, a - start);
    shift(into, first_process, first_thread, (b - start) - (a - start));
}

bool profile_merge(struct profile *into, const struct profile *from, struct err *e)
{
    if (!check_same(into, from, e))
        return false;
    uint32_t *index_of = calloc(from->image_count ? from->image_count : 1, sizeof *index_of);
    uint32_t *phase_of = calloc(from->phase_count ? from->phase_count : 1, sizeof *phase_of);
    uint32_t first_process = into->process_count, first_thread = into->thread_count;
    bool ok = index_of && phase_of && merge_images(into, from, index_of) &&
              merge_names(into, from, index_of) && merge_processes(into, from, index_of) && merge_phases(into, from, phase_of) &&
              merge_threads(into, from, index_of, phase_of, first_process) &&
              merge_notes(into, from) &&
              (!into->counts ||
               profile_counts_merge(into->counts, from->counts, index_of, first_process)) &&
              (!into->values ||
               profile_values_merge(into->values, from->values, index_of, first_process));
    free(index_of);
    free(phase_of);
    if (!ok)
        return out_of_memory(e);
    if (into->shadows && from->shadows)
        profile_shadows_add(into->shadows, from->shadows);
    for (unsigned i = 0; i < DROP_COUNT; i++)
        into->drops[i] += from->drops[i];
    bool known = into->kernel_cpu_ns && from->kernel_cpu_ns;
    into->kernel_cpu_ns = known ? add_saturated(into->kernel_cpu_ns, from->kernel_cpu_ns) : 0;
    merge_times(into, from, first_process, first_thread);
    into->recovered |= from->recovered;
    return true;
}
