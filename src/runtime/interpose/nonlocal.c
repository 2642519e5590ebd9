#include "runtime/interpose/nonlocal.h"

#include <link.h>
#include <stddef.h>

#include "runtime/carrier/trampoline.h"
#include "runtime/image_symbols.h"
#include "runtime/interpose/nonlocal_names.h"
#include "runtime/interpose/real.h"
#include "runtime/self.h"

#define NONLOCAL_STRING(number, name) [number] = #name,
static const char *const names[] = {NONLOCAL_NAMES(NONLOCAL_STRING)};
enum { NAME_COUNT = sizeof names / sizeof *names };

static void *real[NAME_COUNT]; /* atomic pointers */

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
            (uint64_t)names - source.bias - source.phdr[i].p_vaddr < source.phdr[i].p_memsz)
            return 0;
    if (!image_symbols_open_as(&source, &symbols))
        return 0;
    const Elf64_Sym *symbol = image_symbols_find_as(&symbols, search->name);
    if (symbol)
        search->found = (void *)(source.bias + symbol->st_value);
    return symbol != NULL;
}

/* The next definition after ours. An unwinder that was loaded as a part of a plugin is not among the
 * program's global symbols: then any image that has the function. */
static void *real_find(unsigned number)
{
    void *found = dlsym(RTLD_NEXT, names[number]);
    struct search search = {names[number], NULL};
    if (!found) {
        dl_iterate_phdr(image_search, &search);
        found = search.found;
    }
    __atomic_store_n(&real[number], found, __ATOMIC_RELAXED);
    return found;
}

void nonlocal_init(void)
{
    for (unsigned i = 0; i < NAME_COUNT; i++) {
        void *found = dlsym(RTLD_NEXT, names[i]);
        __atomic_store_n(&real[i], found, __ATOMIC_RELAXED);
    }
}

/* Called by nonlocal.S with the number of the function that the program calls. */
__attribute__((visibility("hidden"))) void *nonlocal_prepare(unsigned number);
void *nonlocal_prepare(unsigned number)
{
    void *function = __atomic_load_n(&real[number], __ATOMIC_RELAXED);
    if (rt.process)
        trampoline_lift(self_get());
    return function ? function : real_find(number);
}
