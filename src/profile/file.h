/* Reading and writing whole files for src/profile.
 *
 * Context: ordinary code.
 * Ownership: file_read's bytes are malloc'ed. */
#ifndef PENUMBRA_PROFILE_FILE_H
#define PENUMBRA_PROFILE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

uint8_t *file_read(const char *path, size_t *size, struct err *e);

struct file_content {
    const uint8_t *data;
    size_t size;
    /* of no use once the machine has started anew: not waited for until it is on the disk */
    bool passing;
};

/* Replaces the file at path, or the file that a symbolic link there leads to, in one step: a
 * private (0600) temporary file beside it, then rename. What is not a regular file (a pipe, a
 * terminal, /dev/null) is never replaced but written to. */
bool file_write(const char *path, const struct file_content *c, struct err *e);

#endif
