#include "report/header_parts.h"

#include <string.h>
#include <sys/wait.h>

#include "base/saturate.h"
#include "profile/coverage.h"
#include "profile/phases.h"
#include "report/counted.h"
#include "report/table/view.h"
#include "report/shadowed.h"
#include "report/text.h"
#include "report/values.h"

enum { LINES_COMPARED = 64 };
enum { COMMAND_WIDTH = 500 }; /* shell scripts and lists of files can be arguments too */

void header_field(FILE *out, const struct report_style *style, const char *name)
{
    text_colour(out, style, TEXT_BOLD);
    fprintf(out, "%-10s", name);
    text_colour(out, style, TEXT_PLAIN);
}

bool header_in_time(const struct profile *p)
{
    return !strcmp(p->metrics[0].unit, "nanoseconds");
}

bool header_in_bytes(const struct profile *p)
{
    return !strcmp(p->metrics[0].unit, "bytes");
}

static void write_ending(FILE *out, const struct profile *p)
{
    int status = p->exit_status;
    if (p->recovered)
        fputs("; recovered: the collector did not end it", out);
    if (status == -1)
        return;
    if (WIFSIGNALED(status))
        fprintf(out, "; killed by signal %d", WTERMSIG(status));
    else if (WEXITSTATUS(status))
        fprintf(out, "; exit status %d", WEXITSTATUS(status));
}

static void write_trigger(FILE *out, const struct profile *p, const struct report_style *style)
{
    char number[TEXT_NUMBER_SIZE];
    header_field(out, style, "trigger");
    text_name(out, p->metrics[0].trigger, 0);
    if (header_in_time(p))
        fprintf(out, ", every %s", text_duration(number, (double)p->metrics[0].period));
    else if (header_in_bytes(p))
        fprintf(out, ", every %s", text_bytes(number, (double)p->metrics[0].period));
    else
        fprintf(out, ", every %s events", text_count(number, p->metrics[0].period));
    if (header_in_time(p) && p->metrics[0].period &&
        strcmp(p->metrics[0].trigger, "lock-wait") != 0)
        fprintf(out, " (%s Hz)", text_digits(number, 4, 1e9 / (double)p->metrics[0].period));
    fputs(p->metrics[0].how == METRIC_RANDOMIZED ? ", randomized\n" : "\n", out);
}

static void write_recording(FILE *out, const struct profile *p, const struct report_style *style)
{
    char number[TEXT_NUMBER_SIZE];
    uint32_t threads = profile_thread_total(p);
    header_field(out, style, "command");
    text_name(out, p->command, COMMAND_WIDTH);
    fputc('\n', out);
    if (!profile_is_exact(p))
        write_trigger(out, p, style);

    header_field(out, style, "recording");
    fprintf(out, "%s", text_duration(number, (double)p->duration_ns));
    fprintf(out, ", %u process%s, %u thread%s", p->process_count, p->process_count == 1 ? "" : "es",
            threads, threads == 1 ? "" : "s");
    write_ending(out, p);
    fputc('\n', out);
    if (p->cpu[0] || p->kernel[0]) {
        header_field(out, style, "machine");
        text_name(out, p->cpu, 0);
        fprintf(out, "%s%u CPU%s, Linux ", p->cpu[0] ? ", " : "", p->cpus, p->cpus == 1 ? "" : "s");
        text_name(out, p->kernel, 0);
        fputc('\n', out);
    }
}

static void write_samples(FILE *out, const struct view *v, const struct profile_totals *t,
                          const struct report_style *style)
{
    const struct profile *p = v->profile;
    char a[TEXT_NUMBER_SIZE], b[TEXT_NUMBER_SIZE];
    header_field(out, style, "samples");
    fprintf(out, "%s", text_count(a, t->taken));
    if (t->weight != t->taken)
        fprintf(out, ", standing for %s periods", text_count(a, t->weight));
    if (header_in_time(p)) {
        fprintf(out, ": %s", text_duration(a, (double)t->weight * (double)p->metrics[0].period));
        if (!strcmp(p->metrics[0].trigger, "cpu"))
            fprintf(out, " of CPU time; the threads used %s%s", text_duration(b, (double)t->cpu_ns),
                    t->sandboxed ? " and, in a sandbox, what is not known" : "");
    }
    if (header_in_bytes(p))
        fprintf(out, ": %s", text_bytes(a, (double)t->weight * (double)p->metrics[0].period));
    fputc('\n', out);
    if (v->samples_all != t->weight || view_is_refined(v)) {
        header_field(out, style, "shown");
        fprintf(out, "%s of %s samples (%.2f%%)", text_count(a, v->samples),
                text_count(b, t->weight), text_share(v->samples, t->weight));
        if (view_is_refined(v) && v->samples_all != t->weight)
            fprintf(out, ", of the chosen threads' %s (%.2f%%)", text_count(b, v->samples_all),
                    text_share(v->samples, v->samples_all));
        fputc('\n', out);
    }
}

void header_coverage(FILE *out, const struct profile *p, const struct profile_totals *t,
                     const struct report_style *style)
{
    char a[TEXT_NUMBER_SIZE], b[TEXT_NUMBER_SIZE];
    struct profile_coverage c;
    if (!profile_coverage(p, t, &c))
        return;
    header_field(out, style, "covered");
    fprintf(out,
            "%.1f%% of %s, the CPU time that the kernel accounts to the program and to what it "
            "waited for\n",
            100 * c.sampled_ns / c.all_ns, text_duration(a, c.all_ns));
    if (c.lacking && c.early_ns > c.all_ns / 50)
        fprintf(out,
                "%-10s%s were used before sampling could begin in %s process%s: exec, the loader, "
                "Penumbra's own beginning\n",
                "", text_duration(a, c.early_ns), text_count(b, p->process_count),
                p->process_count == 1 ? "" : "es");
    if (c.lacking && c.beyond_ns > c.all_ns / 50)
        fprintf(out,
                "%-10s%s are in no thread's account: the ends of processes, and programs that are "
                "not recorded\n",
                "", text_duration(a, c.beyond_ns));
    double dropped_ns = (double)t->dropped_all * (double)p->metrics[0].period;
    double rest_ns = c.all_ns - c.sampled_ns - c.early_ns - c.beyond_ns -
                     (double)t->drops[DROP_PAUSED] * (double)p->metrics[0].period;
    if (c.lacking && dropped_ns > c.all_ns / 50)
        fprintf(out, "%-10s%s are samples that were dropped\n", "", text_duration(a, dropped_ns));
    if (c.lacking && rest_ns - dropped_ns > c.all_ns / 50)
        fprintf(out, "%-10s%s %s\n", "", text_duration(a, rest_ns - dropped_ns),
                t->sandboxed ? "were used by processes in a sandbox (seccomp, no_new_privs), where "
                               "not all is sampled"
                             : "were used by threads that were sampled late, seldom or not at all: "
                               "their trigger could not be set or came late");
}

static void write_reason(FILE *out, uint64_t count, const char *name, const char *sentence)
{
    char number[TEXT_NUMBER_SIZE];
    if (count)
        fprintf(out, "%-10s%10s  %s: %s\n", "", text_count(number, count), name, sentence);
}

/* Triggers that were not dropped: those for bursts or shadows, or all of them where samples are
 * taken besides. */
static uint64_t count_kept(const struct profile *p, const struct profile_totals *t)
{
    const struct profile_shadows *s = observed_shadows(p);
    uint64_t kept = (observed_code(p) ? observed_code(p)->bursts : 0) + (s ? s->started : 0);
    for (unsigned i = 0; s && i < DECLINE_COUNT; i++)
        kept += s->declined[i];
    return kept > t->weight ? kept : t->weight;
}

double header_dropped_percent(const struct profile *p, const struct profile_totals *t)
{
    return text_share(t->dropped_all, add_saturated(t->dropped_all, count_kept(p, t)));
}

void header_dropped(FILE *out, const struct profile *p, const struct profile_totals *t,
                    const struct report_style *style)
{
    char number[TEXT_NUMBER_SIZE];
    header_field(out, style, "dropped");
    fprintf(out, "%s", t->dropped_all ? text_count(number, t->dropped_all) : "none");
    if (t->dropped_all)
        fprintf(out, " (%.2f%% of all)", header_dropped_percent(p, t));
    fputc('\n', out);
    for (unsigned i = 0; i < DROP_COUNT; i++)
        if (i != DROP_PAUSED)
            write_reason(out, t->drops[i], profile_drop_name(i), profile_drop_sentence(i));
}

void header_truncated(FILE *out, const struct profile_totals *t, const struct report_style *style)
{
    char number[TEXT_NUMBER_SIZE];
    header_field(out, style, "truncated");
    fprintf(out, "%s", t->truncated_all ? text_count(number, t->truncated_all) : "none");
    if (t->truncated_all)
        fprintf(out, " (%.2f%% of the stacks are incomplete)",
                text_share(t->truncated_all, t->weight));
    if (t->guessed)
        fprintf(out, "; %s with a guessed frame (%.2f%%)", text_count(number, t->guessed),
                text_share(t->guessed, t->taken));
    fputc('\n', out);
    for (unsigned i = TRUNC_NONE + 1; i < TRUNC_COUNT; i++)
        write_reason(out, t->truncated[i], profile_truncation_name(i),
                     profile_truncation_sentence(i));
}

static void write_cost(FILE *out, const struct profile *p, const struct profile_totals *t,
                       const struct report_style *style)
{
    char a[TEXT_NUMBER_SIZE], b[TEXT_NUMBER_SIZE], c[TEXT_NUMBER_SIZE];
    double spent = profile_spent_ns(t);
    header_field(out, style, "cost");
    if (t->cpu_ns && !t->sandboxed)
        fprintf(out, "%.2f%% of CPU time", 100 * spent / (double)t->cpu_ns);
    else
        fprintf(out, "%s", text_duration(a, spent));
    if (header_in_bytes(p) || !strcmp(p->metrics[0].trigger, "lock-wait"))
        fprintf(out, ": %s for samples", text_duration(a, (double)t->cost_ns));
    else
        fprintf(
            out, ": %s in Penumbra's own code and %s signal%s of %s%s",
            text_duration(a, (double)t->cost_ns), text_count(b, t->deliveries),
            t->deliveries == 1 ? "" : "s",
            text_duration(c, t->deliveries ? (double)t->delivered_ns / (double)t->deliveries : 0),
            t->deliveries == 1 ? "" : " each");
    if (t->switches)
        fprintf(out, ", %s at %s switch%s of threads", text_duration(a, (double)t->switched_ns),
                text_count(b, t->switches), t->switches == 1 ? "" : "es");
    if (t->begun_ns)
        fprintf(out, ", %s at the beginning and the end of %s processes",
                text_duration(a, (double)t->begun_ns),
                text_count(b, p->begun.executed + p->begun.forked));
    if (observed_shadows(p))
        fprintf(out, ", %s for shadows", text_duration(a, (double)t->shadows_ns));
    if (p->budget_ppm)
        fprintf(out, " (budget %.4g%%)", p->budget_ppm / 1e4);
    fputc('\n', out);
}

void header_heap_missed(FILE *out, const struct profile *p)
{
    char number[TEXT_NUMBER_SIZE];
    uint64_t missed = 0;
    for (uint32_t i = 0; i < p->process_count; i++)
        missed = add_saturated(missed, p->processes[i].heap_missed);
    if (missed)
        fprintf(out, "%-10s%s samples were not followed to their end: what is live may be more\n",
                "", text_count(number, missed));
}

/* What is live is known for all that is shown. */
static void write_heap(FILE *out, const struct view *v, const struct report_style *style)
{
    char a[TEXT_NUMBER_SIZE], b[TEXT_NUMBER_SIZE], c[TEXT_NUMBER_SIZE];
    const struct profile *p = v->profile;
    const uint64_t *heap = view_tree_weights(&v->tree, 0);
    double period = (double)p->metrics[0].period;
    header_field(out, style, "heap");
    fprintf(out, "%s allocated, %s live at the end, %s live at the peak",
            text_bytes(a, (double)heap[HEAP_ALLOCATED] * period),
            text_bytes(b, (double)heap[HEAP_LIVE] * period),
            text_bytes(c, (double)heap[HEAP_PEAK] * period));
    if (p->process_count == 1 && p->processes[0].heap_peak_ns)
        fprintf(out, " (after %s)", text_duration(a, (double)p->processes[0].heap_peak_ns));
    else if (p->process_count > 1)
        fputs(" (of each process)", out);
    fputc('\n', out);
    header_heap_missed(out, p);
}

void header_pauses(FILE *out, const struct profile *p, const struct profile_totals *t,
                   const struct report_style *style)
{
    char a[TEXT_NUMBER_SIZE], b[TEXT_NUMBER_SIZE], c[TEXT_NUMBER_SIZE];
    uint64_t pauses = 0, paused_ns = 0;
    for (uint32_t i = 0; i < p->process_count; i++) {
        pauses = add_saturated(pauses, p->processes[i].pauses);
        paused_ns = add_saturated(paused_ns, p->processes[i].paused_ns);
    }
    if (!pauses)
        return;
    header_field(out, style, "paused");
    fprintf(out, "%s by the program%s, %s in all; %s samples fell into it and were not taken\n",
            pauses == 1 ? "once" : text_count(a, pauses), pauses == 1 ? "" : " times",
            text_duration(b, (double)paused_ns), text_count(c, t->drops[DROP_PAUSED]));
}

static void write_phases(FILE *out, const struct profile *p, const struct report_style *style)
{
    char a[TEXT_NUMBER_SIZE];
    uint64_t refused = 0;
    for (uint32_t i = 0; i < p->process_count; i++)
        refused = add_saturated(refused, p->processes[i].phases_refused);
    if (p->phase_count) {
        header_field(out, style, "phases");
        fprintf(out, "%u (--by-phase lists them, --phase NAME shows one)\n", p->phase_count);
    }
    if (refused)
        fprintf(out, "%-10s%s more were too many or too deep, and are part of their outer phases\n",
                "", text_count(a, refused));
}

void header_sandboxes(FILE *out, const struct profile *p, const struct report_style *style)
{
    char a[TEXT_NUMBER_SIZE], b[TEXT_NUMBER_SIZE];
    const struct profile_left_out left = profile_left_out(p);
    uint64_t sandboxed = profile_sandboxed(p);
    if (!sandboxed)
        return;
    header_field(out, style, "sandbox");
    fprintf(
        out,
        "entered by %s process%s (seccomp), in which not all is sampled, nor its CPU time known\n",
        text_count(a, sandboxed), sandboxed == 1 ? "" : "es");
    if (left.silenced)
        fprintf(out,
                "%-10s%s thread%s sampled only until %s entered: a sample could end or stop the "
                "program there (the filter forbids "
                "rt_sigreturn, or it is traced)\n",
                "", text_count(a, left.silenced), left.silenced == 1 ? " is" : "s are",
                left.silenced == 1 ? "it" : "they");
    if (left.threads || left.processes)
        fprintf(out,
                "%-10s%s thread%s and %s process%s that were made there are not in this profile\n",
                "", text_count(a, left.threads), left.threads == 1 ? "" : "s",
                text_count(b, left.processes), left.processes == 1 ? "" : "es");
    for (unsigned i = 0; i < LEFT_COUNT; i++)
        if (p->left.left_out[i])
            fprintf(out, "%-10s%8s %s\n", "", text_count(a, p->left.left_out[i]),
                    profile_left_sentence(i));
}

struct lines {
    const char *seen[LINES_COMPARED]; /* the last ones, each once */
    size_t lengths[LINES_COMPARED], count;
};

static bool line_is_new(struct lines *l, const char *line, size_t length)
{
    size_t kept = l->count < LINES_COMPARED ? l->count : LINES_COMPARED;
    for (size_t i = 0; i < kept; i++)
        if (l->lengths[i] == length && memcmp(l->seen[i], line, length) == 0)
            return false;
    l->seen[l->count % LINES_COMPARED] = line;
    l->lengths[l->count % LINES_COMPARED] = length;
    l->count++;
    return true;
}

/* Calls for each line that has not been met: writes it, or without `out` counts it only. */
static uint32_t write_lines(FILE *out, const struct report_style *style, struct lines *l,
                            const char *name, const char *text)
{
    uint32_t count = 0;
    while (*text) {
        size_t length = strcspn(text, "\n");
        bool is_new = length && line_is_new(l, text, length);
        count += is_new;
        if (is_new && out) {
            char line[1024];
            snprintf(line, sizeof line, "%.*s", (int)(length < 1000 ? length : 1000), text);
            header_field(out, style, name);
            text_name(out, line, 0);
            fputc('\n', out);
        }
        text += length + (text[length] == '\n');
    }
    return count;
}

uint32_t header_notes(FILE *out, const struct view *v, const struct report_style *style)
{
    struct lines l = { .count = 0 };
    uint32_t notes = write_lines(out, style, &l, "note", v->profile->notes);
    return notes + write_lines(out, style, &l, "warning", symbols_warnings(v->symbols));
}

static void write_all(FILE *out, const struct view *v, const struct report_style *style)
{
    struct profile_totals totals;
    profile_totals(v->profile, &totals);
    write_recording(out, v->profile, style);
    const struct profile_counts *counts = observed_code(v->profile);
    if (counts)
        counted_header(out, v, style);
    tables_header(out, v, style);
    if (observed_shadows(v->profile))
        shadowed_header(out, v, style);
    if (!counts || (totals.taken && !counts->block_count))
        write_samples(out, v, &totals, style);
    header_others(out, v->profile, style);
    header_coverage(out, v->profile, &totals, style);
    if (view_has_heap(v))
        write_heap(out, v, style);
    write_phases(out, v->profile, style);
    header_pauses(out, v->profile, &totals, style);
    header_sandboxes(out, v->profile, style);
    if (!profile_is_exact(v->profile)) {
        header_dropped(out, v->profile, &totals, style);
        header_truncated(out, &totals, style);
        write_cost(out, v->profile, &totals, style);
    }
    if (observed_values(v->profile)) {
        header_field(out, style, "values");
        report_values_header(out, observed_values(v->profile));
    }
    header_notes(out, v, style);
}

void report_header(FILE *out, const struct view *v, const struct report_style *style)
{
    if (style->verbose)
        write_all(out, v, style);
    else
        header_brief(out, v, style);
}
