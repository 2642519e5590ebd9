/* `penumbra symbols upload`: names of functions for a fleet's store, apart from hosts. */
#include <errno.h>
#include <fts.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/source.h"
#include "symbols/functions.h"

struct arguments {
    struct source_options source;
    bool quiet;
};

static const struct option_row rows[] = {
    SOURCE_STORE_ROWS(struct arguments, source),
    {'q', "quiet", .help = "say nothing unless something is wrong",
     FIELD(struct arguments, quiet)},
};

static const struct options options = {
    .command = "symbols",
    .usage = "Usage: penumbra symbols --store URL upload FILE|DIR...\n"
             "Puts the names of functions into a fleet's store (docs/fleet.md), for programs that "
             "run stripped. A\n"
             "FILE is a program or a library before it is stripped, or its debug file; of a DIR, "
             "all of them that\n"
             "are in it are taken. They belong to all samples of the same build-id, earlier and "
             "later ones.\n\n"
             "  penumbra symbols --store https://store.example:8443/penumbra upload "
             "/usr/lib/debug/.build-id\n\n"
             "Options:\n",
    .rows = rows,
    .count = sizeof rows / sizeof rows[0],
};

struct uploading {
    struct fleet *f;
    struct buf rows;
    uint64_t functions, files, skipped, unread;
    bool broken; /* the store did not take it */
    struct err *e;
};

static bool function_put(void *context, const struct profile_image *image,
                         const struct code_function *function)
{
    struct uploading *u = context;
    const struct fleet_function one = {.image = image, .name = function->name,
                                       .start = function->start, .end = function->end};
    u->functions += fleet_function_put(&u->rows, &one);
    u->broken = !fleet_functions_send(u->f, &u->rows, false, u->e);
    return !u->broken;
}

/* named: by the user, who is told what is wrong with it. */
static bool file_upload(struct uploading *u, const char *path, bool named)
{
    const struct functions_taker to = {function_put, u};
    if (symbols_functions(path, &to, u->e)) {
        u->files++;
        return true;
    }
    if (named || u->broken || (u->e->code != ERR_FORMAT && u->e->code != ERR_NOT_FOUND))
        return false;
    *(u->e->code == ERR_FORMAT ? &u->skipped : &u->unread) += 1;
    *u->e = (struct err){0};
    return true;
}

static bool entry_upload(struct uploading *u, const FTSENT *at)
{
    const bool named = at->fts_level == FTS_ROOTLEVEL;
    switch (at->fts_info) {
    case FTS_F:
        return file_upload(u, at->fts_accpath, named);
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS:
        u->unread++;
        return !named || err_set_errno(u->e, ERR_NOT_FOUND, at->fts_errno, "cannot read %s",
                                       at->fts_path);
    case FTS_SLNONE: /* one that is named */
        return err_set(u->e, ERR_NOT_FOUND, "cannot read %s: it is a link to no file",
                       at->fts_path);
    case FTS_DEFAULT: /* a device, a pipe */
        return !named || err_set(u->e, ERR_FORMAT, "%s is neither a file nor a folder",
                                 at->fts_path);
    default: /* folders; links within them: what they name has its own place */
        return true;
    }
}

static bool path_upload(struct uploading *u, char *path)
{
    char *paths[] = {path, NULL};
    bool ok = true, more = true;
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
    if (!tree)
        return err_set_errno(u->e, ERR_NOT_FOUND, errno, "cannot read '%s'", path);
    while (ok && more) {
        errno = 0;
        const FTSENT *at = fts_read(tree);
        more = at;
        ok = at ? entry_upload(u, at)
                : !errno || err_set_errno(u->e, ERR_INTERNAL, errno, "cannot read %s", path);
    }
    fts_close(tree);
    return ok;
}

static void say(const struct uploading *u)
{
    struct buf b = {0};
    buf_puts(&b, "penumbra: names of ");
    buf_put_count(&b, u->functions, "function", "functions");
    buf_puts(&b, " of ");
    buf_put_count(&b, u->files, "file", "files");
    if (u->skipped) {
        buf_puts(&b, "; ");
        buf_put_count(&b, u->skipped, "other file", "other files");
        buf_puts(&b, " without a build-id or symbols");
    }
    if (u->unread)
        buf_printf(&b, "; %" PRIu64 " cannot be read", u->unread);
    buf_puts(&b, "\n");
    if (buf_ok(&b))
        fwrite(b.data, 1, b.size, stderr);
    buf_free(&b);
}

static bool upload(const struct arguments *a, char **paths, struct err *e)
{
    struct uploading u = {.e = e};
    const struct fleet_options store = source_fleet(&a->source);
    bool ok = fleet_open(&u.f, &store, e) && fleet_symbols_make(u.f, e);
    for (; ok && *paths; paths++)
        ok = path_upload(&u, *paths);
    /* What was read of other files is sent all the same. */
    struct err ignored = {0};
    if (u.f && u.files && !u.broken)
        ok = fleet_functions_send(u.f, &u.rows, true, ok ? e : &ignored) && ok;
    if (ok && !u.files)
        ok = err_set(e, ERR_NOT_FOUND, "no file there has a build-id and the symbols of its "
                                       "functions");
    if (ok && !a->quiet)
        say(&u);
    buf_free(&u.rows);
    fleet_close(u.f);
    return ok;
}

int command_symbols(int argc, char **argv)
{
    struct arguments a = {.quiet = false};
    struct err e = {0};
    int first, status = 0;
    if (!options_take(&options, argc, argv, &a, &first, &status))
        return status;
    bool ok = source_check(&a.source, &e);
    if (ok && (first + 1 >= argc || strcmp(argv[first], "upload") != 0))
        ok = err_set(&e, ERR_USAGE, "what is to be uploaded? penumbra symbols --store URL upload "
                                    "FILE|DIR...");
    if (ok && !a.source.store)
        ok = err_set(&e, ERR_USAGE, "where to? --store URL; reports of a machine's own database "
                                    "read debug files themselves (penumbra query -- --debug-dir "
                                    "DIR)");
    return ok && upload(&a, argv + first + 1, &e) ? 0 : command_fail("symbols", &e);
}
