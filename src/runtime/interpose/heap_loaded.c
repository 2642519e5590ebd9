#include "runtime/interpose/heap_loaded.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include "guest/images.h"
#include "runtime/interpose/entries.h"
#include "runtime/interpose/heap_count.h"
#include "runtime/interpose/pointers.h"
#include "runtime/interpose/real.h"
#include "runtime/process.h"
#include "runtime/runtime.h"
#include "sigsafe/hash.h"

/* ---- the functions ---- */

enum function {
    MALLOC, CALLOC, REALLOC, FREE, MEMALIGN, POSIX_MEMALIGN, ALIGNED_ALLOC, VALLOC, PVALLOC,
    FUNCTIONS
};
static const char *const names[FUNCTIONS] = {
    "malloc", "calloc", "realloc", "free", "memalign", "posix_memalign", "aligned_alloc", "valloc",
    "pvalloc",
};
enum { SLOTS = 6 };
static uint64_t real[FUNCTIONS][SLOTS]; /* atomic; 0: free */

#define CALL(type, function, slot) ((type)__atomic_load_n(&real[function][slot], __ATOMIC_RELAXED))

static inline void *give(unsigned slot, enum function function, size_t size)
{
    uint64_t calls = sync_local.calls;
    return heap_gave_outer(calls, CALL(void *(*)(size_t), function, slot)(size), size);
}

static inline void *give_aligned(unsigned slot, enum function function, size_t alignment,
                                 size_t size)
{
    uint64_t calls = sync_local.calls;
    return heap_gave_outer(calls, CALL(void *(*)(size_t, size_t), function, slot)(alignment, size),
                           size);
}

static inline void *give_array(unsigned slot, size_t count, size_t size)
{
    uint64_t calls = sync_local.calls;
    return heap_gave_outer(calls, CALL(void *(*)(size_t, size_t), CALLOC, slot)(count, size),
                           count * size);
}

static inline int give_posix(unsigned slot, void **p, size_t alignment, size_t size)
{
    uint64_t calls = sync_local.calls;
    int result = CALL(int (*)(void **, size_t, size_t), POSIX_MEMALIGN, slot)(p, alignment, size);
    if (result == 0)
        heap_gave_outer(calls, *p, size);
    return result;
}

static inline void *give_again(unsigned slot, void *old, size_t size)
{
    uint64_t calls = sync_local.calls;
    struct heap_sampled before = old ? heap_takes(old) : (struct heap_sampled){0, 0};
    void *p = CALL(void *(*)(void *, size_t), REALLOC, slot)(old, size);
    if (!p && size && before.cell)
        heap_table_restore(old, before);
    return heap_gave_outer(calls, p, size);
}

static inline void take(unsigned slot, void *p)
{
    if (p)
        heap_takes(p);
    CALL(void (*)(void *), FREE, slot)(p);
}

#define SLOT(n)                                                                                    \
    static void *malloc_##n(size_t size) { return give(n, MALLOC, size); }                         \
    static void *calloc_##n(size_t count, size_t size) { return give_array(n, count, size); }      \
    static void *realloc_##n(void *old, size_t size) { return give_again(n, old, size); }          \
    static void free_##n(void *p) { take(n, p); }                                                  \
    static void *memalign_##n(size_t to, size_t size)                                              \
    {                                                                                              \
        return give_aligned(n, MEMALIGN, to, size);                                                \
    }                                                                                              \
    static int posix_##n(void **p, size_t to, size_t size) { return give_posix(n, p, to, size); }  \
    static void *aligned_##n(size_t to, size_t size)                                               \
    {                                                                                              \
        return give_aligned(n, ALIGNED_ALLOC, to, size);                                           \
    }                                                                                              \
    static void *valloc_##n(size_t size) { return give(n, VALLOC, size); }                         \
    static void *pvalloc_##n(size_t size) { return give(n, PVALLOC, size); }
SLOT(0)
SLOT(1)
SLOT(2)
SLOT(3)
SLOT(4)
SLOT(5)

#define ROW(n)                                                                                     \
    {(uint64_t)malloc_##n,  (uint64_t)calloc_##n,   (uint64_t)realloc_##n,                         \
     (uint64_t)free_##n,    (uint64_t)memalign_##n, (uint64_t)posix_##n,                           \
     (uint64_t)aligned_##n, (uint64_t)valloc_##n,   (uint64_t)pvalloc_##n}
static const uint64_t ours[SLOTS][FUNCTIONS] = {ROW(0), ROW(1), ROW(2), ROW(3), ROW(4), ROW(5)};

/* Ours that calls `target`; 0: there are too many different ones. */
static uint64_t slot_for(enum function function, uint64_t target)
{
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        if (!real[function][slot])
            __atomic_store_n(&real[function][slot], target, __ATOMIC_RELEASE);
        if (real[function][slot] == target)
            return ours[slot][function];
    }
    return 0;
}

bool heap_loaded_holds(const struct unwind_image *image)
{
    const struct unwind_index *index = images_current_as();
    for (unsigned slot = 0; index && slot < SLOTS; slot++) {
        uint64_t function = __atomic_load_n(&real[MALLOC][slot], __ATOMIC_RELAXED);
        if (function && unwind_index_find_as(index, function) == image)
            return true;
    }
    return false;
}

/* ---- images that define these functions ---- */

enum { DEFINERS = 32 };
static struct {
    struct image_source source;
    struct image_symbols symbols;
    unsigned space; /* namespace */
} definers[DEFINERS];
static unsigned definer_count;
static uint64_t loader; /* an address in the loader, whose own malloc is for nobody else */

static bool is_elf(const unsigned char *ident)
{
    return ident[0] == ELFMAG0 && ident[1] == ELFMAG1 && ident[2] == ELFMAG2 && ident[3] == ELFMAG3;
}

static bool image_of(const struct link_map *map, struct image_source *source)
{
    enum { PAGE = 4096 };
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)map->l_addr;
    if (!head || !pointer_readable_as(head, sizeof *head) || !is_elf(head->e_ident) ||
        head->e_phoff + head->e_phnum * sizeof(Elf64_Phdr) > PAGE)
        return false;
    *source = (struct image_source){map->l_addr, (const Elf64_Phdr *)(map->l_addr + head->e_phoff),
                                    head->e_phnum, ""};
    return true;
}

static bool is_apart(const struct image_source *source)
{
    return entries_image_holds(source, (uint64_t)heap_loaded_begin) ||
           entries_image_holds(source, loader);
}

static uint64_t definition(unsigned definer, const char *name)
{
    const Elf64_Sym *symbol = image_symbols_find_as(&definers[definer].symbols, name);
    return symbol && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC
               ? definers[definer].source.bias + symbol->st_value
               : 0;
}

static bool is_definition(uint64_t address, const char *name)
{
    for (unsigned i = 0; i < definer_count; i++)
        if (entries_image_holds(&definers[i].source, address))
            return definition(i, name) == address;
    return false;
}

/* Where an entry would be bound to: certain if only one image of the namespace defines the
 * function. (In the base one the search leads to us, or, from libraries with RTLD_DEEPBIND, to that
 * image; we would call it, too.) */
static uint64_t only_definition(unsigned space, const char *name)
{
    uint64_t found = 0;
    for (unsigned i = 0; i < definer_count; i++) {
        uint64_t address = definers[i].space == space ? definition(i, name) : 0;
        if (address && found)
            return 0;
        found = address ? address : found;
    }
    return found;
}

static void definer_add(const struct link_map *map, unsigned space)
{
    struct image_source source;
    struct image_symbols symbols;
    if (definer_count == DEFINERS || !image_of(map, &source) || is_apart(&source) ||
        !image_symbols_open_as(&source, &symbols) ||
        !image_symbols_find_as(&symbols, names[MALLOC]))
        return;
    definers[definer_count].source = source;
    definers[definer_count].symbols = symbols;
    definers[definer_count++].space = space;
}

/* ---- images that call them ---- */

static void entry_look(const struct entries_image *image, const struct entry *entry, void *context)
{
    for (unsigned f = 0; f < FUNCTIONS; f++) {
        if (strcmp(entry->name, names[f]) != 0)
            continue;
        uint64_t target =
            entry->unbound ? only_definition(*(const unsigned *)context, names[f]) : entry->value;
        uint64_t function = target && is_definition(target, names[f]) ? slot_for(f, target) : 0;
        if (function)
            entry_set(image, entry, function);
        return;
    }
}

/* Images whose entries have been looked at; of what is not here any more they are looked at
 * again. */
enum { SEEN = 4096 };
static const struct link_map *seen[SEEN];
static uint64_t adds, subs; /* as dl_iterate_phdr counts: images ever loaded, and unloaded */

/* True the first time. */
static bool seen_add(const struct link_map *map)
{
    uint64_t at = hash_word((uint64_t)map >> 4) >> 52;
    for (unsigned i = 0; i < 16; i++, at = (at + 1) % SEEN) {
        if (seen[at] == map)
            return false;
        if (!seen[at]) {
            seen[at] = map;
            return true;
        }
    }
    return true;
}

static void caller_look(const struct link_map *map, unsigned space)
{
    struct image_source source;
    struct entries_image image;
    if (seen_add(map) && image_of(map, &source) && !is_apart(&source) &&
        entries_open(&source, &image))
        entries_each(&image, entry_look, &space);
}

static void spaces_each(void (*look)(const struct link_map *map, unsigned space))
{
    const struct r_debug_extended *space = (const struct r_debug_extended *)loader;
    bool more = space && space->base.r_version > 1;
    for (unsigned number = 0; space; number++, space = more ? space->r_next : NULL)
        for (const struct link_map *map = space->base.r_map; map; map = map->l_next)
            look(map, number);
}

static void seen_note(const struct link_map *map, unsigned space)
{
    (void)space;
    seen_add(map);
}

/* The loader calls this for the first image, and changes no list meanwhile. *begin: what is there
 * now need not be looked at. */
static int lists_look(struct dl_phdr_info *info, size_t size, void *begin)
{
    (void)size;
    if (info->dlpi_adds == adds && info->dlpi_subs == subs)
        return 1;
    if (info->dlpi_subs != subs)
        memset(seen, 0, sizeof seen);
    adds = info->dlpi_adds;
    subs = info->dlpi_subs;
    if (*(const bool *)begin) {
        spaces_each(seen_note);
        return 1;
    }
    definer_count = 0;
    spaces_each(definer_add);
    spaces_each(caller_look);
    return 1;
}

static void look(bool begin)
{
    if (!loader || !rt_running_as() || !sync_wants(TRIGGER_MALLOC) ||
        rt_quiet_as() || process_foreign_as())
        return;
    REAL(dl_iterate_phdr)(lists_look, &begin);
}

void heap_loaded_begin(void)
{
    loader = (uint64_t)dlsym(RTLD_DEFAULT, "_r_debug");
    look(true);
}

/* ---- what heap_loaded.S passes on to ----
 * By the version that both libc and the libdl before it have: the runtime's own dlsym is the one
 * that leads here. */

static void *passed_on(void **place, const char *name, const char *version)
{
    void *found = __atomic_load_n(place, __ATOMIC_RELAXED);
    if (!found) {
        found = dlvsym(RTLD_NEXT, name, version);
        __atomic_store_n(place, found, __ATOMIC_RELAXED);
    }
    return found;
}

void *heap_dlsym(void);
void *heap_dlsym(void)
{
    static void *place;
    look(false);
    return passed_on(&place, "dlsym", "GLIBC_2.2.5");
}

void *heap_dlopen(void);
void *heap_dlopen(void)
{
    static void *place;
    look(false);
    return passed_on(&place, "dlopen", "GLIBC_2.2.5");
}

void *heap_dlmopen(void);
void *heap_dlmopen(void)
{
    static void *place;
    look(false);
    return passed_on(&place, "dlmopen", "GLIBC_2.3.4");
}
