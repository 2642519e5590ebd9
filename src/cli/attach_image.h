/* What is mapped in another process, and the addresses of functions there. Everything is read from
 * its memory: its files may lie in a mount namespace of its own, or have been replaced since.
 *
 * Context: ordinary code. The process is not trusted: every read is bounded.
 * Ownership: attach_images_free releases the list. */
#ifndef PENUMBRA_CLI_ATTACH_IMAGE_H
#define PENUMBRA_CLI_ATTACH_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct attach_map {
    uint64_t lo, hi, offset;
    uint64_t device, inode; /* inode 0: no file */
    bool executable, writable;
    char name[128];         /* of the file, without its directory; "[vdso]" and the like; "" */
};

struct attach_maps {
    struct attach_map *list;
    size_t count;
};

/* False if /proc/PID/maps cannot be read, or there is nothing in it (a kernel thread). */
bool attach_maps_read(pid_t pid, struct attach_maps *maps);
void attach_maps_free(struct attach_maps *maps);
const struct attach_map *attach_maps_at(const struct attach_maps *maps, uint64_t address);
/* The first mapping of a file whose name begins with `prefix`, and the mapping of its first page. */
const struct attach_map *attach_maps_named(const struct attach_maps *maps, const char *prefix);

/* /proc/PID/mem at `mem`. */
bool attach_read(int mem, uint64_t address, void *to, size_t size);
bool attach_write(int mem, uint64_t address, const void *from, size_t size);

/* The address of the function `name` that the image mapped at `base` (its ELF header) defines; 0 if
 * there is none. */
uint64_t attach_symbol(int mem, uint64_t base, const char *name);

#endif
