/* What an interval of one host is for the store: rows of three tables, under one number.
 *
 *      profile, names, slot ─> batch_make ─> bytes ─> spool ─> batch_read ─> rows ─> the server
 *
 *      container (profile/container.h), kind 4:
 *      1 head     day, hour, batch: uleb | taken, covered us: uleb | host: text
 *      2 frames, 3 stacks, 4 samples      lines of fleet/tsv.h, columns of fleet/schema.h
 *
 * Numbers of frames and stacks are the first 64 bits of a SHA-256 of what they say, so that all
 * hosts give the same number to the same stack.
 *
 * Context: ordinary code.
 * Ownership: batch_fini releases the rows. */
#ifndef PENUMBRA_FLEET_BATCH_H
#define PENUMBRA_FLEET_BATCH_H

#include "base/buf.h"
#include "base/err.h"
#include "database/store.h"

struct batch {
    uint64_t day, hour, number; /* days and seconds since 1970 */
    uint64_t taken, covered_us; /* samples and time that the store misses without it: its own, and
                                 * those that it says are lost */
    char *host;
    struct buf frames, stacks, samples;
};

/* p: as store_put takes it; names: of all its places. number: no other batch has it. *bytes are the
 * caller's. */
bool batch_make(const struct profile *p, const struct profile_names *names,
                const struct store_slot *slot, const char *host, uint64_t number,
                struct buf *bytes, struct err *e);
/* Safe on any bytes. *b is to be freed whatever comes of it. */
bool batch_read(struct batch *b, const uint8_t *data, size_t size, struct err *e);
void batch_fini(struct batch *b);

/* A day since 1970 as the store writes it: 2026-11-27. */
enum { BATCH_DAY_SIZE = 32 };
void batch_day(char text[BATCH_DAY_SIZE], uint64_t day);

#endif
