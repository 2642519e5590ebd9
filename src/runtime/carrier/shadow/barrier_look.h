/* What /proc says about the other threads of the process: which there are, who runs, who sleeps and
 * where.
 *
 * Context: signal handlers; a descriptor is open during each call.
 * Ownership: nothing is kept. */
#ifndef PENUMBRA_RUNTIME_CARRIER_SHADOW_BARRIER_LOOK_H
#define PENUMBRA_RUNTIME_CARRIER_SHADOW_BARRIER_LOOK_H

#include <stdbool.h>
#include <stdint.h>

struct barrier_place;

/* The threads there are but `without`, into tid of places. How many, or negative errno: -E2BIG if
 * there are more than `room`. */
long barrier_list_as(int32_t without, struct barrier_place *places, uint32_t room);

/* False: the files that say where threads are belong to root, since the process has dropped its
 * rights. tid: the caller's. */
bool barrier_may_look_as(int32_t tid);

enum look { LOOK_RUNS, LOOK_SLEEPS, LOOK_GONE, LOOK_FAILED };

/* Where the thread place->tid is. If it sleeps: call and arguments. */
enum look barrier_look_as(struct barrier_place *place);

/* It sleeps in a futex(wait) that only a wake ends. */
bool barrier_waits_for_good(const struct barrier_place *place);

#endif
