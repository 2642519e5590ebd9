#include "runtime/interpose/environment.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/interpose/pointers.h"
#include "runtime/interpose/vfork.h"
#include "runtime/sandbox.h"
#include "sigsafe/own_memory.h"
#include "sigsafe/elf_probe.h"
#include "sigsafe/preload.h"
#include "sigsafe/sys.h"

#define PRELOAD "LD_PRELOAD="
enum { PATH_BYTES = 1024, SCRIPT_DEPTH = 5 };

#define SPOOL SPOOL_ENV "="

/* NAME=, a character that says what is avoided, the path; empty: there is none. */
static char spool_variable[sizeof SPOOL + 1 + SPOOL_PATH_MAX];
static char *const spool_avoids = spool_variable + sizeof SPOOL - 1;
static const char *const spool_path = spool_variable + sizeof SPOOL;

static bool is_variable(const char *entry, const char *name_and_equals)
{
    return strncmp(entry, name_and_equals, strlen(name_and_equals)) == 0;
}

const char *environment_path(const char *value, bool *avoids)
{
    *avoids = *value == ENVIRONMENT_AVOIDS;
    return *avoids ? value + 1 : value;
}

void environment_avoid(void)
{
    if (spool_variable[0])
        __atomic_store_n(spool_avoids, ENVIRONMENT_AVOIDS, __ATOMIC_RELAXED);
}

/* What the collector has set is the path alone. */
static void variable_keep(const char *value)
{
    bool avoids;
    const char *path = environment_path(value, &avoids);
    if (!avoids && path[0] == '/' && path[1] == '/')
        path++;
    strcpy(spool_variable, SPOOL "/");
    strncpy(spool_variable + sizeof SPOOL, path, SPOOL_PATH_MAX - 1);
    if (avoids)
        environment_avoid();
}

void environment_take(char **envp, const char *runtime_path)
{
    char **to = envp;
    for (char **from = envp; *from; from++) {
        if (is_variable(*from, SPOOL)) {
            variable_keep(*from + strlen(SPOOL));
            continue;
        }
        if (is_variable(*from, PRELOAD) &&
            preload_remove_as(*from + strlen(PRELOAD), runtime_path) && !(*from)[strlen(PRELOAD)])
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

static bool is_setuid(const char *path)
{
    struct stat st;
    return sys_call6_as(SYS_newfstatat, AT_FDCWD, (long)path, (long)&st, 0, 0, 0) == 0 &&
           ((st.st_mode & S_ISUID && st.st_uid != geteuid()) ||
            (st.st_mode & S_ISGID && st.st_mode & S_IXGRP && st.st_gid != getegid()));
}

/* The counters belong to the user who records. Capabilities that open them to another one end with
 * exec (setpriv has them up to there), but root's. */
static bool is_other_user(void)
{
    struct stat st;
    if (sys_call6_as(SYS_faccessat2, AT_FDCWD, (long)spool_path, W_OK, AT_EACCESS, 0, 0) == -EACCES)
        return true;
    return geteuid() != 0 && sys_call6_as(SYS_newfstatat, AT_FDCWD, (long)spool_path, (long)&st, 0,
                                          0, 0) == 0 && st.st_uid != geteuid();
}

/* After a chroot: the loader would complain on the program's standard error, and our variables
 * would stay in its environment. */
static bool is_missing(const char *path)
{
    long result = sys_call6_as(SYS_faccessat, AT_FDCWD, (long)path, F_OK, 0, 0, 0);
    return result == -ENOENT || result == -ENOTDIR;
}

/* Why what is executed as `path` will not be recorded; UNFOLLOWED_COUNT: it will be, or will
 * fail. */
static enum unfollowed unfollowed_why(const char *path, struct environment_image *image)
{
    struct elf_probe probe;
    char current[ELF_PROBE_PATH_MAX];
    for (int depth = 0; depth < SCRIPT_DEPTH; depth++) {
        switch (elf_probe_as(path, &probe)) {
        case ELF_PROBE_SCRIPT:
            memcpy(current, probe.interpreter, sizeof current);
            path = current;
            continue;
        case ELF_PROBE_WRONG_MACHINE:
        case ELF_PROBE_NOT_GLIBC: return UNFOLLOWED_FOREIGN;
        case ELF_PROBE_STATIC: return UNFOLLOWED_STATIC;
        case ELF_PROBE_UNREADABLE:
        case ELF_PROBE_BROKEN: return UNFOLLOWED_COUNT;
        default:
            memcpy(image->first, probe.first, sizeof image->first);
            return is_setuid(path)                                     ? UNFOLLOWED_SETUID
                   : is_other_user()                                   ? UNFOLLOWED_USER
                   : is_missing(rt.config->runtime_path)               ? UNFOLLOWED_AWAY
                   : is_missing(spool_path)                            ? UNFOLLOWED_HIDDEN
                                                                       : UNFOLLOWED_COUNT;
        }
    }
    return UNFOLLOWED_COUNT;
}

static void unfollowed_count(enum unfollowed why)
{
    __atomic_fetch_add(&spool_header(&guest.spool)->unfollowed[why], 1, __ATOMIC_RELAXED);
}

/* The loader of a 32-bit or foreign-libc program would complain about our library on the program's
 * standard error: such images run without us, and so do another user's. Static ones ignore the
 * variables, but may pass them on to images that can be followed. */
static bool takes_preload(const char *path, struct environment_image *image)
{
    enum unfollowed why = unfollowed_why(path, image);
    if (why == UNFOLLOWED_COUNT)
        return true;
    unfollowed_count(why);
    return why == UNFOLLOWED_SETUID || why == UNFOLLOWED_STATIC;
}

bool environment_follows(const char *file, bool search, struct environment_image *image)
{
    char found[PATH_BYTES];
    image->first[0] = '\0';
    if (!rt_running_as() || !spool_header(&guest.spool)->follow || !spool_variable[0] || !file)
        return false;
    if (vfork_is_confined_as()) {
        unfollowed_count(UNFOLLOWED_CONFINED);
        return false;
    }
    if (rt_quiet_as()) {
        sandbox_left_out_as(0, 1, LEFT_EXECUTED);
        return false;
    }
    if (search && !pointer_string_readable_as(file))
        return false;
    if (search && !strchr(file, '/')) {
        int saved = errno;
        bool is_there = path_search(file, found, sizeof found);
        errno = saved;
        if (!is_there)
            return false;
        file = found;
    }
    return takes_preload(file, image);
}

static size_t environment_count(char *const *envp)
{
    size_t n = 0;
    while (envp && envp[n])
        n++;
    return n;
}

static const char no_preload[] = "";

static const char *preload_value(char *const *envp)
{
    for (size_t i = 0; envp && envp[i]; i++)
        if (is_variable(envp[i], PRELOAD))
            return envp[i] + strlen(PRELOAD);
    return no_preload;
}

size_t environment_size(const struct environment_image *image, char *const *envp)
{
    return (environment_count(envp) + 3) * sizeof(char *) + strlen(PRELOAD) +
           strlen(preload_value(envp)) + preload_room_as(rt.config->runtime_path, image->first);
}

char **environment_build(void *memory, const struct environment_image *image, char *const *envp)
{
    size_t count = environment_count(envp);
    char **out = memory;
    char *preload = (char *)(out + count + 3);
    char *value = preload + strlen(PRELOAD);
    size_t n = 0;
    strcpy(preload, PRELOAD);
    strcpy(value, preload_value(envp));
    /* a program may pass on what the kernel says that it was given */
    preload_remove_as(value, rt.config->runtime_path);
    preload_add_as(value, rt.config->runtime_path, image->first);
    for (size_t i = 0; i < count; i++)
        if (!is_variable(envp[i], PRELOAD) && !is_variable(envp[i], SPOOL))
            out[n++] = envp[i];
    out[n++] = preload;
    out[n++] = spool_variable;
    out[n] = NULL;
    return out;
}

/* What environ points to while system() or popen() start a shell with it inside libc. Other threads
 * may read it at the same time, so it is never unmapped or changed; it is used again as long as the
 * program's own environment stays the same. */
static struct {
    uint32_t lock, users;
    char **before, **with;
    const char *their_preload;
} lent;

static void lent_lock(void)
{
    while (__atomic_exchange_n(&lent.lock, 1, __ATOMIC_ACQUIRE))
        sys_call3_as(SYS_sched_yield, 0, 0, 0);
}

static void lent_unlock(void)
{
    __atomic_store_n(&lent.lock, 0, __ATOMIC_RELEASE);
}

/* Whether lent.with is what would be built of envp now. */
static bool lent_fits(char *const *envp)
{
    size_t n = 0;
    if (!lent.with || lent.their_preload != preload_value(envp))
        return false;
    for (size_t i = 0; envp && envp[i]; i++)
        if (!is_variable(envp[i], PRELOAD) && !is_variable(envp[i], SPOOL) &&
            lent.with[n++] != envp[i])
            return false;
    return is_variable(lent.with[n], PRELOAD) && lent.with[n + 1] == spool_variable;
}

bool environment_lend(void)
{
    bool done = true;
    struct environment_image shell;
    if (!environment_follows("/bin/sh", false, &shell) || !pointer_list_readable_as(environ))
        return false;
    lent_lock();
    if (!lent.users && !lent_fits(environ)) {
        long memory = own_map_as(0, environment_size(&shell, environ), PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1);
        done = memory > 0;
        if (done) {
            lent.with = environment_build((void *)memory, &shell, environ);
            lent.their_preload = preload_value(environ);
        }
    }
    if (done && lent.users++ == 0) {
        lent.before = environ;
        environ = lent.with;
    }
    lent_unlock();
    return done;
}

/* setenv() in another thread has copied what was lent: takes our variables out of the copy. */
static void lent_remove(char **envp)
{
    char **to = envp;
    char *const *ours = lent.with;
    while (*ours && *ours != spool_variable)
        ours++;
    const char *preload = ours > lent.with ? ours[-1] : NULL;
    for (char **from = envp; *from; from++) {
        if (*from == spool_variable || (*from == preload && !*lent.their_preload))
            continue;
        *to++ =
            *from == preload ? (char *)(uintptr_t)(lent.their_preload - strlen(PRELOAD)) : *from;
    }
    *to = NULL;
}

static void lent_take_back(void)
{
    if (environ == lent.with)
        environ = lent.before;
    else if (environ)
        lent_remove(environ);
}

void environment_return(void)
{
    lent_lock();
    if (--lent.users == 0)
        lent_take_back();
    lent_unlock();
}

void environment_fork_child(void)
{
    if (lent.users)
        lent_take_back();
    lent.users = 0;
    lent.lock = 0;
}
