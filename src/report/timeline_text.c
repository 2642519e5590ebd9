/* The timeline as text: rows of blocks, or of characters from light to dark. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/header_parts.h"
#include "report/marks.h"
#include "report/report.h"
#include "report/text.h"
#include "report/timeline.h"

enum {
    WIDTH = 100,
    LEAST = 20,
    NAME = 24,
    MARGIN = 8 + 2 + NAME + 2,
    FUNCTIONS = 10,
    THREADS = 20,
    MARKS = 20
};

static const char *const blocks[] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                     "\u2585", "\u2586", "\u2587", "\u2588"};
static const char *const shades[] = {" ", ".", ":", "-", "=", "+", "*", "%", "#"};
enum { LEVELS = sizeof blocks / sizeof *blocks };
_Static_assert(LEVELS == sizeof shades / sizeof *shades, "as many of both");

/* What is there is seen, however little it is. */
static unsigned level_of(double weight, double full)
{
    unsigned level = full > 0 ? (unsigned)lround(weight / full * (LEVELS - 1)) : 0;
    level = level < LEVELS ? level : LEVELS - 1;
    return level || weight <= full / 1000 ? level : 1;
}

static void write_cells(FILE *out, const struct timeline_view *t, const double *columns,
                        double full, const struct report_style *style)
{
    fputs(style->unicode ? "\u2502" : "|", out);
    for (uint32_t i = 0; i < t->columns; i++)
        fputs((style->unicode ? blocks : shades)[level_of(columns[i], full)], out);
    fputs(style->unicode ? "\u2502\n" : "|\n", out);
}

static double greatest(const struct timeline_view *t)
{
    double most = 0;
    for (uint32_t i = 0; i < t->columns; i++)
        most = t->all.columns[i] > most ? t->all.columns[i] : most;
    return most;
}

/* The weight that a thread has in a column in which it is always busy; for events, that of the
 * busiest column. */
static double full_of(const struct timeline_view *t)
{
    const struct profile *p = t->view->profile;
    if (!header_in_time(p) || !p->metrics[0].period)
        return greatest(t);
    return (double)t->width_ns / (double)p->metrics[0].period;
}

static void row_begin(FILE *out, const struct timeline_view *t, const struct timeline_row *row)
{
    fprintf(out, "%7.2f%%  ", t->all.sum > 0 ? 100 * row->sum / t->all.sum : 0);
}

static void write_padded(FILE *out, size_t used)
{
    fprintf(out, "%*s  ", used < NAME ? (int)(NAME - used) : 0, "");
}

static void write_title(FILE *out, const struct timeline_view *t, const struct report_style *style)
{
    char a[TEXT_NUMBER_SIZE], b[TEXT_NUMBER_SIZE], left[2 * TEXT_NUMBER_SIZE];
    double end = (double)t->from_ns + (double)t->columns * (double)t->width_ns;
    text_colour(out, style, TEXT_DIM);
    fprintf(out, "%8s  %-*s  ", "share", NAME, "when");
    int used = snprintf(left, sizeof left, " %s", text_duration(a, (double)t->from_ns));
    text_duration(b, end);
    fprintf(out, "%s%*s\n", left, (int)t->columns + 1 > used ? (int)t->columns + 1 - used : 1, b);
    text_colour(out, style, TEXT_PLAIN);
}

static void write_threads(FILE *out, const struct timeline_view *t,
                          const struct report_style *style)
{
    const struct profile *p = t->view->profile;
    for (uint32_t i = 0; i < t->thread_count; i++) {
        const struct profile_thread *thread = &p->threads[t->threads[i].index];
        char number[TEXT_NUMBER_SIZE];
        int digits = snprintf(number, sizeof number, "%d ", thread->tid);
        row_begin(out, t, &t->threads[i]);
        fputs(number, out);
        write_padded(out, (size_t)digits + text_name(out, thread->name, NAME - (size_t)digits));
        write_cells(out, t, t->threads[i].columns, full_of(t), style);
    }
    if (t->other_count)
        fprintf(out, "%10s%u more threads are not shown\n", "", t->other_count);
}

static void write_functions(FILE *out, const struct timeline_view *t,
                            const struct report_style *style)
{
    double full = greatest(t);
    for (uint32_t i = 0; i < t->function_count; i++) {
        const struct timeline_row *row = &t->functions[i];
        if (t->all.sum <= 0 || 100 * row->sum / t->all.sum < style->min)
            continue;
        row_begin(out, t, row);
        write_padded(out, text_function(out, style, t->view->functions[row->index].name, NAME));
        write_cells(out, t, row->columns, full, style);
    }
}

/* Ends of processes are left out: nearly every one has one. */
static bool is_shown(const struct timeline_view *t, const struct mark *m)
{
    double end = (double)t->from_ns + (double)t->columns * (double)t->width_ns;
    return m->kind != MARK_EXIT && m->ns >= t->from_ns && (double)m->ns <= end;
}

static bool write_marks(FILE *out, const struct timeline_view *t, const struct report_style *style)
{
    const struct profile *p = t->view->profile;
    struct marks m;
    uint32_t shown = 0, most = style->limit && style->limit < MARKS ? style->limit : MARKS, all = 0;
    char time[TEXT_NUMBER_SIZE];
    if (!marks_make(&m, p))
        return false;
    for (uint32_t i = 0; i < m.count; i++) {
        struct buf text = {0};
        if (!is_shown(t, &m.list[i]) || all++ >= most)
            continue;
        mark_text(&m.list[i], p, &text);
        buf_put_u8(&text, 0);
        fprintf(out, "%s%*s%9s  %-8s  ", shown++ ? "" : "\n", 8, "",
                text_duration(time, (double)m.list[i].ns), mark_name(m.list[i].kind));
        text_name(out, buf_ok(&text) ? (const char *)text.data : "?", 0);
        fputc('\n', out);
        buf_free(&text);
    }
    if (all > shown)
        fprintf(out, "%10s%u more marks are not shown\n", "", all - shown);
    marks_free(&m);
    return true;
}

bool report_timeline(FILE *out, const struct view *v, const struct report_style *style,
                     struct err *e)
{
    struct timeline_view t;
    char a[TEXT_NUMBER_SIZE], b[TEXT_NUMBER_SIZE];
    struct report_style cut = *style;
    int width = style->width ? style->width : WIDTH;
    cut.full_names = false;
    cut.width = width;
    struct timeline_size size = {LEAST, THREADS, FUNCTIONS};
    if (width > MARGIN + 2 + LEAST)
        size.columns = (uint32_t)(width - MARGIN - 2);
    if (style->limit && style->limit < THREADS)
        size.threads = style->limit;
    if (style->limit && style->limit < FUNCTIONS)
        size.functions = style->limit;
    if (!timeline_make(&t, v, &size, e))
        return false;
    write_title(out, &t, style);
    if (t.thread_count + t.other_count > 1) {
        row_begin(out, &t, &t.all);
        write_padded(out, (size_t)fprintf(out, "all threads"));
        write_cells(out, &t, t.all.columns, greatest(&t), style);
    }
    write_threads(out, &t, style);
    fputc('\n', out);
    write_functions(out, &t, &cut);
    fprintf(out, "%10sa column is %s; times are known to %s\n", "",
            text_duration(a, (double)t.width_ns), text_duration(b, (double)t.bin_ns));
    bool ok = write_marks(out, &t, style) ||
              err_set(e, ERR_INTERNAL, "cannot show marks: out of memory");
    timeline_free(&t);
    return ok;
}
