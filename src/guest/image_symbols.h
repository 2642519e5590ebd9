/* The dynamic symbols of a mapped image, read in place.
 *
 * Context: any, signal handlers included: memory of the image is read, nothing else.
 * Ownership: borrows the image, which must stay mapped. */
#ifndef PENUMBRA_GUEST_IMAGE_SYMBOLS_H
#define PENUMBRA_GUEST_IMAGE_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "guest/image.h"

struct image_symbols {
    const Elf64_Sym *symbols;
    const char *names;
    uint64_t names_size;
    const uint32_t *gnu_hash;
};

/* What the image's dynamic section says under `tag`, or 0. The loader makes the addresses in most
 * dynamic sections absolute, but not in the vdso's: _address does. */
uint64_t image_dynamic_as(const struct image_source *source, int64_t tag);
uint64_t image_dynamic_address_as(const struct image_source *source, int64_t tag);
/* False: the image has no table of them, or none with a GNU hash. */
bool image_symbols_open_as(const struct image_source *source, struct image_symbols *out);
/* The definition of `name`, or NULL. */
const Elf64_Sym *image_symbols_find_as(const struct image_symbols *s, const char *name);
/* The same for a name that is looked for in several images. */
uint32_t image_symbols_hash_as(const char *name);
const Elf64_Sym *image_symbols_hashed_as(const struct image_symbols *s, const char *name,
                                         uint32_t hash);
/* Whether the image asks others for a symbol whose name begins with `prefix`. */
bool image_symbols_wants_as(const struct image_symbols *s, const char *prefix);

#endif
