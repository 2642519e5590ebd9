#include "profile/spool_shadows.h"

#include <stdlib.h>

#include "sigsafe/spool_shadow.h"

static uint64_t load(const uint64_t *at)
{
    return __atomic_load_n(at, __ATOMIC_RELAXED);
}

static uint64_t to_ns(uint64_t ticks, uint64_t hz)
{
    unsigned __int128 ns = hz ? (unsigned __int128)ticks * 1000000000u / hz : 0;
    return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

static void get(const struct spool_shadows *r, uint64_t hz, struct profile_shadows *s)
{
    s->started = load(&r->started);
    for (unsigned i = 0; i < END_COUNT; i++)
        s->ended[i] = load(&r->ended[i]);
    for (unsigned i = 0; i < DECLINE_COUNT; i++)
        s->declined[i] = load(&r->declined[i]);
    s->fork_errno = __atomic_load_n(&r->fork_errno, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < PLACE_COUNT; i++)
        s->placed[i] = load(&r->placed[i]);
    s->instructions = load(&r->instructions);
    s->passed = load(&r->passed);
    s->passed_ns = load(&r->passed_ns);
    s->skipped_writes = load(&r->skipped_writes);
    s->replayed = load(&r->replayed);
    s->input_lost = load(&r->input_lost);
    s->cpu_ns = load(&r->cpu_ns);
    s->run_ns = load(&r->run_ns);
    s->faults = load(&r->faults);
    s->pause_ns = to_ns(load(&r->pause_ticks), hz);
    for (unsigned i = 0; i < SHADOW_PAUSES; i++)
        s->pauses[i] = load(&r->pauses[i]);
    s->copies = load(&r->copies);
    s->huge_pages = load(&r->huge_pages);
    s->huge_ns = load(&r->huge_ns);
    s->cost_ns = load(&r->cost_ns);
    s->worst_ns = load(&r->worst_ns);
    s->barriers = load(&r->barriers);
    for (unsigned i = 0; i < BARRIER_COUNT; i++)
        s->gave_up[i] = load(&r->gave_up[i]);
    s->barrier_ns = to_ns(load(&r->barrier_ticks), hz);
    s->rebuilt = load(&r->rebuilt);
    s->asleep = load(&r->asleep);
    s->scheduled = load(&r->scheduled);
    s->switches = load(&r->switches);
    s->fell_asleep = load(&r->fell_asleep);
    for (unsigned i = 0; i < SHADOW_CALLS; i++) {
        s->asleep_in[i] = load(&r->asleep_in[i]);
        s->calls[i] = load(&r->calls[i]);
        s->calls_ended[i] = load(&r->calls_ended[i]);
    }
}

bool spool_shadows_read(struct spool_view *v, spool_ref ref, uint64_t tsc_hz,
                        struct profile_shadows *to)
{
    const struct spool_shadows *record = ref ? spool_view_visit(v, ref, sizeof *record) : NULL;
    struct profile_shadows *one = record ? calloc(1, sizeof *one) : NULL;
    if (one) {
        get(record, tsc_hz, one);
        profile_shadows_add(to, one);
    }
    free(one);
    return !record || one;
}
