/* About the run, for the hooks of tools (hook.h): what kind it is, where things are kept, who
 * calls, and the budget of a burst.
 *
 * Context: called hooks, flush and thread_begin, in the thread concerned.
 * Ownership: the engine's. */
#ifndef PENUMBRA_ENGINE_HOOK_RUN_H
#define PENUMBRA_ENGINE_HOOK_RUN_H

#include "engine/hook.h"

/* True if runs begin and end anywhere (bursts, shadows), false if the whole run is observed. */
bool hook_is_sampled(const struct engine_thread *t);
/* Of these, bursts: the thread goes on natively afterwards. */
bool hook_is_burst(const struct engine_thread *t);
/* The address is in the profiler's own image. The tool is asked about blocks there only if it is
 * TOOL_OWN. */
bool hook_is_own(const struct engine_thread *t, uint64_t address);

/* Where the tool keeps what it keeps in the spool; NULL: nowhere. */
const struct spool *hook_spool(const struct engine_thread *t);
/* The process's counts there, or NULL; others in a forked child. */
struct spool_counts *hook_counts(const struct engine_thread *t);
/* The spool had no room: true if the collector was given time to make some, and it is worth another
 * try. Whole runs and shadows can wait, and not for ever: after hook_waited the time begins
 * anew. */
bool hook_wait_as(struct engine_thread *t);
void hook_waited(struct engine_thread *t);

/* hook_key_as of an address that is met when it is executed. */
uint64_t hook_key_late_as(struct engine_thread *t, uint64_t address);
/* The return address of the procedure that the thread is in, before the instruction at pc; 0: not
 * known. */
uint64_t hook_caller_as(struct engine_thread *t, uint64_t pc);

/* For flush: so many instructions are behind the records, those included that hooks counted at the
 * blocks' entry. A loose budget is less by as many. */
void hook_executed(struct engine_thread *t, uint64_t instructions);

/* For hooks called before an instruction, with engine_config.late: true if it lies behind the
 * budget, and is to be observed. Else it is counted. */
static inline bool hook_is_late(struct engine_thread *t)
{
    if (t->budget > 0) {
        t->budget--;
        return false;
    }
    t->observed++;
    return true;
}
/* For hooks before an instruction and HOOK_INDIRECT, as the last that they do: the thread stops
 * before the instruction at pc, its budget used up. Not of tools that append. */
void hook_stop_as(struct engine_thread *t, uint64_t pc);

#endif
