/* The carrier `handler`: looks at the interrupted context only. One entry for all triggers.
 *
 * Context: handler_as is the signal handler, all other signals blocked. It makes no call into libc. */
#ifndef PENUMBRA_RUNTIME_CARRIER_HANDLER_H
#define PENUMBRA_RUNTIME_CARRIER_HANDLER_H

#include <signal.h>

void handler_as(int signal, siginfo_t *info, void *context);

#endif
