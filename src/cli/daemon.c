/* `penumbra daemon`: samples the whole machine for as long as it runs, into a profile database. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/command.h"
#include "cli/daemon_fleet.h"
#include "cli/daemon_settings.h"
#include "cli/database.h"
#include "cli/options.h"
#include "collector/measure.h"
#include "collector/watch/privileges.h"
#include "collector/watch/watch.h"
#include "database/store.h"

/* What could not be written yet is bounded by both. */
enum { PENDING_MOST = 60, PENDING_NODES = 400000 };
enum { SERVE_NS = 500000000, PACE_MOST = 64 };
#define KEEP_EVERY_NS UINT64_C(600000000000)

struct arguments {
    struct source_options source;
    const char *config;
    struct daemon_words words;
    bool quiet;
};

struct pending {
    struct profile *profile;
    struct store_slot slot;
};

struct daemon {
    const struct arguments *a;
    struct daemon_settings settings;
    struct store *store;
    struct daemon_fleet *fleet; /* NULL: there is no store */
    struct watch *watch;
    struct pending *pending;
    uint32_t pending_count, pending_capacity;
    uint64_t missed_ns, missed; /* time and samples that were given up, for the next slot */
    uint64_t pace;              /* the period is that of the rate, times this */
    uint64_t cost_ns, wall_ns;  /* CPU time, and CLOCK_MONOTONIC, when the interval began */
    uint64_t kept_ns;           /* CLOCK_MONOTONIC: when garbage was last collected */
    bool failing;               /* the last write failed */
    bool first;                 /* the interval in which all is new costs more */
    sigset_t signals;
    bool stop, reload;
};

#define SETTING_ROW(letter, field_, key, units, least, most, number, fallback_, text)                      \
    {letter, key, "VALUE", .fallback = fallback_, .help = text, .filled = true,     \
     FIELD(struct arguments, words.field_)},
static const struct option_row rows[] = {
    {0, "db", "FILE", .fallback = "/var/lib/penumbra/machine.db, of users ~/.local/state/penumbra",
     .help = "the database", .filled = true, FIELD(struct arguments, source.database)},
    SOURCE_STORE_ROWS(struct arguments, source),
    {0, "config", "FILE", .fallback = DAEMON_CONFIG,
     .help = "settings: lines KEY = VALUE, whose keys are the options below; read again on SIGHUP",
     .filled = true, FIELD(struct arguments, config)},
    DAEMON_SETTINGS(SETTING_ROW)
    {'q', "quiet", .help = "say nothing unless something is wrong",
     FIELD(struct arguments, quiet)},
};

static const struct options options = {
    .command = "daemon",
    .usage = "Usage: penumbra daemon [options]\n\n"
             "Samples all processes and the kernel for as long as it runs, and keeps profiles by "
             "service and hour\n"
             "in a database, which penumbra query reads (docs/daemon.md). It takes root, or the "
             "capabilities\n"
             "that its systemd unit gives it.\n\n"
             "  SIGTERM, SIGINT   write what there is, and end\n"
             "  SIGHUP            read the settings again\n\n"
             "Options:\n",
    .rows = rows,
    .count = sizeof rows / sizeof rows[0],
};

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    fputs("penumbra daemon: ", stderr);
    vfprintf(stderr, format, values);
    fputc('\n', stderr);
    va_end(values);
}

static uint64_t period_of(const struct daemon *d)
{
    return (uint64_t)(1e9 / d->settings.rate) * d->pace;
}

/* CPU time of the daemon so far. */
static uint64_t cost_ns(const struct daemon *d)
{
    /* First: a sender that has ended is waited for there, and is in the other from then on. */
    uint64_t sender = daemon_fleet_cost_ns(d->fleet);
    return watch_cost_ns() + sender;
}

/* ---- beginning ---- */

static void signals_block(struct daemon *d)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigemptyset(&d->signals);
    sigaddset(&d->signals, SIGTERM);
    sigaddset(&d->signals, SIGINT);
    sigaddset(&d->signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &d->signals, NULL);
    sigaction(SIGPIPE, &ignore, NULL);
    sigaction(SIGXFSZ, &ignore, NULL);
}

static bool store_begin(struct daemon *d, struct err *e)
{
    char path[PATH_MAX], host[HOST_NAME_MAX + 1] = "";
    bool unclean;
    umask(077);
    if (!database_path(d->a->source.database, true, path, e) ||
        !store_open(&d->store, path, STORE_MAKE, e) || !store_claim(d->store, e))
        return false;
    gethostname(host, sizeof host - 1);
    if (!store_run_begin(d->store, host, database_now(), &unclean, e))
        return false;
    if (d->a->source.store &&
        !(d->fleet = daemon_fleet_begin(&d->a->source, path, host,
                                        (uint64_t)d->settings.spool_bytes, e)))
        return false;
    if (unclean)
        say("the daemon before this one ended without notice: what it had not written, at most "
            "one interval, is lost");
    return true;
}

static bool begin(struct daemon *d, struct err *e)
{
    char path[PATH_MAX];
    signals_block(d);
    if (!daemon_settings_read(&d->settings, &d->a->words, d->a->config, e) || !store_begin(d, e) ||
        !database_path(d->a->source.database, false, path, e))
        return false;
    d->watch = watch_begin(period_of(d), path, e);
    if (!d->watch)
        return false;
    if (!privileges_look())
        say("processes of other users may not be looked at (CAP_SYS_PTRACE): their stacks are not "
            "walked, and they have no names");
    d->wall_ns = monotonic_ns();
    d->cost_ns = cost_ns(d);
    d->first = true;
    if (!d->a->quiet)
        say("%g samples a second of each CPU, every %g s into %s", d->settings.rate,
            d->settings.interval_ns / 1e9, path);
    return true;
}

/* ---- what was sampled ---- */

static void pending_drop(struct daemon *d)
{
    struct pending *first = &d->pending[0];
    struct profile_totals t;
    profile_totals(first->profile, &t);
    d->missed_ns += (uint64_t)(first->slot.end_ns - first->slot.begin_ns) + first->slot.missed_ns;
    d->missed += t.taken + first->slot.lost;
    profile_free(first->profile);
    memmove(first, first + 1, --d->pending_count * sizeof *first);
}

static uint64_t pending_nodes(const struct daemon *d)
{
    uint64_t nodes = 0;
    for (uint32_t i = 0; i < d->pending_count; i++)
        for (uint32_t k = 0; k < d->pending[i].profile->thread_count; k++)
            nodes += d->pending[i].profile->threads[k].node_count;
    return nodes;
}

static bool pending_add(struct daemon *d, struct profile *p, const struct store_slot *slot)
{
    while (d->pending_count > 1 &&
           (d->pending_count >= PENDING_MOST || pending_nodes(d) > PENDING_NODES))
        pending_drop(d);
    if (!ARRAY_ROOM(d->pending, d->pending_count, d->pending_capacity))
        return false;
    struct pending *to = &d->pending[d->pending_count++];
    *to = (struct pending){p, *slot};
    to->slot.missed_ns += d->missed_ns;
    to->slot.lost += d->missed;
    d->missed_ns = d->missed = 0;
    return true;
}

/* Storage is kept ahead of the walker also while much is written. */
static void serve(void *daemon)
{
    struct daemon *d = daemon;
    if (!d->stop)
        watch_serve(d->watch);
}

/* In order; those that cannot be written stay. False: they never can. */
static bool pending_write(struct daemon *d, struct err *e)
{
    uint32_t done = 0;
    struct err problem = {0};
    for (; done < d->pending_count; done++) {
        struct pending *next = &d->pending[done];
        if (!store_put(d->store, next->profile, &next->slot, &problem))
            break;
        daemon_fleet_put(d->fleet, d->store, next->profile, &next->slot);
        profile_free(next->profile);
        serve(d);
    }
    d->pending_count -= done;
    if (done)
        memmove(d->pending, d->pending + done, d->pending_count * sizeof *d->pending);
    if (problem.code && !d->failing)
        say("%s; what was sampled is kept in memory meanwhile", problem.message);
    if (!problem.code && d->failing)
        say("the database can be written again");
    d->failing = problem.code;
    return problem.code != ERR_FORMAT || err_set(e, ERR_FORMAT, "%s", problem.message);
}

/* Functions get their names now: the files may be gone when somebody asks. */
static void names_read(struct daemon *d, struct profile *p, const struct watch_interval *i)
{
    struct err ignored = {0};
    struct profile *wanted = store_nameless(d->store, p, i->begin_ns, &ignored);
    if (!wanted)
        return;
    watch_name(d->watch, wanted);
    p->names = wanted->names;
    wanted->names = NULL;
    profile_free(wanted);
}

/* ---- what it costs ---- */

static double spent_percent(const struct daemon *d, const struct watch_interval *i,
                            uint64_t cost_ns)
{
    double machine_ns = (double)(monotonic_ns() - d->wall_ns) * i->cpus;
    return machine_ns > 0 ? 100 * (double)cost_ns / machine_ns : 0;
}

/* Twice the period where it cost too much, and half of it again once there is room. */
static void pace_settle(struct daemon *d, double spent)
{
    enum { ROOM = 3 };
    uint64_t before = d->pace;
    if (spent > d->settings.budget && d->pace < PACE_MOST)
        d->pace *= 2;
    else if (spent * ROOM < d->settings.budget && d->pace > 1)
        d->pace /= 2;
    if (d->pace == before)
        return;
    watch_pace(d->watch, period_of(d));
    if (!d->a->quiet)
        say("the last interval cost %.2f%% of the machine: %g samples a second of each CPU", spent,
            d->settings.rate / (double)d->pace);
}

/* ---- an interval ---- */

static bool interval_put(struct daemon *d, struct profile *p, const struct watch_interval *i,
                         struct err *e)
{
    enum { NAMES_SHARE = 2 }; /* of the budget is what may be spent before names are read */
    double spent = spent_percent(d, i, cost_ns(d) - d->cost_ns);
    if (spent * NAMES_SHARE < d->settings.budget || d->first || d->stop)
        names_read(d, p, i);
    const struct store_slot slot = {.begin_ns = i->begin_ns, .end_ns = i->end_ns,
                                    .period_ns = i->period_ns, .cpus = i->cpus, .lost = i->lost,
                                    .cost_ns = cost_ns(d) - d->cost_ns};
    if (!pending_add(d, p, &slot)) {
        profile_free(p);
        return err_set(e, ERR_INTERNAL, "out of memory");
    }
    if (!pending_write(d, e))
        return false;
    if (!d->first && !d->stop)
        pace_settle(d, spent_percent(d, i, cost_ns(d) - d->cost_ns));
    d->first = false;
    return true;
}

static bool interval_end(struct daemon *d, struct err *e)
{
    struct watch_interval i = {0};
    struct err problem = {0};
    struct profile *p = watch_take(d->watch, &i, &problem);
    if (!p) {
        say("%s", problem.message);
        d->missed_ns += (uint64_t)(i.end_ns - i.begin_ns);
    }
    bool ok = !p || interval_put(d, p, &i, e);
    d->wall_ns = monotonic_ns();
    d->cost_ns = cost_ns(d);
    return ok;
}

static void garbage_collect(struct daemon *d)
{
    const struct store_bounds bounds = {(uint64_t)d->settings.keep_ns,
                                        (uint64_t)d->settings.most_bytes};
    struct store_kept done;
    struct err problem = {0};
    d->kept_ns = monotonic_ns();
    store_between(d->store, serve, d);
    if (!store_keep(d->store, &bounds, database_now(), &done, &problem) && !d->failing)
        say("%s", problem.message);
}

static void settings_reload(struct daemon *d)
{
    struct err problem = {0};
    d->reload = false;
    if (!daemon_settings_read(&d->settings, &d->a->words, d->a->config, &problem)) {
        say("%s; the settings are as they were", problem.message);
        return;
    }
    watch_pace(d->watch, period_of(d));
    daemon_fleet_most(d->fleet, (uint64_t)d->settings.spool_bytes);
    d->kept_ns = 0;
    say("settings read again: %g samples a second of each CPU, every %g s", d->settings.rate,
        d->settings.interval_ns / 1e9);
}

/* Until the interval is over, or a signal comes. */
static void interval_wait(struct daemon *d)
{
    uint64_t end = d->wall_ns + (uint64_t)d->settings.interval_ns;
    for (uint64_t now; !d->stop && !d->reload && (now = monotonic_ns()) < end;) {
        uint64_t left = end - now;
        const struct timespec most = {0, (long)(left < SERVE_NS ? left : SERVE_NS)};
        int number = sigtimedwait(&d->signals, NULL, &most);
        d->stop = number == SIGTERM || number == SIGINT;
        d->reload = number == SIGHUP;
        watch_serve(d->watch);
    }
}

static bool run(struct daemon *d, struct err *e)
{
    bool ok = begin(d, e);
    while (ok && !d->stop) {
        interval_wait(d);
        if (d->reload)
            settings_reload(d);
        if (d->stop)
            watch_stop(d->watch);
        ok = interval_end(d, e);
        if (ok && !d->stop && (!d->kept_ns || monotonic_ns() - d->kept_ns > KEEP_EVERY_NS))
            garbage_collect(d);
    }
    if (ok && d->pending_count)
        ok = err_set(e, ERR_OUTPUT, "the last %u intervals could not be written and are lost",
                     d->pending_count);
    return ok && store_run_end(d->store, database_now(), e);
}

int command_daemon(int argc, char **argv)
{
    struct arguments a = {.quiet = false};
    struct daemon d = {.a = &a, .pace = 1};
    struct err e = {0};
    int first, status;
    if (!options_take(&options, argc, argv, &a, &first, &status))
        return status;
    bool ok = first == argc || err_set(&e, ERR_USAGE, "\"%s\" is one word too many", argv[first]);
    ok = ok && source_check(&a.source, &e) && run(&d, &e);
    daemon_fleet_end(d.fleet);
    watch_free(d.watch);
    for (uint32_t i = 0; i < d.pending_count; i++)
        profile_free(d.pending[i].profile);
    free(d.pending);
    store_close(d.store);
    return ok ? 0 : command_fail("daemon", &e);
}
