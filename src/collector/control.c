#include "collector/control.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/record_spool.h"
#include "sigsafe/settings.h"

/* The spool that the process has mapped. False: it has none. */
static bool find_spool(int pid, char path[SPOOL_PATH_MAX], struct err *e)
{
    static const char begin[] = "/penumbra-", end[] = ".spool\n";
    char name[64], *line = NULL;
    size_t room = 0;
    bool found = false;
    snprintf(name, sizeof name, "/proc/%d/maps", pid);
    FILE *maps = fopen(name, "re");
    if (!maps)
        return err_set_errno(e, errno == ENOENT ? ERR_NOT_FOUND : ERR_ATTACH, errno,
                             "cannot look at process %d", pid);
    while (!found && getline(&line, &room, maps) > 0) {
        const char *file = strchr(line, '/'), *slash = strrchr(line, '/');
        size_t length = strlen(line), n = sizeof end - 1;
        found = slash && !strncmp(slash, begin, sizeof begin - 1) && length > n &&
                !strcmp(line + length - n, end) && strlen(file) < SPOOL_PATH_MAX;
        if (found)
            snprintf(path, SPOOL_PATH_MAX, "%.*s", (int)strlen(file) - 1, file);
    }
    free(line);
    fclose(maps);
    return found || err_set(e, ERR_NOT_FOUND,
                            "process %d is not being recorded: start it with penumbra record", pid);
}

bool control_interval(int pid, uint32_t interval, struct err *e)
{
    char path[SPOOL_PATH_MAX];
    struct record_spool s;
    bool alive;
    if (!find_spool(pid, path, e) || !record_spool_open(&s, path, &alive, e))
        return false;
    struct inst_settings *settings = settings_inst_as(&s.spool);
    bool ok = settings && settings_sampling(&s.spool)->carrier == CARRIER_COMPILED;
    if (ok) {
        __atomic_store_n(&settings->interval, interval, __ATOMIC_RELAXED);
        spool_ring_as(&s.spool); /* whose switch of checks follows it */
    } else {
        err_set(e, ERR_USAGE, "process %d is recorded, but not by what is compiled into it "
                "(penumbra record --carrier compiled)", pid);
    }
    record_spool_release(&s, false);
    return ok;
}
