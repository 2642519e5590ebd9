/* The functions of one image by its symbol tables (.symtab of the file or of its separate debug
 * file, .gnu_debugdata, else .dynsym).
 *
 * Which of several names of one address is shown: a function before a bare label, a global or weak
 * symbol before a local one, fewer leading underscores ("write" before "__write"), global before
 * weak, shorter, alphabetically first. A symbol without a size (assembly) reaches to the next one,
 * but only where no sized symbol contains the address. Whether code that far behind it is still its
 * own, image.c decides.
 *
 * Context: ordinary code. Safe on any ELF file that elfutils opens.
 * Ownership: names point into the module; symtab_free before the module is closed. */
#ifndef PENUMBRA_SYMBOLS_SYMTAB_H
#define PENUMBRA_SYMBOLS_SYMTAB_H

#include <elfutils/libdwfl.h>

#include "symbols/ranges.h"

enum {
    SYMTAB_LABEL = 0x80, /* of kind: a name that is no function to the linker */
    /* How far a function without a size is taken to reach where nothing says so: those of the C
     * start-up files are the usual ones. */
    SYMTAB_REACH = 256
};

struct symtab_entry {
    uint64_t start, end;
    const char *name;
    uint8_t kind; /* the smaller, the better a name */
    bool sized;
};

struct symtab {
    struct symtab_entry *entries; /* by start, then by preference */
    size_t count;
    struct ranges sized, unsized; /* ids: indexes of entries */
};

/* False only without memory. */
bool symtab_build(struct symtab *t, Dwfl_Module *module);
void symtab_free(struct symtab *t);
/* NULL if no symbol contains the address. */
const struct symtab_entry *symtab_find(const struct symtab *t, uint64_t address);

#endif
