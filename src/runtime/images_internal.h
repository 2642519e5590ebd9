/* Shared by images*.c only. */
#ifndef PENUMBRA_RUNTIME_IMAGES_INTERNAL_H
#define PENUMBRA_RUNTIME_IMAGES_INTERNAL_H

#include <elf.h>

#include "runtime/runtime.h"

/* What the loader says of one image. */
struct image_source {
    uint64_t bias;
    const Elf64_Phdr *phdr;
    uint32_t phdr_count;
    const char *path; /* "" for the main program */
};

/* Fills *image and finds or makes its record in the spool. False: it has no code, or the spool is
 * full. */
bool image_describe_as(const struct image_source *source, struct unwind_image *image);

#endif
