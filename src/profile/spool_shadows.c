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

#define ONE(field, how, unit, what) s->field = load(&r->field);
#define TICKS(field, how, unit, what) s->field##_ns = to_ns(load(&r->field##_ticks), hz);
#define MANY(field, count, names, unit, what)                                                      \
    for (unsigned i = 0; i < (count); i++)                                                         \
        s->field[i] = load(&r->field[i]);

static void get(const struct spool_shadows *r, uint64_t hz, struct profile_shadows *s)
{
    s->fork_errno = __atomic_load_n(&r->fork_errno, __ATOMIC_RELAXED);
    SHADOW_FIGURES(ONE, TICKS, MANY)
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
