/* Names of procedure linkage table stubs, "write@plt": from the GOT slot that the stub jumps
 * through and the relocation that fills it, or from the relocation number that a lazy stub pushes.
 *
 * Context: ordinary code. Safe on any ELF file that elfutils opens.
 * Ownership: a zeroed struct is empty; plt_free releases it. Names point into the file. */
#ifndef PENUMBRA_SYMBOLS_PLT_H
#define PENUMBRA_SYMBOLS_PLT_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plt_slot {
    uint64_t address; /* of the GOT entry */
    const char *name;
};

struct plt_section {
    uint64_t lo, hi;
    const uint8_t *bytes;
};

struct plt {
    struct plt_slot *slots; /* by address */
    size_t slot_count, slot_capacity;
    const char **lazy; /* by index in .rela.plt */
    size_t lazy_count;
    struct plt_section sections[4];
    int section_count;
};

/* False only without memory. elf: the mapped file itself, not its debug file. */
bool plt_build(struct plt *plt, Elf *elf);
void plt_free(struct plt *plt);
/* Whether the address is in a stub section; *name is set to "" if which stub is not known. */
bool plt_find(const struct plt *plt, uint64_t address, const char **name);

#endif
