#include "report/header_parts.h"

#include <string.h>
#include <sys/wait.h>

#include "base/saturate.h"
#include "profile/coverage.h"
#include "profile/phases.h"
#include "profile/simulate.h"
#include "report/counted.h"
#include "report/loads.h"
#include "report/shadowed.h"
#include "report/text.h"
#include "report/values.h"

/* Percent from which something is wrong with the profile, and is said above every view. */
enum { DROPPED_MUCH = 1, TRUNCATED_MUCH = 2, GUESSED_MUCH = 10 };
enum { COMMAND_COLUMNS = 120, FIELD_COLUMNS = 10 };

/* ---- two lines ---- */

static void write_command(FILE *out, const struct profile *p, const struct report_style *style)
{
    header_field(out, style, "command");
    text_name(out, p->command,
              style->width ? (size_t)style->width - FIELD_COLUMNS : COMMAND_COLUMNS);
    fputc('\n', out);
}

static void write_time(FILE *out, const struct profile *p)
{
    char number[TEXT_NUMBER_SIZE];
    uint32_t threads = profile_thread_total(p);
    fputs(text_duration(number, (double)p->duration_ns), out);
    if (p->kept_from_ns)
        fprintf(out, " from %s on", text_duration(number, (double)p->kept_from_ns));
    fprintf(out, ", %u process%s, %u thread%s",
            p->process_count, p->process_count == 1 ? "" : "es", threads, threads == 1 ? "" : "s");
    if (p->recovered)
        fputs(", recovered", out);
    if (p->exit_status == -1)
        return;
    if (WIFSIGNALED(p->exit_status))
        fprintf(out, ", killed by signal %d", WTERMSIG(p->exit_status));
    else if (WEXITSTATUS(p->exit_status))
        fprintf(out, ", exit status %d", WEXITSTATUS(p->exit_status));
}

static void write_engine(FILE *out, const struct profile *p)
{
    const struct profile_counts *c = observed_code(p);
    const struct profile_shadows *s = observed_shadows(p);
    char a[TEXT_NUMBER_SIZE], b[TEXT_NUMBER_SIZE];
    if (profile_is_exact(p))
        fputs("; exact", out);
    if (s)
        fprintf(out, "; %s shadow%s, %s instructions observed", text_count(a, s->started),
                s->started == 1 ? "" : "s", text_count(b, s->instructions));
    if (c && c->bursts)
        fprintf(out, "; %s burst%s, %s instructions", text_count(a, c->bursts),
                c->bursts == 1 ? "" : "s", text_count(b, c->burst_instructions));
    if (c) {
        fputs(", tool ", out);
        text_name(out, c->tool, 0);
    }
    if (c && profile_is_exact(p) && c->counted)
        fprintf(out, ": %s instructions", text_count(a, c->instructions));
}

static void write_samples(FILE *out, const struct view *v, const struct profile_totals *t)
{
    const struct profile *p = v->profile;
    char number[TEXT_NUMBER_SIZE];
    double amount = (double)t->weight * (double)p->metrics[0].period;
    fprintf(out, "; %s sample%s of ", text_count(number, t->taken), t->taken == 1 ? "" : "s");
    text_name(out, p->metrics[0].trigger, 0);
    if (header_in_time(p))
        fprintf(out, ", every %s", text_duration(number, (double)p->metrics[0].period));
    else if (header_in_bytes(p))
        fprintf(out, ", every %s", text_bytes(number, (double)p->metrics[0].period));
    else
        fprintf(out, ", every %s", text_count(number, p->metrics[0].period));
    if (header_in_time(p))
        fprintf(out, ": %s", text_duration(number, amount));
    else if (header_in_bytes(p) && !view_has_heap(v))
        fprintf(out, ": %s", text_bytes(number, amount));
}

static void write_heap(FILE *out, const struct view *v)
{
    char a[TEXT_NUMBER_SIZE], b[TEXT_NUMBER_SIZE], c[TEXT_NUMBER_SIZE];
    const uint64_t *heap = view_tree_weights(&v->tree, 0);
    double period = (double)v->profile->metrics[0].period;
    fprintf(out, ": %s allocated, %s live at the end, %s live at the peak",
            text_bytes(a, (double)heap[HEAP_ALLOCATED] * period),
            text_bytes(b, (double)heap[HEAP_LIVE] * period),
            text_bytes(c, (double)heap[HEAP_PEAK] * period));
}

static double cost_percent(const struct profile_totals *t)
{
    return t->cpu_ns && !t->sandboxed ? 100 * profile_spent_ns(t) / (double)t->cpu_ns : 0;
}

/* By a metric of a simulation that is not all of its cycles. */
static bool is_part(const struct view *v)
{
    return profile_is_simulated(v->profile) && v->metric != SIMULATED_CYCLES;
}

static void write_recording(FILE *out, const struct view *v, const struct profile_totals *t,
                            const struct report_style *style)
{
    const struct profile *p = v->profile;
    char a[TEXT_NUMBER_SIZE], b[TEXT_NUMBER_SIZE];
    header_field(out, style, "recording");
    write_time(out, p);
    if (observed_code(p) || observed_shadows(p))
        write_engine(out, p);
    if (!observed_code(p) || (t->taken && !observed_code(p)->block_count && !profile_is_exact(p)))
        write_samples(out, v, t);
    if (view_has_heap(v))
        write_heap(out, v);
    if (!profile_is_exact(p) && cost_percent(t) > 0)
        fprintf(out, "; cost %.2f%%", cost_percent(t));
    if (!v->of_blocks && !is_part(v) && (v->samples_all != t->weight || view_is_refined(v)))
        fprintf(out, "; shown: %s of %s %s (%.2f%%)", text_count(a, v->samples),
                text_count(b, t->weight), text_unit(v), text_share(v->samples, t->weight));
    uint32_t notes = style->chosen ? header_notes(NULL, v, style) : 0;
    if (notes)
        fprintf(out, "; %u note%s (--verbose)", notes, notes == 1 ? "" : "s");
    fputc('\n', out);
}

/* ---- what is wrong ---- */

static void write_budget(FILE *out, const struct profile *p, const struct profile_totals *t,
                         const struct report_style *style)
{
    double cost = cost_percent(t);
    if (!p->budget_ppm || cost <= p->budget_ppm / 1e4)
        return;
    header_field(out, style, "cost");
    fprintf(out, "%.2f%% of CPU time, and the budget is %.4g%%: --verbose says what for\n", cost,
            p->budget_ppm / 1e4);
}

static void write_losses(FILE *out, const struct profile *p, const struct profile_totals *t,
                         const struct report_style *style)
{
    struct profile_coverage coverage;
    if (header_dropped_percent(p, t) > (double)DROPPED_MUCH)
        header_dropped(out, p, t, style);
    if (text_share(t->truncated_all, t->weight) > (double)TRUNCATED_MUCH ||
        text_share(t->guessed, t->taken) > (double)GUESSED_MUCH)
        header_truncated(out, t, style);
    if (profile_coverage(p, t, &coverage) && coverage.lacking)
        header_coverage(out, p, t, style);
    write_budget(out, p, t, style);
}

/* A burst ends for some reason always; a whole run, or a shadow that was never begun, should
 * not. */
static void write_engine_losses(FILE *out, const struct view *v, const struct report_style *style)
{
    const struct profile *p = v->profile;
    const struct profile_counts *c = observed_code(p);
    const struct profile_shadows *s = observed_shadows(p);
    uint64_t stopped = 0;
    for (unsigned i = 0; c && i < STOP_COUNT; i++)
        stopped = add_saturated(stopped, c->stopped[i]);
    if (stopped && profile_is_exact(p))
        counted_stops(out, c, style);
    if (c)
        counted_unread(out, c, style);
    counted_folded(out, p, style);
    if (s && !s->started)
        shadowed_ends(out, v, style);
    if (observed_values(p))
        report_values_losses(out, observed_values(p));
}

static uint64_t phases_refused(const struct profile *p)
{
    uint64_t refused = 0;
    for (uint32_t i = 0; i < p->process_count; i++)
        refused = add_saturated(refused, p->processes[i].phases_refused);
    return refused;
}

void header_brief(FILE *out, const struct view *v, const struct report_style *style)
{
    const struct profile *p = v->profile;
    const struct profile_left_out left = profile_left_out(p);
    struct profile_totals totals;
    char number[TEXT_NUMBER_SIZE];
    profile_totals(p, &totals);
    write_command(out, p, style);
    write_recording(out, v, &totals, style);
    header_others(out, p, style);
    if (!profile_is_exact(p))
        write_losses(out, p, &totals, style);
    write_engine_losses(out, v, style);
    if (left.threads || left.processes || left.silenced)
        header_sandboxes(out, p, style);
    header_pauses(out, p, &totals, style);
    if (view_has_heap(v))
        header_heap_missed(out, p);
    if (phases_refused(p)) {
        header_field(out, style, "phases");
        fprintf(out, "%s were too many or too deep, and are part of their outer phases\n",
                text_count(number, phases_refused(p)));
    }
    /* Those of load latencies are how they were measured; of other modules they may be all there
     * is. */
    if (observed_values(p) && !style->chosen && !loads_were_asked_for(v))
        report_values_facts(out, observed_values(p), "numbers");
    if (!style->chosen)
        header_notes(out, v, style);
}
