/* Batches on disk until the server has them: a file each, in the order of their numbers.
 *
 *      folder/00000000000000000017.batch      whole, once it has this name
 *             new                             being written
 *
 * One process puts batches in, another one takes them out. The taker locks a file while it sends
 * it, and the putter, which drops the oldest ones where there is no room, leaves it alone.
 *
 * Context: ordinary code.
 * Ownership: queue_close releases a spool; the files stay. */
#ifndef PENUMBRA_FLEET_QUEUE_H
#define PENUMBRA_FLEET_QUEUE_H

#include "fleet/batch.h"

struct queue;

/* The folder is made if it is missing: mode 0700. most: bytes of all files. */
bool queue_open(struct queue **s, const char *folder, uint64_t most, struct err *e);
void queue_close(struct queue *s);
void queue_bound(struct queue *s, uint64_t most);

/* What was given up, as there was no room for it. */
struct queue_lost {
    uint64_t batches, taken, covered_us;
};

/* False: the batch is not in the spool, e.g. as the disk is full. *lost: what had to go before. */
bool queue_put(struct queue *s, const struct buf *bytes, struct queue_lost *lost, struct err *e);

/* A batch, locked. */
struct queue_batch {
    uint64_t number;
    int fd;
    uint8_t *data;
    size_t size;
};
/* The oldest one of those after the number `above`. False: there is none, another process has it,
 * or *e is set: b->number cannot be read. b->fd is -1, or b is to be let go. */
bool queue_take(struct queue *s, uint64_t above, struct queue_batch *b, struct err *e);
/* Unlocks it, and removes it if it is done. */
void queue_let(struct queue *s, struct queue_batch *b, bool done);

/* How many there are, and their bytes. */
void queue_size(struct queue *s, uint64_t *count, uint64_t *bytes);

#endif
