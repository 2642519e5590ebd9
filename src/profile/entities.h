/* What a count can belong to besides an address: a kernel function, an interpreter's function, a
 * field of a type, a production's event, a numbered path of a function, generated code with its
 * name.
 *
 * Wherever a profile names a place of code (a frame of a tree, the site of an observation), it can
 * name an entity instead: it is in no image, and its offset is the entity's number.
 *
 *      image     offset
 *      i         link-time address                        code in image i
 *      none      below ENTITY_FIRST                       an address of its process: generated code
 *                                                         without a name, or what is counted by bytes
 *      none      ENTITY_FIRST + 62 bits of a hash         an entity
 *      pseudo    enum key_pseudo                          [root], [truncated], [unattributed] ...
 *
 * The number is a hash of what the entity says, so that it is the same in all profiles: merging
 * renumbers nothing, and sums by place are right. No address of a program is that large or that
 * small: bits 62 and 63 are 0 in those of user space, 1 in the kernel's.
 *
 * Context: ordinary code.
 * Ownership: a struct profile owns its entities; their strings are never NULL. */
#ifndef PENUMBRA_PROFILE_ENTITIES_H
#define PENUMBRA_PROFILE_ENTITIES_H

#include <stdbool.h>
#include <stdint.h>

struct profile;

#define ENTITY_FIRST (UINT64_C(1) << 62)
#define ENTITY_LAST (ENTITY_FIRST * 2 - 1)

/* X(enumerator, name, place, what scope, at and number say). place: what reports show where images
 * are named. */
#define ENTITY_KINDS(X)                                                                            \
    X(ENTITY_KERNEL, "kernel function", "[kernel]", "the module; empty: the kernel itself")        \
    X(ENTITY_INTERPRETED, "interpreter's function", "[interpreter]", "the file; number: its line") \
    X(ENTITY_FIELD, "field", "[field]", "the type; at: its offset there, number: its bytes")       \
    X(ENTITY_EVENT, "event", "[event]", "the production")                                          \
    X(ENTITY_PATH, "path", "[path]",                                                               \
      "the build-id of its image; at: the function's address, number: the path's")                 \
    X(ENTITY_GENERATED, "generated code", "[jit]", "empty; at: the address in the function")       \
    X(ENTITY_TYPE, "type", "[type]", "the file; at: its line, number: its bytes")                  \
    X(ENTITY_SITE, "call site", "[call site]",                                                     \
      "the file; at: its line, number: of several there; the name is the caller's")                \
    X(ENTITY_CALLEE, "callee", "[callee]", "empty")                                                \
    X(ENTITY_VALUE, "value", "[value]",                                                            \
      "the file; at: its line, number: of several there; the name is FUNCTION: NAME or FUNCTION")  \
    X(ENTITY_INSTRUCTION, "kernel instruction", "[kernel]",                                        \
      "the instruction as text; at: its distance from the begin of the function")

#define ENTITY_ENUMERATOR(id, name, place, what) id,
enum entity_kind { ENTITY_KINDS(ENTITY_ENUMERATOR) ENTITY_KIND_COUNT };
#undef ENTITY_ENUMERATOR

struct profile_entity {
    uint64_t id;         /* ENTITY_FIRST and above */
    uint32_t kind;       /* enum entity_kind, or a later version's */
    char *name;          /* of the function, the field, the event */
    char *scope;
    uint64_t at, number;
};

static inline bool entity_is(uint64_t offset)
{
    return offset >> 62 == 1;
}

/* The number of the entity with these contents (its own id is not looked at). */
uint64_t entity_id(const struct profile_entity *entity);
/* Adds a copy, unless the profile has it. The number; 0: no memory, or another entity has it. */
uint64_t profile_entity_add(struct profile *p, const struct profile_entity *entity);
/* NULL: the profile says nothing about it. */
const struct profile_entity *profile_entity_find(const struct profile *p, uint64_t id);
/* Adds copies of those in the list, in the order of their numbers. False without memory, or if two
 * have one number: then nothing is added. */
bool profile_entities_merge(struct profile *into, const struct profile_entity *list,
                            uint32_t count);
void profile_entities_free(struct profile *p);

/* What reports show where images are named; of a kind that is not known here: "[entity]". */
const char *entity_kind_place(unsigned kind);

#endif
