#include "report/compare_phases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/ci.h"
#include "report/json.h"
#include "report/text.h"

/* A function that has samples in either phase. NULL: none in that one. */
struct pair {
    const struct view_function *of[2];
    double share[2]; /* of the phase's samples, its own */
    double margin;   /* half of the 95% interval of the difference */
};

struct entry {
    const struct view_function *function;
    unsigned side;
};

static int compare_names(const struct view_function *a, const struct view_function *b)
{
    int order = strcmp(a->name, b->name);
    order = order ? order : strcmp(a->image_name, b->image_name);
    order = order ? order : strcmp(a->file, b->file);
    return order ? order : (a->line > b->line) - (a->line < b->line);
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = compare_names(x->function, y->function);
    return order ? order : (int)x->side - (int)y->side;
}

static int compare_pairs(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    double dx = fabs(x->share[1] - x->share[0]), dy = fabs(y->share[1] - y->share[0]);
    if (dx > dy || dx < dy)
        return dx > dy ? -1 : 1;
    return compare_names(x->of[0] ? x->of[0] : x->of[1], y->of[0] ? y->of[0] : y->of[1]);
}

static uint32_t add_entries(struct entry *entries, const struct view *v, unsigned side)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < v->function_count; i++)
        if (v->functions[i].self)
            entries[count++] = (struct entry){&v->functions[i], side};
    return count;
}

/* The difference of two independent proportions, by the normal approximation. */
static void weigh(struct pair *pair, const struct compare_side sides[2])
{
    double variance = 0;
    for (unsigned k = 0; k < 2; k++) {
        const struct view *v = sides[k].view;
        double p = pair->of[k] && v->samples ? (double)pair->of[k]->self / (double)v->samples : 0;
        pair->share[k] = p;
        variance += v->effective > 0 ? p * (1 - p) / v->effective : 0;
    }
    pair->margin = CI_NORMAL_95 * sqrt(variance);
}

/* Functions of either view under one name are one row. To free(). */
static struct pair *make_pairs(const struct compare_side sides[2], uint32_t *count, struct err *e)
{
    size_t most = (size_t)sides[0].view->function_count + sides[1].view->function_count + 1;
    struct entry *entries = calloc(most, sizeof *entries);
    struct pair *pairs = calloc(most, sizeof *pairs);
    *count = 0;
    if (!entries || !pairs) {
        free(entries);
        free(pairs);
        err_set(e, ERR_INTERNAL, "cannot compare phases: out of memory");
        return NULL;
    }
    uint32_t n = add_entries(entries, sides[0].view, 0);
    n += add_entries(entries + n, sides[1].view, 1);
    qsort(entries, n, sizeof *entries, compare_entries);
    for (uint32_t i = 0; i < n; i++) {
        bool again = i && !compare_names(entries[i].function, entries[i - 1].function) &&
                     !pairs[*count - 1].of[entries[i].side];
        *count += !again;
        pairs[*count - 1].of[entries[i].side] = entries[i].function;
    }
    for (uint32_t i = 0; i < *count; i++)
        weigh(&pairs[i], sides);
    qsort(pairs, *count, sizeof *pairs, compare_pairs);
    free(entries);
    return pairs;
}

static bool is_sure(const struct pair *p)
{
    return fabs(p->share[1] - p->share[0]) > p->margin;
}

static void write_row(FILE *out, const struct pair *p, const struct report_style *style)
{
    const struct view_function *f = p->of[0] ? p->of[0] : p->of[1];
    fprintf(out, "%7.2f%%  %7.2f%%  ", 100 * p->share[0], 100 * p->share[1]);
    if (is_sure(p))
        text_colour(out, style, p->share[1] > p->share[0] ? TEXT_RED : TEXT_GREEN);
    fprintf(out, "%+8.2f%%", 100 * (p->share[1] - p->share[0]));
    text_colour(out, style, TEXT_PLAIN);
    fprintf(out, "  +-%5.2f%s  ", 100 * p->margin, is_sure(p) ? " *" : "  ");
    text_name(out, f->name, 0);
    fputs("  ", out);
    text_place(out, style, f, 0);
}

bool report_compare_phases(FILE *out, const struct compare_side sides[2],
                           const struct report_style *style, struct err *e)
{
    char number[TEXT_NUMBER_SIZE];
    uint32_t count, left_out = 0, shown = 0;
    struct pair *pairs = make_pairs(sides, &count, e);
    if (!pairs)
        return false;
    for (unsigned k = 0; k < 2; k++) {
        fprintf(out, "%c: ", "AB"[k]);
        text_name(out, sides[k].name, 0);
        fprintf(out, ", %s samples\n", text_count(number, sides[k].view->samples));
    }
    text_colour(out, style, TEXT_DIM);
    fputs(
        "\n    in A      in B  difference  95%        function (its own share; *: beyond chance)\n",
        out);
    text_colour(out, style, TEXT_PLAIN);
    for (uint32_t i = 0; i < count; i++) {
        bool small = 100 * fmax(pairs[i].share[0], pairs[i].share[1]) < style->min;
        if (small || (style->limit && shown == style->limit)) {
            left_out++;
            continue;
        }
        shown++;
        write_row(out, &pairs[i], style);
    }
    if (left_out)
        fprintf(out, "%u more function%s not shown (--min 0 --limit 0 shows all)\n", left_out,
                left_out == 1 ? " is" : "s are");
    free(pairs);
    return true;
}

static void json_side(struct json *j, const struct pair *p, unsigned side)
{
    static const char *const keys[] = {"a", "b"};
    json_key(j, keys[side]);
    json_open(j, '{');
    json_key(j, "self");
    json_u64(j, p->of[side] ? p->of[side]->self : 0);
    json_key(j, "total");
    json_u64(j, p->of[side] ? p->of[side]->total : 0);
    json_key(j, "share");
    json_double(j, p->share[side]);
    json_close(j, '}');
}

bool report_compare_phases_json(struct buf *out, const struct compare_side sides[2], struct err *e)
{
    uint32_t count;
    struct json j = {.out = out};
    struct pair *pairs = make_pairs(sides, &count, e);
    if (!pairs)
        return false;
    json_open(&j, '{');
    json_key(&j, "phases");
    json_open(&j, '[');
    for (unsigned k = 0; k < 2; k++) {
        json_open(&j, '{');
        json_key(&j, "name");
        json_string(&j, sides[k].name);
        json_key(&j, "samples");
        json_u64(&j, sides[k].view->samples);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_key(&j, "functions");
    json_open(&j, '[');
    for (uint32_t i = 0; i < count; i++) {
        const struct view_function *f = pairs[i].of[0] ? pairs[i].of[0] : pairs[i].of[1];
        json_open(&j, '{');
        json_key(&j, "name");
        json_string(&j, f->name);
        json_key(&j, "image");
        json_string(&j, f->image_name);
        json_side(&j, &pairs[i], 0);
        json_side(&j, &pairs[i], 1);
        json_key(&j, "difference");
        json_double(&j, pairs[i].share[1] - pairs[i].share[0]);
        json_key(&j, "margin");
        json_double(&j, pairs[i].margin);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_close(&j, '}');
    buf_put_u8(out, '\n');
    free(pairs);
    return buf_ok(out) || err_set(e, ERR_INTERNAL, "cannot write JSON: out of memory");
}
