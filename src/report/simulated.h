/* Cycles of a processor model by their cause (profile/simulate.h), in reports: of whatever has a
 * sum of them.
 *
 * Context: ordinary code.
 * Ownership: nothing is kept. */
#ifndef PENUMBRA_REPORT_SIMULATED_H
#define PENUMBRA_REPORT_SIMULATED_H

#include <stdio.h>

#include "profile/simulate.h"
#include "report/json.h"
#include "report/report.h"

struct simulated_cause {
    const char *name, *title, *what;
};
extern const struct simulated_cause simulated_causes[COST_CAUSE_COUNT];

/* "memory 61%, branch 12%, base 10%": the greatest parts, `most` of them. */
void simulated_write(FILE *out, const uint64_t parts[COST_CAUSE_COUNT], unsigned most);

/* Of a node or a function of a view, by its weights: nothing where they are not those of a
 * simulation. */
void simulated_write_weights(FILE *out, const struct view *v, const uint64_t *weights);
/* The member "simulated" of it: instructions, cycles, and the stack. */
void simulated_json_weights(struct json *j, const struct view *v, const uint64_t *weights);

/* The metric that is shown is of a simulation: "cycles" or "instructions"; else NULL. */
const char *simulated_unit(const struct view *v);

#endif
