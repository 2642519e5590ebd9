#include <stdio.h>

#include "cli/command.h"
#include "cli/compiler.h"
#include "cli/options.h"

struct arguments {
    const char *compiler;
    bool compile_only;
};

static const struct option_row rows[] = {
    {0, "compiler", "GCC", .help = "for this compiler (default: $CC, else gcc)",
     FIELD(struct arguments, compiler)},
    {0, "compile-only", .help = "leave out what only links need",
     FIELD(struct arguments, compile_only)},
};

static const struct options options = {
    .command = "cflags",
    .usage = "Usage: penumbra cflags [OPTIONS] [NAME=VALUE...]\n\n"
             "Prints what gcc is given to compile and link a program with instrumentation, that "
             "penumbra record\n"
             "--carrier compiled observes:\n\n"
             "  gcc -O2 $(penumbra cflags) -o program program.c\n\n"
             "NAME=VALUE is an option of the plugin, such as what=calls,fields.\n\n"
             "Options:\n",
    .rows = rows,
    .count = sizeof rows / sizeof rows[0],
};

int command_cflags(int argc, char **argv)
{
    struct arguments a = {0};
    struct compiler_files files;
    struct err e = {0};
    int first, status;
    if (!options_take(&options, argc, argv, &a, &first, &status))
        return status;
    if (!compiler_find(a.compiler, &files, &e))
        return command_fail("cflags", &e);
    printf("-fplugin=%s", files.plugin);
    for (int i = first; i < argc; i++)
        printf(" -fplugin-arg-penumbra-gcc-%s", argv[i]);
    if (!a.compile_only)
        printf(" -Wl,%s -Wl,--export-dynamic-symbol=__penumbra1_owner", files.runtime);
    putchar('\n');
    return 0;
}
