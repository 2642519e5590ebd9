#include "symbols/plt.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { PLT_ENTRY = 16, PLT_GOT_ENTRY = 8 };

void plt_free(struct plt *plt)
{
    free(plt->slots);
    free(plt->lazy);
    *plt = (struct plt){ 0 };
}

static const char *relocation_name(Elf *elf, const GElf_Shdr *relocations, Elf_Data *symbols,
                                   const GElf_Rela *rela)
{
    GElf_Sym sym;
    GElf_Shdr strings;
    Elf_Scn *scn = elf_getscn(elf, relocations->sh_link);
    if (!symbols || !scn || !gelf_getshdr(scn, &strings)
        || !gelf_getsym(symbols, (int)GELF_R_SYM(rela->r_info), &sym) || !sym.st_name)
        return "";
    const char *name = elf_strptr(elf, strings.sh_link, sym.st_name);
    return name ? name : "";
}

static bool slot_add(struct plt *plt, uint64_t address, const char *name)
{
    if (!ARRAY_ROOM(plt->slots, plt->slot_count, plt->slot_capacity))
        return false;
    plt->slots[plt->slot_count++] = (struct plt_slot){ address, name };
    return true;
}

static bool relocations_read(struct plt *plt, Elf *elf, Elf_Scn *scn, const GElf_Shdr *header,
                             bool lazy)
{
    Elf_Data *data = elf_getdata(scn, NULL);
    Elf_Scn *symbol_scn = elf_getscn(elf, header->sh_link);
    Elf_Data *symbols = symbol_scn ? elf_getdata(symbol_scn, NULL) : NULL;
    if (!data || !header->sh_entsize)
        return true;
    size_t count = data->d_size / sizeof(Elf64_Rela);
    if (lazy && !plt->lazy && count) {
        plt->lazy = calloc(count, sizeof *plt->lazy);
        if (!plt->lazy)
            return false;
        plt->lazy_count = count;
    }
    for (size_t i = 0; i < count; i++) {
        GElf_Rela rela;
        if (!gelf_getrela(data, (int)i, &rela))
            break;
        unsigned type = (unsigned)GELF_R_TYPE(rela.r_info);
        bool code = type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
        const char *name = code ? relocation_name(elf, header, symbols, &rela) : "";
        if (lazy && i < plt->lazy_count)
            plt->lazy[i] = name;
        if (name[0] && !slot_add(plt, rela.r_offset, name))
            return false;
    }
    return true;
}

static void section_add(struct plt *plt, Elf_Scn *scn, const GElf_Shdr *header)
{
    Elf_Data *data = elf_getdata(scn, NULL);
    if (!data || !data->d_buf || plt->section_count == 4)
        return;
    if (header->sh_addr + data->d_size < header->sh_addr)
        return;
    plt->sections[plt->section_count++] = (struct plt_section){
        .lo = header->sh_addr, .hi = header->sh_addr + data->d_size, .bytes = data->d_buf
    };
}

static int slot_compare(const void *a, const void *b)
{
    const struct plt_slot *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

bool plt_build(struct plt *plt, Elf *elf)
{
    *plt = (struct plt){ 0 };
    size_t names;
    if (elf_getshdrstrndx(elf, &names))
        return true;
    Elf_Scn *scn = NULL;
    while ((scn = elf_nextscn(elf, scn))) {
        GElf_Shdr header;
        if (!gelf_getshdr(scn, &header))
            continue;
        const char *name = elf_strptr(elf, names, header.sh_name);
        if (!name)
            continue;
        if (header.sh_type == SHT_RELA && (header.sh_flags & SHF_ALLOC)
            && !relocations_read(plt, elf, scn, &header, !strcmp(name, ".rela.plt"))) {
            plt_free(plt);
            return false;
        }
        if (header.sh_type == SHT_PROGBITS
            && (!strcmp(name, ".plt") || !strcmp(name, ".plt.sec") || !strcmp(name, ".plt.got")))
            section_add(plt, scn, &header);
    }
    if (plt->slot_count)
        qsort(plt->slots, plt->slot_count, sizeof *plt->slots, slot_compare);
    return true;
}

static const char *slot_find(const struct plt *plt, uint64_t address)
{
    struct plt_slot key = { .address = address };
    struct plt_slot *slot = plt->slot_count ? bsearch(&key, plt->slots, plt->slot_count,
                                                      sizeof key, slot_compare)
                                            : NULL;
    return slot ? slot->name : "";
}

/* The name of the stub in bytes[0, size), which is mapped at `address`. What a stub has, after an
 * optional endbr64 and an optional bnd prefix:
 *
 *     ff 25 rel32    jmp  *slot(%rip)     the eager form, and the first line of the lazy one
 *     68 imm32       push $relocation     the lazy form of programs with branch tracking */
static const char *stub_name(const struct plt *plt, const uint8_t *bytes, size_t size,
                             uint64_t address)
{
    for (size_t i = 0; i + 6 <= size && i <= 5; i++) {
        int32_t value;
        if (bytes[i] == 0xff && bytes[i + 1] == 0x25) {
            memcpy(&value, bytes + i + 2, sizeof value);
            return slot_find(plt, address + i + 6 + (uint64_t)(int64_t)value);
        }
        if (bytes[i] == 0x68 && (i == 0 || i == 4)) {
            memcpy(&value, bytes + i + 1, sizeof value);
            bool known = value >= 0 && (size_t)value < plt->lazy_count && plt->lazy[value];
            return known ? plt->lazy[value] : "";
        }
    }
    return "";
}

bool plt_find(const struct plt *plt, uint64_t address, const char **name)
{
    *name = "";
    for (int s = 0; s < plt->section_count; s++) {
        const struct plt_section *section = &plt->sections[s];
        if (address < section->lo || address >= section->hi)
            continue;
        /* .plt.got has entries of 8 bytes without branch tracking, of 16 with it. */
        for (uint64_t size = PLT_ENTRY; size >= PLT_GOT_ENTRY && !(*name)[0]; size /= 2) {
            uint64_t at = (address - section->lo) / size * size;
            uint64_t left = section->hi - section->lo - at;
            *name = stub_name(plt, section->bytes + at, left < size ? left : size,
                              section->lo + at);
        }
        return true;
    }
    return false;
}
