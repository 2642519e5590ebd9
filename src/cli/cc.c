#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/compiler.h"
#include "cli/options.h"

struct arguments {
    const char *plugin;
};

static const struct option_row rows[] = {
    {0, "plugin", "NAME=VALUE...", .help = "options of the plugin, with blanks between",
     FIELD(struct arguments, plugin)},
};

static const struct options options = {
    .command = "cc",
    .usage = "Usage: penumbra cc [OPTIONS] [--] COMMAND [ARGUMENTS]\n\n"
             "Runs a build (make, cmake --build, ninja, ./configure) in which gcc, g++, cc and c++ "
             "compile with\n"
             "instrumentation, that penumbra record --carrier compiled observes. The compilers are "
             "wrappers that\n"
             "stand first in PATH, and in CC and CXX where these are not set.\n\n"
             "  penumbra cc -- make\n\n"
             "Options:\n",
    .rows = rows,
    .count = sizeof rows / sizeof rows[0],
    .before_program = true,
};

/* PATH with the wrappers first. */
static bool environment_set(const struct arguments *a, struct err *e)
{
    char directory[PATH_MAX], self[PATH_MAX] = "", *path = NULL;
    const char *old = getenv("PATH");
    if (!compiler_wrappers(directory, e))
        return false;
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    int made = asprintf(&path, "%s:%s", directory, old ? old : "/usr/bin:/bin");
    bool ok = n > 0 && made >= 0 && !setenv("PATH", path, 1) && !setenv("PENUMBRA", self, 1) &&
              !setenv("CC", "gcc", 0) && !setenv("CXX", "g++", 0) &&
              (!a->plugin || !setenv("PENUMBRA_PLUGIN", a->plugin, 1));
    free(path);
    return ok || err_set(e, ERR_INTERNAL, "out of memory");
}

int command_cc(int argc, char **argv)
{
    struct arguments a = {0};
    struct err e = {0};
    int first, status;
    if (!options_take(&options, argc, argv, &a, &first, &status))
        return status;
    if (first == argc) {
        err_set(&e, ERR_USAGE, "no command to run: penumbra cc [--] COMMAND [ARGUMENTS]");
        return command_fail("cc", &e);
    }
    if (environment_set(&a, &e)) {
        execvp(argv[first], argv + first);
        err_set_errno(&e, errno == ENOENT ? ERR_NOT_FOUND : ERR_NOT_EXECUTABLE, errno,
                      "cannot run \"%s\"", argv[first]);
    }
    return command_fail("cc", &e);
}
