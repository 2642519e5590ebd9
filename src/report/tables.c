#include "report/report.h"

#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "profile/phases.h"
#include "report/text.h"
#include "report/totals.h"

/* Columns that function names are padded to at most, so that images align. */
enum { NAME_COLUMNS = 56, NAME_COLUMNS_MIN = 20, IMAGE_COLUMNS = 24, COUNT_COLUMNS = 12,
       HEAP_COLUMNS = 35, PHASE_COLUMNS = 100 };

static void column_titles(FILE *out, const struct view *v, const struct report_style *style,
                          const char *first, const char *second, bool heap, const char *rest)
{
    int width = text_percent_width(style);
    text_colour(out, style, TEXT_DIM);
    fprintf(out, "%*s", width, first);
    if (second)
        fprintf(out, "  %*s", width, second);
    if (view_is_refined(v))
        fprintf(out, "  %7s", "of all");
    fprintf(out, "  %*s  ", COUNT_COLUMNS, text_unit(v));
    if (heap)
        text_heap(out, v, NULL);
    fputs(rest, out);
    text_colour(out, style, TEXT_PLAIN);
    fputc('\n', out);
}

/* Shares and count of one row; of_all: what the "of all" column is about. */
static void row_numbers(FILE *out, const struct view *v, const struct report_style *style,
                        uint64_t self, const uint64_t *total, uint64_t of_all)
{
    char number[TEXT_NUMBER_SIZE];
    text_percent(out, v, style, self, v->samples);
    if (total) {
        fputs("  ", out);
        text_percent(out, v, style, *total, v->samples);
    }
    if (view_is_refined(v))
        fprintf(out, "  %6.2f%%", text_share(of_all, v->samples_all));
    fprintf(out, "  %*s  ", COUNT_COLUMNS, text_count(number, self));
}

static size_t numbers_width(const struct view *v, const struct report_style *style)
{
    return (size_t)text_percent_width(style) * 2 + 2 + (view_is_refined(v) ? 9 : 0)
        + COUNT_COLUMNS + 4 + (view_has_heap(v) ? HEAP_COLUMNS : 0);
}

static void write_function(FILE *out, const struct view_function *f,
                           const struct report_style *style, size_t columns)
{
    size_t used =
        text_function(out, style, f->name, style->width && !style->full_names ? columns : 0);
    fprintf(out, "%*s  ", used < columns ? (int)(columns - used) : 0, "");
    text_place(out, style, f, style->width ? IMAGE_COLUMNS : 0);
}

/* Keeps the first rows of order that reach the threshold; returns how many were left out. */
static uint32_t rows_choose(const struct view *v, const struct report_style *style,
                            const uint32_t *order, uint32_t *count)
{
    uint32_t left_out = 0, kept = 0;
    uint32_t last = 0;
    for (uint32_t i = 0; i < *count; i++) {
        bool small = text_share(v->functions[order[i]].total, v->samples) < style->min;
        if (small || (style->limit && kept >= style->limit)) {
            left_out++;
            continue;
        }
        kept++;
        last = i + 1;
    }
    *count = last;
    return left_out;
}

/* The columns for names: as many as the longest of them needs, but no more than there are. */
static size_t name_columns(const struct view *v, const struct report_style *style,
                           const uint32_t *order, uint32_t count)
{
    size_t names = 8, images = 5;
    for (uint32_t i = 0; i < count; i++) {
        const struct view_function *f = &v->functions[order[i]];
        size_t name = text_function_width(style, f->name, style->width ? (size_t)style->width : 0);
        size_t image = text_name_width(f->image_name, IMAGE_COLUMNS);
        names = name > names ? name : names;
        images = image > images ? image : images;
    }
    if (!style->width)
        return names < NAME_COLUMNS ? names : NAME_COLUMNS;
    size_t others = numbers_width(v, style) + images + 2;
    size_t room = (size_t)style->width > others ? (size_t)style->width - others : 0;
    room = room > NAME_COLUMNS_MIN ? room : NAME_COLUMNS_MIN;
    return names < room ? names : room;
}

bool report_flat(FILE *out, const struct view *v, const struct report_style *style,
                 struct err *e)
{
    uint32_t count;
    uint32_t *order = view_order(v, &count, e);
    if (!order)
        return false;
    uint32_t left_out = rows_choose(v, style, order, &count);
    size_t columns = name_columns(v, style, order, count);
    char title[128];
    snprintf(title, sizeof title, "%-*s  image%s", (int)columns, "function",
             style->lines ? "  line" : "");
    column_titles(out, v, style, "self", "total", true, title);
    for (uint32_t i = 0; i < count; i++) {
        const struct view_function *f = &v->functions[order[i]];
        if (text_share(f->total, v->samples) < style->min)
            continue;
        row_numbers(out, v, style, f->self, &f->total, f->self);
        text_heap(out, v, view_function_weights(v, f));
        write_function(out, f, style, columns);
    }
    if (!v->samples)
        fprintf(out, "no %s\n", text_unit(v));
    if (left_out)
        fprintf(out, "%u more function%s not shown (--min 0 --limit 0 shows all)\n", left_out,
                left_out == 1 ? " is" : "s are");
    free(order);
    return true;
}

bool report_images(FILE *out, const struct view *v, const struct report_style *style,
                   struct err *e)
{
    uint32_t count;
    struct image_total *totals = totals_of_images(v, &count, e);
    if (!totals)
        return false;
    column_titles(out, v, style, "self", "total", false, "image");
    for (uint32_t i = 0; i < count; i++) {
        row_numbers(out, v, style, totals[i].self, &totals[i].total, totals[i].self);
        uint32_t image = totals[i].image;
        text_name(out, totals[i].name, 0);
        if (image < v->profile->image_count) {
            text_colour(out, style, TEXT_DIM);
            fputs("  ", out);
            text_name(out, v->profile->images[image].path, 0);
            text_colour(out, style, TEXT_PLAIN);
        }
        fputc('\n', out);
    }
    free(totals);
    return true;
}

struct row {
    uint32_t index;
    uint64_t weight, cpu_ns;
};

/* What rows are shares of. Where nothing was counted by thread that is CPU time. */
static uint64_t share_of(const struct row *all, const struct row *row)
{
    return all->weight ? row->weight : row->cpu_ns;
}

/* Threads and processes have no refined weights: their rows are of the whole recording. */
static void recording_row(FILE *out, const struct view *v, const struct report_style *style,
                          const struct row *row, const struct row *all)
{
    char number[TEXT_NUMBER_SIZE];
    text_percent(out, v, style, share_of(all, row), share_of(all, all));
    fprintf(out, "  %*s", COUNT_COLUMNS, all->weight ? text_count(number, row->weight) : "-");
    fprintf(out, "  %10s  ", text_duration(number, (double)row->cpu_ns));
}

static void recording_end(FILE *out, const struct view *v, const struct row *all)
{
    if (!all->weight && all->cpu_ns)
        fprintf(out,
                "shares are of CPU time: %s are counted for all threads and processes together\n",
                v->samples ? text_unit(v) : "they");
}

static void recording_titles(FILE *out, const struct view *v, const struct report_style *style,
                             const char *rest)
{
    text_colour(out, style, TEXT_DIM);
    fprintf(out, "%*s  %*s  %10s  %s", text_percent_width(style), "share", COUNT_COLUMNS,
            text_unit(v), "CPU time", rest);
    text_colour(out, style, TEXT_PLAIN);
    fputc('\n', out);
}

/* Of one process, or of all (VIEW_NONE). */
static struct row row_of(const struct view *v, uint32_t process)
{
    const struct profile *p = v->profile;
    struct row row = { .index = process };
    for (uint32_t i = 0; i < p->thread_count; i++) {
        if (!v->threads_chosen[i] || (process != VIEW_NONE && p->threads[i].process != process))
            continue;
        row.weight = add_saturated(row.weight, p->threads[i].weight);
        row.cpu_ns = add_saturated(row.cpu_ns, p->threads[i].cpu_ns);
    }
    return row;
}

static int row_compare(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    if (x->weight == 0 && x->cpu_ns != y->cpu_ns)
        return x->cpu_ns > y->cpu_ns ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static struct row *rows_of_threads(const struct view *v, uint32_t *count)
{
    const struct profile *p = v->profile;
    struct row *rows = calloc((size_t)p->thread_count + 1, sizeof *rows);
    *count = 0;
    for (uint32_t i = 0; rows && i < p->thread_count; i++)
        if (v->threads_chosen[i])
            rows[(*count)++] = (struct row){ i, p->threads[i].weight, p->threads[i].cpu_ns };
    if (rows)
        qsort(rows, *count, sizeof *rows, row_compare);
    return rows;
}

void report_threads(FILE *out, const struct view *v, const struct report_style *style)
{
    const struct profile *p = v->profile;
    const struct row all = row_of(v, VIEW_NONE);
    uint32_t count;
    struct row *rows = rows_of_threads(v, &count);
    recording_titles(out, v, style, "     pid       tid  thread");
    for (uint32_t i = 0; i < count; i++) {
        const struct profile_thread *t = &p->threads[rows[i].index];
        recording_row(out, v, style, &rows[i], &all);
        fprintf(out, "%8d  %8d  ", t->process < p->process_count ? p->processes[t->process].pid : 0,
                t->tid);
        text_name(out, t->name, 0);
        char *phase = t->phase ? profile_phase_path(p, t->phase - 1) : NULL;
        if (phase) {
            fputs("  in ", out);
            text_name(out, phase, PHASE_COLUMNS);
        }
        free(phase);
        fputc('\n', out);
    }
    recording_end(out, v, &all);
    free(rows);
}

void report_phases(FILE *out, const struct view *v, const struct report_style *style)
{
    const struct profile *p = v->profile;
    char number[TEXT_NUMBER_SIZE];
    const struct row all = row_of(v, VIEW_NONE);
    recording_titles(out, v, style, "   elapsed      times  phase");
    for (uint32_t i = 0; i <= p->phase_count; i++) {
        struct row row = { .index = i };
        for (uint32_t k = 0; k < p->thread_count; k++) {
            if (!v->threads_chosen[k] || p->threads[k].phase != i)
                continue;
            row.weight = add_saturated(row.weight, p->threads[k].weight);
            row.cpu_ns = add_saturated(row.cpu_ns, p->threads[k].cpu_ns);
        }
        recording_row(out, v, style, &row, &all);
        if (!i) {
            fprintf(out, "%10s %10s  (in no phase)\n", "", "");
            continue;
        }
        const struct profile_phase *phase = &p->phases[i - 1];
        char *path = profile_phase_path(p, i - 1);
        fprintf(out, "%10s ", text_duration(number, (double)phase->elapsed_ns));
        fprintf(out, "%10s  ", text_count(number, phase->begun));
        text_name(out, path ? path : phase->name, PHASE_COLUMNS);
        fputc('\n', out);
        free(path);
    }
    recording_end(out, v, &all);
}

void report_processes(FILE *out, const struct view *v, const struct report_style *style)
{
    const struct profile *p = v->profile;
    const struct row all = row_of(v, VIEW_NONE);
    struct row *rows = calloc((size_t)p->process_count + 1, sizeof *rows);
    uint32_t count = rows ? p->process_count : 0;
    for (uint32_t i = 0; i < count; i++)
        rows[i] = row_of(v, i);
    if (rows)
        qsort(rows, count, sizeof *rows, row_compare);
    recording_titles(out, v, style, "     pid    parent  command");
    for (uint32_t i = 0; i < count; i++) {
        const struct profile_process *process = &p->processes[rows[i].index];
        recording_row(out, v, style, &rows[i], &all);
        fprintf(out, "%8d  %8d  ", process->pid, process->ppid);
        text_name(out, process->command[0] ? process->command : process->name,
                  style->width ? 60 : 0);
        fputc('\n', out);
    }
    recording_end(out, v, &all);
    free(rows);
}
