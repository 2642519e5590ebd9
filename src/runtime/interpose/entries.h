/* The entries of an image through which it calls others: its global offset table's, by name.
 *
 *     call malloc@plt ──> [GOT entry] ──> what the loader has bound, or still its own linkage table
 *
 * Context: ordinary code. Other threads may be calling through the entries.
 * Ownership: none; the entries are the images', which must stay mapped. */
#ifndef PENUMBRA_RUNTIME_INTERPOSE_ENTRIES_H
#define PENUMBRA_RUNTIME_INTERPOSE_ENTRIES_H

#include <stdbool.h>
#include <stdint.h>

#include "guest/image_symbols.h"

struct entries_image {
    struct image_source source;
    struct image_symbols symbols;
    uint64_t sealed_lo, sealed_hi; /* what the loader has made read-only after relocation */
};

struct entry {
    const char *name;
    uint64_t *place;
    uint64_t value;
    bool unbound; /* no call has used it yet: it leads back into its own image's linkage table */
    bool foreign; /* the image itself does not define the symbol */
};

/* Whether one of the image's segments holds the address. */
bool entries_image_holds(const struct image_source *source, uint64_t address);
/* False: it has no symbols that can be found by their names. */
bool entries_open(const struct image_source *source, struct entries_image *image);
/* Shows all entries that lead to functions and data of other images or may be interposed. */
void entries_each(const struct entries_image *image,
                  void (*look)(const struct entries_image *image, const struct entry *entry,
                               void *context),
                  void *context);
void entry_set(const struct entries_image *image, const struct entry *entry, uint64_t value);

#endif
