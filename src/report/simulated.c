#include "report/simulated.h"

#include <stdlib.h>

#include "report/ranked.h"
#include "report/text.h"
#include "report/view.h"

enum { MOST = 3 };

const struct simulated_cause simulated_causes[COST_CAUSE_COUNT] = {
#define CAUSE(id, name, title, what) {#name, title, what},
    COST_CAUSES(CAUSE)
#undef CAUSE
};

void simulated_write(FILE *out, const uint64_t parts[COST_CAUSE_COUNT], unsigned most)
{
    struct ranked order[COST_CAUSE_COUNT];
    uint64_t all = 0;
    for (unsigned i = 0; i < COST_CAUSE_COUNT; i++) {
        order[i] = (struct ranked){parts[i], i};
        all += parts[i];
    }
    qsort(order, COST_CAUSE_COUNT, sizeof *order, compare_ranked);
    for (unsigned i = 0; i < most && order[i].value; i++)
        fprintf(out, "%s%s %.0f%%", i ? ", " : "", simulated_causes[order[i].index].title,
                text_share(order[i].value, all));
}

void simulated_write_weights(FILE *out, const struct view *v, const uint64_t *weights)
{
    if (!profile_is_simulated(v->profile) || !weights[SIMULATED_CYCLES])
        return;
    fprintf(out, "  %.2f CPI: ",
            (double)weights[SIMULATED_CYCLES] / (double)(weights[SIMULATED_INSTRUCTIONS] | 1));
    simulated_write(out, &weights[SIMULATED_CAUSES], MOST);
}

void simulated_json_weights(struct json *j, const struct view *v, const uint64_t *weights)
{
    if (!profile_is_simulated(v->profile))
        return;
    json_key(j, "simulated");
    json_open(j, '{');
    json_key_u64(j, "instructions", weights[SIMULATED_INSTRUCTIONS]);
    json_key_u64(j, "cycles", weights[SIMULATED_CYCLES]);
    json_key(j, "stack");
    json_open(j, '{');
    for (unsigned i = 0; i < COST_CAUSE_COUNT; i++)
        if (weights[SIMULATED_CAUSES + i])
            json_key_u64(j, simulated_causes[i].name, weights[SIMULATED_CAUSES + i]);
    json_close(j, '}');
    json_close(j, '}');
}

const char *simulated_unit(const struct view *v)
{
    if (!profile_is_simulated(v->profile))
        return NULL;
    return v->metric == SIMULATED_INSTRUCTIONS ? "instructions" : "cycles";
}
