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

/* The stack pointer that glibc's longjmp will set: __jmp_buf[6], rotated and xored with the thread's
 * pointer guard (sysdeps/unix/sysv/linux/x86_64/pointer_guard.h). */
static uint64_t jump_stack(const uint64_t *jump_buffer)
{
    enum { JB_RSP = 6, ROTATED = 17 };
    uint64_t guard, mangled = jump_buffer[JB_RSP];
    __asm__("movq %%fs:0x30, %0" : "=r"(guard));
    return (mangled >> ROTATED | mangled << (64 - ROTATED)) ^ guard;
}

/* Called by nonlocal.S with the number of the function that the program calls, and its argument. */
__attribute__((visibility("hidden"))) void *nonlocal_prepare(unsigned number, const void *argument);
void *nonlocal_prepare(unsigned number, const void *argument)
{
    enum { LONGJMP_LAST = 3 };
    void *function = __atomic_load_n(&real[number], __ATOMIC_RELAXED);
    struct rt_thread *t = rt.process ? self_get() : NULL;
    trampoline_lift(t);
    if (t && number <= LONGJMP_LAST)
        trampoline_leave(t, jump_stack(argument));
    return function ? function : real_find(number);
}
