/* Descriptors of /proc that stay open for as long as a process is profiled: the program may use up
 * all that it can have, or enter a root without /proc. Like those of triggers they are hidden from
 * it.
 *
 * Context: any, unless said otherwise.
 * Ownership: whoever reads them (engine/mappings.h, sigsafe/memory_used.h) has the numbers; the
 * program may take one for itself. */
#ifndef PENUMBRA_RUNTIME_KEPT_FILES_H
#define PENUMBRA_RUNTIME_KEPT_FILES_H

#include <stdbool.h>

enum kept_file {
    KEPT_MAPS,  /* /proc/self/maps: what may be executed (mappings_keep) */
    KEPT_USED,  /* /proc/self/statm: how much memory is used (memory_used_keep) */
    KEPT_PROC,  /* /proc itself, before the program enters another root (mappings_hold) */
    KEPT_COUNT,
};

/* Opens it; in a fork child in place of the parent's. Its number, or negative. */
int kept_open_as(enum kept_file file);
/* Closes it, if it is there. Ordinary code. */
void kept_close(enum kept_file file);
bool kept_is_open_as(enum kept_file file);

bool kept_owns_as(int fd);
/* The program has taken that number. */
void kept_yield_as(int fd);
/* One lies above fd. */
bool kept_above_as(int fd);

#endif
