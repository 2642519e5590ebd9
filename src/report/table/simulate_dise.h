/* What productions cost on a modelled processor (model/dise.h), in reports of a simulation.
 *
 * Context: ordinary code. Facts are a file's, and may be anything.
 * Ownership: none. */
#ifndef PENUMBRA_REPORT_TABLE_SIMULATE_DISE_H
#define PENUMBRA_REPORT_TABLE_SIMULATE_DISE_H

#include "model/dise.h"
#include "report/json.h"
#include "report/report.h"

struct profile_values;

struct simulated_dise {
    struct dise_sums sums;
    enum dise_mode mode;
};

/* From the profile's facts. False: the machine ran no productions, or these are several
 * recordings', whose sums are not known: `cycles` are the simulation's. */
bool simulated_dise_find(const struct profile_values *values, double cycles,
                         struct simulated_dise *out);

void simulated_dise_text(FILE *out, const struct report_style *style,
                         const struct simulated_dise *d);
/* Member "dise". */
void simulated_dise_json(struct json *j, const struct simulated_dise *d);

#endif
