/* The libc functions that interposers stand in front of.
 *
 * Context: ordinary code (dlsym may take locks). */
#ifndef PENUMBRA_RUNTIME_INTERPOSE_REAL_H
#define PENUMBRA_RUNTIME_INTERPOSE_REAL_H

#include <dlfcn.h>
#include <stdbool.h>

/* The next definition of `name` after ours. A library that was loaded as a part of a plugin is not
 * among the program's global symbols: then any image that has it. NULL: there is none. */
void *real_anywhere(const char *name);

/* Whether what dlsym(RTLD_DEFAULT) has found for `name` is not its definition. A program that is
 * not position-independent and takes a function's address has a place for it in its own procedure
 * linkage table, which then is the address that all get. */
bool real_is_entry(const void *address, const char *name);

#define EXPORT __attribute__((visibility("default")))

/* One place that calls a real function. All such places lie side by side in a section of their
 * own. */
struct real_place {
    const char *name;
    void *found; /* atomic; NULL: not looked for yet, or there is none */
};
#define REAL_PLACE __attribute__((section("real_places"), aligned(sizeof(struct real_place)), used))

/* Looks for the functions of all places, so that none is looked for in a child of a process with
 * threads, or in a signal handler of the program: dlsym takes a lock that another thread may hold,
 * or have held when the child was made. Called by the constructor, before there are threads; what
 * is called earlier looks for itself. Nothing is allocated. */
void real_places_find(void);

void *real_place_find(struct real_place *place);

/* REAL(close)(fd): the next definition of close after ours. */
#define REAL(name)                                                                                 \
    (*({                                                                                           \
        static struct real_place place REAL_PLACE = {#name, NULL};                                 \
        void *found = __atomic_load_n(&place.found, __ATOMIC_RELAXED);                             \
        (__typeof__(name) *)(found ? found : real_place_find(&place));                             \
    }))

/* The end of a system call that was made here and has failed: errno, and -1. */
long call_failed(long result);

#endif
