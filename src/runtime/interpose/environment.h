/* The two environment variables through which a new image finds us. The constructor takes them out
 * of the program's environment, so that it sees what it would see without us; exec puts them back.
 *
 * Context: environment_take: the constructor. The rest: ordinary code and vfork children (they
 * write to the caller's buffer only).
 * Ownership: the caller provides the memory of what is built. */
#ifndef PENUMBRA_RUNTIME_INTERPOSE_ENVIRONMENT_H
#define PENUMBRA_RUNTIME_INTERPOSE_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "sigsafe/elf_probe.h"

/* Of a file that is to be executed. */
struct environment_image {
    char first[ELF_PROBE_NAME_MAX]; /* what goes before our library (preload.h), or "" */
};

/* The spool's path in the variable's value, which has one character before it: a slash, or
 * ENVIRONMENT_AVOIDS where rt.avoids. */
#define ENVIRONMENT_AVOIDS '!'
const char *environment_path(const char *value, bool *avoids);

/* Removes our variables from envp, in place. */
void environment_take(char **envp, const char *runtime_path);
/* Programs that are executed from now on begin with rt.avoids. */
void environment_avoid(void);

/* True if an image executed from `file` (searched in $PATH if `search` and it has no slash) can and
 * shall be followed. *image is filled. */
bool environment_follows(const char *file, bool search, struct environment_image *image);

/* Bytes of memory that environment_build needs for this envp (NULL: an empty one). */
size_t environment_size(const struct environment_image *image, char *const *envp);
/* A copy of envp with our variables, in `memory`. */
char **environment_build(void *memory, const struct environment_image *image, char *const *envp);

/* Between these, environ holds our variables: for calls inside libc that start a program with it.
 * Any number of threads may lend at a time. False: nothing was lent. */
bool environment_lend(void);
void environment_return(void);
/* In a fork child: gives back what other threads had been lent. */
void environment_fork_child(void);

#endif
