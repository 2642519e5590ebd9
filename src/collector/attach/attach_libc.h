/* The libc and the loader of a process, which load a library into it.
 *
 * A name in /proc/PID/maps does not tell them: a program may map libc.so.6 to read it, and with
 * dlmopen() there are more libcs than one, which may be unloaded at any time. So they are taken
 * from the loader's own list: its _r_debug (link.h) leads to the images of the base namespace,
 * where libc stays as long as the program runs.
 *
 * Context: ordinary code. The process is not trusted: every read is bounded, and so is their
 * number.
 * Ownership: what is found points into the list of mappings. */
#ifndef PENUMBRA_COLLECTOR_ATTACH_LIBC_H
#define PENUMBRA_COLLECTOR_ATTACH_LIBC_H

#include "collector/attach/attach_image.h"

struct attach_libc {
    struct attach_image libc, loader;
};

/* False: no libc and loader of glibc's are loaded in the process. */
bool attach_libc_find(struct attach_libc *l, const struct attach_maps *maps, int mem);
/* Whether musl is mapped. */
bool attach_libc_is_musl(const struct attach_maps *maps);

#endif
