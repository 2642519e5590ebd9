/* Moments that an interpreter can go on from, captured in the kernel by a BPF program at clocks of
 * its own (capture.bpf.c).
 *
 *     machine_values.c ── steps that a place needs, processes that may be read ──> maps
 *     records (capture_layout.h) ──> the rings of all other records
 *
 * Context: the main thread opens, runs and closes; the rest is the walker's.
 * Ownership: capture_close releases all. */
#ifndef PENUMBRA_COLLECTOR_MACHINE_CAPTURE_H
#define PENUMBRA_COLLECTOR_MACHINE_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "collector/machine/bpf/capture_layout.h"
#include "collector/machine/machine_rings.h"

struct capture;

/* A moment a CPU in so many nanoseconds of its time, once it runs. cgroup: as of the rings. */
bool capture_open(struct capture **to, struct machine_rings *rings, uint64_t period_ns, int cgroup,
                  struct err *e);
/* For capture_text only; NULL: no BPF program may be loaded here. */
struct capture *capture_open_text(void);
void capture_run(struct capture *c, bool run);
/* NULL does nothing. */
void capture_close(struct capture *c);
/* The kernel's code. False: it cannot be read there. */
bool capture_text(struct capture *c, uint64_t address, uint8_t to[CAPTURE_TEXT]);
/* Where the steps of an address are: it may be another one's now. The caller sets `sequence` to an
 * odd number while it writes. */
struct capture_recipe *capture_recipe_at(struct capture *c, uint64_t pc);
void capture_allow(struct capture *c, const struct capture_process *p);
/* Whether there is memory at a kernel address, and no device. */
bool capture_is_memory(const struct capture *c, uint64_t address);
/* What could not be found out of this kernel. */
void capture_notes(const struct capture *c, struct buf *notes);

#endif
