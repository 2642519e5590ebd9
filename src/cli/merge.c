/* `penumbra merge`: several profiles into one. */
#include "profile/merge.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "cli/command.h"
#include "cli/live_line.h"
#include "cli/options.h"
#include "collector/open_profile.h"
#include "profile/parts.h"

enum { MEMORY_KEPT = 32 << 20 };

struct input {
    char *path;
    bool regular; /* once it was looked at, a regular file: this one */
    dev_t device;
    ino_t inode;
};

struct inputs {
    struct input *list;
    size_t count, capacity;
};

struct merging {
    const char *output;
    bool quiet;
    struct inputs inputs;
};

static bool add_input(struct inputs *in, const char *path, struct err *e)
{
    if (!ARRAY_ROOM(in->list, in->count, in->capacity))
        return err_set(e, ERR_INTERNAL, "out of memory");
    in->list[in->count] = (struct input){.path = strdup(path)};
    if (!in->list[in->count].path)
        return err_set(e, ERR_INTERNAL, "out of memory");
    in->count++;
    return true;
}

static int is_profile_name(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 4 && entry->d_name[0] != '.' && !strcmp(entry->d_name + length - 4, ".pnb");
}

static bool add_directory(struct inputs *in, const char *directory, struct err *e)
{
    struct dirent **entries;
    int count = scandir(directory, &entries, is_profile_name, versionsort);
    if (count < 0)
        return err_set_errno(e, ERR_NOT_FOUND, errno, "cannot read the directory \"%s\"",
                             directory);
    bool ok = count > 0 ||
              err_set(e, ERR_NOT_FOUND, "there is no .pnb file in the directory \"%s\"", directory);
    for (int i = 0; i < count; i++) {
        char path[PATH_MAX];
        int n = snprintf(path, sizeof path, "%s/%s", directory, entries[i]->d_name);
        ok = ok && n > 0 && n < PATH_MAX && add_input(in, path, e);
        free(entries[i]);
    }
    free(entries);
    return ok;
}

static const struct option_row rows[] = {
    {'o', "output", "OUT", .help = "write the profile to OUT", FIELD(struct merging, output)},
    {'q', "quiet", .help = "say nothing unless something is wrong", FIELD(struct merging, quiet)},
};

static const struct options options = {
    .command = "merge",
    .usage = "Usage: penumbra merge -o OUT FILE|DIR...\n\n"
             "Makes one profile of several, which must have been recorded with the same event and "
             "period. Of a\n"
             "directory, all its .pnb files are taken. Processes and threads stay apart, with the "
             "ranks of a\n"
             "parallel program. So do recordings by other carriers or tools, or sampled where "
             "others are exact:\n"
             "report --observation chooses among them.\n\n"
             "  mpirun -np 8 penumbra record -o prof/ -- ./app\n"
             "  penumbra merge -o app.pnb prof/\n"
             "  penumbra report --imbalance app.pnb\n\n"
             "Options:\n",
    .rows = rows,
    .count = sizeof rows / sizeof rows[0],
};

static bool take_arguments(struct merging *m, int count, char **words, struct err *e)
{
    if (!m->output || !*m->output)
        return err_set(e, ERR_USAGE, "where to? penumbra merge -o OUT FILE...");
    if (!count)
        return err_set(e, ERR_USAGE, "nothing to merge: penumbra merge -o OUT FILE...");
    for (int i = 0; i < count; i++) {
        struct stat st;
        bool is_directory = !stat(words[i], &st) && S_ISDIR(st.st_mode);
        if (!(is_directory ? add_directory : add_input)(&m->inputs, words[i], e))
            return false;
    }
    return true;
}

/* The same file twice would count everything in it twice. */
static bool check_twice(const struct inputs *in, size_t index, struct err *e)
{
    struct input *input = &in->list[index];
    struct stat st;
    if (stat(input->path, &st) || !S_ISREG(st.st_mode))
        return true;
    input->regular = true;
    input->device = st.st_dev;
    input->inode = st.st_ino;
    for (size_t i = 0; i < index; i++) {
        const struct input *other = &in->list[i];
        if (other->regular && other->device == st.st_dev && other->inode == st.st_ino)
            return err_set(e, ERR_USAGE,
                           "\"%s\" and \"%s\" are the same file, which would be counted "
                           "twice",
                           other->path, input->path);
    }
    return true;
}

/* Neighbours in the list that are one profile already. Merging looks at all that both sides have,
 * so sides are of one size: each file is looked at log n times. */
struct group {
    struct profile *profile;
    size_t first, count; /* inputs */
};
struct groups {
    struct group list[CHAR_BIT * sizeof(size_t) + 1];
    unsigned count;
};

/* The last one joins the one before. */
static bool join_last(struct groups *g, const struct inputs *in, struct err *e)
{
    struct group *into = &g->list[g->count - 2], *from = &g->list[g->count - 1];
    bool ok = profile_merge(into->profile, from->profile, e) ||
              err_prefix(e, "\"%s\" and \"%s\"", in->list[into->first].path,
                         in->list[from->first].path);
    profile_free(from->profile);
    into->count += from->count;
    g->count--;
    return ok;
}

static bool add_file(struct groups *g, const struct inputs *in, size_t index, struct err *e)
{
    struct profile *p = check_twice(in, index, e)
                            ? open_profile(in->list[index].path, command_progress(), e)
                            : NULL;
    bool ok = p != NULL;
    if (ok)
        g->list[g->count++] = (struct group){p, index, 1};
    while (ok && g->count > 1 && g->list[g->count - 2].count == g->list[g->count - 1].count)
        ok = join_last(g, in, e);
    return ok;
}

static struct profile *merge_all(const struct inputs *in, struct err *e)
{
    struct groups g = {.count = 0};
    bool ok = true;
    for (size_t i = 0; ok && i < in->count; i++)
        ok = add_file(&g, in, i, e);
    while (ok && g.count > 1)
        ok = join_last(&g, in, e);
    for (unsigned i = 0; !ok && i < g.count; i++)
        profile_free(g.list[i].profile);
    return ok ? g.list[0].profile : NULL;
}

static void say(const struct merging *m, const struct profile *p)
{
    struct profile_totals t;
    struct buf b = {0};
    profile_totals(p, &t);
    buf_puts(&b, "penumbra: merged ");
    buf_put_count(&b, m->inputs.count, "profile", "profiles");
    buf_puts(&b, ", ");
    buf_put_count(&b, t.taken, "sample", "samples");
    buf_puts(&b, " of ");
    buf_put_count(&b, p->process_count, "process", "processes");
    for (uint32_t i = 0; i < p->part_count; i++) {
        char name[PART_NAME_MAX];
        struct part_key key = profile_part_key(&p->parts[i]);
        buf_printf(&b, "%s%s", i ? ", " : "; kept apart: ", part_name(name, &key));
    }
    buf_printf(&b, " -> %s\n", m->output);
    if (buf_ok(&b))
        fwrite(b.data, 1, b.size, stderr);
    buf_free(&b);
}

int command_merge(int argc, char **argv)
{
    struct err e = {0};
    struct merging m = {.quiet = false};
    struct profile *all = NULL;
    int first, status;
    if (!options_take(&options, argc, argv, &m, &first, &status))
        return status;
    bool ok = take_arguments(&m, argc - first, argv + first, &e);
    /* Profiles are read one after the other: the memory of one is there for the next. */
    mallopt(M_MMAP_THRESHOLD, MEMORY_KEPT);
    mallopt(M_TRIM_THRESHOLD, MEMORY_KEPT);
    if (ok) {
        all = merge_all(&m.inputs, &e);
        ok = all && profile_write(all, m.output, &e);
        if (ok && !m.quiet)
            say(&m, all);
    }
    profile_free(all);
    for (size_t i = 0; i < m.inputs.count; i++)
        free(m.inputs.list[i].path);
    free(m.inputs.list);
    return ok ? 0 : command_fail("merge", &e);
}
