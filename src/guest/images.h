/* Which ELF images are mapped where: the unwinder's index, and its record in the spool.
 *
 *   images.current ──> struct unwind_index (sorted, immutable) ── one of IMAGES_RING buffers;
 *                      a change fills the next buffer and switches the pointer. A handler that is
 *                      still reading a reused buffer sees its generation change and drops
 *                      the sample.
 *
 * New images are found when a sample first meets an address that is in no image (through
 * _dl_find_object, which is async-signal-safe), so dlopen() need not be intercepted: its result
 * depends on its caller's address. Removed ones are found after dlclose(), if that has unloaded
 * any. Each change begins an epoch (csprof paper, section 2.5.1).
 *
 * Context: _as functions: signal handlers too. images_refresh: ordinary code only (it takes the
 * loader's lock).
 * Ownership: buffers live as long as the process. */
#ifndef PENUMBRA_GUEST_IMAGES_H
#define PENUMBRA_GUEST_IMAGES_H

#include <link.h>
#include <stdbool.h>

#include "guest/image.h"
#include "sigsafe/unwind_index.h"

/* What differs between guests. */
struct images_ways {
    int (*find)(void *pc, struct dl_find_object *found); /* the loader's; NULL: it has none */
    /* Looks at an image that is new to the process, and has its number; any context. NULL: no one
     * does. */
    void (*look_as)(const struct image_source *source, struct unwind_image *image);
};

/* All images that are mapped now. False: no memory. */
bool images_begin(struct images_ways ways);
/* After something may have been unloaded: brings the index up to date. When quiet, neither this nor
 * images_add_as changes anything. */
void images_refresh(void);
const struct unwind_index *images_current_as(void);
/* Adds the image that holds pc, if the loader knows one. False: it does not, or somebody else is
 * changing the index now. */
bool images_add_as(uint64_t pc);
/* The index is forgotten, until images_begin(): its numbers are of a recording that has ended, and
 * no handler runs. False: some thread is about to change it, perhaps the one that has been made to
 * call this; try again later. */
bool images_forget(void);
/* In a fork child: the child's own map records. */
void images_fork_child_as(void);

#endif
