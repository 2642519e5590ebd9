/* `penumbra merge`: several profiles into one. */
#include "profile/merge.h"

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/suggest.h"
#include "cli/command.h"
#include "cli/live_line.h"
#include "cli/open_profile.h"

static const char help[] =
    "Usage: penumbra merge -o OUT FILE|DIR...\n\n"
    "Makes one profile of several, which must have been recorded with the same event and period. Of a\n"
    "directory, all its .pnb files are taken. Processes and threads stay apart, with the ranks of a\n"
    "parallel program.\n\n"
    "  mpirun -np 8 penumbra record -o prof/ -- ./app\n"
    "  penumbra merge -o app.pnb prof/\n"
    "  penumbra report --imbalance app.pnb\n\n"
    "Options:\n"
    "  -o, --output OUT  write the profile to OUT\n"
    "  -q, --quiet       say nothing unless something is wrong\n"
    "  -h, --help        this text\n";

struct inputs {
    char **paths;
    size_t count, capacity;
};

struct merging {
    const char *output;
    bool quiet, help;
    struct inputs inputs;
};

static bool add_input(struct inputs *in, const char *path, struct err *e)
{
    if (in->count == in->capacity) {
        size_t capacity = in->capacity ? in->capacity * 2 : 16;
        char **paths = realloc(in->paths, capacity * sizeof *paths);
        if (!paths)
            return err_set(e, ERR_INTERNAL, "out of memory");
        in->paths = paths;
        in->capacity = capacity;
    }
    in->paths[in->count] = strdup(path);
    if (!in->paths[in->count])
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
        return err_set_errno(e, ERR_NOT_FOUND, errno, "cannot read the directory \"%s\"", directory);
    bool ok = count > 0 || err_set(e, ERR_NOT_FOUND, "there is no .pnb file in the directory \"%s\"",
                                   directory);
    for (int i = 0; i < count; i++) {
        char path[PATH_MAX];
        int n = snprintf(path, sizeof path, "%s/%s", directory, entries[i]->d_name);
        ok = ok && n > 0 && n < PATH_MAX && add_input(in, path, e);
        free(entries[i]);
    }
    free(entries);
    return ok;
}

static bool unknown_option(const char *typed, struct err *e)
{
    struct suggest s = {0};
    const char *name = typed + strspn(typed, "-");
    suggest_offer(&s, name, "output");
    suggest_offer(&s, name, "quiet");
    suggest_offer(&s, name, "help");
    if (s.best)
        return err_set(e, ERR_USAGE, "there is no option %s; did you mean --%s?", typed, s.best);
    return err_set(e, ERR_USAGE, "there is no option %s; see penumbra merge --help", typed);
}

static bool parse(int argc, char **argv, struct merging *m, struct err *e)
{
    static const struct option longs[] = {{"output", required_argument, NULL, 'o'},
                                          {"quiet", no_argument, NULL, 'q'},
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
    int option;
    opterr = 0;
    optind = 0;
    while ((option = getopt_long(argc, argv, ":o:qh", longs, NULL)) != -1) {
        if (option == ':')
            return err_set(e, ERR_USAGE, "%s needs a file name", argv[optind - 1]);
        if (option == '?')
            return unknown_option(argv[optind - 1], e);
        m->output = option == 'o' ? optarg : m->output;
        m->quiet |= option == 'q';
        m->help |= option == 'h';
    }
    if (m->help)
        return true;
    if (!m->output || !*m->output)
        return err_set(e, ERR_USAGE, "where to? penumbra merge -o OUT FILE...");
    if (optind == argc)
        return err_set(e, ERR_USAGE, "nothing to merge: penumbra merge -o OUT FILE...");
    for (; optind < argc; optind++) {
        struct stat st;
        bool is_directory = !stat(argv[optind], &st) && S_ISDIR(st.st_mode);
        if (!(is_directory ? add_directory : add_input)(&m->inputs, argv[optind], e))
            return false;
    }
    return true;
}

/* The same file twice would count everything in it twice. */
static bool check_twice(const struct inputs *in, size_t index, struct err *e)
{
    struct stat st, other;
    if (stat(in->paths[index], &st) || !S_ISREG(st.st_mode))
        return true;
    for (size_t i = 0; i < index; i++)
        if (!stat(in->paths[i], &other) && other.st_dev == st.st_dev && other.st_ino == st.st_ino)
            return err_set(e, ERR_USAGE, "\"%s\" and \"%s\" are the same file, which would be counted "
                           "twice", in->paths[i], in->paths[index]);
    return true;
}

static struct profile *merge_all(const struct inputs *in, struct err *e)
{
    struct profile *all = NULL;
    for (size_t i = 0; i < in->count; i++) {
        struct profile *p = check_twice(in, i, e) ? open_profile(in->paths[i], e) : NULL;
        bool ok = p && (!all || profile_merge(all, p, e) ||
                        err_prefix(e, "\"%s\" and \"%s\"", in->paths[0], in->paths[i]));
        if (ok && !all) {
            all = p;
            continue;
        }
        profile_free(p);
        if (!ok) {
            profile_free(all);
            return NULL;
        }
    }
    return all;
}

static void say(const struct merging *m, const struct profile *p)
{
    struct profile_totals t;
    struct buf b = {0};
    profile_totals(p, &t);
    buf_puts(&b, "penumbra: merged ");
    put_count(&b, m->inputs.count, "profile", "profiles");
    buf_puts(&b, ", ");
    put_count(&b, t.taken, "sample", "samples");
    buf_puts(&b, " of ");
    put_count(&b, p->process_count, "process", "processes");
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
    bool ok = parse(argc, argv, &m, &e);
    if (ok && m.help) {
        fputs(help, stdout);
    } else if (ok) {
        all = merge_all(&m.inputs, &e);
        ok = all && profile_write(all, m.output, &e);
        if (ok && !m.quiet)
            say(&m, all);
    }
    profile_free(all);
    for (size_t i = 0; i < m.inputs.count; i++)
        free(m.inputs.paths[i]);
    free(m.inputs.paths);
    return ok ? 0 : command_fail("merge", &e);
}
