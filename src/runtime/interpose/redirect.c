#include "runtime/interpose/redirect.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <threads.h>
#include <unistd.h>

#include "runtime/image_symbols.h"
#include "runtime/interpose/real.h"
#include "runtime/runtime.h"
#include "sigsafe/sys.h"

enum { PAGE = 4096 };

/* What must not reach libc unseen: a sample that is raised inside execve would meet an image without a
 * handler; an ignored SIGTRAP is handed on to new images; what dlclose removes must leave the index. */
#define FUNCTION(name) {#name, (uint64_t)name, 0, false}
static struct {
    const char *name;
    uint64_t ours;
    uint64_t real;  /* libc's; 0: it has none */
    bool is_global; /* an entry that is still to be bound would be bound to libc's */
} functions[] = {
    FUNCTION(execve),   FUNCTION(execv),   FUNCTION(execvpe),     FUNCTION(execvp),
    FUNCTION(execveat), FUNCTION(fexecve), FUNCTION(execl),       FUNCTION(execlp),
    FUNCTION(execle),   FUNCTION(system),  FUNCTION(posix_spawn), FUNCTION(posix_spawnp),
    FUNCTION(popen),    FUNCTION(dlclose),  FUNCTION(syscall),
    FUNCTION(pthread_create), FUNCTION(thrd_create),
};
#undef FUNCTION
/* Where no event is inherited, threads that begin are seen as in a program that is started. */
static bool is_wanted(uint64_t ours)
{
    bool begins = ours == (uint64_t)pthread_create || ours == (uint64_t)thrd_create;
    return !begins || rt.config->mechanism == MECHANISM_TIMER;
}

enum { FUNCTION_COUNT = sizeof functions / sizeof *functions };

struct image {
    struct image_source source;
    struct image_symbols symbols;
    uint64_t sealed_lo, sealed_hi; /* what the loader has made read-only after relocation */
};

static bool is_own(const struct image *image)
{
    for (uint32_t i = 0; i < image->source.phdr_count; i++) {
        const Elf64_Phdr *p = &image->source.phdr[i];
        if (p->p_type == PT_LOAD &&
            (uint64_t)functions - image->source.bias - p->p_vaddr < p->p_memsz)
            return true;
    }
    return false;
}

/* As the loader rounds it: the page in which the region ends is not protected. */
static void sealed_find(struct image *image)
{
    for (uint32_t i = 0; i < image->source.phdr_count; i++) {
        const Elf64_Phdr *p = &image->source.phdr[i];
        if (p->p_type != PT_GNU_RELRO)
            continue;
        image->sealed_lo = (image->source.bias + p->p_vaddr) / PAGE * PAGE;
        image->sealed_hi = (image->source.bias + p->p_vaddr + p->p_memsz) / PAGE * PAGE;
    }
}

/* An entry that no call has used yet leads back into its own image's procedure linkage table. */
static bool is_unbound(const struct image *image, uint64_t value)
{
    for (uint32_t i = 0; i < image->source.phdr_count; i++) {
        const Elf64_Phdr *p = &image->source.phdr[i];
        if (p->p_type == PT_LOAD && p->p_flags & PF_X &&
            value - image->source.bias - p->p_vaddr < p->p_memsz)
            return true;
    }
    return false;
}

static void entry_set(const struct image *image, uint64_t *entry, uint64_t value)
{
    long page = (long)((uint64_t)entry / PAGE * PAGE);
    bool sealed = (uint64_t)entry - image->sealed_lo < image->sealed_hi - image->sealed_lo;
    if (sealed && sys_call3_as(SYS_mprotect, page, PAGE, PROT_READ | PROT_WRITE) != 0)
        return;
    __atomic_store_n(entry, value, __ATOMIC_RELEASE);
    if (sealed)
        sys_call3_as(SYS_mprotect, page, PAGE, PROT_READ);
}

static void entry_look(const struct image *image, const Elf64_Rela *r, bool begin)
{
    uint64_t type = ELF64_R_TYPE(r->r_info);
    const Elf64_Sym *symbols = image->symbols.symbols, *symbol = symbols + ELF64_R_SYM(r->r_info);
    if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT)
        return;
    if (!symbols || symbol->st_shndx != SHN_UNDEF || symbol->st_name >= image->symbols.names_size)
        return;
    const char *name = image->symbols.names + symbol->st_name;
    for (unsigned i = 0; i < FUNCTION_COUNT; i++) {
        if (!functions[i].real || strcmp(name, functions[i].name) != 0)
            continue;
        uint64_t *entry = (uint64_t *)(image->source.bias + r->r_offset);
        uint64_t value = __atomic_load_n(entry, __ATOMIC_RELAXED);
        if (!begin && value == functions[i].ours)
            entry_set(image, entry, functions[i].real);
        else if (begin && (value == functions[i].real ||
                           (functions[i].is_global && type == R_X86_64_JUMP_SLOT &&
                            is_unbound(image, value))))
            entry_set(image, entry, functions[i].ours);
        return;
    }
}

static void entries_look(const struct image *image, int64_t table, int64_t size, bool begin)
{
    const Elf64_Rela *r = (const Elf64_Rela *)image_dynamic_address_as(&image->source, table);
    uint64_t count = image_dynamic_as(&image->source, size) / sizeof *r;
    for (uint64_t i = 0; r && i < count; i++)
        entry_look(image, &r[i], begin);
}

static int image_look(struct dl_phdr_info *info, size_t size, void *begin)
{
    struct image image = {
        .source = {info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum, ""}};
    (void)size;
    if (is_own(&image) || !image_symbols_open_as(&image.source, &image.symbols))
        return 0;
    sealed_find(&image);
    entries_look(&image, DT_JMPREL, DT_PLTRELSZ, *(const bool *)begin);
    entries_look(&image, DT_RELA, DT_RELASZ, *(const bool *)begin);
    return 0;
}

void redirect_begin(void)
{
    bool begin = true;
    for (unsigned i = 0; i < FUNCTION_COUNT; i++) {
        functions[i].real = is_wanted(functions[i].ours) ? (uint64_t)dlsym(RTLD_NEXT, functions[i].name) : 0;
        const void *found = dlsym(RTLD_DEFAULT, functions[i].name);
        functions[i].is_global = functions[i].real &&
            ((uint64_t)found == functions[i].real || real_is_entry(found, functions[i].name));
    }
    dl_iterate_phdr(image_look, &begin);
}

void redirect_end(void)
{
    bool begin = false;
    dl_iterate_phdr(image_look, &begin);
}
