#include "profile/coverage.h"

#include <string.h>

enum { LACKING_PERCENT = 10, CHANCE_PERIODS = 10 };

bool profile_coverage(const struct profile *p, const struct profile_totals *t,
                      struct profile_coverage *out)
{
    *out = (struct profile_coverage){0};
    if (!p->kernel_cpu_ns || observed_code(p) || strcmp(p->metrics[0].trigger, "cpu") != 0)
        return false;
    double period = (double)p->metrics[0].period, known_ns = (double)t->cpu_ns;
    out->all_ns = (double)p->kernel_cpu_ns > known_ns ? (double)p->kernel_cpu_ns : known_ns;
    out->sampled_ns = (double)t->weight * period;
    for (uint32_t i = 0; i < p->process_count; i++)
        out->early_ns += (double)p->processes[i].early_cpu_ns;
    out->beyond_ns = t->sandboxed ? 0 : out->all_ns - known_ns;
    double missing = out->all_ns - out->sampled_ns - (double)t->drops[DROP_PAUSED] * period;
    /* Chance: what is missing is past three standard deviations of as many samples, if it is past
     * (missing / 3)^2. */
    double periods = missing / period, lacking_ns = out->all_ns * (double)LACKING_PERCENT / 100;
    bool known = out->early_ns + out->beyond_ns > lacking_ns;
    out->lacking = missing > lacking_ns && periods > (double)CHANCE_PERIODS &&
                   (known || periods * periods > 9 * (out->all_ns / period));
    return true;
}
