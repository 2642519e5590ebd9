#include "runtime/interpose/real.h"

#include <link.h>
#include <stdint.h>

#include "runtime/image_symbols.h"

struct search {
    const char *name;
    void *found;
};

static int image_search(struct dl_phdr_info *info, size_t size, void *state)
{
    struct search *search = state;
    struct image_source source = {info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum, ""};
    struct image_symbols symbols;
    (void)size;
    for (uint32_t i = 0; i < source.phdr_count; i++) /* not our own */
        if (source.phdr[i].p_type == PT_LOAD &&
            (uint64_t)real_anywhere - source.bias - source.phdr[i].p_vaddr < source.phdr[i].p_memsz)
            return 0;
    if (!image_symbols_open_as(&source, &symbols))
        return 0;
    const Elf64_Sym *symbol = image_symbols_find_as(&symbols, search->name);
    if (symbol)
        search->found = (void *)(source.bias + symbol->st_value);
    return symbol != NULL;
}

void *real_anywhere(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    struct search search = {name, NULL};
    if (!found) {
        dl_iterate_phdr(image_search, &search);
        found = search.found;
    }
    return found;
}

/* Made by the linker. */
__attribute__((visibility("hidden"))) extern struct real_place __start_real_places[], __stop_real_places[];

void *real_place_find(struct real_place *place)
{
    void *found = dlsym(RTLD_NEXT, place->name);
    __atomic_store_n(&place->found, found, __ATOMIC_RELAXED);
    return found;
}

void real_places_find(void)
{
    for (struct real_place *place = __start_real_places; place < __stop_real_places; place++)
        if (!place->found)
            real_place_find(place);
}
