#include "runtime/interpose/environment.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/runtime.h"
#include "sigsafe/elf_probe.h"

#define PRELOAD "LD_PRELOAD="
enum { PATH_BYTES = 1024, SCRIPT_DEPTH = 5 };

static char spool_variable[sizeof SPOOL_ENV + SPOOL_PATH_MAX];

static bool is_variable(const char *entry, const char *name_and_equals)
{
    return strncmp(entry, name_and_equals, strlen(name_and_equals)) == 0;
}

/* LD_PRELOAD=ours[:theirs] or theirs:ours: ours goes; true if nothing is left. */
static bool preload_strip(char *entry, const char *runtime_path)
{
    char *value = entry + strlen(PRELOAD);
    size_t length = strlen(runtime_path);
    char *at = strstr(value, runtime_path);
    if (!at)
        return false;
    char *after = at + length;
    if (*after == ':' || *after == ' ')
        after++;
    else if (at > value)
        at--;
    memmove(at, after, strlen(after) + 1);
    return !*value;
}

void environment_take(char **envp, const char *runtime_path)
{
    char **to = envp;
    for (char **from = envp; *from; from++) {
        if (is_variable(*from, SPOOL_ENV "=")) {
            strncpy(spool_variable, *from, sizeof spool_variable - 1);
            continue;
        }
        if (is_variable(*from, PRELOAD) && preload_strip(*from, runtime_path))
            continue;
        *to++ = *from;
    }
    *to = NULL;
}

/* What execvp would find. */
static bool path_search(const char *file, char *out, size_t size)
{
    const char *path = getenv("PATH");
    if (!path)
        path = "/bin:/usr/bin";
    while (path) {
        const char *end = strchr(path, ':');
        size_t length = end ? (size_t)(end - path) : strlen(path);
        if (length + strlen(file) + 2 <= size) {
            memcpy(out, path, length);
            out[length] = '/';
            strcpy(out + length + (length != 0), file);
            if (access(out, X_OK) == 0)
                return true;
        }
        path = end ? end + 1 : NULL;
    }
    return false;
}

/* The loader of a 32-bit or foreign-libc program would complain about our library on the program's
 * standard error: such images run without us. Static ones ignore the variables, but may pass them
 * on to images that can be followed. */
static bool takes_preload(const char *path)
{
    struct elf_probe probe;
    char current[ELF_PROBE_PATH_MAX];
    for (int depth = 0; depth < SCRIPT_DEPTH; depth++) {
        enum elf_probe_kind kind = elf_probe_as(path, &probe);
        if (kind != ELF_PROBE_SCRIPT)
            return kind != ELF_PROBE_WRONG_MACHINE && kind != ELF_PROBE_NOT_GLIBC &&
                   kind != ELF_PROBE_BROKEN;
        memcpy(current, probe.interpreter, sizeof current);
        path = current;
    }
    return false;
}

bool environment_follows(const char *file, bool search)
{
    char found[PATH_BYTES];
    if (!rt_running_as() || rt_quiet_as() || !rt.config->follow || !spool_variable[0] || !file)
        return false;
    if (search && !strchr(file, '/')) {
        if (!path_search(file, found, sizeof found))
            return false;
        file = found;
    }
    return takes_preload(file);
}

static size_t environment_count(char *const *envp)
{
    size_t n = 0;
    while (envp && envp[n])
        n++;
    return n;
}

static const char *preload_value(char *const *envp)
{
    for (size_t i = 0; envp && envp[i]; i++)
        if (is_variable(envp[i], PRELOAD))
            return envp[i] + strlen(PRELOAD);
    return "";
}

size_t environment_size(char *const *envp)
{
    return (environment_count(envp) + 3) * sizeof(char *) + strlen(PRELOAD) +
           strlen(rt.config->runtime_path) + strlen(preload_value(envp)) + 2;
}

char **environment_build(void *memory, char *const *envp)
{
    size_t count = environment_count(envp);
    char **out = memory;
    char *preload = (char *)(out + count + 3);
    const char *theirs = preload_value(envp);
    size_t n = 0;
    strcpy(preload, PRELOAD);
    strcat(preload, rt.config->runtime_path);
    if (*theirs && !strstr(theirs, rt.config->runtime_path)) {
        strcat(preload, ":");
        strcat(preload, theirs);
    }
    for (size_t i = 0; i < count; i++)
        if (!is_variable(envp[i], PRELOAD) && !is_variable(envp[i], SPOOL_ENV "="))
            out[n++] = envp[i];
    out[n++] = preload;
    out[n++] = spool_variable;
    out[n] = NULL;
    return out;
}
