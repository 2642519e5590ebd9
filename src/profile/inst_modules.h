/* The tables of instrumented modules (penumbra/inst.h), from a spool (sigsafe/spool_inst.h): what
 * the blocks that are counted consist of, as entities of a profile. As hostile as all of it: each
 * reference is checked, and damage is counted.
 *
 * Context: ordinary code.
 * Ownership: inst_modules_read makes, inst_modules_free frees. */
#ifndef PENUMBRA_PROFILE_INST_MODULES_H
#define PENUMBRA_PROFILE_INST_MODULES_H

#include "profile/entity_batch.h"
#include "profile/spool_view.h"
#include "sigsafe/spool_inst.h"

struct inst_table_view {
    const uint8_t *copy;
    uint64_t at, bytes;
};

/* What a profile calls it; 0: not asked for yet. */
struct inst_field_view {
    uint64_t entity;
    uint32_t type; /* number of its type */
    uint64_t first_bit;
};

struct inst_module_view {
    uint32_t flags, first, ids;
    uint32_t blocks, values, fields; /* how many */
    struct inst_table_view tables[INST_TABLES];
    struct inst_field_view *field;   /* by number */
    uint64_t *type;                  /* by number: its entity, 0: not asked for yet */
    uint32_t types;
};

struct inst_modules {
    struct inst_module_view *list; /* by first id */
    uint32_t count;
    struct entity_batch entities; /* of what was asked for, to be merged into the profile */
};

struct inst_modules *inst_modules_read(struct spool_view *v);
void inst_modules_free(struct inst_modules *m);
/* NULL: the id is of none. */
struct inst_module_view *inst_modules_find(struct inst_modules *m, uint32_t id);

/* One event of a block, or one value. */
struct inst_event_view {
    uint32_t kind;     /* enum penumbra_inst_kind; of a value 0 */
    uint32_t field;    /* READ, WRITE: its number in the module */
    const char *callee; /* CALL, INLINED */
    const char *caller, *file;
    uint32_t line, site;
    uint32_t edge, from; /* EDGE: its number in the function, the line that it comes from or 0 */
};

/* How many events a block has; 0: it is damaged, or has none. */
uint32_t inst_block_events(const struct inst_module_view *m, uint32_t block);
/* False: it is damaged. */
bool inst_event(const struct inst_module_view *m, uint32_t block, uint32_t number,
                struct inst_event_view *out);
/* The site of a target of calls. False: it is none, or damaged. */
bool inst_target(const struct inst_module_view *m, uint32_t value, struct inst_event_view *out);

/* A value, of whatever kind. */
struct inst_value_view {
    uint32_t kind;                      /* enum penumbra_inst_value_kind */
    const char *name, *caller, *file;   /* name: "" for none */
    uint32_t line, index;
    uint32_t type;                      /* its number; UINT32_MAX: none */
};
/* False: it is damaged. */
bool inst_value(const struct inst_module_view *m, uint32_t value, struct inst_value_view *out);
/* A type's entity; 0: it is damaged, or there is no memory. */
uint64_t inst_type(struct inst_module_view *m, struct entity_batch *b, uint32_t type);

/* The field's entity, made when it is asked for first; then *news is its type's number, whose
 * entities have been made, else UINT32_MAX. 0: it is damaged, or there is no memory. */
uint64_t inst_field(struct inst_module_view *m, struct entity_batch *b, uint32_t field,
                    uint32_t *news);
/* The fields of a type: from *first, so many. */
uint32_t inst_type_fields(const struct inst_module_view *m, uint32_t type, uint32_t *first);
/* Of a field: its own type's entity, and what an EVENT_MEMBER says. */
struct inst_member {
    uint64_t type, align, bits, first_bit, flags;
};
bool inst_member(const struct inst_module_view *m, struct entity_batch *b, uint32_t field,
                 struct inst_member *out);

#endif
