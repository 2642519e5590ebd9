/* Where functions without symbols begin: from the sorted table in .eh_frame_hdr, which survives
 * stripping.
 *
 *     byte 0        1                 2               3
 *     +---------+-----------------+---------------+---------------+
 *     | 1       | of .eh_frame's  | of the count: | of the table: |
 *     | version | address: any    | 0x03 udata4   | 0x3b datarel  |
 *     +---------+-----------------+---------------+ sdata4        |
 *     | .eh_frame's address: 4    | count: 4 bytes +--------------+
 *     +---------------------------+---------------+
 *     | count times: start of code, address of its FDE, both 4 bytes, relative to byte 0
 *     +---------------------------------------------
 *
 * That is what every linker writes; a table in another encoding is not used.
 *
 * Context: ordinary code. Safe on any ELF file that elfutils opens.
 * Ownership: points into the file. */
#ifndef PENUMBRA_SYMBOLS_FDE_START_H
#define PENUMBRA_SYMBOLS_FDE_START_H

#include <gelf.h>
#include <stdint.h>

struct fde_starts {
    const uint8_t *table;
    uint64_t address; /* of the section: what entries are relative to */
    uint32_t count;
};

/* Leaves a table of no entries if there is none that can be read. */
void fde_starts_open(struct fde_starts *starts, Elf *elf);
/* The greatest start that is not above the address, or 0. */
uint64_t fde_starts_find(const struct fde_starts *starts, uint64_t address);
/* The least start above the address, or UINT64_MAX. */
uint64_t fde_starts_next(const struct fde_starts *starts, uint64_t address);

#endif
