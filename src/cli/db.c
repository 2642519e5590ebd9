/* `penumbra db gc|check|export|make`: looks after a profile database. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/command.h"
#include "cli/daemon_settings.h"
#include "cli/database.h"
#include "cli/options.h"
#include "cli/source.h"
#include "database/store.h"
#include "report/text.h"

/* Its own among the exit statuses (docs/exit-status.md). */
enum { STATUS_DAMAGED = 1 };

struct arguments {
    struct source_options source;
    const char *config, *keep, *most, *from, *to, *output;
    bool quiet;
};

static const struct option_row rows[] = {
    {0, "keep", "DURATION", .fallback = "as the daemon's settings say",
     .help = "gc: remove days that are older", .filled = true, FIELD(struct arguments, keep)},
    {0, "max-size", "BYTES", .fallback = "as the daemon's settings say",
     .help = "gc: remove the oldest days of a database that is larger", .filled = true,
     FIELD(struct arguments, most)},
    {0, "config", "FILE", .fallback = DAEMON_CONFIG, .help = "the daemon's settings",
     .filled = true, FIELD(struct arguments, config)},
    {0, "from", "TIME", .help = "export: from then on, as in penumbra query", .filled = true,
     FIELD(struct arguments, from)},
    {0, "to", "TIME", .help = "export: up to then", .filled = true, FIELD(struct arguments, to)},
    {'o', "output", "DIR", .help = "export: the folder that the profiles are written to",
     .filled = true, FIELD(struct arguments, output)},
    SOURCE_ROWS(struct arguments, source),
    {'q', "quiet", .help = "say nothing unless something is wrong",
     FIELD(struct arguments, quiet)},
};

static const struct options options = {
    .command = "db",
    .usage = "Usage: penumbra db [options] gc|check|export|make\n"
             "Looks after the database of penumbra daemon, also while that runs.\n\n"
             "  gc       make hours of old intervals, and remove what is too old or too much\n"
             "  check    read everything, and say what is damaged (exit status 1)\n"
             "  export   write a profile a day into the folder of -o\n"
             "  make     of a fleet's store (--store URL): make its tables\n\n"
             "Of a store there is gc, too: it removes days. Names that were uploaded stay.\n\n"
             "Options:\n",
    .rows = rows,
    .count = sizeof rows / sizeof rows[0],
};

static bool collect(const struct arguments *a, struct store *s, struct err *e)
{
    const struct daemon_words words = {.keep_ns = a->keep, .most_bytes = a->most};
    struct daemon_settings settings;
    struct store_kept done;
    if (!daemon_settings_read(&settings, &words, a->config, e))
        return false;
    const struct store_bounds bounds = {(uint64_t)settings.keep_ns, (uint64_t)settings.most_bytes};
    if (!store_keep(s, &bounds, database_now(), &done, e))
        return false;
    if (!a->quiet)
        printf("%" PRIu64 " days and %" PRIu64 " intervals removed, %" PRIu64
               " intervals made hours; %.2f MB\n", done.parts, done.slots, done.merged,
               (double)done.bytes / 1e6);
    return true;
}

static void problem_put(void *context, const char *problem)
{
    uint64_t *count = context;
    ++*count;
    text_name(stdout, problem, 0);
    putchar('\n');
}

static bool look_through(const struct arguments *a, struct store *s, int *status, struct err *e)
{
    uint64_t problems = 0;
    if (!store_check(s, problem_put, &problems, e))
        return false;
    if (!problems && !a->quiet)
        printf("the database is good\n");
    *status = problems ? STATUS_DAMAGED : 0;
    return true;
}

/* ---- export ---- */

enum { DAY_S = 86400 };
#define DAY_NS ((int64_t)DAY_S * 1000000000)

static bool day_write(const struct arguments *a, struct store *s, const struct store_query *q,
                      struct err *e)
{
    char path[PATH_MAX], day[32];
    time_t at = (time_t)(q->from_ns / 1000000000);
    struct tm t;
    struct store_range range;
    struct err problem = {0};
    struct profile *p = store_get(s, q, &range, &problem);
    if (!p)
        return problem.code == ERR_NOT_FOUND || err_set(e, problem.code, "%s", problem.message);
    strftime(day, sizeof day, "%Y-%m-%d", gmtime_r(&at, &t));
    int n = snprintf(path, sizeof path, "%s/%s.pnb", a->output, day);
    bool ok = n > 0 && n < (int)sizeof path;
    if (!ok)
        err_set(e, ERR_USAGE, "the path of -o is too long");
    ok = ok && profile_write(p, path, e);
    if (ok && !a->quiet)
        printf("%s: %.0f s\n", path, (double)range.covered_ns / 1e9);
    profile_free(p);
    return ok;
}

static bool export(const struct arguments *a, struct store *s, struct err *e)
{
    int64_t now = database_now();
    struct store_query q = {.from_ns = INT64_MIN, .to_ns = INT64_MAX};
    struct store_range all;
    if (!a->output)
        return err_set(e, ERR_USAGE, "where to? penumbra db export -o DIR");
    if (mkdir(a->output, 0700) && errno != EEXIST)
        return err_set_errno(e, ERR_OUTPUT, errno, "cannot make the folder %s", a->output);
    if ((a->from && !database_moment(a->from, "--from", now, &q.from_ns, e)) ||
        (a->to && !database_moment(a->to, "--to", now, &q.to_ns, e)) ||
        !store_range(s, &q, &all, e))
        return false;
    if (!all.slots)
        return err_set(e, ERR_NOT_FOUND, "the database has nothing of this range");
    bool ok = true;
    int64_t end = q.to_ns < all.end_ns ? q.to_ns : all.end_ns;
    q.from_ns = all.begin_ns - all.begin_ns % DAY_NS;
    for (; ok && q.from_ns < end; q.from_ns = q.to_ns) {
        q.to_ns = end - q.from_ns > DAY_NS ? q.from_ns + DAY_NS : end;
        ok = day_write(a, s, &q, e);
    }
    return ok;
}

/* ---- a fleet's store: its server looks after all else ---- */

static bool fleet_tables(const struct arguments *a, struct err *e)
{
    const struct fleet_options store = source_fleet(&a->source);
    struct fleet *f = NULL;
    bool ok = fleet_open(&f, &store, e) && fleet_make(f, e) && fleet_symbols_make(f, e);
    fleet_close(f);
    return ok;
}

static bool fleet_collect(const struct arguments *a, struct err *e)
{
    const struct daemon_words words = {.keep_ns = a->keep, .most_bytes = a->most};
    const struct fleet_options store = source_fleet(&a->source);
    struct daemon_settings settings;
    struct fleet *f = NULL;
    uint64_t days = 0;
    if (a->most)
        return err_set(e, ERR_USAGE, "--max-size is of a database, not of a store");
    bool ok = daemon_settings_read(&settings, &words, a->config, e) && fleet_open(&f, &store, e);
    ok = ok && (settings.keep_ns <= 0 ||
                fleet_drop(f, database_now() - (int64_t)settings.keep_ns, &days, e));
    fleet_close(f);
    if (ok && !a->quiet)
        printf("%" PRIu64 " days removed\n", days);
    return ok;
}

static bool run(const struct arguments *a, const char *what, int *status, struct err *e)
{
    char path[PATH_MAX];
    struct store *s = NULL;
    bool gc = !strcmp(what, "gc"), check = !strcmp(what, "check");
    if (!source_check_one(&a->source, e))
        return false;
    if (a->source.store)
        return gc                      ? fleet_collect(a, e)
               : !strcmp(what, "make") ? fleet_tables(a, e)
                                       : err_set(e, ERR_USAGE, "of a store there are db gc and db "
                                                               "make; penumbra query --store URL "
                                                               "-o FILE exports a range");
    if (!gc && !check && strcmp(what, "export") != 0)
        return err_set(e, ERR_USAGE, "\"%s\" is nothing to be done: gc, check or export, and make "
                                     "of a store (--store URL)", what);
    bool ok = database_path(a->source.database, false, path, e) &&
              store_open(&s, path, gc ? STORE_CHANGE : STORE_READ, e);
    if (!ok && check && e->code == ERR_FORMAT)
        *status = STATUS_DAMAGED;
    ok = ok && (gc      ? collect(a, s, e)
                : check ? look_through(a, s, status, e)
                        : export(a, s, e));
    store_close(s);
    return ok;
}

int command_db(int argc, char **argv)
{
    struct arguments a = {.quiet = false};
    struct err e = {0};
    int first, status = 0;
    if (!options_take(&options, argc, argv, &a, &first, &status))
        return status;
    bool ok = first + 1 == argc ||
              err_set(&e, ERR_USAGE, "what is to be done? penumbra db gc, check, export or make");
    ok = ok && run(&a, argv[first], &status, &e);
    if (ok)
        return status;
    int failed = command_fail("db", &e);
    return status ? status : failed;
}
