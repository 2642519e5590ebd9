#include "symbols/symtab.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

void symtab_free(struct symtab *t)
{
    free(t->entries);
    ranges_free(&t->sized);
    ranges_free(&t->unsized);
    *t = (struct symtab){ 0 };
}

/* Whether the symbol can name code; sets the end of its section (0: unknown). */
static bool symbol_is_code(const GElf_Sym *sym, GElf_Word section, Elf *elf, const char *name,
                           uint64_t *section_end)
{
    *section_end = 0;
    unsigned type = GELF_ST_TYPE(sym->st_info);
    if (!name || !name[0] || section == SHN_UNDEF)
        return false;
    if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
        return false;
    GElf_Shdr header;
    Elf_Scn *scn = elf && section < SHN_LORESERVE ? elf_getscn(elf, section) : NULL;
    bool known = scn && gelf_getshdr(scn, &header);
    if (known && header.sh_addr + header.sh_size > header.sh_addr)
        *section_end = header.sh_addr + header.sh_size;
    if (type == STT_NOTYPE)
        return known && (header.sh_flags & SHF_EXECINSTR) && strncmp(name, ".L", 2) != 0;
    return !known || (header.sh_flags & SHF_EXECINSTR);
}

static uint8_t symbol_kind(const GElf_Sym *sym)
{
    bool label = GELF_ST_TYPE(sym->st_info) == STT_NOTYPE;
    bool local = GELF_ST_BIND(sym->st_info) == STB_LOCAL;
    bool weak = GELF_ST_BIND(sym->st_info) == STB_WEAK;
    /* Underscores are compared between locality and weakness: bits 7 and 6 before, bit 0 after. */
    return (uint8_t)(label << 7 | local << 6 | weak);
}

static int leading_underscores(const char *name)
{
    if (name[0] == '_' && (name[1] == 'Z' || name[1] == 'R'))
        return 0;
    return (int)strspn(name, "_");
}

static int entry_compare(const void *a, const void *b)
{
    const struct symtab_entry *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->sized != y->sized)
        return x->sized ? -1 : 1;
    if ((x->kind & 0xc0) != (y->kind & 0xc0))
        return (x->kind & 0xc0) - (y->kind & 0xc0);
    int score = leading_underscores(x->name) - leading_underscores(y->name);
    if (score)
        return score;
    if (x->kind != y->kind)
        return x->kind - y->kind;
    size_t nx = strlen(x->name), ny = strlen(y->name);
    if (nx != ny)
        return nx < ny ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Keeps the best entry of each start address, with the farthest end of them. */
static void entries_unique(struct symtab *t)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->count; i++) {
        struct symtab_entry *last = kept ? &t->entries[kept - 1] : NULL;
        if (last && last->start == t->entries[i].start) {
            if (last->sized && t->entries[i].sized && t->entries[i].end > last->end)
                last->end = t->entries[i].end;
            continue;
        }
        t->entries[kept++] = t->entries[i];
    }
    t->count = kept;
}

static bool ranges_fill(struct symtab *t)
{
    for (size_t i = 0; i < t->count; i++) {
        struct symtab_entry *entry = &t->entries[i];
        if (!entry->sized && i + 1 < t->count
            && (!entry->end || t->entries[i + 1].start < entry->end))
            entry->end = t->entries[i + 1].start;
        struct ranges *ranges = entry->sized ? &t->sized : &t->unsized;
        if (!ranges_add(ranges, entry->start, entry->end, (uint32_t)i))
            return false;
    }
    ranges_sort(&t->sized);
    ranges_sort(&t->unsized);
    return true;
}

bool symtab_build(struct symtab *t, Dwfl_Module *module)
{
    *t = (struct symtab){ 0 };
    int symbols = dwfl_module_getsymtab(module);
    if (symbols <= 0)
        return true;
    t->entries = calloc((size_t)symbols, sizeof *t->entries);
    if (!t->entries)
        return false;
    for (int i = 0; i < symbols; i++) {
        GElf_Sym sym = { 0 };
        GElf_Addr address = 0;
        GElf_Word section = SHN_UNDEF;
        Elf *elf = NULL;
        Dwarf_Addr bias = 0;
        const char *name =
            dwfl_module_getsym_info(module, i, &sym, &address, &section, &elf, &bias);
        uint64_t section_end;
        if (!symbol_is_code(&sym, section, elf, name, &section_end))
            continue;
        bool sized = sym.st_size && address + sym.st_size > address;
        t->entries[t->count++] = (struct symtab_entry){
            .start = address,
            .end = sized ? address + sym.st_size : section_end ? section_end + bias : 0,
            .name = name,
            .kind = symbol_kind(&sym),
            .sized = sized,
        };
    }
    qsort(t->entries, t->count, sizeof *t->entries, entry_compare);
    entries_unique(t);
    if (ranges_fill(t))
        return true;
    symtab_free(t);
    return false;
}

const struct symtab_entry *symtab_find(const struct symtab *t, uint64_t address)
{
    uint32_t id = ranges_find(&t->sized, address);
    if (id == RANGES_NONE)
        id = ranges_find(&t->unsized, address);
    return id == RANGES_NONE ? NULL : &t->entries[id];
}
