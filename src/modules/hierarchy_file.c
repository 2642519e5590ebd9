/* What is remembered between recordings: one small text file for each machine (processor model).
 *
 *      penumbra-hierarchy 1
 *      machine AMD EPYC, signature a10f11, virtual
 *      clock 2596000000 26 52                  hz, step, cost
 *      level L1 4 0 0 1 1                      median, from, wrong, present, apart
 *      ... */
#include "modules/hierarchy_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_ROOM = 4096, FILE_MOST = 4096 };

static bool parse_level(const char *line, struct hierarchy *h)
{
    char name[16];
    unsigned present, apart;
    struct hierarchy_bound b = { 0 };
    if (sscanf(line, "level %15s %" SCNu32 " %" SCNu32 " %" SCNu32 " %u %u", name, &b.median,
               &b.from, &b.wrong, &present, &apart) != 6)
        return false;
    b.present = present;
    b.apart = apart;
    for (unsigned i = 0; i < HIERARCHY_LEVELS; i++)
        if (!strcmp(name, hierarchy_level_names[i])) {
            h->levels[i] = b;
            return true;
        }
    return false;
}

bool hierarchy_parse(const char *text, struct hierarchy *h)
{
    unsigned levels = 0, version = 0;
    *h = (struct hierarchy){ .hz = 0 };
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, "machine ", 8))
            snprintf(h->machine, sizeof h->machine, "%.*s", (int)strcspn(line + 8, "\n"), line + 8);
        else if (!strncmp(line, "level ", 6))
            levels += parse_level(line, h);
        else if (line == text)
            sscanf(line, "penumbra-hierarchy %u", &version);
        else
            sscanf(line, "clock %" SCNu64 " %" SCNu32 " %" SCNu32, &h->hz, &h->step, &h->cost);
    }
    /* Boundaries ascend, as hierarchy_place needs them to. */
    uint32_t from = 0;
    bool nearest = false;
    for (unsigned i = 0; i < HIERARCHY_LEVELS; i++) {
        const struct hierarchy_bound *b = &h->levels[i];
        if (!b->present || !b->apart)
            continue;
        if (nearest && b->from <= from)
            return false;
        from = b->from;
        nearest = true;
    }
    return version == 1 && levels == HIERARCHY_LEVELS && h->hz && nearest;
}

/* The folder to remember things in, without a slash at its end. */
static bool cache_folder(char *out, size_t size)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = cache && *cache == '/' ? snprintf(out, size, "%s/penumbra", cache)
            : home && *home == '/' ? snprintf(out, size, "%s/.cache/penumbra", home) : -1;
    return n > 0 && (size_t)n < size;
}

static bool file_path(const char *machine, char *out, size_t size)
{
    char folder[PATH_ROOM];
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (const char *c = machine; *c; c++)
        hash = (hash ^ (uint8_t)*c) * UINT64_C(0x100000001b3);
    if (!cache_folder(folder, sizeof folder))
        return false;
    int n = snprintf(out, size, "%s/hierarchy-%016" PRIx64 ".txt", folder, hash);
    return n > 0 && (size_t)n < size;
}

bool hierarchy_load(struct hierarchy *h)
{
    char path[PATH_ROOM], machine[sizeof h->machine], text[FILE_MOST + 1];
    hierarchy_machine(machine, sizeof machine);
    FILE *f = file_path(machine, path, sizeof path) ? fopen(path, "re") : NULL;
    if (!f)
        return false;
    size_t size = fread(text, 1, FILE_MOST, f);
    fclose(f);
    text[size] = 0;
    return hierarchy_parse(text, h) && !strcmp(h->machine, machine);
}

static void folders_make(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0777);
        *slash = '/';
    }
}

static bool write_all(const struct hierarchy *h, FILE *f)
{
    fprintf(f, "penumbra-hierarchy 1\nmachine %s\nclock %" PRIu64 " %" PRIu32 " %" PRIu32 "\n",
            h->machine, h->hz, h->step, h->cost);
    for (unsigned i = 0; i < HIERARCHY_LEVELS; i++) {
        const struct hierarchy_bound *b = &h->levels[i];
        fprintf(f, "level %s %" PRIu32 " %" PRIu32 " %" PRIu32 " %d %d\n", hierarchy_level_names[i],
                b->median, b->from, b->wrong, b->present, b->apart);
    }
    return !ferror(f);
}

bool hierarchy_save(const struct hierarchy *h, struct err *err)
{
    char path[PATH_ROOM], made[PATH_ROOM + 16];
    if (!file_path(h->machine, path, sizeof path))
        return err_set(err, ERR_OUTPUT, "the measured memory hierarchy cannot be remembered: "
                                        "neither XDG_CACHE_HOME nor HOME is an absolute path");
    folders_make(path);
    snprintf(made, sizeof made, "%s.%d", path, (int)getpid());
    FILE *f = fopen(made, "we");
    bool ok = f && write_all(h, f);
    if (f && fclose(f))
        ok = false;
    if (ok && rename(made, path) == 0)
        return true;
    int why = errno;
    if (f)
        unlink(made);
    return err_set_errno(err, ERR_OUTPUT, why,
                         "the measured memory hierarchy cannot be remembered in %s", path);
}
