/* Sends the batches of a spool, in a process of its own that has no rights and no other files: it
 * speaks to a network, and its parent may look at every process.
 *
 * A batch is one insert of one block, so the server has it whole or not at all. When no answer came
 * it is not known which: before the same batch is sent again, no query of its name may run any
 * more, and the server is asked whether it has the batch's slot.
 *
 * Context: sender_begin forks: before other threads are started.
 * Ownership: sender_end ends the process, and releases. */
#ifndef PENUMBRA_FLEET_SEND_H
#define PENUMBRA_FLEET_SEND_H

#include "fleet/fleet.h"

struct sender;

struct sender_options {
    struct fleet_options fleet;
    const char *spool; /* the folder */
    /* Called by the child: that something goes wrong, once as long as it is the same, and that all
     * is well again. */
    void (*say)(const char *message);
};

/* NULL: *e. The options are borrowed until sender_end. */
struct sender *sender_begin(const struct sender_options *options, struct err *e);
/* Its CPU time so far; of one that has ended, RUSAGE_CHILDREN has it. Starts it again if it has. */
uint64_t sender_cost_ns(struct sender *s);
/* Waits until the spool is empty, `most_ms` at most, then ends it. */
void sender_end(struct sender *s, uint32_t most_ms);

/* Sends what the spool has until it is empty, but for what cannot be read. False: *e, what went
 * wrong first. known: stacks and frames that the server has. For the child, and for tests. */
struct sent_set;
bool sender_run(struct fleet *f, const char *folder, struct sent_set *known, struct err *e);
struct sent_set *sent_set_new(void);
void sent_set_free(struct sent_set *s);

#endif
