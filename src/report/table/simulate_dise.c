#include "report/table/simulate_dise.h"

#include <math.h>
#include <string.h>

#include "profile/simulate.h"
#include "profile/values.h"
#include "report/text.h"

enum { WIDTH = 15 };

static const struct {
    const char *name, *what;
} parts[DISE_PART_COUNT] = {
#define PART(id, name, what) {#name, what},
    DISE_PARTS(PART)
#undef PART
};

static const struct {
    const char *name, *title;
} counts[DISE_COUNT_COUNT] = {
#define COUNT(id, name, title) {#name, title},
    DISE_COUNTS(COUNT)
#undef COUNT
};

static const char *const modes[] = {[DISE_HPS] = "hps", [DISE_ORIGINAL] = "original"};

/* ---- from facts ---- */

static bool find(const struct profile_values *values, const char *prefix, const char *name,
                 uint64_t *value)
{
    size_t length = strlen(prefix);
    for (uint32_t i = 0; values && i < values->fact_count; i++) {
        const char *fact = values->facts[i].name;
        if (strncmp(fact, prefix, length) != 0 || strcmp(fact + length, name) != 0)
            continue;
        *value = values->facts[i].value;
        return true;
    }
    return false;
}

bool simulated_dise_find(const struct profile_values *values, double cycles,
                         struct simulated_dise *out)
{
    const double near = 1e-3, few = 1000; /* rows that had no room; threads' last cycles */
    uint64_t original;
    if (!find(values, SIMULATED_DISE_ORIGINAL, "", &original))
        return false;
    out->mode = original ? DISE_ORIGINAL : DISE_HPS;
    for (unsigned i = 0; i < DISE_PART_COUNT; i++)
        if (!find(values, SIMULATED_DISE_CYCLES, parts[i].name, &out->sums.cycles[i]))
            return false;
    for (unsigned i = 0; i < DISE_COUNT_COUNT; i++)
        if (!find(values, SIMULATED_DISE, counts[i].name, &out->sums.counts[i]))
            return false;
    double with = (double)out->sums.cycles[DISE_PART_COUNT - 1];
    return fabs(with - cycles) <= near * cycles + few;
}

/* ---- as text ---- */

/* Cycles that the part adds; less than 0: it is faster with it. */
static double added(const struct simulated_dise *d, unsigned part)
{
    return (double)d->sums.cycles[part] - (double)d->sums.cycles[part - 1];
}

static double percent(double cycles, const struct simulated_dise *d)
{
    double without = (double)d->sums.cycles[DISE_NONE];
    return without > 0 ? 100 * cycles / without : 0;
}

void simulated_dise_text(FILE *out, const struct report_style *style,
                         const struct simulated_dise *d)
{
    char first[TEXT_NUMBER_SIZE], last[TEXT_NUMBER_SIZE];
    uint64_t without = d->sums.cycles[DISE_NONE], with = d->sums.cycles[DISE_PART_COUNT - 1];
    fprintf(out, "productions (DISE, %s): %s cycles without, %s with: %+.2f%%\n\n", modes[d->mode],
            text_count(first, without), text_count(last, with),
            percent((double)with - (double)without, d));
    text_colour(out, style, TEXT_DIM);
    fprintf(out, "%*s  %9s  %-10s cycles for\n", WIDTH, "cycles", "overhead", "part");
    text_colour(out, style, TEXT_PLAIN);
    for (unsigned i = DISE_NONE + 1; i < DISE_PART_COUNT; i++)
        fprintf(out, "%*.0f  %8.3f%%  %-10s %s\n", WIDTH, added(d, i), percent(added(d, i), d),
                parts[i].name, parts[i].what);
    fputc('\n', out);
    for (unsigned i = 0; i < DISE_COUNT_COUNT; i++)
        fprintf(out, "%*s  %s\n", WIDTH, text_count(first, d->sums.counts[i]), counts[i].title);
    fputc('\n', out);
}

/* ---- JSON ---- */

void simulated_dise_json(struct json *j, const struct simulated_dise *d)
{
    json_key(j, "dise");
    json_open(j, '{');
    json_key_string(j, "mode", modes[d->mode]);
    json_key(j, "cycles");
    json_open(j, '{');
    for (unsigned i = 0; i < DISE_PART_COUNT; i++)
        json_key_u64(j, parts[i].name, d->sums.cycles[i]);
    json_close(j, '}');
    json_key(j, "counts");
    json_open(j, '{');
    for (unsigned i = 0; i < DISE_COUNT_COUNT; i++)
        json_key_u64(j, counts[i].name, d->sums.counts[i]);
    json_close(j, '}');
    json_close(j, '}');
}
