#include "runtime/interpose/entries.h"

#include <sys/mman.h>

#include "sigsafe/sys.h"

enum { PAGE = 4096 };

bool entries_image_holds(const struct image_source *source, uint64_t address)
{
    for (uint32_t i = 0; i < source->phdr_count; i++) {
        const Elf64_Phdr *p = &source->phdr[i];
        if (p->p_type == PT_LOAD && address - source->bias - p->p_vaddr < p->p_memsz)
            return true;
    }
    return false;
}

/* As the loader rounds it: the page in which the region ends is not protected. */
static void sealed_find(struct entries_image *image)
{
    for (uint32_t i = 0; i < image->source.phdr_count; i++) {
        const Elf64_Phdr *p = &image->source.phdr[i];
        if (p->p_type != PT_GNU_RELRO)
            continue;
        image->sealed_lo = (image->source.bias + p->p_vaddr) / PAGE * PAGE;
        image->sealed_hi = (image->source.bias + p->p_vaddr + p->p_memsz) / PAGE * PAGE;
    }
}

bool entries_open(const struct image_source *source, struct entries_image *image)
{
    *image = (struct entries_image){.source = *source};
    sealed_find(image);
    return image_symbols_open_as(source, &image->symbols);
}

static bool is_code(const struct image_source *source, uint64_t value)
{
    for (uint32_t i = 0; i < source->phdr_count; i++) {
        const Elf64_Phdr *p = &source->phdr[i];
        if (p->p_type == PT_LOAD && p->p_flags & PF_X &&
            value - source->bias - p->p_vaddr < p->p_memsz)
            return true;
    }
    return false;
}

void entry_set(const struct entries_image *image, const struct entry *entry, uint64_t value)
{
    long page = (long)((uint64_t)entry->place / PAGE * PAGE);
    bool sealed = (uint64_t)entry->place - image->sealed_lo < image->sealed_hi - image->sealed_lo;
    if (sealed && sys_call3_as(SYS_mprotect, page, PAGE, PROT_READ | PROT_WRITE) != 0)
        return;
    __atomic_store_n(entry->place, value, __ATOMIC_RELEASE);
    if (sealed)
        sys_call3_as(SYS_mprotect, page, PAGE, PROT_READ);
}

static bool entry_get(const struct entries_image *image, const Elf64_Rela *r, struct entry *entry)
{
    uint64_t type = ELF64_R_TYPE(r->r_info);
    const Elf64_Sym *symbol = image->symbols.symbols + ELF64_R_SYM(r->r_info);
    if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) ||
        symbol->st_name >= image->symbols.names_size)
        return false;
    entry->name = image->symbols.names + symbol->st_name;
    entry->place = (uint64_t *)(image->source.bias + r->r_offset);
    entry->value = __atomic_load_n(entry->place, __ATOMIC_RELAXED);
    entry->foreign = symbol->st_shndx == SHN_UNDEF;
    entry->unbound =
        type == R_X86_64_JUMP_SLOT && entry->foreign && is_code(&image->source, entry->value);
    return true;
}

void entries_each(const struct entries_image *image,
                  void (*look)(const struct entries_image *image, const struct entry *entry,
                               void *context),
                  void *context)
{
    static const struct {
        int64_t table, size;
    } kinds[] = {{DT_JMPREL, DT_PLTRELSZ}, {DT_RELA, DT_RELASZ}};
    struct entry entry;
    for (unsigned kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        const Elf64_Rela *r =
            (const Elf64_Rela *)image_dynamic_address_as(&image->source, kinds[kind].table);
        uint64_t count = image_dynamic_as(&image->source, kinds[kind].size) / sizeof *r;
        for (uint64_t i = 0; r && i < count; i++)
            if (entry_get(image, &r[i], &entry))
                look(image, &entry, context);
    }
}
