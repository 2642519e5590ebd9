/* The programs that tell of waits (waits.bpf.inc), and looks at threads that wait for long.
 *
 * Context: as in machine_bpf.h; looks: the thread that reads the rings.
 * Ownership: machine_bpf.c's. bpf_waits_close releases all. */
#ifndef PENUMBRA_COLLECTOR_MACHINE_BPF_WAITS_H
#define PENUMBRA_COLLECTOR_MACHINE_BPF_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "collector/machine/bpf/layout.h"
#include "collector/machine/machine_rings.h"

struct bpf_object;
struct bpf_link;

struct bpf_waits {
    struct wait_control *control; /* mapped memory */
    const struct bpf_map *scratches;
    struct bpf_link *links[2], *look;
    uint64_t looks, looked; /* how often, and waits found */
    uint64_t failed;        /* looks */
    uint64_t unread;        /* stacks that were not there any more */
};

/* Puts the programs at their places. They do nothing until bpf_waits_start. False (errno): the
 * kernel does not let them. */
bool bpf_waits_attach(struct bpf_waits *w, struct bpf_object *object);
/* group: the number of a control group; 0: everything. */
void bpf_waits_start(struct bpf_waits *w, uint64_t period_ns, uint64_t group);
/* Records have been lost: looks take what had been taken before. */
void bpf_waits_again(struct bpf_waits *w);
/* Takes threads that have waited for least_ns, and whose waits have not been taken, to the
 * queue. */
void bpf_waits_look(struct bpf_waits *w, struct machine_rings *rings, uint64_t least_ns);
/* No more records. */
void bpf_waits_stop(struct bpf_waits *w);
void bpf_waits_notes(const struct bpf_waits *w, struct buf *notes);

#endif
