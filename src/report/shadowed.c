#include "report/shadowed.h"

#include <math.h>

#include "base/saturate.h"
#include "report/text.h"
#include "sigsafe/shadow_budget.h"

enum { FIELD = 10 };

static void field(FILE *out, const struct report_style *style, const char *name)
{
    text_colour(out, style, TEXT_BOLD);
    fprintf(out, "%-*s", FIELD, name);
    text_colour(out, style, TEXT_PLAIN);
}

static uint64_t sum(const uint64_t *counts, unsigned count)
{
    uint64_t all = 0;
    for (unsigned i = 0; i < count; i++)
        all = add_saturated(all, counts[i]);
    return all;
}

static struct shadow_coverage coverage(const struct view *v)
{
    struct profile_totals totals;
    profile_totals(v->profile, &totals);
    return profile_shadows_coverage(observed_shadows(v->profile), totals.cpu_ns);
}

/* ---- text ---- */

void shadowed_ends(FILE *out, const struct view *v, const struct report_style *style)
{
    const struct profile_shadows *s = observed_shadows(v->profile);
    char a[TEXT_NUMBER_SIZE], b[TEXT_NUMBER_SIZE], c[TEXT_NUMBER_SIZE];
    uint64_t length = observed_code(v->profile) ? observed_code(v->profile)->length : 0;
    field(out, style, "shadows");
    fprintf(out, "%s of %s instructions%s at load %g: %s observed", text_count(a, s->started),
            text_count(b, length),
            (double)s->instructions > (double)s->started * (double)length ? " and more" : "",
            (double)s->load_milli / 1000, text_count(c, s->instructions));
    if (s->passed)
        fprintf(out, ", %s passed over", text_count(a, s->passed));
    fputc('\n', out);
    for (unsigned i = 0; i < END_COUNT; i++)
        if (s->ended[i])
            fprintf(out, "%*s%10s  %s: %s\n", FIELD, "", text_count(a, s->ended[i]),
                    profile_end_name(i), profile_end_sentence(i));
    for (unsigned i = 0; i < DECLINE_COUNT; i++)
        if (s->declined[i] && i != DECLINE_LOAD)
            fprintf(out, "%*s%10s  not made, %s: %s\n", FIELD, "", text_count(a, s->declined[i]),
                    profile_decline_name(i), profile_decline_sentence(i));
}

static void write_places(FILE *out, const struct profile_shadows *s,
                         const struct report_style *style)
{
    char number[TEXT_NUMBER_SIZE];
    if (!s->burst_length)
        return;
    field(out, style, "decided");
    fputs("where processes are observed\n", out);
    for (unsigned i = 0; i < PLACE_COUNT; i++)
        if (s->placed[i])
            fprintf(out, "%*s%10s  %s%s: %s\n", FIELD, "", text_count(number, s->placed[i]),
                    shadow_place_is_burst(i) ? "bursts in place, " : "", profile_place_name(i),
                    profile_place_sentence(i));
}

static void write_coverage(FILE *out, const struct view *v, const struct report_style *style)
{
    struct shadow_coverage c = coverage(v);
    char estimate[TEXT_NUMBER_SIZE], low[TEXT_NUMBER_SIZE], high[TEXT_NUMBER_SIZE];
    field(out, style, "coverage");
    fprintf(out, "%s%% of the program's instructions (between %s%% and %s%%, by their rate, %s)\n",
            text_digits(estimate, 2, 100 * c.estimate), text_digits(low, 2, 100 * c.low),
            text_digits(high, 2, 100 * c.high),
            c.measured ? "measured in shadows" : "which is not known");
}

static void write_cost(FILE *out, const struct profile_shadows *s, uint64_t budget_ppm,
                       const struct report_style *style)
{
    char a[TEXT_NUMBER_SIZE], b[TEXT_NUMBER_SIZE], c[TEXT_NUMBER_SIZE], d[TEXT_NUMBER_SIZE];
    field(out, style, "forks");
    fprintf(out, "half of them within %s, all in %s; %s page faults that they caused\n",
            text_duration(a, (double)profile_shadows_pause_ns(s)),
            text_duration(b, (double)s->pause_ns), text_count(c, s->copies));
    if (s->huge_pages) {
        field(out, style, "huge");
        fprintf(out, "%s huge pages that forks had split were put together again, in %s\n",
                text_count(a, s->huge_pages), text_duration(b, (double)s->huge_ns));
    }
    if (s->cost_ns) {
        field(out, style, "window");
        fprintf(out, "shadows cost the program at most %s in any %d s of its time, %s in all",
                text_duration(a, (double)s->worst_ns), PLACE_WINDOW_S,
                text_duration(b, (double)s->cost_ns));
        if (budget_ppm)
            fprintf(out, " (budget %s)",
                    text_duration(c, (double)shadow_budget_limit_ns(budget_ppm)));
        fprintf(out, "\n");
    }
    field(out, style, "elsewhere");
    fprintf(out, "%s of CPU time in shadows, %s page faults\n",
            text_duration(a, (double)s->cpu_ns), text_count(d, s->faults));
}

/* Of recordings in which shadows had all threads. */
static void write_threads(FILE *out, const struct profile_shadows *s,
                          const struct report_style *style)
{
    char a[TEXT_NUMBER_SIZE], b[TEXT_NUMBER_SIZE], c[TEXT_NUMBER_SIZE], d[TEXT_NUMBER_SIZE];
    uint64_t gave_up = sum(s->gave_up, BARRIER_COUNT);
    if (!profile_shadows_stopped(s))
        return;
    field(out, style, "threads");
    fprintf(out, "all stopped at %s of %s barriers, in %s\n", text_count(a, s->barriers),
            text_count(b, add_saturated(s->barriers, gave_up)),
            text_duration(c, (double)s->barrier_ns));
    for (unsigned i = 0; i < BARRIER_COUNT; i++)
        if (s->gave_up[i])
            fprintf(out, "%*s%10s  given up, %s: %s\n", FIELD, "", text_count(a, s->gave_up[i]),
                    profile_barrier_name(i), profile_barrier_sentence(i));
    fprintf(out, "%*s%s threads rebuilt in shadows, %s of them ran; %s asleep; %s switches\n",
            FIELD, "", text_count(a, s->rebuilt), text_count(b, s->scheduled),
            text_count(c, s->asleep), text_count(d, s->switches));
    for (unsigned i = 0; i < SHADOW_CALLS; i++)
        if (s->asleep_in[i])
            fprintf(out, "%*s%10s  asleep in %s\n", FIELD, "", text_count(a, s->asleep_in[i]),
                    profile_call_name(i) ? profile_call_name(i) : "another call, or none");
    if (s->fell_asleep)
        fprintf(out, "%*s%10s  waited for input, while others ran on\n", FIELD, "",
                text_count(a, s->fell_asleep));
}

static void write_calls(FILE *out, const struct profile_shadows *s,
                        const struct report_style *style)
{
    char number[TEXT_NUMBER_SIZE];
    uint64_t groups[CALL_GROUPS] = {0}, all = sum(s->calls, SHADOW_CALLS);
    for (unsigned i = 0; i < SHADOW_CALLS; i++) {
        enum call_group group = profile_call_group(i);
        groups[group] = add_saturated(groups[group], s->calls[i]);
    }
    field(out, style, "calls");
    fprintf(out, "%s system calls", text_count(number, all));
    for (unsigned i = 0; all && i < CALL_GROUPS; i++)
        fprintf(out, "%s %.0f%% %s", i ? "," : ":", text_share(groups[i], all),
                profile_group_name(i));
    fputc('\n', out);
    for (unsigned i = 0; i < SHADOW_CALLS; i++)
        if (s->calls_ended[i])
            fprintf(out, "%*s%10s  ended at %s: %s\n", FIELD, "",
                    text_count(number, s->calls_ended[i]),
                    profile_call_name(i) ? profile_call_name(i) : "an unknown call",
                    profile_call_reason(i));
}

static void write_input(FILE *out, const struct profile_shadows *s,
                        const struct report_style *style)
{
    char a[TEXT_NUMBER_SIZE], b[TEXT_NUMBER_SIZE];
    if (!s->replayed && !s->input_lost)
        return;
    field(out, style, "input");
    fprintf(out,
            "%s reads answered with what the program had read; %s shadows came too late for it, or "
            "it was too much\n",
            text_count(a, s->replayed), text_count(b, s->input_lost));
}

void shadowed_header(FILE *out, const struct view *v, const struct report_style *style)
{
    const struct profile_shadows *s = observed_shadows(v->profile);
    write_places(out, s, style);
    shadowed_ends(out, v, style);
    write_coverage(out, v, style);
    write_cost(out, s, v->profile->budget_ppm, style);
    write_threads(out, s, style);
    write_calls(out, s, style);
    write_input(out, s, style);
}

/* ---- JSON ---- */

static void json_counts(struct json *j, const char *key, const uint64_t *counts, unsigned count,
                        const char *(*name_of)(unsigned))
{
    json_key(j, key);
    json_open(j, '{');
    for (unsigned i = 0; i < count; i++)
        json_key_u64(j, name_of(i), counts[i]);
    json_close(j, '}');
}

static void json_calls(struct json *j, const struct profile_shadows *s)
{
    json_key(j, "syscalls");
    json_open(j, '{');
    for (unsigned group = 0; group < CALL_GROUPS; group++) {
        json_key(j, profile_group_name(group));
        json_open(j, '{');
        for (unsigned i = 0; i < SHADOW_CALLS; i++)
            if (s->calls[i] && profile_call_group(i) == group)
                json_key_u64(j, profile_call_name(i) ? profile_call_name(i) : "unknown",
                             s->calls[i]);
        json_close(j, '}');
    }
    json_close(j, '}');
}

static void json_sleepers(struct json *j, const struct profile_shadows *s)
{
    json_key(j, "asleep_in");
    json_open(j, '{');
    for (unsigned i = 0; i < SHADOW_CALLS; i++)
        if (s->asleep_in[i])
            json_key_u64(j, profile_call_name(i) ? profile_call_name(i) : "other", s->asleep_in[i]);
    json_close(j, '}');
    json_key_u64(j, "fell_asleep", s->fell_asleep);
}

void shadowed_json(struct json *j, const struct view *v)
{
    const struct profile_shadows *s = observed_shadows(v->profile);
    struct shadow_coverage c = coverage(v);
    json_key(j, "shadows");
    json_open(j, '{');
    json_key(j, "load");
    json_double(j, (double)s->load_milli / 1000);
    json_key_u64(j, "started", s->started);
    json_key_u64(j, "completed", s->ended[END_COMPLETE]);
    json_counts(j, "ended", s->ended, END_COUNT, profile_end_name);
    json_counts(j, "declined", s->declined, DECLINE_COUNT, profile_decline_name);
    if (s->burst_length) {
        json_key_u64(j, "burst_length", s->burst_length);
        json_counts(j, "placed", s->placed, PLACE_COUNT, profile_place_name);
    }
    json_key(j, "threads");
    json_open(j, '{');
    json_key_u64(j, "barriers", s->barriers);
    json_counts(j, "gave_up", s->gave_up, BARRIER_COUNT, profile_barrier_name);
    json_key_u64(j, "barrier_ns", s->barrier_ns);
    json_key_u64(j, "rebuilt", s->rebuilt);
    json_key_u64(j, "asleep", s->asleep);
    json_sleepers(j, s);
    json_key_u64(j, "scheduled", s->scheduled);
    json_key_u64(j, "switches", s->switches);
    json_close(j, '}');
    json_key_u64(j, "instructions", s->instructions);
    json_key_u64(j, "passed", s->passed);
    json_key_u64(j, "skipped_writes", s->skipped_writes);
    json_key_u64(j, "replayed", s->replayed);
    json_key_u64(j, "input_lost", s->input_lost);
    json_key(j, "coverage");
    json_double(j, c.estimate);
    json_key(j, "coverage_bounds");
    json_open(j, '[');
    json_double(j, c.low);
    json_double(j, c.high);
    json_close(j, ']');
    json_key(j, "fork_us");
    json_double(j, s->started ? (double)profile_shadows_pause_ns(s) / 1000 : NAN);
    json_key_u64(j, "cow_faults", s->copies);
    json_key(j, "cost");
    json_open(j, '{');
    json_key_u64(j, "fork_ns", s->pause_ns);
    json_key_u64(j, "huge_pages", s->huge_pages);
    json_key_u64(j, "huge_ns", s->huge_ns);
    json_key_u64(j, "program_ns", s->cost_ns);
    json_key_u64(j, "signals_ns", s->signals_ns);
    json_key_u64(j, "worst_window_ns", s->worst_ns);
    json_key(j, "window_budget_ns");
    json_double(j, v->profile->budget_ppm ? (double)shadow_budget_limit_ns(v->profile->budget_ppm)
                                          : NAN);
    json_key_u64(j, "shadow_cpu_ns", s->cpu_ns);
    json_key_u64(j, "shadow_run_ns", s->run_ns);
    json_key_u64(j, "shadow_passed_ns", s->passed_ns);
    json_key_u64(j, "shadow_faults", s->faults);
    json_close(j, '}');
    json_close(j, '}');
    json_calls(j, s);
}
