/* The call path of one sample: walked, and counted in the thread's tree.
 *
 * Context: the thread that is sampled, in a handler or in an interposed function. No call into
 * libc.
 * Ownership: what is counted is the spool's. */
#ifndef PENUMBRA_RUNTIME_PATH_SAMPLE_H
#define PENUMBRA_RUNTIME_PATH_SAMPLE_H

#include "runtime/runtime.h"
#include "runtime/trigger/trigger.h"
#include "unwind/unwind.h"

/* Counts one sample in the calling thread's tree: the call path from regs, in the phase that the
 * process is in. For triggers that need no signal too (trigger/sync.h). */
void sample_take_as(struct rt_thread *t, const struct unwind_regs *regs,
                    struct trigger_charge charge);

#endif
