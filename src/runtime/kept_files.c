#include "runtime/kept_files.h"

#include <fcntl.h>

#include "engine/mappings.h"
#include "sigsafe/memory_used.h"
#include "runtime/trigger/trigger.h"
#include "sigsafe/sys.h"

static const struct {
    const char *name;
    int flags;
    int (*get_as)(void);
    void (*set)(int fd);
} files[KEPT_COUNT] = {
    [KEPT_MAPS] = {"/proc/self/maps", O_RDONLY, mappings_kept_as, mappings_keep},
    [KEPT_USED] = {"/proc/self/statm", O_RDONLY, memory_used_kept_as, memory_used_keep},
    [KEPT_PROC] = {"/proc", O_PATH | O_DIRECTORY, mappings_held_as, mappings_hold},
};

/* The old one is closed first: its number may be the only one that is left. */
int kept_open_as(enum kept_file file)
{
    kept_close(file);
    int fd = (int)sys_call6_as(SYS_openat, AT_FDCWD, (long)files[file].name,
                               files[file].flags | O_CLOEXEC, 0, 0, 0);
    if (fd >= 0)
        fd = trigger_raise_fd_as(fd);
    if (fd >= 0)
        files[file].set(fd);
    return fd;
}

void kept_close(enum kept_file file)
{
    int fd = files[file].get_as();
    files[file].set(-1);
    if (fd >= 0)
        sys_call3_as(SYS_close, fd, 0, 0);
}

bool kept_is_open_as(enum kept_file file)
{
    return files[file].get_as() >= 0;
}

bool kept_owns_as(int fd)
{
    for (unsigned i = 0; i < KEPT_COUNT; i++)
        if (fd >= 0 && files[i].get_as() == fd)
            return true;
    return false;
}

void kept_yield_as(int fd)
{
    for (unsigned i = 0; i < KEPT_COUNT; i++)
        if (files[i].get_as() == fd)
            files[i].set(-1);
}

bool kept_above_as(int fd)
{
    for (unsigned i = 0; i < KEPT_COUNT; i++)
        if (files[i].get_as() > fd)
            return true;
    return false;
}
