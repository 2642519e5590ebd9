/* Compiling an image's .eh_frame, and code that it does not cover, into a step table (table.h).
 * Done once an image, in the collector, never in the program and never in a handler.
 *
 * Context: ordinary code, any thread. Input is hostile: every byte is checked.
 * Ownership: the result is malloc'ed, the caller frees. It is position-independent: copied into the
 * spool (16-byte aligned) it can be used there by every process. */
#ifndef PENUMBRA_UNWIND_COMPILE_H
#define PENUMBRA_UNWIND_COMPILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct unwind_section {
    const uint8_t *data;
    size_t size;
    uint64_t vaddr; /* link-time address of data[0] */
};

/* Where functions are that no FDE covers, and their instructions: their rows come from the code
 * itself (code.h). */
struct unwind_code {
    struct unwind_section symbols; /* an ELF symbol table of 64-bit class; its vaddr does not
                                      matter */
    /* The instructions in [vaddr, vaddr + size), which stay until the next call. False: they cannot
     * be read. */
    bool (*read)(void *context, uint64_t vaddr, uint64_t size, const uint8_t **bytes);
    void *context;
};

/* Compiles one .eh_frame. text_lo/text_hi: link-time range of the executable segments; FDEs outside
 * are ignored. code may be NULL: then what no FDE covers has no rows. On success *table (malloc'ed,
 * *size bytes) is a struct unwind_table. FDEs that make no sense become "no CFI" rows and are
 * counted in the table's header, not errors. */
bool unwind_compile(const struct unwind_section *eh_frame, const struct unwind_code *code,
                    uint64_t text_lo, uint64_t text_hi, void **table, size_t *size, struct err *e);

/* As above, from an ELF file (libelf). expect_build_id may be NULL; if given and different,
 * fails. */
bool unwind_compile_file(const char *path, const uint8_t *expect_build_id, size_t build_id_size,
                         void **table, size_t *size, struct err *e);

/* As above, from an ELF image in memory (the vdso). */
bool unwind_compile_image(const void *elf, size_t elf_size, void **table, size_t *size,
                          struct err *e);

#endif
