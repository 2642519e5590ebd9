#include "collector/attach/attach_libc.h"

#include <link.h>

enum { LINKS_MAX = 4096, LOADERS_MAX = 16 };

/* Before glibc 2.34 the files were named by its version. */
static const char *const libc_names[2] = {"libc.so.6", "libc-2."};
static const char *const loader_names[2] = {"ld-linux-x86-64.so", "ld-2."};
static const char *const musl_names[2] = {"ld-musl", "libc.musl"};

/* The loader that has loaded the program says of itself where it is. */
static bool is_loader(const struct attach_image *image, int mem, struct r_debug *debug)
{
    uint64_t at = attach_symbol(mem, image, "_r_debug");
    return at && attach_read(mem, at, debug, sizeof *debug) && debug->r_ldbase == image->bias &&
           debug->r_map;
}

static bool loader_find(struct attach_image *loader, const struct attach_maps *maps, int mem,
                        struct r_debug *debug)
{
    for (size_t i = 0, images = 0; i < maps->count && images < LOADERS_MAX; i++) {
        const struct attach_map *m = &maps->list[i];
        if (m->offset || !attach_map_is_named(m, loader_names) ||
            !attach_image_at(loader, maps, mem, m))
            continue;
        if (is_loader(loader, mem, debug))
            return true;
        images++;
    }
    return false;
}

/* The first image of that name in the list decides: each is named there once. */
static bool listed_libc_find(struct attach_image *libc, const struct attach_maps *maps, int mem,
                             const struct link_map *at)
{
    struct link_map link;
    for (unsigned n = 0; at && n < LINKS_MAX; n++, at = link.l_next) {
        if (!attach_read(mem, (uintptr_t)at, &link, sizeof link))
            return false;
        const struct attach_map *m = attach_maps_at(maps, (uintptr_t)link.l_ld);
        if (m && attach_map_is_named(m, libc_names))
            return attach_image_around(libc, maps, mem, m) && libc->bias == link.l_addr &&
                   libc->dynamic == (uintptr_t)link.l_ld;
    }
    return false;
}

bool attach_libc_find(struct attach_libc *l, const struct attach_maps *maps, int mem)
{
    struct r_debug debug;
    return loader_find(&l->loader, maps, mem, &debug) &&
           listed_libc_find(&l->libc, maps, mem, debug.r_map);
}

bool attach_libc_is_musl(const struct attach_maps *maps)
{
    for (size_t i = 0; i < maps->count; i++)
        if (attach_map_is_named(&maps->list[i], musl_names))
            return true;
    return false;
}
