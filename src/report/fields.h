/* Fields of types as the tool `fields` has counted them (profile/events.h), type by type: for the
 * view of fields.
 *
 * Context: ordinary code. What a hostile file holds may be anything.
 * Ownership: names are the profile's; fields_free frees the rest. */
#ifndef PENUMBRA_REPORT_FIELDS_H
#define PENUMBRA_REPORT_FIELDS_H

#include "profile/events.h"

struct field_member {
    const struct profile_entity *entity; /* name, offset, size */
    const char *type;      /* its own; "" : not known */
    uint64_t align;        /* bytes; at least 1 */
    uint64_t bits;         /* of a bit field; else 0 */
    uint64_t first_bit;
    double reads, writes;  /* estimated */
    double squares;        /* of both, as in struct profile_event */
    uint32_t run;          /* the first of the bit fields that it lies side by side with */
    uint64_t bytes;        /* of a run, in its first: what it takes */
    bool is_placed;        /* of a run, in its first: `layout` has it */
};

/* What is said of two members of one type. */
struct field_pair {
    uint32_t a, b; /* places in `members` */
    double weight;
};

struct field_place {
    uint32_t member; /* place in `members` */
    uint64_t offset; /* bytes */
};

struct field_type {
    const char *name, *file;
    uint32_t line;
    uint64_t size;         /* bytes; 0: not known */
    uint32_t first, count; /* of its members, by offset */
    double uses;           /* of all */
    uint32_t hot;          /* so many of `order` have FIELDS_HOT of all uses */
    uint32_t *order;       /* its members, most used first: places in `members` */
    uint64_t proposed;     /* its size with the hot members first, and no needless hole */
    /* that order, of `placed` members: a bit field stands for its run, and what the compiler
     * places stays at the start. Empty where members overlap, as in a union */
    struct field_place *layout;
    uint32_t placed;
};

struct field_types {
    struct field_type *types; /* most used first */
    uint32_t type_count;
    struct field_member *members;
    uint32_t member_count;
    struct field_pair *together, *shared; /* greatest first */
    uint32_t together_count, shared_count;
    uint32_t *orders;
    struct field_place *places;
    double uses;
};

#define FIELDS_HOT 0.95

/* False without memory. */
bool fields_build(const struct profile *p, const struct profile_events *events,
                  struct field_types *out);
void fields_free(struct field_types *t);

#endif
