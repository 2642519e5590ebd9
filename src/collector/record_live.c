#include "collector/record_live.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* True if what is at `file` now, if anything, will survive that something else is put there. */
static bool old_keep(struct record_live *l, const char *file)
{
    struct stat st;
    if (lstat(file, &st))
        return errno == ENOENT;
    int n = snprintf(l->old, sizeof l->old, "%s.%d.old", file, (int)getpid());
    if (S_ISREG(st.st_mode) && n > 0 && (size_t)n < sizeof l->old && link(file, l->old) == 0)
        return true;
    l->old[0] = '\0';
    return false;
}

void record_live_begin(struct record_live *l, const char *output, const struct live_info *info)
{
    struct err ignored = {0};
    struct stat st;
    *l = (struct record_live){.file = ""};
    if (!realpath(output, l->file)) {
        bool fresh = errno == ENOENT && lstat(output, &st) && errno == ENOENT;
        size_t n = strlen(output);
        l->file[0] = '\0';
        if (!fresh || n >= sizeof l->file)
            return;
        memcpy(l->file, output, n + 1);
    }
    if (!old_keep(l, l->file)) {
        l->file[0] = '\0';
    } else if (!live_write(l->file, info, &ignored)) {
        if (l->old[0])
            unlink(l->old);
        *l = (struct record_live){.file = ""};
    }
}

bool record_live_settle(struct record_live *l, const char *output, const struct live_info *info,
                        bool started, struct err *e)
{
    if (!l->file[0])
        return !started || live_write(output, info, e);
    if (started && l->old[0])
        unlink(l->old);
    else if (!started && l->old[0])
        rename(l->old, l->file);
    else if (!started)
        unlink(l->file);
    return true;
}
