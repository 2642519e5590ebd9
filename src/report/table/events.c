#include "report/table/events.h"

#include <stdlib.h>

#include "base/saturate.h"
#include "report/text.h"

struct interval events_interval(const struct profile_events *t, double part, double squares,
                                double whole)
{
    double share = whole > 0 ? part / whole : 0;
    if (t->most <= 1)
        return (struct interval){share, share};
    /* What was never seen was not seen in any burst. */
    return ci_wilson(share, squares > 0 ? part * whole / squares : (double)t->bursts);
}

void events_header(FILE *out, const struct profile_events *t)
{
    char bursts[TEXT_NUMBER_SIZE], number[TEXT_NUMBER_SIZE];
    if (t->most <= 1)
        fprintf(out, "every check was a sample: counts are exact\n");
    else
        fprintf(out, "estimated from %s bursts, one at some %s checks at most\n",
                text_count(bursts, t->bursts), text_count(number, t->most));
    if (t->missed)
        fprintf(out, "not counted, as there was no room: %s events\n",
                text_count(number, t->missed));
}

static bool is_of(const struct profile_event *e, uint32_t kind)
{
    return kind == UINT32_MAX || e->kind == kind;
}

uint32_t events_count(const struct profile_events *t, uint32_t kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < t->count; i++)
        count += is_of(&t->list[i], kind);
    return count;
}

struct ranked *events_order(const struct profile_events *t, uint32_t kind, uint64_t *all)
{
    struct ranked *order = calloc((size_t)t->count + 1, sizeof *order);
    uint32_t count = 0;
    *all = 0;
    for (uint32_t i = 0; order && i < t->count; i++) {
        if (!is_of(&t->list[i], kind))
            continue;
        order[count++] = (struct ranked){t->list[i].weight, i};
        *all = add_saturated(*all, t->list[i].weight);
    }
    if (order)
        qsort(order, count, sizeof *order, compare_ranked);
    return order;
}

void events_json(struct json *j, const struct profile_events *t, const struct profile_event *e,
                 double all)
{
    struct interval ci = events_interval(t, (double)e->weight, (double)e->squares, all);
    json_key_u64(j, "count", e->weight);
    json_key_u64(j, "seen", e->samples);
    json_key_double(j, "share", all > 0 ? 100 * (double)e->weight / all : 0);
    json_key_double(j, "share_low", 100 * ci.low);
    json_key_double(j, "share_high", 100 * ci.high);
}
