/* What productions (docs/productions.md) have found, in a profile: counts of one or two values of
 * instructions, and hot streams of such values.
 *
 * Context: ordinary code.
 * Ownership: a struct profile owns its table. */
#ifndef PENUMBRA_PROFILE_TABLE_PRODUCTIONS_H
#define PENUMBRA_PROFILE_TABLE_PRODUCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "sigsafe/production.h"

struct profile;

/* X(enumerator, name in --json): what a value is. */
#define PRODUCTION_VALUES(X)                                                                       \
    X(VALUE_NOTHING, "nothing")                                                                    \
    X(VALUE_CODE, "code")   /* an address of code */                                               \
    X(VALUE_IMAGE, "image") /* an address of data in an image */                                   \
    X(VALUE_STACK, "stack") /* bytes from where the first thread's stack was */                    \
    X(VALUE_HEAP, "heap")   /* bytes from where the program break was */                           \
    X(VALUE_MAPS, "maps")   /* bytes from where the runtime library is mapped */                   \
    X(VALUE_NUMBER, "number")
#define PRODUCTION_VALUE(id, name) id,
enum production_value_kind { PRODUCTION_VALUES(PRODUCTION_VALUE) VALUE_KINDS };
#undef PRODUCTION_VALUE

/* image and process: of code as in struct profile_block, of data in an image the image; else
 * PROFILE_IMAGE_NONE and 0. */
struct production_value {
    uint32_t image, process;
    uint64_t offset;
    uint32_t kind;
};

struct production_values {
    struct production_value of[PRODUCTION_FIELDS];
};

struct profile_production_group {
    char name[PRODUCTION_NAME];
    uint32_t kind;     /* enum production_kind */
    uint32_t fields[PRODUCTION_FIELDS]; /* enum production_field, or FIELD_NOTHING */
    uint64_t done;     /* actions */
    uint64_t lost;     /* of these: there was no room */
};

struct profile_production_count {
    struct production_values values;
    uint32_t group;
    uint64_t count;
};

struct profile_production_stream {
    uint32_t group, first, length; /* of items */
    uint64_t frequency;
};

struct profile_productions {
    uint64_t burst, sparsity; /* in events; 0, 0: of several recordings that differ */
    uint64_t bursts;          /* times that counter_1 overflowed */
    bool exact;               /* whatever matched was seen */
    struct profile_production_group *groups; /* by name, kind, fields */
    uint32_t group_count, group_capacity;
    struct profile_production_count *counts; /* by group, values */
    uint32_t count, capacity;
    struct profile_production_stream *streams; /* by group, length, items */
    uint32_t stream_count, stream_capacity;
    struct production_values *items;
    uint32_t item_count, item_capacity;
};

struct profile_productions *profile_productions_new(void);
void profile_productions_free(struct profile_productions *t);
/* Each adds one; false without memory, or if there would be too many. */
bool profile_productions_add_group(struct profile_productions *t,
                                   const struct profile_production_group *g);
bool profile_productions_add_count(struct profile_productions *t,
                                   const struct profile_production_count *c);
bool profile_productions_add_stream(struct profile_productions *t,
                                    const struct profile_production_stream *s,
                                    const struct production_values *items);

/* Whether a value of that kind may stand for a group's field (enum production_field, or
 * FIELD_NOTHING): one of code has a function, others are shown as what they are. */
bool production_value_fits(uint32_t kind, uint32_t field);
/* "code", ...; "?" out of range. */
const char *production_value_name(uint32_t kind);

#endif
