/* Machine files: KEY = VALUE lines, # comments (docs/simulate.md). Read by inih; keys and values
 * are model/machine.h's.
 *
 * Context: the main thread.
 * Ownership: nothing is kept. */
#ifndef PENUMBRA_COLLECTOR_MACHINE_FILE_H
#define PENUMBRA_COLLECTOR_MACHINE_FILE_H

#include <limits.h>

#include "base/err.h"
#include "model/machine.h"

/* Where the machine of that name is: the file, or one that penumbra is installed with ("zen4").
 * False: there is none; *e names those that there are. */
bool machine_file_find(const char *name, char path[PATH_MAX], struct err *e);

/* *m is what the file says. The error names file, line and key. Whether keys are missing is
 * machine_check's business: more may be set. */
bool machine_file_read(const char *path, struct machine *m, struct err *e);

/* The file, then the pairs "key=value", NULL-terminated, then the check. */
bool machine_file_load(const char *name, const char *const *pairs, struct machine *m,
                       struct err *e);

#endif
