/* All functions of a file by its symbol tables, named as reports name them.
 *
 * Context: ordinary code. Safe on any file.
 * Ownership: what is told is lent for the call. */
#ifndef PENUMBRA_SYMBOLS_FUNCTIONS_H
#define PENUMBRA_SYMBOLS_FUNCTIONS_H

#include "base/err.h"
#include "profile/profile.h"
#include "symbols/code.h"

struct functions_taker {
    /* image: with its build-id alone. False: enough, with *e of symbols_functions set. */
    bool (*take)(void *context, const struct profile_image *image,
                 const struct code_function *function);
    void *context;
};

/* By address; one without a size reaches to the next, SYMTAB_REACH at most, and labels are none.
 * False: *e; ERR_FORMAT if it is no ELF file of an executable or a library, has no build-id or no
 * full symbol table. */
bool symbols_functions(const char *path, const struct functions_taker *to, struct err *e);

#endif
