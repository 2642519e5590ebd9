/* An out-of-order core: instructions in, in the order of the program; cycles out. There is no loop
 * over cycles. Each micro-operation's times follow from those before it:
 *
 *     fetch ──> dispatch ──────────> issue ─────────> result ──> commit       ──> drained (stores)
 *     in order  in order             any order        latency    in order         in order
 *     width,    width, room in the   operands, port   memory     width
 *     caches,   reorder buffer,
 *     branches  scheduler, queues
 *
 * These hold, and are asserted:
 *     - dispatch, commit and drain do not go back in time
 *     - fetch < dispatch < issue < result <= commit
 *     - of no queue more entries are taken than it has
 *     - no port begins two micro-operations in one cycle
 *     - all parts of the costs are the cycles of the run
 *
 * What is not modelled: instructions of the wrong path (a misprediction costs time only), loads
 * that overtake a store to the same address (memory disambiguation is perfect), other cores.
 *
 * Context: one thread a core.
 * Ownership: model_core_new makes, model_core_free frees. The machine must live as long. */
#ifndef PENUMBRA_MODEL_CORE_H
#define PENUMBRA_MODEL_CORE_H

#include "model/cost.h"
#include "model/machine.h"
#include "model/uop.h"

struct model_core;

/* The machine has passed machine_check. NULL without memory. */
struct model_core *model_core_new(const struct machine *m);
void model_core_free(struct model_core *core);

/* From now on the parts of costs are added here, too: COST_CAUSE_COUNT of them; NULL: nowhere. */
void model_add_to(struct model_core *core, uint64_t *parts);

/* Executes one instruction, and adds what it cost. */
void model_step(struct model_core *core, const struct uop_insn *insn, const struct uop_executed *x,
                struct model_cost *cost);

const struct machine *model_machine(const struct model_core *core);
/* The cycle in which the last instruction has committed. */
uint64_t model_cycles(const struct model_core *core);

#endif
