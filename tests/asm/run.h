/* Many pieces: natively in one process, under the engine in others, and what was different.
 *
 *      batch_run ──fork──> native child: outcomes of all pieces into shared memory
 *          │ ──fork──> child of a mode: outcomes under the engine, beside them
 *          └──> compares; every difference is described on standard error
 *
 * A child that dies names the piece it died in, and is made again for the rest.
 *
 * Context: tests; one thread, one processor (batch_open pins the process).
 * Ownership: the caller owns pieces; shared memory stays until the process ends. */
#ifndef PENUMBRA_TESTS_ASM_RUN_H
#define PENUMBRA_TESTS_ASM_RUN_H

#include "piece.h"

struct tally {
    uint64_t pieces;      /* run natively */
    uint64_t compared;    /* under the engine, all modes */
    uint64_t ended[65];   /* natively, by signal: SIGILL is the end, or #UD */
    uint64_t late;        /* natively endless; not compared */
    uint64_t stepped;     /* natively set TF; not compared */
    uint64_t stops[STOP_COUNT]; /* the engine gave up, and native execution went on */
    uint64_t differences; /* the first 20 are described */
    uint64_t died;        /* children that the code killed natively */
};

struct batch {
    enum place place;
    unsigned count;
    struct piece pieces[SLOTS];
};

extern const struct mode modes[];
extern const unsigned mode_count;

/* Where the code of slot `index` will be; 0 for PLACE_NEAR, where it is not known before. */
uint64_t slot_address(enum place place, unsigned index);

/* False: this machine cannot run these tests; *why. */
bool batch_open(const char **why);

/* Runs the batch natively and in the modes whose bit is set. */
void batch_run(const struct batch *b, uint64_t mode_mask, struct tally *t);

/* What piece i of the batch that was run last came to natively; NULL: it did not end by a signal of
 * its own. */
const struct outcome *batch_native(unsigned i);

void tally_print(const struct tally *t);

#endif
