/* One image, as the loader has it and as the spool and the index have it.
 *
 * Context: any.
 * Ownership: borrows what the loader has mapped. */
#ifndef PENUMBRA_GUEST_IMAGE_H
#define PENUMBRA_GUEST_IMAGE_H

#include <elf.h>
#include <stddef.h>

#include "guest/guest.h"
#include "sigsafe/key.h"
#include "sigsafe/unwind_index.h"

/* What the loader says of one image. */
struct image_source {
    uint64_t bias;
    const Elf64_Phdr *phdr;
    uint32_t phdr_count;
    const char *path; /* "" for the main program */
};

static inline const struct spool_image *image_record(const struct unwind_image *image)
{
    return (const void *)((const uint8_t *)image->table_ref - offsetof(struct spool_image, table));
}

/* Takes away what the kernel appends to the path of a deleted file. */
void image_path_undelete_as(char *path);
/* The absolute path of the file that is mapped at an address, as the kernel says; false if it says
 * none. Of a deleted file, the path that it had. */
bool image_path_as(uint64_t address, char *path, uint64_t size);
/* Fills *image from the index, if the same is there: at the same addresses, and built the same as
 * far as its memory says. Neither its file nor its symbols are looked at, which would take long;
 * the file may be another by now. */
bool image_known(const struct image_source *source, const struct unwind_index *index,
                 struct unwind_image *image);
/* Fills *image and finds or makes its record in the spool. False: it has no code, or the spool is
 * full. */
bool image_describe_as(const struct image_source *source, struct unwind_image *image);

#endif
