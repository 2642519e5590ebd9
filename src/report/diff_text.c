#include "report/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/diff_lines.h"
#include "report/text.h"

/* Innermost frames of a context that a row shows. */
enum { FRAMES = 6 };
/* A dispersion that is more than what few rows differ in it by chance. */
#define DISPERSION_TOLD 2.0

static const char *const side_names[DIFF_SIDES] = {"before", "after"};

static void write_side(FILE *out, const struct diff *d, unsigned side)
{
    char number[TEXT_NUMBER_SIZE];
    const struct view *v = diff_last_run(d, side)->view;
    uint64_t samples = 0;
    for (uint32_t r = 0; r < d->run_count; r++)
        samples += d->runs[r].side == side ? d->runs[r].view->samples : 0;
    fprintf(out, "%-7s ", side_names[side]);
    text_name(out, v->profile->command, 60);
    if (d->side_runs[side] > 1)
        fprintf(out, ", %u recordings", d->side_runs[side]);
    const char *unit = text_unit(v), *metric = v->profile->metrics[v->metric].name;
    fprintf(out, ", %s %s", text_count(number, samples), unit);
    if (strcmp(unit, metric) != 0)
        fprintf(out, " of %s", metric);
    fputc('\n', out);
}

static void write_scale(FILE *out, const struct diff *d)
{
    static const char *const what[DIFF_NORMALIZES] = {
        [DIFF_BY_TOTAL] = "shares of each recording's total",
        [DIFF_BY_TIME] = "per second of elapsed time",
        [DIFF_BY_INSTRUCTIONS] = "per instruction executed",
        [DIFF_BY_NONE] = "not normalized"};
    fprintf(out, "values  %s", what[d->by]);
    if (d->by != DIFF_BY_TOTAL)
        fprintf(out, ", in percent of the mean total before; the total after is %.2f%%",
                100 * d->scale[DIFF_AFTER]);
    fputc('\n', out);
    if (d->dispersion > DISPERSION_TOLD)
        fprintf(out, "note    most functions or contexts differ, by %.1f times what sampling "
                "explains: less than that is taken for chance; several recordings tell\n",
                sqrt(d->dispersion));
    if (d->functions.causes)
        fputs("note    cycles of a model: it has the same again for the same instructions\n", out);
    else if (d->by != DIFF_BY_TOTAL && d->run_count == DIFF_SIDES)
        fputs("note    one recording a side: how much whole runs differ by chance is not known, "
              "and counts as change; several tell (--before, --after)\n",
              out);
}

static const char *plural(uint32_t count)
{
    return count == 1 ? "" : "s";
}

static void write_title(FILE *out, const struct diff_rows *rows, enum diff_weight weight,
                        bool contexts, const struct report_style *style)
{
    uint32_t significant = 0, compared = 0;
    for (uint32_t i = 0; i < rows->count; i++) {
        if (!isnan(rows->list[i].change[weight].p))
            compared++;
        if (diff_is_significant(&rows->list[i].change[weight]))
            significant++;
    }
    fprintf(out, "\n%u of %u %s%s changed beyond chance, by %s\n", significant, compared,
            contexts ? "calling context" : "function", plural(compared),
            weight == DIFF_SELF ? "their own samples" : "samples with those of what they call");
    text_colour(out, style, TEXT_DIM);
    fprintf(out, "  before     after  difference  95%% interval           change     %s\n",
            contexts ? "calling context" : "function");
    text_colour(out, style, TEXT_PLAIN);
}

static void write_change(FILE *out, const struct diff_change *c)
{
    char text[TEXT_NUMBER_SIZE];
    double before = c->value[DIFF_BEFORE];
    if (!(before > 0))
        snprintf(text, sizeof text, "appeared");
    else if (!(c->value[DIFF_AFTER] > 0))
        snprintf(text, sizeof text, "gone");
    else
        snprintf(text, sizeof text, "%+.1f%%", 100 * diff_difference(c) / before);
    fprintf(out, "%9s %c ", text, diff_is_significant(c) ? '*' : ' ');
}

static void write_function(FILE *out, const struct diff *d, const struct diff_row *row,
                           const struct report_style *style)
{
    const struct diff_function *f = &d->names.functions[row->function];
    text_function(out, style, f->name, 0);
    if (f->was) {
        fputs(" (was ", out);
        text_function(out, style, f->was, 0);
        fputc(')', out);
    }
}

/* From the outermost of its innermost frames. The root has no caller. */
static void write_context(FILE *out, const struct diff *d, uint32_t row,
                          const struct report_style *style)
{
    const struct diff_row *rows = d->contexts.list;
    uint32_t frames[FRAMES], count = 0;
    for (; count < FRAMES && row != VIEW_NONE && (row || !count); row = rows[row].parent)
        frames[count++] = row;
    if (row && row != VIEW_NONE)
        fputs(".. > ", out);
    while (count--) {
        write_function(out, d, &rows[frames[count]], style);
        fputs(count ? " > " : "", out);
    }
}

/* Those that functions have with what they call are not known. */
static void write_causes(FILE *out, const struct diff *d, const struct diff_row *row,
                         enum diff_weight weight, const struct diff_text_options *o)
{
    const struct diff_rows *rows = o->contexts ? &d->contexts : &d->functions;
    if (rows->causes && (o->contexts || weight == DIFF_SELF))
        diff_causes_write(out, d, &rows->causes[row - rows->list], weight);
}

static void write_row(FILE *out, const struct diff *d, const struct diff_row *row,
                      enum diff_weight weight, const struct diff_text_options *o)
{
    const struct diff_change *c = &row->change[weight];
    const struct report_style *style = o->style;
    bool significant = diff_is_significant(c);
    text_colour(out, style, significant ? TEXT_PLAIN : TEXT_DIM);
    fprintf(out, "%7.2f%%  %7.2f%%  ", 100 * c->value[DIFF_BEFORE], 100 * c->value[DIFF_AFTER]);
    if (significant)
        text_colour(out, style, diff_difference(c) > 0 ? TEXT_RED : TEXT_GREEN);
    fprintf(out, "%+9.2f%%", 100 * diff_difference(c));
    if (significant)
        text_colour(out, style, TEXT_PLAIN);
    fprintf(out, "  %+7.2f .. %+7.2f  ", 100 * c->low, 100 * c->high);
    write_change(out, c);
    if (o->contexts) {
        write_context(out, d, (uint32_t)(row - d->contexts.list), style);
    } else {
        write_function(out, d, row, style);
        fputs("  ", out);
        text_name(out, d->names.functions[row->function].image, 0);
    }
    write_causes(out, d, row, weight, o);
    text_colour(out, style, TEXT_PLAIN);
    fputc('\n', out);
}

static bool write_rows(FILE *out, const struct diff *d, enum diff_weight weight,
                       const struct diff_text_options *o, struct err *e)
{
    const struct diff_rows *rows = o->contexts ? &d->contexts : &d->functions;
    const struct report_style *style = o->style;
    uint32_t shown = 0, left_out = 0;
    uint32_t *order = diff_order(rows, weight, e);
    if (!order)
        return false;
    write_title(out, rows, weight, o->contexts, style);
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct diff_change *c = &rows->list[order[i]].change[weight];
        double greatest = fmax(c->value[DIFF_BEFORE], c->value[DIFF_AFTER]);
        bool small = !diff_is_significant(c) && 100 * greatest < style->min;
        /* The whole is always all of itself. */
        bool root = rows->list[order[i]].function == d->contexts.list[0].function;
        if (!(greatest > 0) || (root && d->by == DIFF_BY_TOTAL))
            continue;
        if (small || (style->limit && shown == style->limit)) {
            left_out++;
            continue;
        }
        write_row(out, d, &rows->list[order[i]], weight, o);
        shown++;
    }
    if (left_out)
        fprintf(out, "%u more %s not shown (--min 0 --limit 0 shows all)\n", left_out,
                left_out == 1 ? "is" : "are");
    free(order);
    return true;
}

bool diff_text(FILE *out, const struct diff *d, const struct diff_text_options *options,
               struct err *e)
{
    write_side(out, d, DIFF_BEFORE);
    write_side(out, d, DIFF_AFTER);
    write_scale(out, d);
    if (d->contexts.causes)
        diff_causes_write_all(out, d, options->style);
    if (options->lines)
        return diff_lines_text(out, d, options->style, e);
    return write_rows(out, d, DIFF_SELF, options, e) && write_rows(out, d, DIFF_TOTAL, options, e);
}
