#include "report/diff_causes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/observations.h"
#include "report/simulated.h"
#include "report/text.h"

/* Of a row's causes. */
enum { SHOWN = 3 };

const char *diff_causes_machine(const struct diff_run *run)
{
    const struct profile_simulated *s = observed_table(run->view->profile, TABLE_SIMULATE);
    return s ? s->machine : NULL;
}

bool diff_has_causes(const struct diff_run *runs, uint32_t count)
{
    for (uint32_t r = 0; r < count; r++)
        if (!profile_is_simulated(runs[r].view->profile) ||
            runs[r].view->metric != SIMULATED_CYCLES)
            return false;
    return count;
}

void diff_causes_add(struct diff_causes *to, enum diff_weight weight, unsigned side,
                     const uint64_t *weights, double parts)
{
    for (unsigned i = 0; i < SIMULATED_METRICS; i++)
        to->of[weight][side][i] += parts * (double)weights[i];
}

/* ---- text ---- */

struct change {
    double percent;
    unsigned cause;
};

static int compare_changes(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    double u = fabs(x->percent), v = fabs(y->percent);
    if (u > v || u < v)
        return u > v ? -1 : 1;
    return (x->cause > y->cause) - (x->cause < y->cause);
}

static const struct diff_causes *all_of(const struct diff *d)
{
    return &d->contexts.causes[0];
}

double diff_causes_percent(const struct diff *d, unsigned side)
{
    return 100 * d->scale[side] / all_of(d)->of[DIFF_TOTAL][side][SIMULATED_CYCLES];
}

double diff_causes_difference(const struct diff *d, const struct diff_causes *c,
                              enum diff_weight weight, unsigned metric)
{
    return diff_causes_percent(d, DIFF_AFTER) * c->of[weight][DIFF_AFTER][metric] -
           diff_causes_percent(d, DIFF_BEFORE) * c->of[weight][DIFF_BEFORE][metric];
}

void diff_causes_write(FILE *out, const struct diff *d, const struct diff_causes *c,
                       enum diff_weight weight)
{
    struct change changes[COST_CAUSE_COUNT];
    for (unsigned i = 0; i < COST_CAUSE_COUNT; i++)
        changes[i] =
            (struct change){diff_causes_difference(d, c, weight, SIMULATED_CAUSES + i), i};
    qsort(changes, COST_CAUSE_COUNT, sizeof *changes, compare_changes);
    for (unsigned i = 0; i < SHOWN && fabs(changes[i].percent) >= DIFF_CAUSES_NOTHING; i++)
        fprintf(out, "%s%s %+.2f%%", i ? ", " : "  ", simulated_causes[changes[i].cause].title,
                changes[i].percent);
}

static void write_machine(FILE *out, const struct diff *d, unsigned side)
{
    const char *machine = diff_causes_machine(diff_last_run(d, side));
    fprintf(out, "machine %s  ", side == DIFF_BEFORE ? "before" : "after ");
    text_name(out, machine ? machine : "?", 0);
    fputc('\n', out);
}

static double an_instruction(const double of[SIMULATED_METRICS], unsigned metric)
{
    double instructions = of[SIMULATED_INSTRUCTIONS];
    return instructions > 0 ? of[metric] / instructions : 0;
}

static void write_line(FILE *out, const double (*of)[SIMULATED_METRICS], unsigned metric,
                       const char *title)
{
    double before = an_instruction(of[DIFF_BEFORE], metric);
    double after = an_instruction(of[DIFF_AFTER], metric);
    if (before > 0 || after > 0)
        fprintf(out, "%8.3f  %8.3f  %+10.3f  %s\n", before, after, after - before, title);
}

void diff_causes_write_all(FILE *out, const struct diff *d, const struct report_style *style)
{
    const double(*of)[SIMULATED_METRICS] = all_of(d)->of[DIFF_TOTAL];
    write_machine(out, d, DIFF_BEFORE);
    write_machine(out, d, DIFF_AFTER);
    text_colour(out, style, TEXT_DIM);
    fputs("\n  before     after  difference  cycles an instruction\n", out);
    text_colour(out, style, TEXT_PLAIN);
    write_line(out, of, SIMULATED_CYCLES, "all");
    for (unsigned i = 0; i < COST_CAUSE_COUNT; i++)
        write_line(out, of, SIMULATED_CAUSES + i, simulated_causes[i].title);
}

/* ---- JSON ---- */

static void json_side(struct json *j, const char *key, const double of[SIMULATED_METRICS])
{
    json_key(j, key);
    json_open(j, '{');
    json_key_double(j, "instructions", of[SIMULATED_INSTRUCTIONS]);
    json_key_double(j, "cycles", of[SIMULATED_CYCLES]);
    json_key(j, "stack");
    json_open(j, '{');
    for (unsigned i = 0; i < COST_CAUSE_COUNT; i++)
        if (of[SIMULATED_CAUSES + i] > 0)
            json_key_double(j, simulated_causes[i].name, of[SIMULATED_CAUSES + i]);
    json_close(j, '}');
    json_close(j, '}');
}

void diff_causes_json(struct json *j, const struct diff_causes *c, enum diff_weight weight)
{
    json_key(j, "simulated");
    json_open(j, '{');
    json_side(j, "before", c->of[weight][DIFF_BEFORE]);
    json_side(j, "after", c->of[weight][DIFF_AFTER]);
    json_close(j, '}');
}
