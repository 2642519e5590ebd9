/* What is known of a shadow's descriptors, for shadow_files.c, shadow_own.c and shadow_terminal.c.
 *
 *      program's 5 and 6: one file, opened twice       shadow_files.at[5]  kind  flags  description 7  device, inode ─┐ the file
 *      program's 8: a copy of 6 that the shadow made               at[6]  kind  flags  description 8  device, inode ─┤
 *                                                                  at[8]  kind  flags  description 8  device, inode ─┘
 *
 * Invariants: descriptors of one file (device and inode; of a file that is the shadow's own those
 * of the one that it stands for) are all FILE_OWN, or none is; those of one description (copies
 * that the shadow has made) have one position.
 *
 * Context: a shadow. */
#ifndef PENUMBRA_RUNTIME_CARRIER_SHADOW_SHADOW_FILES_H
#define PENUMBRA_RUNTIME_CARRIER_SHADOW_SHADOW_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "runtime/carrier/shadow/shadow_self.h"

struct shadow_descriptor {
    uint8_t kind; /* enum shadow_file */
    uint8_t terminal; /* a device: enum terminal, or the one behind TERMINAL_FIRST that it is */
    bool written; /* a regular file that would have been, and that is not kept */
    uint32_t flags; /* as fcntl(F_GETFL) said in the program */
    uint32_t description; /* 0: none that is known */
    uint64_t device, inode;
};

struct shadow_files {
    struct shadow_descriptor *at; /* by descriptor */
    uint64_t count;
    uint32_t descriptions; /* so many numbers are given */
    bool changed; /* some file is not what it would be in the program, or is the shadow's own */
};

extern struct shadow_files shadow_files;

enum terminal { TERMINAL_UNKNOWN, TERMINAL_NONE, TERMINAL_FIRST };

/* NULL: outside the table. */
struct shadow_descriptor *shadow_descriptor_at(uint64_t fd);
/* A description of a file that is not open yet. */
void shadow_descriptor_set(struct shadow_descriptor *d, enum shadow_file kind, uint32_t flags,
                           const struct stat *status);
/* Another description of the file under fd. Its descriptor, or an error. */
long shadow_reopen_as(uint64_t fd, uint64_t flags);

/* What this device, open under fd, is; a terminal is asked for its modes and size
 * (shadow_terminal.c). */
uint8_t shadow_terminal_look_as(long fd, const struct stat *status);

/* It is open, and leads to this file. */
static inline bool shadow_descriptor_is(const struct shadow_descriptor *d, uint64_t device,
                                        uint64_t inode)
{
    return d->description && d->inode == inode && d->device == device;
}

#endif
