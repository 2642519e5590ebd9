#include "profile/recordings.h"

#include <stdlib.h>

#include "base/saturate.h"
#include "profile/profile.h"

struct profile_axis profile_axis_of(const struct profile_recording *list, uint32_t count)
{
    struct profile_axis axis = {calloc((size_t)count + 1, sizeof *axis.begin_ns), 0};
    uint64_t seen_to = 0; /* real time, up to which recordings ran */
    for (uint32_t i = 0; axis.begin_ns && i < count; i++) {
        uint64_t start = list[i].start_realtime_ns, end = add_saturated(start, list[i].duration_ns);
        uint64_t shared = i && seen_to > start ? seen_to - start : 0;
        axis.begin_ns[i] = axis.duration_ns > shared ? axis.duration_ns - shared : 0;
        axis.duration_ns += end - start > shared ? end - start - shared : 0;
        seen_to = !i || end > seen_to ? end : seen_to;
    }
    return axis;
}

/* A recording of one of two profiles. */
struct one {
    struct profile_recording what;
    uint32_t side, index;
};

static int compare(const void *a, const void *b)
{
    const struct one *x = a, *y = b;
    if (x->what.start_realtime_ns != y->what.start_realtime_ns)
        return x->what.start_realtime_ns < y->what.start_realtime_ns ? -1 : 1;
    if (x->what.duration_ns != y->what.duration_ns)
        return x->what.duration_ns < y->what.duration_ns ? -1 : 1;
    if (x->side != y->side)
        return x->side < y->side ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static uint32_t count_of(const struct profile *p)
{
    return p->recording_count ? p->recording_count : 1;
}

static struct profile_recording recording_of(const struct profile *p, uint32_t index)
{
    return p->recording_count ? p->recordings[index]
                              : (struct profile_recording){p->start_realtime_ns, p->duration_ns};
}

static struct one *sorted(const struct profile *const sides[2], uint32_t count)
{
    struct one *all = calloc((size_t)count + 1, sizeof *all);
    for (uint32_t side = 0, at = 0; all && side < 2; side++)
        for (uint32_t i = 0; i < count_of(sides[side]); i++)
            all[at++] = (struct one){recording_of(sides[side], i), side, i};
    if (all)
        qsort(all, count, sizeof *all, compare);
    return all;
}

/* Times of the processes of one side: their recordings lay elsewhere on its own axis. */
static bool side_move(struct recordings_merge *m, const struct profile *p,
                      const uint32_t *new_index, uint32_t first)
{
    struct profile_recording alone = recording_of(p, 0);
    struct profile_axis axis =
        profile_axis_of(p->recording_count ? p->recordings : &alone, count_of(p));
    for (uint32_t i = 0; axis.begin_ns && i < p->process_count; i++) {
        uint32_t was = p->processes[i].recording;
        m->number[first + i] = new_index[was];
        m->later_ns[first + i] = m->axis.begin_ns[new_index[was]] - axis.begin_ns[was];
    }
    free(axis.begin_ns);
    return axis.begin_ns != NULL;
}

bool recordings_merge(const struct profile *into, const struct profile *from,
                      struct recordings_merge *out)
{
    const struct profile *const sides[2] = {into, from};
    uint32_t firsts[2] = {0, count_of(into)}, count = firsts[1] + count_of(from);
    size_t processes = (size_t)into->process_count + from->process_count + 1;
    struct one *all = sorted(sides, count);
    uint32_t *new_index = calloc(count, sizeof *new_index);
    *out = (struct recordings_merge){calloc(count, sizeof *out->list),
                                     count,
                                     calloc(processes, sizeof *out->number),
                                     calloc(processes, sizeof *out->later_ns),
                                     {NULL, 0}};
    bool ok = all && new_index && out->list && out->number && out->later_ns;
    for (uint32_t i = 0; ok && i < count; i++) {
        out->list[i] = all[i].what;
        new_index[firsts[all[i].side] + all[i].index] = i;
    }
    if (ok)
        out->axis = profile_axis_of(out->list, count);
    ok = ok && out->axis.begin_ns && side_move(out, into, new_index, 0) &&
         side_move(out, from, new_index + firsts[1], into->process_count);
    free(new_index);
    free(all);
    return ok;
}

void recordings_merge_fini(struct recordings_merge *m)
{
    free(m->list);
    free(m->number);
    free(m->later_ns);
    free(m->axis.begin_ns);
}
