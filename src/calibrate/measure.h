/* What is measured, one function for each quantity; times are in cycles of the core. 0: could not
 * be measured.
 *
 * Context: one thread; the timing is the caller's. */
#ifndef PENUMBRA_CALIBRATE_MEASURE_H
#define PENUMBRA_CALIBRATE_MEASURE_H

#include "calibrate/forms.h"
#include "calibrate/timing.h"
#include "model/machine.h"

enum { MEASURE_CHASE = 64 << 20 }; /* bytes for chases, behind TIMING_DATA_SIZE */

struct measuring {
    struct machine m;
    struct timing t;
    bool *measured; /* by key */
};

/* field: of g->m; rounded, and within the key's bounds. Nothing, unless value is above 0. */
void found(struct measuring *g, uint32_t *field, double value);

/* ---- instructions (measure.c) ---- */

double measure_latency(struct timing *t, const struct form *f);
/* Cycles from one to the next, of independent ones. */
double measure_each(struct timing *t, const struct form *f);
struct measured_division { double latency, each; };
struct measured_division measure_division(struct timing *t, bool wide);
/* Between general and vector registers, one way. */
double measure_crossing(struct timing *t);
/* A cycle; those that are not taken. */
double measure_branches(struct timing *t);

/* ---- front end and window (measure_window.c) ---- */

/* A cycle: nops of so many bytes, so many in a row. */
double measure_nops(struct timing *t, unsigned bytes, unsigned count);
/* 1: yes. */
uint32_t measure_macro_fusion(struct timing *t, unsigned width);
uint32_t measure_micro_fusion(struct timing *t, unsigned width);
uint32_t measure_moves(struct timing *t);
uint32_t measure_adds(struct timing *t);
double measure_misprediction(struct timing *t);
/* How many of these fit between two loads that miss the caches, so that both are on their way at
 * once. */
enum measure_filler { WINDOW_NOPS, WINDOW_LOADS, WINDOW_STORES };
double measure_window(struct timing *t, enum measure_filler filler);

/* ---- targets of branches (measure_targets.c) ---- */

/* entries: of the BTB's first level; penalty: cycles more where one is in the second. 0: there are
 * no two levels. */
struct measured_targets { double entries, penalty; };
struct measured_targets measure_targets(struct timing *t);
/* Cycles of a predicted return, or indirect jump, beyond those of a jump. */
struct measured_bubbles { double back, indirect; };
struct measured_bubbles measure_bubbles(struct timing *t);

/* ---- memory (measure_memory.c) ---- */

/* A cycle, of words so many bytes apart. */
double measure_loads(struct timing *t, uint32_t distance);
double measure_stores(struct timing *t); /* a cycle */
/* From a store's data to the load that it is forwarded to. */
double measure_forwarding(struct timing *t);
/* 1: a load whose address is written as the store's waits for no address. */
uint32_t measure_renaming(struct timing *t);
double measure_lock(struct timing *t);
/* Lines in random order, each with the address of the next, over `bytes` behind
 * TIMING_DATA_SIZE. The first one. */
uint8_t *measure_make_chase(struct timing *t, size_t bytes, size_t distance);
/* Sizes, ways and latencies of all levels. */
void find_caches(struct measuring *g);

#endif
