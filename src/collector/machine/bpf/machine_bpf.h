/* Stacks that the kernel walks itself, by a BPF program at the samples' events (walk.bpf.c).
 *
 *     record WANTED, in the order of time: a process, an address ──> what is mapped, tables ──> maps
 *     record DONE: the addresses of a stack                       ──> machine_sample.c
 *
 * What the program cannot walk comes as it comes without it: so it only makes samples cheaper. It
 * walks a process from the first sample on that has told what was mapped at its moment.
 *
 * Context: the machine's threads, one at a time.
 * Ownership: machine_bpf_close releases all, after the rings are closed or before. */
#ifndef PENUMBRA_COLLECTOR_MACHINE_BPF_H
#define PENUMBRA_COLLECTOR_MACHINE_BPF_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "collector/machine/machine_process.h"
#include "collector/machine/machine_rings.h"

struct machine_bpf;

struct machine_bpf_wishes {
    bool lasting; /* it is to need little memory */
    bool walks;   /* of samples of CPU time */
    bool waits;   /* what threads wait for is told, too (bpf/waits.bpf.inc) */
};

/* Loads the programs and puts them at all events. False: `e` says why not; then all is as it
 * was. */
bool machine_bpf_open(struct machine_bpf **to, struct machine_rings *rings,
                      const struct machine_bpf_wishes *wishes, struct err *e);
/* Waits are told from now on. group: the number of a control group; 0: of everything. */
void machine_bpf_waits(struct machine_bpf *b, uint64_t period_ns, uint64_t group);
/* Finds threads that have waited for least_ns without being known to; they go to the queue. */
void machine_bpf_look(struct machine_bpf *b, struct machine_rings *rings, uint64_t least_ns);
/* Records have been lost: they find those, too, that had been known. */
void machine_bpf_look_again(struct machine_bpf *b);
/* Who waits now is found; then nothing more is told. */
void machine_bpf_stop(struct machine_bpf *b, struct machine_rings *rings);
/* What a record of the program's asks for (reason other than DONE), of a process that is to be
 * recorded. */
void machine_bpf_want(struct machine_bpf *b, struct machine_processes *all,
                      struct machine_process *p, const struct machine_record *r);
/* All images are gone. NULL does nothing. */
void machine_bpf_forget(struct machine_bpf *b);
/* What is to be known of it. */
void machine_bpf_notes(const struct machine_bpf *b, struct buf *notes);
/* NULL does nothing. */
void machine_bpf_close(struct machine_bpf *b);

#endif
