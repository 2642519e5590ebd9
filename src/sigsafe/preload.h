/* Where our library stands in LD_PRELOAD. It comes first; but a sanitizer's library must be before
 * it: it ends the program if another one is (AddressSanitizer), and its reports would show our
 * functions as the callers.
 *
 *      ours[:theirs]
 *      [theirs:]sanitizer ours     the program is linked with it: put there by us, told by the blank
 *      theirs:ours                 theirs has one
 *
 * Context: any, signal handlers and vforked children included: only what is given is written.
 * Ownership: the caller's memory. */
#ifndef PENUMBRA_SIGSAFE_PRELOAD_H
#define PENUMBRA_SIGSAFE_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>

/* Whether this file of `length` characters, with or without directories, is such a library. */
bool preload_goes_first_as(const char *file, size_t length);

/* Bytes that preload_add_as may need behind `value`: with ours, and `first` (see elf_probe.h, "":
 * none). */
size_t preload_room_as(const char *ours, const char *first);

/* Puts ours into the value of LD_PRELOAD, in place. */
void preload_add_as(char *value, const char *ours, const char *first);

/* Takes out what preload_add_as has put in. True if it was there. */
bool preload_remove_as(char *value, const char *ours);

#endif
