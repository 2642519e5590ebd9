/* What a file holds that the view is not of: other parts, other triggers. */
#include "report/header_parts.h"

#include <string.h>

#include "profile/parts.h"
#include "report/text.h"

static const char *amount(char number[TEXT_NUMBER_SIZE], const struct profile_metric *m,
                          double units)
{
    if (!strcmp(m->unit, "nanoseconds"))
        return text_duration(number, units);
    return !strcmp(m->unit, "bytes") ? text_bytes(number, units)
                                     : text_count(number, (uint64_t)units);
}

static void write_other(FILE *out, const struct profile *p, uint32_t metric, uint32_t trigger)
{
    const struct profile_metric *m = &p->metrics[metric];
    struct profile_sampled s = profile_sampled_by(p, trigger);
    uint64_t dropped = profile_sampled_dropped(&s);
    char a[TEXT_NUMBER_SIZE], b[TEXT_NUMBER_SIZE], c[TEXT_NUMBER_SIZE];
    text_name(out, m->trigger, 0);
    fprintf(out, ", every %s: %s sample%s, %s", amount(a, m, (double)m->period),
            text_count(b, s.taken), s.taken == 1 ? "" : "s",
            amount(c, m, (double)s.weight * (double)m->period));
    if (dropped)
        fprintf(out, ", %s dropped", text_count(a, dropped));
    fputs(" (--metric ", out);
    text_name(out, m->name, 0);
    fputs(")\n", out);
}

/* What merging has kept apart, and which of it this is. */
static void write_parts(FILE *out, const struct profile *p, const struct report_style *style)
{
    char name[PART_NAME_MAX];
    struct part_key key = profile_key(p);
    if (!p->part_count)
        return;
    header_field(out, style, "shown");
    text_name(out, part_name(name, &key), 0);
    fprintf(out, ", which is %s; also in this file:\n", profile_observation_how_name(key.how));
    for (uint32_t i = 0; i < p->part_count; i++) {
        key = profile_part_key(&p->parts[i]);
        fprintf(out, "%-10s--observation ", "");
        text_name(out, part_name(name, &key), 0);
        fprintf(out, ": %s\n", profile_observation_how_name(key.how));
    }
}

void header_others(FILE *out, const struct profile *p, const struct report_style *style)
{
    write_parts(out, p, style);
    for (uint32_t m = 1; m < p->metric_count; m++) {
        uint32_t trigger = profile_trigger_of(p, m), before = profile_trigger_of(p, m - 1);
        if (trigger == before)
            continue;
        if (before)
            fprintf(out, "%-10s", "");
        else
            header_field(out, style, "also");
        write_other(out, p, m, trigger);
    }
}
