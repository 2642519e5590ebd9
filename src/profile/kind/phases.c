/* Phases that the program named, and its pauses. */
#include <stdlib.h>
#include <string.h>

#include "profile/kind/kind.h"

static bool needed(const struct profile *p)
{
    for (uint32_t i = 0; i < p->process_count; i++)
        if (p->processes[i].pauses || p->processes[i].paused_ns || p->processes[i].phases_refused)
            return true;
    return p->phase_count > 0;
}

static void put(struct buf *b, const struct encoder *x)
{
    const struct profile *p = x->p;
    buf_put_uleb(b, p->phase_count);
    for (uint32_t i = 0; i < p->phase_count; i++) {
        const struct profile_phase *phase = &p->phases[i];
        size_t length = strlen(phase->name);
        buf_put_uleb(b, length);
        buf_put(b, phase->name, length);
        buf_put_uleb(b, phase->outer);
        buf_put_uleb(b, phase->begun);
        buf_put_uleb(b, phase->elapsed_ns);
    }
    for (uint32_t i = 0; i < p->thread_count; i++)
        buf_put_uleb(b, p->threads[i].phase);
    for (uint32_t i = 0; i < p->process_count; i++) {
        buf_put_uleb(b, p->processes[i].pauses);
        buf_put_uleb(b, p->processes[i].paused_ns);
        buf_put_uleb(b, p->processes[i].phases_refused);
    }
}

static void get(struct decoder *d, struct cursor *c)
{
    struct profile *p = d->p;
    uint32_t count = cursor_count(c, 4, "a number of phases that fits the section");
    p->phases = read_array(c, count, sizeof *p->phases);
    for (; p->phase_count < count && !c->failed; p->phase_count++) {
        struct profile_phase *phase = &p->phases[p->phase_count];
        phase->name = cursor_string(c, "the name of a phase");
        if (!phase->name)
            break;
        phase->outer = (uint32_t)cursor_uleb(c, p->phase_count, "a phase before this one");
        phase->begun = read_u64(c, "how often a phase began");
        phase->elapsed_ns = read_u64(c, "how long a phase lasted");
    }
    for (uint32_t i = 0; i < p->thread_count; i++)
        p->threads[i].phase = (uint32_t)cursor_uleb(c, p->phase_count, "the phase of a thread");
    for (uint32_t i = 0; i < p->process_count; i++) {
        p->processes[i].pauses = read_u64(c, "a number of pauses");
        p->processes[i].paused_ns = read_u64(c, "the time in pauses");
        p->processes[i].phases_refused = read_u64(c, "a number of refused phases");
    }
}

/* Outer phases come before those in them. */
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

static bool merge(struct merger *m)
{
    struct profile_thread *threads = m->into->threads + m->first_thread;
    uint32_t *phase_of = calloc((size_t)m->from->phase_count + 1, sizeof *phase_of);
    bool ok = phase_of && merge_phases(m->into, m->from, phase_of);
    for (uint32_t i = 0; ok && i < m->from->thread_count; i++)
        if (threads[i].phase)
            threads[i].phase = phase_of[threads[i].phase - 1] + 1;
    free(phase_of);
    return ok;
}

const struct section_kind kind_phases = {
    .type = {16, "phases", 0},
    .about = "optional: phases that the program named, and its pauses",
    .needed = needed,
    .put = put,
    .get = get,
    .merge = merge,
};
