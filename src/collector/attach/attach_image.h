/* What is mapped in another process, and the addresses of functions there. Everything is read from
 * its memory: its files may lie in a mount namespace of its own, or have been replaced since.
 *
 * Context: ordinary code. The process is not trusted: every read is bounded.
 * Ownership: attach_maps_free releases the list. A struct attach_image points into it. */
#ifndef PENUMBRA_COLLECTOR_ATTACH_IMAGE_H
#define PENUMBRA_COLLECTOR_ATTACH_IMAGE_H

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
bool attach_maps_same_file(const struct attach_map *a, const struct attach_map *b);
/* The name of one of the two prefixes: of a file, as /proc/PID/maps has it. */
bool attach_map_is_named(const struct attach_map *m, const char *const prefixes[2]);

/* /proc/PID/mem at `mem`. */
bool attach_read(int mem, uint64_t address, void *to, size_t size);
bool attach_write(int mem, uint64_t address, const void *from, size_t size);

/* An ELF file that is mapped to be executed, and not just to be read as data is. */
struct attach_image {
    const struct attach_map *code; /* where its first executable segment begins */
    /* what is added to the addresses in the file; the dynamic section */
    uint64_t bias, dynamic;
    uint64_t symbols, strings, hash;
};

/* The image whose ELF header the mapping `first` begins with. False: there is none. */
bool attach_image_at(struct attach_image *image, const struct attach_maps *maps, int mem,
                     const struct attach_map *first);
/* The image that the mapping m of the same list belongs to. */
bool attach_image_around(struct attach_image *image, const struct attach_maps *maps, int mem,
                         const struct attach_map *m);
/* Whether m is executable code of this image: of the same file, and mapped along with it. */
bool attach_image_has_code(const struct attach_image *image, const struct attach_map *m);

/* The address of what is called `name` and defined by the image; 0 if there is no such thing. */
uint64_t attach_symbol(int mem, const struct attach_image *image, const char *name);
/* The same, of a function: it lies in executable memory. */
uint64_t attach_function(int mem, const struct attach_image *image, const struct attach_maps *maps,
                         const char *name);

#endif
