#include "profile/shadows.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/saturate.h"
#include "profile/profile.h"

#define REASON_NAME(id, name, sentence) [id] = {name, sentence},

struct reason {
    const char *name, *sentence;
};

static const struct reason ends[END_COUNT] = {END_REASONS(REASON_NAME)};
static const struct reason declines[DECLINE_COUNT] = {DECLINE_REASONS(REASON_NAME)};
static const struct reason places[PLACE_COUNT] = {PLACE_REASONS(REASON_NAME)};
static const struct reason barriers[BARRIER_COUNT] = {BARRIER_REASONS(REASON_NAME)};

#define CALL(number, name, group, how, reason) [number] = {#name, reason, CALL_##group},
static const struct call {
    const char *name, *reason;
    enum call_group group;
} calls[SHADOW_CALLS] = {
#include "sigsafe/shadow_calls.inc"
};
#undef CALL

const char *profile_end_name(unsigned end)
{
    return end < END_COUNT ? ends[end].name : "?";
}

const char *profile_end_sentence(unsigned end)
{
    return end < END_COUNT ? ends[end].sentence : "?";
}

const char *profile_decline_name(unsigned decline)
{
    return decline < DECLINE_COUNT ? declines[decline].name : "?";
}

const char *profile_decline_sentence(unsigned decline)
{
    return decline < DECLINE_COUNT ? declines[decline].sentence : "?";
}

const char *profile_place_name(unsigned place)
{
    return place < PLACE_COUNT ? places[place].name : "?";
}

const char *profile_place_sentence(unsigned place)
{
    return place < PLACE_COUNT ? places[place].sentence : "?";
}

const char *profile_barrier_name(unsigned reason)
{
    return reason < BARRIER_COUNT ? barriers[reason].name : "?";
}

const char *profile_barrier_sentence(unsigned reason)
{
    return reason < BARRIER_COUNT ? barriers[reason].sentence : "?";
}

const char *profile_group_name(unsigned group)
{
    static const char *const names[CALL_GROUPS] = {"benign", "output", "input", "miscellaneous",
                                                   "unsafe"};
    return group < CALL_GROUPS ? names[group] : "?";
}

const char *profile_call_name(unsigned number)
{
    return number < SHADOW_CALLS ? calls[number].name : NULL;
}

enum call_group profile_call_group(unsigned number)
{
    return number < SHADOW_CALLS && calls[number].name ? calls[number].group : CALL_UNSAFE;
}

const char *profile_call_reason(unsigned number)
{
    return number < SHADOW_CALLS && calls[number].name ? calls[number].reason : "it is not known";
}

#define ROW(field, how, unit, what)                                                                \
    FIGURE_ROW("shadow", struct profile_shadows, field, how, unit, what),
#define ROW_NS(field, how, unit, what)                                                             \
    FIGURE_ROW("shadow", struct profile_shadows, field##_ns, how, unit, what),
#define ROW_MANY(field, count, names, unit, what)                                                  \
    FIGURE_ROW_MANY("shadow", struct profile_shadows, field, count, names, unit, what),
static const struct figure_row rows[] = {
    SHADOW_FIGURES(ROW, ROW_NS, ROW_MANY) SHADOW_SETTINGS(ROW)
};

static void *of(const struct profile *p)
{
    return observed_shadows(p);
}

static void *make(struct profile *p)
{
    struct profile_shadows *s = calloc(1, sizeof *s);
    if (s)
        profile_observe(p, OBSERVED_SHADOWS, s);
    return s;
}

const struct figure_family shadow_figures = {
    .rows = rows, .count = sizeof rows / sizeof *rows, .of = of, .make = make};

void profile_shadows_add(struct profile_shadows *into, const struct profile_shadows *from)
{
    if (from->fork_errno)
        into->fork_errno = from->fork_errno;
    figures_add(&shadow_figures, into, from);
}

bool profile_shadows_stopped(const struct profile_shadows *s)
{
    bool any = s->barriers;
    for (unsigned i = 0; i < BARRIER_COUNT; i++)
        any = any || s->gave_up[i];
    return any;
}

uint64_t profile_shadows_pause_ns(const struct profile_shadows *s)
{
    uint64_t all = 0, below = 0;
    for (unsigned i = 0; i < SHADOW_PAUSES; i++)
        all = add_saturated(all, s->pauses[i]);
    for (unsigned i = 0; i < SHADOW_PAUSES; i++) {
        below = add_saturated(below, s->pauses[i]);
        if (all && below >= all / 2 + all % 2) {
            uint64_t ns = latency_bucket_ns(i); /* the bucket's upper end */
            return ns < s->pause_ns ? ns : s->pause_ns;
        }
    }
    return 0;
}

static double at_most(double share, double most)
{
    return share < most ? share : most;
}

struct shadow_coverage profile_shadows_coverage(const struct profile_shadows *s, uint64_t cpu_ns)
{
    struct shadow_coverage c = {0};
    if (!cpu_ns)
        return c;
    double rate = 10 * (double)s->instructions / (double)cpu_ns; /* tenths of one a nanosecond */
    double usual = SHADOW_USUAL, fastest = SHADOW_FASTEST, slowest = SHADOW_SLOWEST;
    c.measured = s->passed_ns && s->passed >= SHADOW_RATE_LEAST;
    if (c.measured) {
        slowest = 10 * (double)s->passed / (double)s->passed_ns;
        usual = slowest * (double)SHADOW_PASSED_USUAL / 10;
        fastest = slowest * (double)SHADOW_PASSED_MOST / 10;
    }
    c.high = at_most(at_most(rate / slowest, (double)s->run_ns / (double)cpu_ns), 1);
    c.estimate = at_most(rate / usual, c.high);
    c.low = at_most(rate / fastest, c.high);
    return c;
}
