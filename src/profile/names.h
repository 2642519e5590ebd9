/* Names of code, kept in the profile: function, inlined frames, file and line of every address that
 * was seen, so that a report needs none of the recorded machine's files.
 *
 *     images[i].places    offset ──> names[k] ──outer──> names[j] ──> ... ──> the physical function
 *                                      │
 *                                      └─> function, file: strings
 *
 * Chains that end alike share their end; strings and names are kept once each.
 *
 * Context: ordinary code.
 * Ownership: profile_names_free releases all of it. */
#ifndef PENUMBRA_PROFILE_NAMES_H
#define PENUMBRA_PROFILE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A chain of names is never longer. */
#define PROFILE_NAMES_DEPTH 512u

/* What an image's names are from; the greater, the better. */
enum profile_names_level {
    NAMES_NONE,    /* its file was not there */
    NAMES_DYNAMIC, /* what it exports, and its unwind table */
    NAMES_SYMBOLS, /* a full symbol table */
    NAMES_LINES,   /* debug information */
    NAMES_LEVELS
};

struct profile_name {
    /* index of a string; 0: "", then only the file, the line or the start is known */
    uint32_t function;
    uint32_t file;     /* index of a string */
    uint32_t line;     /* 0: not known */
    /* 0, or 1 + the index of the name that it was inlined into, an earlier one */
    uint32_t outer;
    uint64_t start;    /* link-time address of the (outermost) function; 0: not known */
};

struct profile_named_place {
    uint64_t offset; /* link-time address */
    uint32_t name;   /* of the innermost frame */
};

struct profile_named_image {
    uint32_t level; /* enum profile_names_level */
    uint32_t count, capacity;
    struct profile_named_place *places; /* by offset, each once */
};

struct names_block;

struct profile_names {
    const char **strings; /* [0] is "" */
    uint32_t string_count, string_capacity;
    struct names_block *blocks; /* that they lie in */
    struct profile_name *names;
    uint32_t name_count, name_capacity;
    struct profile_named_image *images; /* by the index of profile.images */
    uint32_t image_count;
    /* hash tables of 1 + an index; NULL until something is added */
    uint32_t *string_slots, *name_slots;
    uint32_t string_slot_count, name_slot_count;
};

/* NULL without memory. */
struct profile_names *profile_names_new(uint32_t image_count);
void profile_names_free(struct profile_names *n);

/* Makes room for so many strings. False without memory. */
bool profile_names_reserve(struct profile_names *n, uint32_t strings);
/* The index of the string or the name, added if it is missing; UINT32_MAX without memory. text: not
 * terminated, and without a byte 0. */
uint32_t profile_names_text(struct profile_names *n, const char *text, size_t length);
uint32_t profile_names_string(struct profile_names *n, const char *string);
uint32_t profile_names_add(struct profile_names *n, const struct profile_name *name);
/* Appends a place, whose offset is above the image's last one. False without memory. */
bool profile_names_place(struct profile_names *n, uint32_t image, uint64_t offset, uint32_t name);
/* NULL if nothing is kept of the place. */
const struct profile_named_place *profile_names_find(const struct profile_names *n, uint32_t image,
                                                     uint64_t offset);

/* Takes over what `from` knows of its images; index_of[i]: where image i is in `into`, which knows
 * image_count of them then. Of two names of one place the one of the better level stays. False
 * without memory. */
bool profile_names_merge(struct profile_names *into, const struct profile_names *from,
                         const uint32_t *index_of, uint32_t image_count);

/* Whether it could have been read from a file: indices, order, depth. */
bool profile_names_good(const struct profile_names *n, uint32_t image_count);
/* The same of names alone, not of places. */
bool profile_names_chains_good(const struct profile_names *n);

#endif
