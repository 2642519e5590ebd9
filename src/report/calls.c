#include "report/calls.h"

#include <stdlib.h>
#include <string.h>

#include "report/ci.h"
#include "report/text.h"

struct calls_cost calls_cost(const struct view *v, uint64_t total, uint64_t calls)
{
    struct calls_cost cost = { .known = calls && total && !view_is_refined(v) };
    if (!cost.known)
        return cost;
    double samples = (double)v->samples, n = (double)calls;
    cost.samples = (double)total / n;
    if (view_is_of_calls(v)) {
        cost.low = cost.high = cost.samples;
        return cost;
    }
    struct interval share = ci_wilson((double)total / samples, v->effective);
    cost.low = share.low * samples / n;
    cost.high = share.high * samples / n;
    return cost;
}

bool calls_known(const struct view *v)
{
    for (uint32_t i = 0; i < v->function_count; i++)
        if (v->functions[i].calls)
            return true;
    return false;
}

/* Shorter than the period, as far as samples can tell. */
static bool is_cheap(const struct view *v, double samples)
{
    return !view_is_of_calls(v) && samples < CALLS_CHEAP;
}

/* "3.4 samples", "1,234 calls". */
static void count_text(char *out, const struct view *v, double samples)
{
    char number[TEXT_NUMBER_SIZE];
    if (samples >= 1000 && samples < 1e15)
        text_count(number, (uint64_t)(samples + 0.5));
    else
        text_digits(number, 3, samples);
    snprintf(out, TEXT_NUMBER_SIZE, "%.22s %s", number,
             !view_is_of_calls(v) ? "samples" : strcmp(number, "1") ? "calls" : "call");
}

const char *calls_cost_text(char *out, const struct view *v, double samples)
{
    bool less = is_cheap(v, samples);
    char number[TEXT_NUMBER_SIZE];
    samples = less ? 1 : samples;
    if (v->profile->unit[0] == 'n')
        text_duration(number, samples * (double)v->profile->period);
    else
        count_text(number, v, samples);
    snprintf(out, TEXT_NUMBER_SIZE, "%s%.28s", less ? "< " : "", number);
    return out;
}

/* A time, or a number of samples or calls. */
static int each_columns(const struct view *v)
{
    return v->profile->unit[0] == 'n' ? 10 : 18;
}

static void row_write(FILE *out, const struct view *v, const struct report_style *style,
                      const struct view_function *f)
{
    struct calls_cost cost = calls_cost(v, f->total, f->calls);
    char calls[TEXT_NUMBER_SIZE], mean[TEXT_NUMBER_SIZE], low[TEXT_NUMBER_SIZE],
        high[TEXT_NUMBER_SIZE];
    text_percent(out, v, style, f->total, v->samples);
    fprintf(out, "  %12s  %*s  ", text_count(calls, f->calls), each_columns(v),
            calls_cost_text(mean, v, cost.samples));
    if (view_is_of_calls(v))
        ; /* no interval: nothing is left to chance */
    else if (cost.samples < CALLS_CHEAP)
        fprintf(out, "%24s  ", "");
    else
        fprintf(out, "%10s .. %-10s  ", calls_cost_text(low, v, cost.low),
                calls_cost_text(high, v, cost.high));
    text_name(out, f->name, style->width ? 48 : 0);
    text_colour(out, style, TEXT_DIM);
    fputs("  ", out);
    text_name(out, f->image_name, 0);
    text_colour(out, style, TEXT_PLAIN);
    fputc('\n', out);
}

struct ranked {
    const struct view_function *function;
    double key;
};

static int ranked_compare(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->key != y->key)
        return x->key > y->key ? -1 : 1;
    return x->function < y->function ? -1 : x->function > y->function;
}

static void titles_write(FILE *out, const struct view *v, const struct report_style *style,
                         bool expensive)
{
    text_colour(out, style, TEXT_DIM);
    fprintf(out, "%*s  %12s  %*s  ", text_percent_width(style), "total", "calls", each_columns(v), "each");
    if (view_is_of_calls(v))
        fputs("function, each: its total by its calls\n", out);
    else
        fprintf(out, "%24s  %s\n", "95% interval", expensive ? "few expensive calls" : "many cheap calls");
    text_colour(out, style, TEXT_PLAIN);
}

/* Few and expensive by what one costs; many and cheap by how much they cost together. */
static void rank_write(FILE *out, const struct view *v, const struct report_style *style,
                       bool expensive, struct ranked *rows)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < v->function_count; i++) {
        const struct view_function *f = &v->functions[i];
        struct calls_cost cost = calls_cost(v, f->total, f->calls);
        if (cost.known && is_cheap(v, cost.samples) != expensive &&
            text_share(f->total, v->samples) >= style->min)
            rows[count++] = (struct ranked){ f, expensive ? cost.samples : (double)f->total };
    }
    qsort(rows, count, sizeof *rows, ranked_compare);
    titles_write(out, v, style, expensive);
    for (uint32_t i = 0; i < count && (!style->limit || i < style->limit); i++)
        row_write(out, v, style, rows[i].function);
    if (!count)
        fputs("none\n", out);
}

bool report_calls(FILE *out, const struct view *v, const struct report_style *style, struct err *e)
{
    if (!calls_known(v)) {
        fputs("no calls were counted (see the notes above, and docs/trampoline.md)\n", out);
        return true;
    }
    struct ranked *rows = calloc((size_t)v->function_count + 1, sizeof *rows);
    if (!rows)
        return err_set(e, ERR_INTERNAL, "cannot rank calls: out of memory");
    rank_write(out, v, style, true, rows);
    if (!view_is_of_calls(v)) {
        fputc('\n', out);
        rank_write(out, v, style, false, rows);
    }
    free(rows);
    return true;
}
