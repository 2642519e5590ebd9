/* Whether what the program's pointers lead to can be read: the kernel refuses a bad one with
 * EFAULT, and so must what stands in front of it.
 *
 * Context: any. Each page costs a system call, which a sandbox may forbid: not to be asked in one
 * (rt_quiet_as).
 * Ownership: none. */
#ifndef PENUMBRA_RUNTIME_INTERPOSE_POINTERS_H
#define PENUMBRA_RUNTIME_INTERPOSE_POINTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the `size` bytes from `at` can be read. */
bool pointer_readable_as(const void *at, uint64_t size);
/* Whether all of a string can be read, its NUL included. */
bool pointer_string_readable_as(const char *string);
/* The same for a list of strings that ends with NULL, as envp is. There may be none. */
bool pointer_list_readable_as(char *const *list);

#endif
