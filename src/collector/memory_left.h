/* How much memory is left to a process: on the machine, and in the control groups (version 1 or 2)
 * that it is in and that have a limit. What the kernel can take back from files without writing
 * counts as left, as in /proc/meminfo's MemAvailable (proc(5)).
 *
 * Context: the collector. */
#ifndef PENUMBRA_COLLECTOR_MEMORY_LEFT_H
#define PENUMBRA_COLLECTOR_MEMORY_LEFT_H

#include <stdbool.h>
#include <stdint.h>

struct memory_group {
    char folder[512];
    bool old; /* version 1 */
};

struct memory_left {
    const char *root; /* of the file system: "", but in tests */
    uint32_t count;
    struct memory_group groups[16]; /* with a limit; the innermost first */
};

/* Finds the groups that the process is in. Without any, or where they cannot be read, the machine
 * alone counts. */
void memory_left_of(struct memory_left *m, const char *root, int32_t pid);

/* What is left, as a share of all there is, where it is least: 0 to 1; 1 if that cannot be
 * known. */
double memory_left_share(const struct memory_left *m);

#endif
