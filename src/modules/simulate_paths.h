/* The calling context in which a thread executes its instructions, told by its calls and returns,
 * and a row of costs for each (profile/simulate.h, struct spool_context_cost).
 *
 *     stack of calls (grows up)         tree
 *
 *     { slot, call, own }               main @ call of f            `call`
 *       ^ where the return address is   ├ f @ where it begins       `own`: what f itself costs
 *                                       └ f @ call of g ...
 *
 * Frames whose return address lies below the stack pointer are gone: so longjmp and exceptions
 * leave nothing wrong behind. A thread may run on several stacks, each with calls of its own. A
 * function that is jumped to, such as by a tail call, has costs of its own below the same call.
 *
 * Context: the module's process.
 * Ownership: simulate_paths_new makes, _free frees; rows are the spool's. */
#ifndef PENUMBRA_MODULES_SIMULATE_PATHS_H
#define PENUMBRA_MODULES_SIMULATE_PATHS_H

#include "model/uop.h"
#include "modules/host_internal.h"
#include "profile/simulate.h"

struct simulate_paths;

/* An instruction. */
struct simulate_place {
    uint64_t key, function; /* key.h: where it is; simulate_function */
    uint64_t call_key;      /* its last byte */
};

struct simulate_paths *simulate_paths_new(int32_t thread);
void simulate_paths_free(struct simulate_paths *p);

/* What comes next is not what followed what came last: nothing is known of the callers. False
 * without memory. */
bool simulate_paths_break(struct penumbra_host *host, struct simulate_paths *p);

/* Where the costs of the instruction at that place of the current process go, which comes next.
 * NULL: there is no room for its context. */
struct spool_context_cost *simulate_paths_enter(struct penumbra_host *host,
                                                struct simulate_paths *p,
                                                const struct simulate_place *at);
/* It was executed: what follows may be in another context. False without memory. */
bool simulate_paths_follow(struct penumbra_host *host, struct simulate_paths *p,
                           const struct simulate_place *at, const struct uop_insn *insn,
                           const struct uop_executed *x);

#endif
