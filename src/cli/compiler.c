#include "cli/compiler.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Beside the command in its build directory, or where it is installed. */
static const char *const places[] = {"", "/../lib/penumbra", NULL};

/* Of the file under one of the places, whose names in a build differ. False: it is in none. */
static bool find(const char *built, const char *installed, char path[PATH_MAX])
{
    char self[PATH_MAX] = "", tried[2 * PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n > 0 && strrchr(self, '/'))
        *strrchr(self, '/') = '\0';
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(tried, sizeof tried, "%s%s/%s", places[i] ? self : PENUMBRA_LIBDIR,
                 places[i] ? places[i] : "/penumbra", i ? installed : built);
        if (realpath(tried, path) && !access(path, R_OK))
            return true;
    }
    return false;
}

/* What `COMPILER -dumpversion` says; 0: it is no gcc that can be asked. */
static int major_of(const char *compiler)
{
    char line[256];
    int major = 0, ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return 0;
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        execlp(compiler, compiler, "-dumpversion", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    FILE *from = fdopen(ends[0], "r");
    if (from && fgets(line, sizeof line, from))
        major = (int)strtol(line, NULL, 10);
    if (from)
        fclose(from);
    if (pid > 0)
        waitpid(pid, NULL, 0);
    return major;
}

bool compiler_find(const char *compiler, struct compiler_files *out, struct err *e)
{
    const char *set = getenv("CC");
    char plugin[64], built[80];
    compiler = compiler ? compiler : set && *set && !strchr(set, ' ') ? set : "gcc";
    int major = major_of(compiler);
    if (!major)
        return err_set(e, ERR_NOT_FOUND,
                       "\"%s -dumpversion\" says no version: name a gcc by --compiler", compiler);
    snprintf(plugin, sizeof plugin, "gcc-%d/penumbra.so", major);
    snprintf(built, sizeof built, "compiler/%s", plugin);
    if (!find(built, plugin, out->plugin))
        return err_set(e, ERR_NOT_FOUND,
                       "there is no plugin for \"%s\", which is version %d (%s in the directory "
                       "penumbra of libraries): name another compiler by --compiler",
                       compiler, major, plugin);
    if (!find("src/inst/penumbra-inst.o", "penumbra-inst.o", out->runtime))
        return err_set(e, ERR_NOT_FOUND, "cannot find penumbra-inst.o, which is linked into "
                       "instrumented programs: it belongs into the directory penumbra of "
                       "libraries");
    return true;
}

bool compiler_wrappers(char directory[PATH_MAX], struct err *e)
{
    if (!find("src/cli/wrappers/gcc", "wrappers/gcc", directory))
        return err_set(e, ERR_NOT_FOUND, "cannot find the compilers' wrappers: they belong into "
                       "the directory penumbra/wrappers of libraries");
    *strrchr(directory, '/') = '\0';
    return true;
}
