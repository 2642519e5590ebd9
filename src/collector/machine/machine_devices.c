#include "collector/machine/machine_devices.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* By its name: what may be a device's, wherever its file is. */
static bool is_device_name(const char *path)
{
    static const char *const memory[] = {"/dev/zero", "/dev/shm/", "/dev/hugepages/"};
    for (unsigned i = 0; i < sizeof memory / sizeof *memory; i++)
        if (!strncmp(path, memory[i], strlen(memory[i])))
            return false;
    return strstr(path, "/dev/");
}

/* These have devices' memory in what stat calls regular files. */
static bool is_kernel_name(const char *path)
{
    return !strncmp(path, "/sys/", 5) || !strncmp(path, "/proc/", 6) ||
           !strncmp(path, "/dmabuf:", 8);
}

/* By the file that is mapped there; /dev/zero is memory. */
static bool is_device(int32_t pid, uint64_t lo, uint64_t hi, const char *path)
{
    enum { ZERO_MAJOR = 1, ZERO_MINOR = 5 };
    char link[96];
    struct statx x;
    snprintf(link, sizeof link, "/proc/%" PRId32 "/map_files/%" PRIx64 "-%" PRIx64, pid, lo, hi);
    if (is_kernel_name(path))
        return true;
    if (statx(AT_FDCWD, link, AT_STATX_DONT_SYNC, STATX_TYPE, &x))
        return is_device_name(path);
    bool zero = x.stx_rdev_major == ZERO_MAJOR && x.stx_rdev_minor == ZERO_MINOR;
    return (S_ISCHR(x.stx_mode) && !zero) || S_ISBLK(x.stx_mode);
}

static bool line_is_device(int32_t pid, const char *line)
{
    const char *name = strpbrk(line, "/[");
    uint64_t lo, hi;
    if (strstr(line, "anon_inode:"))
        return true;
    return name && *name == '/' &&
           (sscanf(line, "%" SCNx64 "-%" SCNx64, &lo, &hi) != 2 || is_device(pid, lo, hi, name));
}

enum machine_devices machine_devices_of(int32_t pid)
{
    enum machine_devices devices = DEVICES_NONE;
    char path[64], line[4352];
    snprintf(path, sizeof path, "/proc/%" PRId32 "/maps", pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return errno == ENOENT || errno == ESRCH ? DEVICES_ENDED : DEVICES_MAYBE;
    while (devices == DEVICES_NONE && fgets(line, sizeof line, f))
        if (line_is_device(pid, line))
            devices = DEVICES_MAYBE;
    if (ferror(f))
        devices = errno == ESRCH ? DEVICES_ENDED : DEVICES_MAYBE;
    fclose(f);
    return devices;
}
