/* What a merged file keeps apart: recordings by other carriers or tools, or sampled where the
 * others are exact. Counts of these must not be added up, so each is a profile of its own, with
 * processes, images and trees, of which all are in one file.
 *
 *      struct profile         exact:blocks      the first: what is shown, unless another is chosen
 *        parts[0]             burst:blocks      its file, as bytes
 *        parts[1]             handler           ...
 *
 * Invariants: the profile and its parts are in the order of their keys, exact ones first, and no
 * two have the same. A part has no parts.
 *
 * Context: ordinary code.
 * Ownership: a struct profile owns its parts. */
#ifndef PENUMBRA_PROFILE_PARTS_H
#define PENUMBRA_PROFILE_PARTS_H

#include "profile/profile.h"

enum { PARTS_MAX = 64, PART_NAME_MAX = 512 };

/* What tells them apart. */
struct part_key {
    enum observation_how how; /* exact: all of its observations are */
    const char *carrier;      /* "handler": call paths were sampled, and nothing else */
    const char *tool;         /* as in struct profile_counts; "": none */
};

struct profile_part {
    char *carrier, *tool;
    enum observation_how how;
    uint8_t *data; /* a whole file; NULL where it is open */
    size_t size;
    struct profile *open; /* NULL: not read; where data is NULL, too: it is what was shown first */
};

/* The strings are the profile's. */
struct part_key profile_key(const struct profile *p);
struct part_key profile_part_key(const struct profile_part *part);
/* Below, at or above 0: where a comes, and that they are one. */
int part_key_compare(const struct part_key *a, const struct part_key *b);
/* "exact:blocks", "handler"; under `exact`, but sampled: "exact:results:sampled". Returns out
 * (PART_NAME_MAX bytes). */
const char *part_name(char *out, const struct part_key *key);

/* The part as a profile, the caller's to free. */
struct profile *profile_part_read(const struct profile_part *part, enum profile_summing how,
                                  struct err *e);
/* Reads the part, which stays one. NULL on failure. */
struct profile *profile_part_open(struct profile_part *part, struct err *e);
/* Its file's bytes, malloc'ed. compress: what is open (profile/encode.h). */
uint8_t *profile_part_encode(const struct profile_part *part, bool compress, size_t *size,
                             struct err *e);
/* Adds all that `one` has but its parts, by a key that p does not have: `one` is empty then. The
 * first of them is *p. False without memory or room. */
bool profile_part_add(struct profile *p, struct profile *one);
/* The part of this key; NULL: there is none, or it is the profile itself. */
struct profile_part *profile_part_find(const struct profile *p, const struct part_key *key);
void profile_parts_free(struct profile *p);

/* Makes *p what has this name: in full, or its first of this carrier, tool, "exact" or "sampled".
 * Its parts list the others; it is for reading only. NULL: the first stays. On failure *p is as
 * it was. */
bool profile_choose(struct profile **p, const char *name, enum profile_summing how, struct err *e);

#endif
