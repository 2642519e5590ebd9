#include "profile/metrics.h"

#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"

bool profile_metric_add(struct profile *p, const struct profile_metric *m)
{
    if (p->metric_count == METRICS_MAX)
        return false;
    struct profile_metric *to = &p->metrics[p->metric_count++];
    *to = *m;
    to->name = strdup(m->name);
    to->trigger = strdup(m->trigger);
    to->unit = strdup(m->unit);
    return to->name && to->trigger && to->unit;
}

bool profile_metrics_of_heap(struct profile *p)
{
    static const char *const names[HEAP_METRICS] = {
        [HEAP_ALLOCATED] = "allocated", [HEAP_LIVE] = "live", [HEAP_PEAK] = "peak"};
    struct profile_metric m = p->metrics[0];
    char *name = strdup(names[HEAP_ALLOCATED]);
    if (!name)
        return false;
    free(p->metrics[0].name);
    p->metrics[0].name = name;
    for (unsigned i = HEAP_LIVE; i < HEAP_METRICS; i++) {
        m.name = (char *)(uintptr_t)names[i];
        if (!profile_metric_add(p, &m))
            return false;
    }
    return true;
}

uint32_t profile_metric_find(const struct profile *p, const char *name)
{
    for (uint32_t i = 0; i < p->metric_count; i++)
        if (strcmp(p->metrics[i].name, name) == 0)
            return i;
    return strcmp(p->metrics[0].trigger, name) == 0 ? 0 : UINT32_MAX;
}

const char *metric_how_name(unsigned how)
{
    static const char *const names[METRIC_HOWS] = {[METRIC_REGULAR] = "regular",
                                                   [METRIC_RANDOMIZED] = "randomized",
                                                   [METRIC_EXACT] = "exact"};
    return how < METRIC_HOWS ? names[how] : "?";
}
