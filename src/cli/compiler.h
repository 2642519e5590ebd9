/* Where the compiler's plugin and the runtime of instrumented programs are: for `penumbra cflags`
 * and `penumbra cc`.
 *
 * Context: the main thread.
 * Ownership: the caller's buffers. */
#ifndef PENUMBRA_CLI_COMPILER_H
#define PENUMBRA_CLI_COMPILER_H

#include <limits.h>
#include <stdbool.h>

#include "base/err.h"

struct compiler_files {
    char plugin[PATH_MAX];  /* for this compiler's major version */
    char runtime[PATH_MAX]; /* the object that is linked into programs */
};

/* For the compiler of that name; NULL: $CC, else gcc. */
bool compiler_find(const char *compiler, struct compiler_files *out, struct err *e);
/* The directory of compilers' wrappers: gcc, g++, cc, c++. */
bool compiler_wrappers(char directory[PATH_MAX], struct err *e);

#endif
