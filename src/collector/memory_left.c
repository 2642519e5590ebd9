#include "collector/memory_left.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limits above it are none: version 1 has a very large number for that. */
#define NO_LIMIT (UINT64_C(1) << 60)

static const char *const new_base[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
#define OLD_BASE "/sys/fs/cgroup/memory"

/* The number behind `key` at the start of a line of a file; the first number, if key is empty. */
static bool number_of(const char *folder, const char *file, const char *key, uint64_t *number)
{
    char path[1024], line[512];
    bool found = false;
    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof line, f)) {
        char *text = line + strlen(key), *end;
        if (strncmp(line, key, strlen(key)) != 0)
            continue;
        *number = strtoull(text, &end, 10);
        found = end != text;
    }
    if (f)
        fclose(f);
    return found;
}

static bool limit_of(const struct memory_group *g, uint64_t *limit)
{
    return number_of(g->folder, g->old ? "memory.limit_in_bytes" : "memory.max", "", limit) &&
           *limit && *limit < NO_LIMIT;
}

/* The folder of a group and those above it that have limits. In a container the path may be one of
 * the machine outside, of which only the last part that is there counts. */
static void groups_add(struct memory_left *m, const char *base, const char *path, bool old)
{
    char folder[512];
    int least = snprintf(NULL, 0, "%s%s", m->root, base);
    int n = snprintf(folder, sizeof folder, "%s%s%s", m->root, base, path);
    if (n < 0 || (size_t)n >= sizeof folder)
        return;
    while (m->count < sizeof m->groups / sizeof *m->groups) {
        struct memory_group *g = &m->groups[m->count];
        uint64_t limit;
        g->old = old;
        snprintf(g->folder, sizeof g->folder, "%s", folder);
        m->count += limit_of(g, &limit);
        char *slash = strrchr(folder, '/');
        if (!slash || slash < folder + least)
            return;
        *slash = '\0';
    }
}

void memory_left_of(struct memory_left *m, const char *root, int32_t pid)
{
    char path[1024], line[512];
    m->root = root;
    m->count = 0;
    snprintf(path, sizeof path, "%s/proc/%d/cgroup", root, pid);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        const char *controllers = strchr(line, ':');
        const char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        if (strncmp(controllers, ":memory:", 8) == 0)
            groups_add(m, OLD_BASE, group + 1, true);
        for (unsigned i = 0; controllers + 1 == group && i < sizeof new_base / sizeof *new_base;
             i++)
            groups_add(m, new_base[i], group + 1, false);
    }
    if (f)
        fclose(f);
}

static double share(uint64_t left, uint64_t of)
{
    return left < of ? (double)left / (double)of : 1;
}

static double machine_share(const struct memory_left *m)
{
    char folder[512];
    uint64_t left, all;
    snprintf(folder, sizeof folder, "%s/proc", m->root);
    bool known = number_of(folder, "meminfo", "MemAvailable:", &left) &&
                 number_of(folder, "meminfo", "MemTotal:", &all) && all;
    return known ? share(left, all) : 1;
}

static double group_share(const struct memory_group *g)
{
    uint64_t limit, used, active = 0, inactive = 0;
    if (!limit_of(g, &limit) ||
        !number_of(g->folder, g->old ? "memory.usage_in_bytes" : "memory.current", "", &used))
        return 1;
    number_of(g->folder, "memory.stat", g->old ? "total_active_file " : "active_file ", &active);
    number_of(g->folder, "memory.stat", g->old ? "total_inactive_file " : "inactive_file ",
              &inactive);
    used = used > active + inactive ? used - active - inactive : 0;
    return share(limit > used ? limit - used : 0, limit);
}

double memory_left_share(const struct memory_left *m)
{
    double least = machine_share(m);
    for (uint32_t i = 0; i < m->count; i++) {
        double of_group = group_share(&m->groups[i]);
        if (of_group < least)
            least = of_group;
    }
    return least;
}
