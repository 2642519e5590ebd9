#include "collector/machine/machine_service.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { KTHREADD = 2, ID_DIGITS = 64, ID_SHOWN = 12 };

/* Where 64 hexadecimal digits begin, which are the name of a container; NULL. */
static const char *id_find(const char *name)
{
    for (; *name; name++) {
        size_t n = 0;
        while (n <= ID_DIGITS && isxdigit((unsigned char)name[n]))
            n++;
        if (n == ID_DIGITS)
            return name;
        if (n)
            name += n - 1;
    }
    return NULL;
}

void machine_service_name(const char *path, char name[MACHINE_SERVICE_NAME])
{
    const char *last = strrchr(path, '/');
    last = last ? last + 1 : path;
    const char *id = id_find(last);
    if (!*last) {
        snprintf(name, MACHINE_SERVICE_NAME, "/");
        return;
    }
    if (!id) {
        snprintf(name, MACHINE_SERVICE_NAME, "%s", last);
        return;
    }
    /* A name that is nothing but an id has its folder's before it. */
    const char *before = last;
    if (id == last && last - path > 1) {
        before = last - 1;
        while (before > path && before[-1] != '/')
            before--;
    }
    int shown = (int)(id - before) + ID_SHOWN;
    snprintf(name, MACHINE_SERVICE_NAME, "%.*s", shown < 0 ? 0 : shown, before);
}

/* The group in version 2's hierarchy, or systemd's of version 1, or any that is not the root. */
static bool group_read(int32_t pid, char *path, size_t size)
{
    char file[64], line[PATH_MAX + 256];
    int best = 0;
    snprintf(file, sizeof file, "/proc/%d/cgroup", pid);
    FILE *f = fopen(file, "re");
    while (f && fgets(line, sizeof line, f)) {
        char *names = strchr(line, ':'), *at = names ? strchr(names + 1, ':') : NULL;
        if (!at)
            continue;
        at[1 + strcspn(at + 1, "\n")] = '\0';
        bool root = !strcmp(at + 1, "/");
        int rank = root ? 1 : !strncmp(line, "0::", 3) ? 4
                   : !strncmp(names, ":name=", 6)      ? 3
                                                       : 2;
        if (rank > best)
            snprintf(path, size, "%s", at + 1);
        best = rank > best ? rank : best;
    }
    if (f)
        fclose(f);
    return best;
}

uint32_t machine_service_find(struct machine_services *all, int32_t pid, int32_t ppid,
                              uint32_t before)
{
    char path[PATH_MAX], name[MACHINE_SERVICE_NAME] = "[kernel]";
    if (!pid) {
        snprintf(name, sizeof name, "[outside]");
    } else if (pid != KTHREADD && ppid != KTHREADD) {
        if (!group_read(pid, path, sizeof path))
            return before;
        machine_service_name(path, name);
    }
    for (uint32_t i = 0; i < all->count; i++)
        if (!strcmp(all->list[i], name))
            return i;
    if (all->count >= MACHINE_SERVICES_MOST || !ARRAY_ROOM(all->list, all->count, all->capacity))
        return UINT32_MAX;
    all->list[all->count] = strdup(name);
    return all->list[all->count] ? all->count++ : UINT32_MAX;
}

void machine_services_free(struct machine_services *all)
{
    for (uint32_t i = 0; i < all->count; i++)
        free(all->list[i]);
    free(all->list);
    *all = (struct machine_services){0};
}
