#include "symbols/function_range.h"

#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <unistd.h>

static bool in_table(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, const char *name,
                     uint64_t *lo, uint64_t *hi)
{
    Elf_Data *data = elf_getdata(section, NULL);
    GElf_Sym symbol;
    for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
        const char *called = elf_strptr(elf, header->sh_link, symbol.st_name);
        bool code = GELF_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF;
        if (!code || !symbol.st_size || !called || strcmp(called, name) != 0)
            continue;
        *lo = symbol.st_value;
        *hi = symbol.st_value + symbol.st_size;
        return true;
    }
    return false;
}

bool symbols_function_range(const char *path, const char *name, uint64_t *lo, uint64_t *hi)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool found = false;
    if (fd < 0 || elf_version(EV_CURRENT) == EV_NONE) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    Elf_Scn *section = NULL;
    while (elf && !found && (section = elf_nextscn(elf, section))) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) &&
            (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM))
            found = in_table(elf, section, &header, name, lo, hi);
    }
    elf_end(elf);
    close(fd);
    return found;
}
