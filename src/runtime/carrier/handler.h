/* The carrier `handler`: looks at the interrupted context only. One entry for all triggers.
 *
 * Context: handler_as is the signal handler, all other signals blocked. It makes no call into libc. */
#ifndef PENUMBRA_RUNTIME_CARRIER_HANDLER_H
#define PENUMBRA_RUNTIME_CARRIER_HANDLER_H

#include <signal.h>

#include "runtime/runtime.h"
#include "runtime/trigger/trigger.h"

/* Counts one sample in the calling thread's tree: the call path from regs, in the phase that the
 * process is in. For triggers that need no signal too (trigger/sync.h). */
void sample_take_as(struct rt_thread *t, const struct unwind_regs *regs,
                    struct trigger_charge charge);

void handler_as(int signal, siginfo_t *info, void *context);
/* The signal is one that we have asked for. */
bool handler_is_ours(const siginfo_t *info);

#endif
