/* An image of a profile as a module of elfutils: its own file, if that is still the one that was
 * recorded, or the debug file that stands in for it.
 *
 * Context: ordinary code. Safe on any file.
 * Ownership: a struct module stays where it is; module_close releases a module that module_find
 * opened. */
#ifndef PENUMBRA_SYMBOLS_MODULE_H
#define PENUMBRA_SYMBOLS_MODULE_H

#include <elfutils/libdwfl.h>

#include "base/buf.h"
#include "symbols/symbols.h"

struct module {
    Dwfl_Callbacks callbacks;
    char *debug_path;
    Dwfl *dwfl;
    Dwfl_Module *dwfl_module;
    int unpacked;    /* the separate debug file, unpacked; -1 */
    bool debug_only; /* the file itself is gone; this is its separate debug file */
};

/* Finds the image's own file, or a debug file that stands in for it. Otherwise *problem becomes
 * "FILE has changed since the recording" or the like, terminated. */
bool module_find(struct module *m, const struct profile_image *image,
                 const struct symbols_options *options, struct buf *problem);
/* Any file, of which image gets the build-id (size 0: it has none). False: errno, or 0 if it is no
 * ELF file. */
bool module_open_file(struct module *m, const char *path, struct profile_image *image);
/* Whether the file, or its debug file, has the symbols of all its functions. */
bool module_has_symbols(const struct module *m);
void module_close(struct module *m);

#endif
