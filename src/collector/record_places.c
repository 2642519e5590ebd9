/* Where things are: the output, and the library to preload. */
#include "collector/record_check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a small profile may need; less than this free is "full". */
enum { OUTPUT_LEAST = 64 << 10 };

/* Links are followed here, because the profile arrives by rename, which would replace the link. A
 * link to a file that does not exist yet is followed by hand. */
static bool resolve_links(const char *output, char *path, struct err *e)
{
    if (realpath(output, path))
        return true;
    if (errno != ENOENT)
        return err_set_errno(e, ERR_OUTPUT, errno, "cannot write the profile to \"%s\"", output);
    char target[PATH_MAX];
    ssize_t n = readlink(output, target, sizeof target - 1);
    if (n > 0)
        return err_set(e, ERR_OUTPUT,
                       "cannot write the profile to \"%s\": it is a symbolic link to \"%.*s\", "
                       "which does not exist", output, (int)n, target);
    const char *slash = strrchr(output, '/');
    char directory[PATH_MAX] = ".", real[PATH_MAX];
    size_t length = slash ? (size_t)(slash - output) : 0;
    if (slash && length < sizeof directory)
        snprintf(directory, sizeof directory, "%.*s", (int)(length ? length : 1), output);
    const char *name = slash ? slash + 1 : output;
    if (!*name)
        return err_set(e, ERR_OUTPUT, "cannot write the profile to \"%s\": that names a directory "
                       "that does not exist", output);
    if (!realpath(directory, real))
        return err_set_errno(e, ERR_OUTPUT, errno,
                             "cannot write the profile to \"%s\": directory \"%s\"", output,
                             directory);
    int used = snprintf(path, PATH_MAX, "%s/%s", strcmp(real, "/") ? real : "", name);
    if (used < 0 || used >= PATH_MAX)
        return err_set_errno(e, ERR_OUTPUT, ENAMETOOLONG,
                             "cannot write the profile to \"%s\"", output);
    return true;
}

static bool try_to_write(int fd)
{
    if (!fallocate(fd, 0, 0, OUTPUT_LEAST))
        return true;
    if (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL)
        return false;
    static const char zeros[4096];
    return write(fd, zeros, sizeof zeros) == (ssize_t)sizeof zeros;
}

bool record_check_output(const char *output, char *path, struct err *e)
{
    if (!resolve_links(output, path, e))
        return false;
    struct stat st;
    bool exists = !stat(path, &st);
    if (exists && S_ISDIR(st.st_mode))
        return err_set(e, ERR_OUTPUT,
                       "cannot write the profile to \"%s\": it is a directory; write "
                       "\"%s/\" for a file of its own in it, or name one",
                       output, output);
    if (exists && access(path, W_OK))
        return err_set_errno(e, ERR_OUTPUT, errno, "cannot write the profile to \"%s\"", output);
    if (exists && !S_ISREG(st.st_mode))
        return true; /* a device or a pipe is written to, not replaced (profile_write) */
    char trial[PATH_MAX + 16];
    int n = snprintf(trial, sizeof trial, "%s.XXXXXX", path);
    int fd = n > 0 && n < PATH_MAX ? mkostemp(trial, O_CLOEXEC) : -1;
    if (fd < 0)
        return err_set_errno(e, ERR_OUTPUT, errno,
                             "cannot write the profile to \"%s\" (choose another place with -o)",
                             output);
    bool ok = try_to_write(fd);
    int error = errno;
    close(fd);
    unlink(trial);
    if (!ok)
        return err_set_errno(e, ERR_OUTPUT, error,
                             "cannot write the profile to \"%s\" (choose another place with -o)",
                             output);
    return true;
}

static bool readable(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, R_OK);
}

/* LD_PRELOAD separates its entries by colons and blanks, and expands $ORIGIN and the like. */
static bool check_preloadable(const char *path, struct err *e)
{
    if (!strpbrk(path, ": \t\n$"))
        return true;
    return err_set(e, ERR_INTERNAL,
                   "\"%s\" cannot be preloaded: LD_PRELOAD allows no blank, colon or dollar sign "
                   "in a path; put a copy elsewhere and set PENUMBRA_RUNTIME to it", path);
}

/* The runtime at `path`, with a family's interposed functions: libpenumbra-rt-FAMILY.so beside
 * it. */
static bool add_family(char *path, unsigned size, const char *family, struct err *e)
{
    char plain[PATH_MAX];
    size_t length = strlen(path), ending = strlen(".so");
    if (!family)
        return true;
    snprintf(plain, sizeof plain, "%s", path);
    bool named = length > ending && !strcmp(path + length - ending, ".so");
    int n =
        snprintf(path, size, "%.*s-%s.so", (int)(named ? length - ending : length), plain, family);
    if (n < (int)size && readable(path))
        return true;
    return err_set(e, ERR_INTERNAL,
                   "cannot find \"%s\", which this event needs to be preloaded; it "
                   "belongs beside \"%s\"",
                   path, plain);
}

bool record_check_proc(struct err *e)
{
    if (!access("/proc/self/stat", R_OK))
        return true;
    return err_set_errno(
        e, ERR_INTERNAL, errno,
        "/proc is not mounted here, or is that of other processes: without it penumbra "
        "finds neither its own files nor the program's; mount it (mount -t proc proc /proc; for a "
        "chroot, "
        "mount -t proc proc ROOT/proc)");
}

bool record_find_runtime(char *path, unsigned size, const char *family, struct err *e)
{
    const char *set = getenv("PENUMBRA_RUNTIME");
    char real[PATH_MAX];
    if (set && *set) {
        if (!realpath(set, real) || strlen(real) >= size || !readable(real))
            return err_set_errno(e, ERR_INTERNAL, errno,
                                 "PENUMBRA_RUNTIME names \"%s\", which cannot be used", set);
        snprintf(path, size, "%s", real);
        return add_family(path, size, family, e) && check_preloadable(path, e);
    }
    char self[PATH_MAX] = "";
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n > 0 && strrchr(self, '/'))
        *strrchr(self, '/') = '\0';
    static const char *const beside[] = {"/", "/../lib/penumbra/", NULL};
    for (unsigned i = 0; i < 3; i++) {
        char tried[PATH_MAX + 64];
        snprintf(tried, sizeof tried, "%s%slibpenumbra-rt.so", beside[i] ? self : PENUMBRA_LIBDIR,
                 beside[i] ? beside[i] : "/penumbra/");
        if (realpath(tried, real) && strlen(real) < size && readable(real)) {
            snprintf(path, size, "%s", real);
            return add_family(path, size, family, e) && check_preloadable(path, e);
        }
    }
    return err_set(e, ERR_INTERNAL,
                   "cannot find libpenumbra-rt.so, which is preloaded into the program: it is not "
                   "in %s, %s/../lib/penumbra or %s/penumbra; set PENUMBRA_RUNTIME to its path",
                   self, self, PENUMBRA_LIBDIR);
}
