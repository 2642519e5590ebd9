/* The tables of all threads in the Firefox Profiler's format, which refer to each other by index:
 *
 *     samples -> stackTable (prefix) -> frameTable -> funcTable -> resourceTable -> libs
 *                                            │            └----> sources            ^
 *                                            └-----> nativeSymbols -----------------┘
 *     all names -> stringArray
 *
 * Context: ordinary code.
 * Ownership: firefox_tables_fini releases them; libs are the caller's. */
#ifndef PENUMBRA_EXPORT_FIREFOX_TABLES_H
#define PENUMBRA_EXPORT_FIREFOX_TABLES_H

#include "export/intern.h"
#include "profile/profile.h"
#include "report/json.h"
#include "symbols/symbols.h"

/* X(enumerator, name, color). The first is the default, which has to be grey. */
#define FIREFOX_CATEGORIES(X)                                                                      \
    X(FIREFOX_OTHER, "Other", "grey")                                                              \
    X(FIREFOX_PROGRAM, "Program", "yellow")                                                        \
    X(FIREFOX_LIBRARY, "Library", "blue")                                                          \
    X(FIREFOX_KERNEL, "Kernel", "orange")                                                          \
    X(FIREFOX_GENERATED, "Generated code", "purple")
#define FIREFOX_CATEGORY_ENUMERATOR(id, name, color) id,
enum firefox_category { FIREFOX_CATEGORIES(FIREFOX_CATEGORY_ENUMERATOR) };
#undef FIREFOX_CATEGORY_ENUMERATOR

struct firefox_tables {
    const struct profile *profile;
    const struct symbols *symbols;
    struct intern *libs; /* uint32_t, an image */
    /* keys are of firefox_tables.c */
    struct intern strings, sources, resources, functions, natives, frames, stacks;
};

#define FIREFOX_NO_STACK UINT32_MAX

bool firefox_tables_ok(const struct firefox_tables *t);
void firefox_tables_fini(struct firefox_tables *t);

/* By node of a thread that has weight by any metric: its stack; FIREFOX_NO_STACK for others. To
 * free; NULL without memory. */
uint32_t *firefox_stacks(struct firefox_tables *t, const struct profile_thread *thread);

/* All of them, as the key `shared` of the profile's object, which is open. */
void firefox_put_tables(struct firefox_tables *t, struct json *j);

#endif
