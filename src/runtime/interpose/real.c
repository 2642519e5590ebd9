#include "runtime/interpose/real.h"

#include <link.h>
#include <stdint.h>

#include "runtime/interpose/entries.h"

struct search {
    const char *name;
    void *found;
};

/* False: it is our own, or has no symbols that can be found by their hash. */
static bool symbols_of(const struct dl_phdr_info *info, struct image_symbols *symbols)
{
    struct image_source source = {info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum, ""};
    return !entries_image_holds(&source, (uint64_t)real_anywhere) &&
           image_symbols_open_as(&source, symbols);
}

static int image_search(struct dl_phdr_info *info, size_t size, void *state)
{
    struct search *search = state;
    struct image_symbols symbols;
    (void)size;
    const Elf64_Sym *symbol =
        symbols_of(info, &symbols) ? image_symbols_find_as(&symbols, search->name) : NULL;
    if (symbol)
        search->found = (void *)(info->dlpi_addr + symbol->st_value);
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

struct definition {
    const char *name;
    uint64_t address;
    bool found;
};

static int entry_search(struct dl_phdr_info *info, size_t size, void *state)
{
    struct definition *entry = state;
    struct image_source source = {info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum, ""};
    struct image_symbols symbols;
    (void)size;
    if (!entries_image_holds(&source, entry->address))
        return 0;
    entry->found =
        image_symbols_open_as(&source, &symbols) && !image_symbols_find_as(&symbols, entry->name);
    return 1;
}

bool real_is_entry(const void *address, const char *name)
{
    struct definition entry = {name, (uint64_t)address, false};
    dl_iterate_phdr(entry_search, &entry);
    return entry.found;
}

/* Made by the linker. */
__attribute__((visibility("hidden"))) extern struct real_place __start_real_places[],
    __stop_real_places[];

void *real_place_find(struct real_place *place)
{
    void *found = dlsym(RTLD_NEXT, place->name);
    __atomic_store_n(&place->found, found, __ATOMIC_RELAXED);
    return found;
}

/* dlsym puts into words what it does not find, in memory of malloc: the program's own, which may
 * not work before its main. So first is looked for what some library has. Places beyond these are
 * looked for when they are used. */
enum { PLACES_MOST = 512 };
static bool is_there[PLACES_MOST];
static uint32_t hashes[PLACES_MOST]; /* of the names */

static uint32_t place_count(void)
{
    uint64_t count = (uint64_t)(__stop_real_places - __start_real_places);
    return count < PLACES_MOST ? (uint32_t)count : PLACES_MOST;
}

/* The program itself is in front of us, wherever its libraries are. */
static int image_look(struct dl_phdr_info *info, size_t size, void *state)
{
    struct image_symbols symbols;
    (void)size;
    (void)state;
    if (!*info->dlpi_name || !symbols_of(info, &symbols))
        return 0;
    for (uint32_t i = 0; i < place_count(); i++)
        is_there[i] = is_there[i] || image_symbols_hashed_as(
                                         &symbols, __start_real_places[i].name, hashes[i]);
    return 0;
}

void real_places_find(void)
{
    for (uint32_t i = 0; i < place_count(); i++)
        hashes[i] = image_symbols_hash_as(__start_real_places[i].name);
    dl_iterate_phdr(image_look, NULL);
    for (uint32_t i = 0; i < place_count(); i++)
        if (is_there[i] && !__start_real_places[i].found)
            real_place_find(&__start_real_places[i]);
}
