/* The carrier `exact`: the whole run under the engine, from the end of the runtime's constructor on: all
 * threads, and the processes that it forks and executes.
 *
 * Context: the constructor.
 * Ownership: the engine lives as long as the process; records are the spool's. */
#ifndef PENUMBRA_RUNTIME_CARRIER_EXACT_H
#define PENUMBRA_RUNTIME_CARRIER_EXACT_H

#include <stdbool.h>

/* From this call's return on the calling thread, the only one, runs under the engine. False: it
 * cannot; the process's record says why. */
bool exact_begin(void);

#endif
