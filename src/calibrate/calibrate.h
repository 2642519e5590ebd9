/* The machine that this runs on, as a machine of the model (model/machine.h): measured with loops
 * of generated code.
 *
 * Context: one thread; takes the seconds that it is given, about.
 * Ownership: values. */
#ifndef PENUMBRA_CALIBRATE_CALIBRATE_H
#define PENUMBRA_CALIBRATE_CALIBRATE_H

#include "base/err.h"
#include "model/machine.h"

/* The name of the shipped machine that is nearest to this one: by its vendor. */
const char *calibrate_nearest(void);

/* What is measured replaces what is in *m, a machine that machine_check takes; measured[i] says of
 * key i whether it was. False: no memory, or no generated code is allowed. Afterwards machine_check
 * takes *m. */
bool calibrate(struct machine *m, bool measured[], double seconds, struct err *e);

#endif
