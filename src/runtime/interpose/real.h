/* The libc function that an interposer stands in front of. Resolved at its first use, which may be
 * before our constructor has run.
 *
 * Context: ordinary code (dlsym may take locks). */
#ifndef PENUMBRA_RUNTIME_INTERPOSE_REAL_H
#define PENUMBRA_RUNTIME_INTERPOSE_REAL_H

#include <dlfcn.h>

/* The next definition of `name` after ours. A library that was loaded as a part of a plugin is not among
 * the program's global symbols: then any image that has it. NULL: there is none. */
void *real_anywhere(const char *name);

#define EXPORT __attribute__((visibility("default")))

/* REAL(close)(fd): the next definition of close after ours. */
#define REAL(name)                                                                                 \
    (*({                                                                                           \
        static __typeof__(name) *resolved;                                                         \
        __typeof__(name) *function = __atomic_load_n(&resolved, __ATOMIC_RELAXED);                 \
        if (!function) {                                                                           \
            function = (__typeof__(name) *)dlsym(RTLD_NEXT, #name);                                \
            __atomic_store_n(&resolved, function, __ATOMIC_RELAXED);                               \
        }                                                                                          \
        function;                                                                                  \
    }))

#endif
