/* Hotlists in the spool: what the module's process counts in, and how a profile is made of it. Like
 * all that is in the spool it outlives who counts in it, and is not trusted by who reads it.
 *
 *     spool_header.values ─> spool_values
 *                              ├ kinds ─> [ spool_value_kind x kind_count ]
 *                              ├ facts ─> spool_fact ─> ...            newest first
 *                              ├ texts ─> spool_text ─> ...
 *                              └ chunks ─> spool_hotlists ─> ...       [ spool_hotlist x capacity ]
 *
 * Writers: the module's process alone, but for `finish` and what is said of its end, which are the
 * collector's.
 *
 * Context: ordinary code; the reader runs while it is written to.
 * Ownership: all records live in the spool and are never freed. */
#ifndef PENUMBRA_PROFILE_SPOOL_VALUES_H
#define PENUMBRA_PROFILE_SPOOL_VALUES_H

#include "profile/spool_view.h"
#include "profile/values.h"

struct spool_value_kind {
    spool_ref name;  /* spool_string */
    uint32_t format, role;
    uint32_t name_count;
    spool_ref names; /* of name_count spool_refs of spool_strings */
};

struct spool_values {
    spool_ref module; /* spool_string */
    spool_ref kinds;
    uint32_t kind_count;
    uint32_t facts, texts, chunks; /* atomic spool_refs, newest first */
    uint32_t summary;    /* enum hotlist_kind */
    uint32_t redacted;
    uint32_t context;    /* what the module wants (module.h): bits, length, share of the triggers */
    uint32_t length, every;
    uint32_t busy;       /* atomic: 1: in a callback */
    uint32_t finish;     /* atomic; collector: empty the rings, and end */
    uint32_t module_end; /* atomic enum module_end; collector */
    uint32_t module_detail;
    uint64_t progress;   /* atomic: callbacks that returned */
    uint64_t sequences, tuples, refused;
    uint64_t unobserved[UNOBSERVED_COUNT];
};

struct spool_fact {
    spool_ref next;
    spool_ref name;
    uint64_t value;
};

struct spool_text {
    spool_ref next;
    uint32_t kind;
    uint64_t bits;
    uint32_t space;
    spool_ref text;
};

struct spool_hotlist {
    uint64_t key, site;  /* key.h; site: of the call, 0: none */
    uint32_t kind;
    spool_ref process;   /* of code in no image; else 0 */
    /* with hotlist_room entries; spaces are HOTLIST_IMAGE + session image number */
    struct hotlist list;
};

enum { SPOOL_HOTLISTS_SIZE = 1 << 16 };

struct spool_hotlists {
    spool_ref next;
    uint32_t count; /* atomic: complete records */
    uint64_t reserved;
};

static inline size_t spool_hotlist_size(enum hotlist_kind kind)
{
    return sizeof(struct spool_hotlist) + hotlist_room(kind) * sizeof(struct hotlist_entry);
}

static inline uint32_t spool_hotlists_capacity(enum hotlist_kind kind)
{
    return (uint32_t)((SPOOL_HOTLISTS_SIZE - sizeof(struct spool_hotlists)) /
                      spool_hotlist_size(kind));
}

/* Where a spool_process that hotlists name is in the profile. */
struct spool_value_processes {
    spool_ref *refs; /* refs[i]: of process i */
    uint32_t count;
};

/* The values of the spool; *out is NULL if there are none. Images are session numbers, or
 * PROFILE_IMAGE_NONE and _PSEUDO; nothing is settled. False without memory. */
bool spool_values_read(struct spool_view *v, const struct spool_value_processes *processes,
                       struct profile_values **out);

/* Adds a hotlist at this place (image and site are session numbers) with a copy of `list`, in the
 * spool. *out: it, or NULL if it is damaged, which is counted. False without memory. */
bool spool_values_add(struct spool_view *v, struct profile_values *to,
                      const struct profile_hotlist *place, const struct hotlist *list,
                      struct profile_hotlist **out);

/* What the tool `results` has found, no hotlist yet: no module made it. Its kinds have the names
 * that they have with the tool `values`. NULL without memory. */
enum { RESULTS_PLAIN, RESULTS_FLOAT, RESULTS_DOUBLE, RESULTS_SECOND, RESULTS_DIVISOR, RESULTS_COUNT,
       RESULTS_KINDS };
struct profile_values *spool_values_of_results(void);

/* The same of values with names, in the order of enum penumbra_inst_value_kind. */
enum { NAMED_TARGET, NAMED_ARGUMENT, NAMED_DIVISOR, NAMED_LENGTH, NAMED_TRIPS, NAMED_SIZE,
       NAMED_KINDS };
struct profile_values *spool_values_of_named(void);

/* A number that lies in a mapped image, not at its link-time address, becomes one of the image, as
 * in hotlists that a module fills: it means the same in another process. */
void spool_values_name_addresses(const struct profile_process *p, struct hotlist *list);

/* From session numbers to indices: index_of[number], UINT32_MAX: there is no such image. Hotlists
 * of images that there are not are damage. Settles. */
bool spool_values_resolve(struct spool_view *v, struct profile_values *values,
                          const uint32_t *index_of);

#endif
