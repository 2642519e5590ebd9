/* What compiled-in instrumentation has observed: the tables of the tools `fields`,
 * `callsites`, `named`, `allocations` and `branches`.
 *
 *      kind            place                       to                      sums
 *      EVENT_CALL      call site (entity)          callee (entity), or its code
 *      EVENT_INLINED   call site                   callee, whose body is inlined here
 *      EVENT_READ      field (entity)              -
 *      EVENT_WRITE     field                       -
 *      EVENT_PAIR      field                       another of its type      accesses of both in a burst
 *      EVENT_SHARED    field, written by a thread  one of its cache line, used by another
 *      EVENT_MEMBER    field                       its own type (entity)    see struct event_member
 *      EVENT_TYPE      type (entity)               -                        none
 *      EVENT_VALUE     value (entity)              -                        what it was: hotlists
 *      EVENT_ALLOCATED call site                   type, or callee          how often
 *      EVENT_BYTES     call site                   type, or callee          bytes asked for
 *      EVENT_EDGE      branch (entity)             way on (entity)
 *
 * The weight estimates how often it happened; samples are how often it was seen. Squares are sums
 * over bursts of the square of what each added to the weight: what the weight's variance is
 * estimated by. With every check sampled (`most` is 1) the weight is exact.
 *
 * Context: ordinary code.
 * Ownership: a struct profile owns its tables. */
#ifndef PENUMBRA_PROFILE_EVENTS_H
#define PENUMBRA_PROFILE_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/kind/kind.h"
#include "profile/table/table.h"

enum event_kind {
    EVENT_CALL, EVENT_INLINED, EVENT_READ, EVENT_WRITE, EVENT_PAIR, EVENT_SHARED,
    EVENT_MEMBER, EVENT_TYPE, EVENT_VALUE, EVENT_ALLOCATED, EVENT_BYTES,
    EVENT_EDGE, EVENT_KIND_COUNT
};

/* image, process: as in struct profile_block; of an entity PROFILE_IMAGE_NONE and 0. */
struct profile_event {
    uint32_t image, process;
    uint64_t offset;
    uint32_t kind;     /* enum event_kind */
    uint32_t to_image; /* where `to` is; PROFILE_IMAGE_NONE: an entity, an address, or 0: nothing */
    uint64_t to;
    uint64_t samples, weight, squares;
};

/* What the sums of EVENT_MEMBER say of it: its alignment in bytes; of a bit field its bits and its
 * first bit, from the start of the type; its flags (PENUMBRA_INST_* of penumbra/inst.h). */
#define EVENT_MEMBER_ALIGN(e) ((e)->samples)
#define EVENT_MEMBER_BITS(e) ((e)->weight & 0xffffffff)
#define EVENT_MEMBER_FIRST_BIT(e) ((e)->weight >> 32)
#define EVENT_MEMBER_FLAGS(e) ((e)->squares)

struct profile_events {
    struct profile_event *list; /* by (kind, place, to) */
    uint32_t count, capacity;
    uint64_t most;   /* the greatest interval at which one was seen */
    uint64_t bursts;
    uint64_t missed; /* weight of what there was no room for */
};

/* The profile's table of that number, made if it has none. NULL without memory. */
struct profile_events *profile_events_of(struct profile *p, uint32_t table);
/* False without memory. */
bool profile_events_add(struct profile_events *t, const struct profile_event *event);

/* The members of struct profile_table that all have. */
void events_free(void *table);
bool events_sampled(const void *table);
bool events_site(void *table, uint32_t at, struct profile_site *out);
bool events_append(void **into, const void *from, const struct table_append *how);
bool events_settle(void *table, const uint32_t *new_index);

/* Their sections: the same columns. */
bool events_needed(const struct profile *p, uint32_t table);
bool events_check(const struct profile *p, uint32_t table, struct err *e);
void events_put(struct buf *b, const struct encoder *x, uint32_t table);
void events_get(struct decoder *d, struct cursor *c, uint32_t table);

/* Adds what one process has counted to all tables (sigsafe/spool_inst.h). False without memory. */
bool spool_inst_read(struct counts_process *q);

#endif
