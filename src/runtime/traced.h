/* Whether somebody traces the calling thread (a debugger, strace): each signal stops it, and is
 * shown to the tracer.
 *
 * Context: traced_as: any, signal handlers included; not where rt_quiet_as(). Some 600 bytes of
 * stack.
 * Ownership: none. */
#ifndef PENUMBRA_RUNTIME_TRACED_H
#define PENUMBRA_RUNTIME_TRACED_H

#include <stdbool.h>

/* False also where /proc does not say. */
bool traced_as(void);

#endif
