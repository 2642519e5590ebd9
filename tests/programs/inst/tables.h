/* What the compiler puts into an instrumented object, written by hand against penumbra/inst.h: the
 * tables, in the assembler, as references between sections are no constants of C; and the module,
 * whose operations are called where the duplicate would call them. */
#ifndef TESTS_PROGRAMS_INST_TABLES_H
#define TESTS_PROGRAMS_INST_TABLES_H

#include "penumbra/inst.h"

#define TABLE(name, align, text)                                                                   \
    __asm__(".pushsection penumbra1_" #name ",\"a\"\n.balign " #align "\n" text ".popsection\n")
#define STRING(label, text) TABLE(strings, 1, label ": .asciz \"" text "\"\n")
#define FUNCTION(label, name, file, line)                                                          \
    TABLE(functions, 4, label ": .long " name " - ., " file " - ., " #line ", 0\n")
#define BLOCK(label, function, events, n, line)                                                    \
    TABLE(blocks, 4, label ": .long " function " - ., " events " - ., " #n ", " #line "\n")
/* of one block one after the other */
#define EVENT(label, what, line, kind, site)                                                       \
    TABLE(events, 4, label ": .long " what " - ., 0, " #line ", 0\n.short 65535\n.byte " #kind     \
                           ", " #site "\n")
/* from the line that lies `distance` behind the function's first */
#define WAY(label, to_line, number, distance)                                                      \
    TABLE(events, 4, label ": .long 0, 0, " #to_line ", " #number "\n.short " #distance            \
                           "\n.byte 4, 0\n")
#define TARGET(label, function, line)                                                              \
    TABLE(values, 4, label ": .long " function " - ., 0, 0, 0, " #line "\n.short 0\n.byte 1, 8, 0" \
                           ", 0, 0, 0, 0, 0, 0, 0\n")
/* kind, index, bytes: as in struct penumbra_inst_value; name, type: "0" or "LABEL - ." */
#define VALUE(label, function, name, type, line, index, kind, bytes, is_signed)                    \
    TABLE(values, 4, label ": .long " function " - ., " name ", " type ", 0, " #line "\n.short "   \
                           #index "\n.byte " #kind ", " #bytes ", " #is_signed                     \
                           ", 0, 0, 0, 0, 0, 0, 0\n")
#define TYPE(label, name, file, fields, n, size, line, align)                                      \
    TABLE(types, 8, label ": .long " name " - ., " file " - ., " fields " - ., " #n "\n"           \
                          ".quad " #size "\n.long " #line "\n.short " #align "\n.byte 1, 0\n")
#define FIELD(label, type, name, own, flags, bit, bits, align)                                     \
    TABLE(fields, 8, label ": .long " type " - ., " name " - ., " own " - ., " #flags "\n.quad "   \
                           #bit ", " #bits "\n.long " #align ", 0\n")

enum { KIND_CALL = 1, KIND_READ = 2, KIND_WRITE = 3, KIND_INLINED = 5 };

#define BOUNDS(name, type)                                                                         \
    extern const struct type __start_penumbra1_##name[], __stop_penumbra1_##name[];                \
    __asm__(".hidden __start_penumbra1_" #name "\n.hidden __stop_penumbra1_" #name "\n")
BOUNDS(functions, penumbra_inst_function);
BOUNDS(blocks, penumbra_inst_block);
BOUNDS(events, penumbra_inst_event);
BOUNDS(values, penumbra_inst_value);
BOUNDS(types, penumbra_inst_type);
BOUNDS(fields, penumbra_inst_field);
extern const char __start_penumbra1_strings[], __stop_penumbra1_strings[];
__asm__(".hidden __start_penumbra1_strings\n.hidden __stop_penumbra1_strings\n");

__attribute__((weak)) void __penumbra_inst_register(struct penumbra_inst_module *);
__attribute__((weak)) void __penumbra_inst_unregister(struct penumbra_inst_module *);

static __thread int32_t check_left;
static int32_t *check_counter(void)
{
    return &check_left;
}

#define PAIR(name) .name = __start_penumbra1_##name, .name##_end = __stop_penumbra1_##name
static struct penumbra_inst_module module = {
    .abi = PENUMBRA_INST_ABI, .bytes = sizeof module, .counter = check_counter,
    PAIR(functions), PAIR(blocks), PAIR(events), PAIR(values), PAIR(types), PAIR(fields),
    PAIR(strings), .flags = PENUMBRA_INST_DUPLICATED};

__attribute__((constructor)) static void module_begin(void)
{
    if (__penumbra_inst_register)
        __penumbra_inst_register(&module);
}

__attribute__((destructor)) static void module_end(void)
{
    if (__penumbra_inst_unregister)
        __penumbra_inst_unregister(&module);
}

/* A check. True: go on in the duplicate. */
static inline int check(void)
{
    if (--check_left >= 0)
        return 0;
    if (module.ops)
        module.ops->sample(&module, &check_left);
    else
        check_left = INT32_MAX;
    return 1;
}

static inline void event(const struct penumbra_inst_block *block)
{
    if (module.ops)
        module.ops->event(&module, block);
}

static inline void value(const struct penumbra_inst_value *of, uint64_t is)
{
    if (module.ops)
        module.ops->value(&module, of, is);
}

#endif
