/* Values that were sampled: hotlists by instruction, kind of value and site, and what the module
 * that chose them says of its kinds (include/penumbra/module.h).
 *
 * Context: ordinary code.
 * Ownership: a struct profile owns its values; strings are never NULL after profile_values_new. */
#ifndef PENUMBRA_PROFILE_VALUES_H
#define PENUMBRA_PROFILE_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/figures.h"
#include "profile/hotlist.h"
#include "sigsafe/reasons.h"
#include "sigsafe/shadow_figures.h"

/* What became of the module. */
enum module_end {
    MODULE_ENDED,    /* it saw all there was */
    MODULE_CRASHED,  /* by the signal `module_detail` */
    MODULE_HUNG,     /* a callback did not return */
    MODULE_REFUSED,  /* its begin() said that it cannot run: `module_detail` */
    MODULE_UNKNOWN,  /* the recording was cut off */
    MODULE_ENDS
};

struct profile_value_kind {
    char *name;
    /* enum penumbra_format, penumbra_role; greater ones: of a later version */
    uint32_t format, role;
    char **names;          /* of the values 0, 1, ... */
    uint32_t name_count;
};

struct profile_fact {
    char *name;
    uint64_t value;
};

/* How the module writes a value. */
struct profile_text {
    uint32_t kind;
    struct hotlist_value value;
    char *text;
};

/* image: as in profile_block. site_image: PROFILE_IMAGE_PSEUDO: there is no site. process: of
 * addresses in no image, else 0. The spaces of images in `list` are HOTLIST_IMAGE + index into
 * profile.images. */
struct profile_hotlist {
    uint32_t image, process;
    uint64_t offset;
    uint32_t kind; /* index into profile_values.kinds */
    uint32_t site_image;
    uint64_t site;
    struct hotlist *list;
};

/* What was observed, and what not (shadow_figures.h says how a figure is declared). */
#define VALUE_FIGURES(ONE, MANY)                                                                   \
    ONE(sequences, SUM, "sequences", "that the module saw")                                        \
    ONE(tuples, SUM, "instructions", "in them")                                                    \
    ONE(lost, SUM, "sequences", "that it did not see: the ring was full, or it had ended")         \
    ONE(refused, SUM, "observations", "that no hotlist was made for: there was no room")           \
    MANY(unobserved, UNOBSERVED_COUNT, profile_unobserved_name, "instructions",                    \
         "executed with a register that was not observed, by reason")

struct profile_values {
    char *module;
    uint32_t summary; /* enum hotlist_kind */
    bool redacted;
    uint32_t module_end, module_detail; /* enum module_end */
    uint64_t every;     /* at most one of so many triggers made a sequence; 0: all was observed */
    VALUE_FIGURES(FIGURE_FIELD, FIGURE_FIELDS)
    struct profile_value_kind *kinds;
    uint32_t kind_count;
    struct profile_fact *facts;
    uint32_t fact_count;
    struct profile_text *texts; /* by (kind, space, bits) */
    uint32_t text_count;
    /* by (image + 2, process, offset, kind, site_image + 2, site) */
    struct profile_hotlist *hotlists;
    uint32_t hotlist_count;
};

/* Of a profile's values, in files. */
extern const struct figure_family value_figures;

/* NULL without memory. */
struct profile_values *profile_values_new(const char *module);
void profile_values_free(struct profile_values *v);

/* An empty record at the end, NULL without memory. Capacity grows by doubling: to no array may
 * elements be added otherwise. A hotlist's list has room for so many entries. */
struct profile_value_kind *profile_values_add_kind(struct profile_values *v, const char *name);
struct profile_fact *profile_values_add_fact(struct profile_values *v, const char *name);
struct profile_text *profile_values_add_text(struct profile_values *v, const char *text);
struct profile_hotlist *profile_values_add_hotlist(struct profile_values *v, uint32_t entries);

/* Sorts texts and hotlists, and makes one of equal ones; entries become sorted too. Chance comes
 * from a fixed seed: equal profiles stay equal. False without memory. */
bool profile_values_settle(struct profile_values *v);

/* Why they cannot be merged, or NULL. */
const char *profile_values_differ(const struct profile_values *a, const struct profile_values *b);

/* Adds `from` to `into`, which must not differ. image_of, first_process: as in
 * profile_counts_merge. */
bool profile_values_merge(struct profile_values *into, const struct profile_values *from,
                          const uint32_t *image_of, uint32_t first_process);

/* The hotlists of one instruction: [first, first + count). */
struct values_range {
    uint32_t first, count;
};
struct values_range profile_values_at(const struct profile_values *v, uint32_t image,
                                      uint64_t offset);

/* As the module wrote the value, or NULL. */
const char *profile_values_text(const struct profile_values *v, uint32_t kind,
                                const struct hotlist_entry *entry);

const char *profile_module_end_sentence(uint32_t end);
/* Names and sentences by enumerator (sigsafe/reasons.h); "?" out of range. */
const char *profile_unobserved_name(unsigned reason);
const char *profile_unobserved_sentence(unsigned reason);
/* True if there were any. */
bool profile_values_unobserved(const struct profile_values *v);

#endif
