#include "runtime/interpose/redirect.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>

#include "runtime/interpose/entries.h"
#include "runtime/interpose/real.h"
#include "runtime/runtime.h"

/* What must not reach libc unseen: a sample that is raised inside execve would meet an image
 * without a handler; an ignored SIGTRAP is handed on to new images; what dlclose removes must leave
 * the index. */
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

static void entry_look(const struct entries_image *image, const struct entry *entry, void *context)
{
    bool begin = *(const bool *)context;
    if (!entry->foreign)
        return;
    for (unsigned i = 0; i < FUNCTION_COUNT; i++) {
        if (!functions[i].real || strcmp(entry->name, functions[i].name) != 0)
            continue;
        if (!begin && entry->value == functions[i].ours)
            entry_set(image, entry, functions[i].real);
        else if (begin && (entry->value == functions[i].real ||
                           (functions[i].is_global && entry->unbound)))
            entry_set(image, entry, functions[i].ours);
        return;
    }
}

static int image_look(struct dl_phdr_info *info, size_t size, void *begin)
{
    struct image_source source = {info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum, ""};
    struct entries_image image;
    (void)size;
    if (!entries_image_holds(&source, (uint64_t)functions) && entries_open(&source, &image))
        entries_each(&image, entry_look, begin);
    return 0;
}

void redirect_begin(void)
{
    bool begin = true;
    for (unsigned i = 0; i < FUNCTION_COUNT; i++) {
        functions[i].real =
            is_wanted(functions[i].ours) ? (uint64_t)dlsym(RTLD_NEXT, functions[i].name) : 0;
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
