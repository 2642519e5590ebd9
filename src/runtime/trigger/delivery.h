/* The signal handler: one entry for all triggers. It finds out whose signal it is and what it stands for,
 * and hands the sample to the carrier.
 *
 * Context: handler_as is the signal handler, all other signals blocked. It makes no call into libc. */
#ifndef PENUMBRA_RUNTIME_TRIGGER_DELIVERY_H
#define PENUMBRA_RUNTIME_TRIGGER_DELIVERY_H

#include <signal.h>

#include "runtime/runtime.h"

void handler_as(int signal, siginfo_t *info, void *context);
/* The signal is one that we have asked for. */
bool handler_is_ours(const siginfo_t *info);

#endif
