/* The collector's half of shadows (docs/shadow.md): it buries them, ends those whose program has
 * ended or that take memory of which too little is left, and notes who was killed.
 *
 * Shadows of the program that the collector has started are its children; those of other processes
 * have guards (spool_shadow.h), and look themselves whether the recording goes on.
 *
 * Context: the main thread.
 * Ownership: none. */
#ifndef PENUMBRA_COLLECTOR_RECORD_SHADOWS_H
#define PENUMBRA_COLLECTOR_RECORD_SHADOWS_H

#include "collector/memory_left.h"
#include "sigsafe/spool.h"

/* Zero is its first state. */
struct record_shadows {
    struct memory_left memory; /* of the program, from the first shadow on */
    uint64_t looked_ns;        /* CLOCK_MONOTONIC; when it was looked at; 0: never */
    uint64_t scarce_ns;        /* when there was too little last; 0: never */
};

/* Looks at all seats, without waiting, and at how much memory is left while shadows run: what the
 * program writes to is copied, and what was there stays in memory for them. They are the first to
 * go. */
void record_shadows_poll(struct record_shadows *r, const struct spool *s);

/* The program has ended, and somebody waits for them: they have the collector's priority from here
 * on. */
void record_shadows_hurry(const struct spool *s);

/* The recording is over: on return no child of the collector is a shadow. */
void record_shadows_end(const struct spool *s);

#endif
