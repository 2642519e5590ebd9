#include "report/calls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/ci.h"
#include "report/text.h"

enum { ALL_COLUMNS = 18 };

/* Samples per activation that was met, if lengths are memoryless with a mean of m periods: grows
 * with m, from 1. */
static double cost_of_mean(double m)
{
    return 1 / (1 - m * (exp(-0.5 / m) - exp(-1.5 / m)));
}

/* How many activations one that was met stands for, at this cost of one. */
static double stands_for(double cost)
{
    double low = 1e-3, high = cost;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (cost_of_mean(middle) < cost)
            low = middle;
        else
            high = middle;
    }
    return cost / low;
}

/* Below the least the chance of sampling alone could make it so. */
static void calls_estimate(struct calls_cost *cost, double weight, double calls)
{
    enum { LARGE = 1000 }; /* then all are met, as far as numbers of this precision tell */
    const double least = 1.2;
    double low = cost->low / weight;
    if (cost->samples < CALLS_CHEAP * weight || low < least)
        return;
    cost->all_low = calls;
    cost->all_high = low > (double)LARGE ? calls : floor(calls * stands_for(low) + 0.5);
}

double calls_sample_weight(const struct view *v)
{
    double weight = v->effective > 0 ? (double)v->samples_all / v->effective : 1;
    return weight > 1 ? weight : 1;
}

struct calls_cost calls_cost(const struct view *v, uint64_t total, uint64_t calls)
{
    struct calls_cost cost = { .known = calls && total && !view_is_refined(v) };
    if (!cost.known)
        return cost;
    double samples = (double)v->samples, n = (double)calls;
    cost.samples = (double)total / n;
    if (view_is_of_calls(v)) {
        cost.low = cost.high = cost.samples;
        cost.all_low = cost.all_high = n;
        return cost;
    }
    struct interval share = ci_wilson((double)total / samples, v->effective);
    cost.low = share.low * samples / n;
    cost.high = share.high * samples / n;
    calls_estimate(&cost, calls_sample_weight(v), n);
    return cost;
}

bool calls_known(const struct view *v)
{
    for (uint32_t i = 0; i < v->function_count; i++)
        if (v->functions[i].calls)
            return true;
    return false;
}

/* Shorter than what a sample stands for, as far as samples can tell. */
static bool is_cheap(const struct view *v, double samples)
{
    return !view_is_of_calls(v) && samples < CALLS_CHEAP * calls_sample_weight(v);
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
    samples = less ? calls_sample_weight(v) : samples;
    if (v->profile->metrics[0].unit[0] == 'n')
        text_duration(number, samples * (double)v->profile->metrics[0].period);
    else
        count_text(number, v, samples);
    snprintf(out, TEXT_NUMBER_SIZE, "%s%.28s", less ? "< " : "", number);
    return out;
}

void calls_write(FILE *out, const struct view *v, const struct view_node *n)
{
    struct calls_cost cost = calls_cost(v, n->total, n->calls);
    char seen[TEXT_NUMBER_SIZE], most[TEXT_NUMBER_SIZE], each[TEXT_NUMBER_SIZE];
    if (!cost.known)
        return;
    text_count(seen, n->calls);
    calls_cost_text(each, v, cost.samples);
    if (cost.all_high == 0)
        fprintf(out, " (%s seen to return, each %s)", seen, each);
    else if (cost.all_high > cost.all_low)
        fprintf(out, " (%s to %s calls, each %s)", seen, text_count(most, (uint64_t)cost.all_high),
                each);
    else
        fprintf(out, " (%s call%s, each %s)", seen, n->calls == 1 ? "" : "s", each);
}

/* How many there were in all: "204 to 215", "2", or "" where it is not known. */
static void all_text(char *out, size_t size, const struct calls_cost *cost)
{
    char low[TEXT_NUMBER_SIZE], high[TEXT_NUMBER_SIZE];
    out[0] = 0;
    if (cost->all_high > cost->all_low)
        snprintf(out, size, "%s to %s", text_count(low, (uint64_t)cost->all_low),
                 text_count(high, (uint64_t)cost->all_high));
    else if (cost->all_high > 0)
        snprintf(out, size, "%s", text_count(low, (uint64_t)cost->all_low));
}

/* A time, or a number of samples or calls. */
static int each_columns(const struct view *v)
{
    return v->profile->metrics[0].unit[0] == 'n' ? 10 : 18;
}

static void row_write(FILE *out, const struct view *v, const struct report_style *style,
                      const struct view_function *f)
{
    struct calls_cost cost = calls_cost(v, f->total, f->calls);
    char calls[TEXT_NUMBER_SIZE], mean[TEXT_NUMBER_SIZE], low[TEXT_NUMBER_SIZE],
        high[TEXT_NUMBER_SIZE], all[2 * TEXT_NUMBER_SIZE + 4];
    text_percent(out, v, style, f->total, v->samples);
    fprintf(out, "  %12s  ", text_count(calls, f->calls));
    all_text(all, sizeof all, &cost);
    if (!view_is_of_calls(v))
        fprintf(out, "%*s  ", ALL_COLUMNS, all);
    fprintf(out, "%*s  ", each_columns(v), calls_cost_text(mean, v, cost.samples));
    if (view_is_of_calls(v))
        ; /* no interval: nothing is left to chance */
    else if (is_cheap(v, cost.samples))
        fprintf(out, "%24s  ", "");
    else
        fprintf(out, "%10s .. %-10s  ", calls_cost_text(low, v, cost.low),
                calls_cost_text(high, v, cost.high));
    text_function(out, style, f->name, style->width ? 48 : 0);
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
    fprintf(out, "%*s  %12s  ", text_percent_width(style), "total",
            view_is_of_calls(v) ? "calls" : "seen");
    if (!view_is_of_calls(v))
        fprintf(out, "%*s  ", ALL_COLUMNS, "calls in all");
    fprintf(out, "%*s  ", each_columns(v), "each");
    if (view_is_of_calls(v))
        fputs("function, each: its total by its calls\n", out);
    else
        fprintf(out, "%24s  %s\n", "95% interval",
                expensive ? "few expensive calls" : "many cheap calls");
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
        fputs("seen: calls that samples met and that were seen to return; of cheap ones there were "
              "more "
              "(record --exact --tool calls counts all)\n",
              out);
    }
    free(rows);
    return true;
}
