/* Values of all processes and the kernel: what the BPF program captures is interpreted, and a
 * module sees the tuples (docs/kernel-values.md; Burrows et al., Efficient and Flexible Value
 * Sampling).
 *
 *     capture_record ──> interpreter ──┬─> tuples ──> the module's process ──> hotlists
 *                                      ├─> words that were lacking ──> the recipe of that place
 *                                      └─> why it stopped, counted
 *
 * Context: the main thread opens, runs, writes notes and frees; the walker takes.
 * Ownership: borrows processes and rings. */
#ifndef PENUMBRA_COLLECTOR_MACHINE_VALUES_H
#define PENUMBRA_COLLECTOR_MACHINE_VALUES_H

#include "base/buf.h"
#include "base/err.h"
#include "collector/machine/machine_process.h"
#include "collector/machine/machine_record.h"
#include "collector/machine/machine_rings.h"

struct machine_values;

/* period_ns: of samples; what is captured is one of so many, as the spool's settings say. cgroup:
 * as of the rings. */
bool machine_values_open(struct machine_values **to, struct machine_processes *processes,
                         struct machine_rings *rings, uint64_t period_ns, int cgroup,
                         struct err *e);
/* NULL does nothing, here and below. */
void machine_values_run(struct machine_values *v, bool run);
void machine_values_take(struct machine_values *v, const struct machine_record *r);
void machine_values_notes(const struct machine_values *v, struct buf *notes);
void machine_values_free(struct machine_values *v);

#endif
