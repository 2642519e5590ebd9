#include "modules/sample.h"

#include <math.h>

/* Predictors forget sooner than caches. With what they have kept from the windows before, so many
 * instructions make them as if they had seen all (docs/results/simulate.md). */
enum { PREDICTORS_REACH = 2000000 };

void sample_add(struct sample_sum *s, double value)
{
    double away = value - s->mean;
    s->mean += away / (double)++s->count;
    s->squares += away * (value - s->mean);
}

/* 97.5% of Student's distribution; beyond the table Fisher's expansion, good to 0.1%. */
static double student(uint64_t freedom)
{
    enum { TABLE = 10 };
    static const double table[TABLE] = {12.706, 4.303, 3.182, 2.776, 2.571,
                                        2.447, 2.365, 2.306, 2.262, 2.228};
    const double z = 1.959964, f = (double)freedom;
    if (freedom <= TABLE)
        return table[freedom - 1];
    return z + (z * z * z + z) / (4 * f) +
           (5 * pow(z, 5) + 16 * z * z * z + 3 * z) / (96 * f * f);
}

double sample_half_width(const struct sample_sum *s)
{
    if (s->count < 2)
        return -1;
    double n = (double)s->count;
    return student(s->count - 1) * sqrt(s->squares / (n - 1) / n);
}

void sample_begin(struct sample *s, struct sample_window *w, uint32_t number)
{
    *w = (struct sample_window){.number = number};
    s->begun++;
}

uint64_t sample_instructions(const struct sample *s)
{
    return s->settings.lines ? s->inside + s->between : s->begun * s->settings.period;
}

bool sample_is_near(const struct sample_settings *s, uint32_t next, uint64_t executed)
{
    return executed + PREDICTORS_REACH >= sample_place(s, next);
}

bool sample_step(struct sample *s, struct sample_window *w, uint64_t cycles)
{
    const struct sample_settings *set = &s->settings;
    s->inside++;
    uint64_t at = w->executed++, measured = set->measured;
    uint64_t first_end = set->warming + measured, end = sample_length(set, w->number);
    if (at == set->warming || (at == end - measured && end > first_end))
        w->cycles = cycles;
    double cpi = (double)(cycles - w->cycles) / (double)measured;
    if (at == first_end) {
        w->first = cpi;
        sample_add(&s->cpi, cpi);
    } else if (at == end) {
        sample_add(&s->bias, w->first - cpi);
    }
    return at >= set->warming && at < first_end;
}
