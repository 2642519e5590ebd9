/* The code of one image of a profile, read from its file: bytes, function extents, source lines.
 *
 * Context: ordinary code, one thread a struct code. Safe on any file.
 * Ownership: strings and bytes live until code_close. */
#ifndef PENUMBRA_SYMBOLS_CODE_H
#define PENUMBRA_SYMBOLS_CODE_H

#include "symbols/symbols.h"

struct code;

/* A place in the source as profiles for compilers name it: it stays when code above the function
 * is changed. */
struct source_site {
    const char *function;   /* as linkers know it; of the debug information */
    uint32_t line;          /* from the function's declaration on, modulo 65536 */
    uint32_t discriminator; /* which of several pieces of code of the line */
    uint32_t copies;        /* 1; or of how many copies of the code it is one */
};

struct code_function {
    const char *name; /* demangled; "" if it has none */
    uint64_t start, end; /* link-time addresses */
};

/* ERR_NOT_FOUND if the file is gone, has changed since the recording, or only its debug file is
 * there. */
struct code *code_open(const struct profile_image *image, const struct symbols_options *options,
                       struct err *e);
void code_close(struct code *c);

/* The bytes from a link-time address to the end of its segment in the file; NULL if there are
 * none. */
const uint8_t *code_bytes(const struct code *c, uint64_t address, size_t *available);

/* The contents of the file's section of that name; NULL if there is none, or it is compressed. */
const uint8_t *code_section(const struct code *c, const char *name, size_t *size);

/* The function around an address: by symbol, else by unwind information. False if there is none. */
bool code_function(struct code *c, uint64_t address, struct code_function *out);

/* The same with the name that linkers know, not demangled, and by symbols only. */
bool code_symbol(const struct code *c, uint64_t address, struct code_function *out);

/* The name of a linkage stub ("write@plt" without its "@plt"), or NULL. */
const char *code_stub(const struct code *c, uint64_t address);

/* The source line of an address. False if it is not known. `file` may be relative to *directory. */
bool code_line(struct code *c, uint64_t address, const char **file, const char **directory,
               uint32_t *line);

/* The place of an instruction in the source, and of the calls around it that were inlined,
 * innermost first. Returns how many; 0: not known, also of code that compilers say is of
 * no line. */
uint32_t code_sites(struct code *c, uint64_t address, struct source_site *out, uint32_t max);

#endif
