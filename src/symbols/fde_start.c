#include "symbols/fde_start.h"

#include <dwarf.h>
#include <stdbool.h>
#include <string.h>

#include "base/array.h"

enum { HEADER_SIZE = 12, ENTRY_SIZE = 8 };

static void table_open(struct fde_starts *starts, Elf *elf, const GElf_Phdr *segment)
{
    Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)segment->p_offset, segment->p_filesz,
                                          ELF_T_BYTE);
    if (!data || !data->d_buf || data->d_size < HEADER_SIZE)
        return;
    const uint8_t *bytes = data->d_buf;
    bool four_bytes = (bytes[1] & 0x0f) == DW_EH_PE_sdata4 || (bytes[1] & 0x0f) == DW_EH_PE_udata4;
    if (bytes[0] != 1 || !four_bytes || bytes[2] != DW_EH_PE_udata4
        || bytes[3] != (DW_EH_PE_datarel | DW_EH_PE_sdata4))
        return;
    uint32_t count;
    memcpy(&count, bytes + 8, sizeof count);
    if (count > (data->d_size - HEADER_SIZE) / ENTRY_SIZE)
        return;
    *starts = (struct fde_starts){ .table = bytes + HEADER_SIZE,
                                   .address = segment->p_vaddr,
                                   .count = count };
}

void fde_starts_open(struct fde_starts *starts, Elf *elf)
{
    *starts = (struct fde_starts){ 0 };
    size_t segments;
    if (elf_getphdrnum(elf, &segments))
        return;
    for (size_t i = 0; i < segments; i++) {
        GElf_Phdr segment;
        if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_GNU_EH_FRAME)
            table_open(starts, elf, &segment);
    }
}

static uint64_t entry(const struct fde_starts *starts, uint32_t i)
{
    int32_t relative;
    memcpy(&relative, starts->table + (size_t)i * ENTRY_SIZE, sizeof relative);
    return starts->address + (uint64_t)(int64_t)relative;
}

/* How many entries are not above the address. */
static uint32_t entries_until(const struct fde_starts *starts, uint64_t address)
{
    return ARRAY_LEADING(starts->count, i, entry(starts, i) <= address);
}

uint64_t fde_starts_find(const struct fde_starts *starts, uint64_t address)
{
    uint32_t n = entries_until(starts, address);
    return n ? entry(starts, n - 1) : 0;
}

uint64_t fde_starts_next(const struct fde_starts *starts, uint64_t address)
{
    uint32_t n = entries_until(starts, address);
    return n < starts->count ? entry(starts, n) : UINT64_MAX;
}
