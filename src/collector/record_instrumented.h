/* Whether a program has instrumentation compiled in (penumbra/inst.h).
 *
 * Context: ordinary code. */
#ifndef PENUMBRA_COLLECTOR_RECORD_INSTRUMENTED_H
#define PENUMBRA_COLLECTOR_RECORD_INSTRUMENTED_H

#include <stdbool.h>

/* The ELF file itself; libraries that it needs are not looked at. False, too, where it cannot be
 * read or is none. */
bool record_instrumented(const char *path);

#endif
