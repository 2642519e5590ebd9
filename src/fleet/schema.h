/* The tables of a fleet's store (docs/fleet.md).
 *
 * Context: ordinary code. */
#ifndef PENUMBRA_FLEET_SCHEMA_H
#define PENUMBRA_FLEET_SCHEMA_H

#include <stdint.h>

/* What a weight of 1 is there. */
#define FLEET_UNIT_NS UINT64_C(1000)

/* Seconds since 1970 that all of its types can say: the end of 2099. */
#define FLEET_LAST_S INT64_C(4102444799)

/* Of a row of `samples`: of an interval of a host, and of an hour of all hosts. */
enum fleet_kind {
    FLEET_SLOT,   /* one an interval: when, and what was lost; item: the period in us */
    FLEET_TOTAL,  /* one a service and program */
    FLEET_STACK,  /* item: the stack's number */
    FLEET_CUT,    /* item: why stacks were cut (enum truncation) */
    FLEET_KINDS,
    FLEET_HOURS = FLEET_KINDS /* what is added to a kind for the sums by hour */
};

/* Of a row of `frames`. */
enum fleet_frame {
    FRAME_CODE,   /* at: the address in the file with this build-id and path */
    FRAME_PSEUDO, /* at: enum key_pseudo */
    FRAME_ENTITY = 16, /* and above: plus its enum entity_kind */
};

/* Statements that make what is missing, in order. %s: the database's name. NULL ends the list. */
extern const char *const fleet_schema[];

/* Columns in the order in which rows are sent. */
#define FLEET_FRAMES_COLUMNS                                                                       \
    "day, id, kind, build_id, path, at, start, function, guessed"
#define FLEET_STACKS_COLUMNS "day, id, frames"
#define FLEET_SYMBOLS_COLUMNS "build_id, page, start, size, function"
#define FLEET_SAMPLES_COLUMNS                                                                      \
    "day, kind, hour, host, service, program, item, batch, begin_ns, end_ns, cpus, slots, taken, " \
    "weight, squares, guessed, covered, lost, missed, cost"

#endif
