/* What a processor model has found, in reports: cycles by their cause, of the program and of each
 * function. */
#include "profile/simulate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profile/frames.h"
#include "report/ranked.h"
#include "report/simulated.h"
#include "report/simulated_places.h"
#include "report/table/simulate_dise.h"
#include "report/table/view.h"
#include "report/text.h"

enum { ROWS = 40, WIDTH = 15 };

static const struct {
    const char *name, *title;
} events[COST_EVENT_COUNT] = {
#define EVENT(id, name, title) {#name, title},
    COST_EVENTS(EVENT)
#undef EVENT
};

/* By cycles, most first: to free(); NULL without memory. */
static struct ranked *order_make(const struct simulated_places *f)
{
    struct ranked *order = calloc((size_t)f->count + 1, sizeof *order);
    for (uint32_t i = 0; order && i < f->count; i++)
        order[i] = (struct ranked){cost_parts(&f->list[i].sum.cost), i};
    if (order)
        qsort(order, f->count, sizeof *order, compare_ranked);
    return order;
}

static double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static double cpi_of(const struct profile_cost *c)
{
    return ratio(cost_cycles(cost_parts(&c->cost)), (double)c->count);
}

/* ---- text ---- */

static void write_total(FILE *out, const struct profile_simulated *s,
                        const struct profile_cost *all)
{
    char instructions[TEXT_NUMBER_SIZE], cycles[TEXT_NUMBER_SIZE];
    double cpi = cpi_of(all);
    fprintf(out, "machine ");
    text_name(out, s->machine ? s->machine : "?", 0);
    fprintf(out, ": %s instructions in %s cycles: %.3f cycles an instruction, %.2f a cycle\n\n",
            text_count(instructions, all->count),
            text_count(cycles, cost_parts(&all->cost) / COST_CYCLE), cpi, ratio(1, cpi));
}

/* What a sampled simulation says; NULL: it says nothing of this, or is none. */
static const struct profile_fact *sampled(const struct view *v, enum simulated_fact which)
{
#define NAME(id, name) name,
    static const char *const names[] = {SIMULATED_FACTS(NAME)};
#undef NAME
    const struct profile_values *values = observed_values(v->profile);
    for (uint32_t i = 0; values && i < values->fact_count; i++)
        if (!strcmp(values->facts[i].name, names[which]))
            return &values->facts[i];
    return NULL;
}

static uint64_t sampled_count(const struct view *v, enum simulated_fact which)
{
    const struct profile_fact *f = sampled(v, which);
    return f ? f->value : 0;
}

/* Cycles an instruction. */
static double sampled_cpi(const struct view *v, enum simulated_fact which)
{
    return (double)(int64_t)sampled_count(v, which) / 1e6;
}

static void write_sampled(FILE *out, const struct view *v)
{
    char n[4][TEXT_NUMBER_SIZE];
    double cpi = sampled_cpi(v, SAMPLED_CPI);
    if (!sampled(v, SAMPLED_PERIOD))
        return;
    fprintf(out, "sampled: %s windows of %s instructions, after %s to warm up, each %s%s\n",
            text_count(n[0], sampled_count(v, SAMPLED_WINDOWS)),
            text_count(n[1], sampled_count(v, SAMPLED_MEASURED)),
            text_count(n[2], sampled_count(v, SAMPLED_WARMING)),
            text_count(n[3], sampled_count(v, SAMPLED_PERIOD)),
            sampled_count(v, SAMPLED_COLD) ? "; caches are cold between them" : "");
    if (!sampled_count(v, SAMPLED_WINDOWS)) {
        fputs("no thread came to the end of a window: take a shorter --period, or all of the run "
              "(without --sample)\n\n", out);
        return;
    }
    fprintf(out, "%.3f cycles an instruction", cpi);
    if (sampled(v, SAMPLED_HALF))
        fprintf(out, " +- %.3f (95%%, %.1f%%)", sampled_cpi(v, SAMPLED_HALF),
                100 * ratio(sampled_cpi(v, SAMPLED_HALF), cpi));
    fprintf(out, ", so some %s cycles for the run's %s instructions\n",
            text_count(n[0], (uint64_t)(cpi * (double)sampled_count(v, SAMPLED_INSTRUCTIONS))),
            text_count(n[1], sampled_count(v, SAMPLED_INSTRUCTIONS)));
    if (sampled(v, SAMPLED_BIAS_HALF))
        fprintf(out, "warming up: four times as much makes it %+.3f +- %.3f (95%%, %s windows)\n",
                -sampled_cpi(v, SAMPLED_BIAS), sampled_cpi(v, SAMPLED_BIAS_HALF),
                text_count(n[0], sampled_count(v, SAMPLED_LONG)));
    fputc('\n', out);
}

static void write_stack(FILE *out, const struct report_style *style, const struct profile_cost *all)
{
    uint64_t parts = cost_parts(&all->cost);
    text_colour(out, style, TEXT_DIM);
    fprintf(out, "%8s  %8s  %-10s waited for\n", "share", "cycles/i", "cause");
    text_colour(out, style, TEXT_PLAIN);
    for (unsigned i = 0; i < COST_CAUSE_COUNT; i++) {
        uint64_t part = all->cost.parts[i];
        if (!part)
            continue;
        fprintf(out, "%7.2f%%  %8.3f  %-10s %s\n", text_share(part, parts),
                ratio(cost_cycles(part), (double)all->count), simulated_causes[i].title,
                simulated_causes[i].what);
    }
    fputc('\n', out);
}

static void write_events(FILE *out, const struct report_style *style,
                         const struct profile_cost *all)
{
    char number[TEXT_NUMBER_SIZE];
    text_colour(out, style, TEXT_DIM);
    fprintf(out, "%*s  %10s  event\n", WIDTH, "count", "per 1000 i");
    text_colour(out, style, TEXT_PLAIN);
    for (unsigned i = 0; i < COST_EVENT_COUNT; i++)
        if (all->cost.events[i])
            fprintf(out, "%*s  %10.2f  %s\n", WIDTH, text_count(number, all->cost.events[i]),
                    1000 * ratio((double)all->cost.events[i], (double)all->count),
                    events[i].title);
    fputc('\n', out);
}

static void write_function(FILE *out, const struct view *v, const struct report_style *style,
                           const struct simulated_place *f, double share)
{
    enum { FUNCTION = 40, MOST = 3 };
    char count[TEXT_NUMBER_SIZE], cycles[TEXT_NUMBER_SIZE];
    text_colour_share(out, style, share);
    fprintf(out, "%7.2f%%", share);
    text_colour(out, style, TEXT_PLAIN);
    fprintf(out, "  %*s  %*s  %7.3f  ", WIDTH,
            text_count(cycles, cost_parts(&f->sum.cost) / COST_CYCLE), WIDTH,
            text_count(count, f->sum.count), cpi_of(&f->sum));
    size_t used = text_function(out, style, f->name, FUNCTION);
    if (f->line)
        used += (size_t)fprintf(out, ":%" PRIu32, f->line);
    fprintf(out, "%*s  ", (int)(used < FUNCTION ? FUNCTION - used : 0), "");
    text_name(out, symbols_place_name(v->symbols, f->image, f->sum.offset), 0);
    fputs("  ", out);
    simulated_write(out, f->sum.cost.parts, MOST);
    fputc('\n', out);
}

static void write_functions(FILE *out, const struct view *v, const struct report_style *style,
                            const struct simulated_places *f, const struct ranked *order)
{
    uint32_t rows = 0, limit = style->limit && style->limit < ROWS ? style->limit : ROWS;
    uint64_t parts = cost_parts(&f->all.cost);
    text_colour(out, style, TEXT_DIM);
    fprintf(out, "%8s  %*s  %*s  %7s  %s, image, and what most of its cycles are for\n",
            "share", WIDTH, "cycles", WIDTH, "instructions", "CPI",
            style->lines ? "line" : "function");
    text_colour(out, style, TEXT_PLAIN);
    for (; rows < f->count && rows < limit; rows++) {
        double share = text_share(order[rows].value, parts);
        if (share < style->min)
            break;
        write_function(out, v, style, &f->list[order[rows].index], share);
    }
    if (rows < f->count)
        fprintf(out, "%" PRIu32 " more not shown (--json has all)\n", f->count - rows);
}

/* The cracker's facts: "no row: NAME". */
static const char *unknown_name(const struct profile_fact *fact)
{
    static const char prefix[] = SIMULATED_UNKNOWN;
    return strncmp(fact->name, prefix, sizeof prefix - 1) ? NULL : fact->name + sizeof prefix - 1;
}

static void write_unknown(FILE *out, const struct view *v)
{
    const struct profile_values *values = observed_values(v->profile);
    char number[TEXT_NUMBER_SIZE];
    bool any = false;
    for (uint32_t i = 0; values && i < values->fact_count; i++) {
        const char *name = unknown_name(&values->facts[i]);
        if (!name)
            continue;
        fputs(any ? ", " : "modelled as microcode, because the table has no row for them: ", out);
        text_name(out, name, 0);
        fprintf(out, " (%s)", text_count(number, values->facts[i].value));
        any = true;
    }
    if (any)
        fputc('\n', out);
}

static bool dise_of(const struct view *v, const struct profile_cost *all,
                    struct simulated_dise *out)
{
    return simulated_dise_find(observed_values(v->profile), cost_cycles(cost_parts(&all->cost)),
                               out);
}

static bool text(FILE *out, const struct view *v, const void *table,
                 const struct report_style *style, struct err *e)
{
    const struct profile_simulated *s = table;
    struct simulated_places f = simulated_places_make(v, s, style->lines);
    struct ranked *order = f.list ? order_make(&f) : NULL;
    struct simulated_dise dise;
    if (order) {
        write_total(out, s, &f.all);
        if (dise_of(v, &f.all, &dise))
            simulated_dise_text(out, style, &dise);
        write_sampled(out, v);
        write_stack(out, style, &f.all);
        write_events(out, style, &f.all);
        write_functions(out, v, style, &f, order);
        write_unknown(out, v);
    }
    free(order);
    free(f.list);
    return order || err_set(e, ERR_INTERNAL, "cannot order the functions: out of memory");
}

/* ---- JSON ---- */

static void json_cost(struct json *j, const struct profile_cost *c)
{
    json_key_u64(j, "instructions", c->count);
    json_key_u64(j, "cycles", cost_whole_cycles(cost_parts(&c->cost)));
    json_key_double(j, "cpi", cpi_of(c));
    json_key(j, "stack");
    json_open(j, '{');
    for (unsigned i = 0; i < COST_CAUSE_COUNT; i++)
        if (c->cost.parts[i])
            json_key_u64(j, simulated_causes[i].name, cost_whole_cycles(c->cost.parts[i]));
    json_close(j, '}');
    json_key(j, "events");
    json_open(j, '{');
    for (unsigned i = 0; i < COST_EVENT_COUNT; i++)
        if (c->cost.events[i])
            json_key_u64(j, events[i].name, c->cost.events[i]);
    json_close(j, '}');
}

static void json_unknown(struct json *j, const struct view *v)
{
    const struct profile_values *values = observed_values(v->profile);
    json_key(j, "unknown");
    json_open(j, '{');
    for (uint32_t i = 0; values && i < values->fact_count; i++)
        if (unknown_name(&values->facts[i]))
            json_key_u64(j, unknown_name(&values->facts[i]), values->facts[i].value);
    json_close(j, '}');
}

static void json_sampled(struct json *j, const struct view *v)
{
    static const struct {
        const char *name;
        enum simulated_fact fact;
        bool cpi;
    } members[] = {{"period", SAMPLED_PERIOD, false}, {"warming", SAMPLED_WARMING, false},
                   {"measured", SAMPLED_MEASURED, false},
                   {"instructions", SAMPLED_INSTRUCTIONS, false},
                   {"windows", SAMPLED_WINDOWS, false}, {"cpi", SAMPLED_CPI, true},
                   {"interval", SAMPLED_HALF, true}, {"long_windows", SAMPLED_LONG, false},
                   {"bias", SAMPLED_BIAS, true}, {"bias_interval", SAMPLED_BIAS_HALF, true}};
    if (!sampled(v, SAMPLED_PERIOD))
        return;
    json_key(j, "sampled");
    json_open(j, '{');
    json_key(j, "cold");
    json_bool(j, sampled_count(v, SAMPLED_COLD));
    for (unsigned i = 0; i < sizeof members / sizeof members[0]; i++) {
        if (!sampled(v, members[i].fact))
            continue;
        if (members[i].cpi)
            json_key_double(j, members[i].name, sampled_cpi(v, members[i].fact));
        else
            json_key_u64(j, members[i].name, sampled_count(v, members[i].fact));
    }
    json_close(j, '}');
}

/* The array of functions, or of lines, by cycles, those of `share` of all at least. */
static void json_functions(struct json *j, const struct view *v, const struct simulated_places *f,
                           double share, uint32_t limit)
{
    struct ranked *order = f->list ? order_make(f) : NULL;
    double least = share * (double)cost_parts(&f->all.cost);
    j->out->failed |= !order;
    json_open(j, '[');
    for (uint32_t i = 0; order && i < f->count && (!limit || i < limit); i++) {
        const struct simulated_place *at = &f->list[order[i].index];
        if ((double)order[i].value < least)
            break;
        json_open(j, '{');
        json_key_string(j, "function", at->name);
        json_key_string(j, "image", symbols_place_name(v->symbols, at->image, at->sum.offset));
        if (at->line) {
            json_key_string(j, "file", at->file);
            json_key_u64(j, "line", at->line);
        }
        json_cost(j, &at->sum);
        json_close(j, '}');
    }
    json_close(j, ']');
    free(order);
}

/* Where something is known of lines. */
static void json_lines(struct json *j, const struct view *v, const struct profile_simulated *s,
                       uint32_t limit)
{
    const double least = 0.001;
    struct simulated_places f = simulated_places_make(v, s, true);
    json_key(j, "lines");
    json_functions(j, v, &f, least, limit);
    free(f.list);
}

static void json_causes(struct json *j)
{
    json_key(j, "causes");
    json_open(j, '[');
    for (unsigned i = 0; i < COST_CAUSE_COUNT; i++) {
        json_open(j, '{');
        json_key_string(j, "name", simulated_causes[i].name);
        json_key_string(j, "title", simulated_causes[i].title);
        json_key_string(j, "what", simulated_causes[i].what);
        json_close(j, '}');
    }
    json_close(j, ']');
}

/* Member "simulated". */
static void json(struct json *j, const struct view *v, const void *table, uint32_t limit)
{
    static const struct profile_simulated none;
    const struct profile_simulated *s = table ? table : &none;
    struct simulated_places f = simulated_places_make(v, s, false);
    struct simulated_dise dise;
    json_key(j, "simulated");
    json_open(j, '{');
    json_key_string(j, "machine", s->machine ? s->machine : "");
    json_causes(j);
    json_cost(j, &f.all);
    if (dise_of(v, &f.all, &dise))
        simulated_dise_json(j, &dise);
    json_unknown(j, v);
    json_sampled(j, v);
    json_key(j, "functions");
    json_functions(j, v, &f, 0, limit);
    json_lines(j, v, s, limit);
    json_close(j, '}');
    free(f.list);
}

/* ---- at one instruction ---- */

static const struct profile_cost *find(const struct profile_simulated *s, uint32_t image,
                                       uint64_t offset)
{
    uint32_t lo = 0, hi = s->count;
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        const struct profile_cost *c = &s->list[middle];
        bool before = c->image + FRAME_IMAGE_FIRST != image + FRAME_IMAGE_FIRST
                          ? c->image + FRAME_IMAGE_FIRST < image + FRAME_IMAGE_FIRST
                          : c->offset < offset;
        if (before)
            lo = middle + 1;
        else
            hi = middle;
    }
    const struct profile_cost *c = lo < s->count ? &s->list[lo] : NULL;
    return c && c->image == image && c->offset == offset ? c : NULL;
}

static struct profile_cost sum_of(const struct profile_simulated *s, uint32_t image,
                                  uint64_t start, uint64_t end)
{
    struct profile_cost sum = {0};
    for (uint32_t i = 0; i < s->count; i++)
        if (s->list[i].image == image && s->list[i].offset >= start && s->list[i].offset < end)
            profile_cost_sum(&sum, &s->list[i]);
    return sum;
}

static void over(FILE *out, const struct view *v, const void *table, uint32_t image,
                 uint64_t start, uint64_t end)
{
    char number[TEXT_NUMBER_SIZE];
    struct profile_cost sum = sum_of(table, image, start, end);
    (void)v;
    if (!sum.count)
        return;
    fprintf(out, "%s instructions, %.3f cycles each: ", text_count(number, sum.count),
            cpi_of(&sum));
    simulated_write(out, sum.cost.parts, COST_CAUSE_COUNT);
    fputc('\n', out);
}

static void json_over(struct json *j, const struct view *v, const void *table, uint32_t image,
                      uint64_t start, uint64_t end)
{
    struct profile_cost sum = sum_of(table, image, start, end);
    (void)v;
    json_key(j, "simulated");
    json_open(j, '{');
    json_cost(j, &sum);
    json_close(j, '}');
}

static void at(FILE *out, const struct view *v, const void *table, uint32_t image, uint64_t offset,
               int indent)
{
    enum { MOST = 4 };
    char number[TEXT_NUMBER_SIZE];
    const struct profile_cost *c = find(table, image, offset);
    (void)v;
    if (!c || !cost_parts(&c->cost))
        return;
    fprintf(out, "%*s%s cycles, %.2f each: ", indent, "",
            text_count(number, cost_parts(&c->cost) / COST_CYCLE), cpi_of(c));
    simulated_write(out, c->cost.parts, MOST);
    fputc('\n', out);
}

static void json_at(struct json *j, const struct view *v, const void *table, uint32_t image,
                    uint64_t offset)
{
    const struct profile_cost *c = find(table, image, offset);
    (void)v;
    if (!c)
        return;
    json_key(j, "simulated");
    json_open(j, '{');
    json_cost(j, c);
    json_close(j, '}');
}

const struct table_view view_simulate = {.text = text,
                                         .json = json,
                                         .over = over,
                                         .json_over = json_over,
                                         .at = at,
                                         .json_at = json_at};
