/* `penumbra query`: what a profile database has of a range of time, as any report of a profile. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/command.h"
#include "cli/database.h"
#include "cli/database_json.h"
#include "cli/options.h"
#include "cli/source.h"
#include "database/store.h"
#include "profile/encode.h"
#include "report/json.h"
#include "report/text.h"

enum { SIDES = 2, WORDS_MOST = 256, NAME_COLUMNS = 40 };

struct arguments {
    struct source_options source;
    const char *last, *from, *to, *before, *after;
    const char *host, *service, *program, *binary, *function, *metric;
    const char *output, *html;
    bool json, addresses;
    const char *view;
    char **more; /* for report or diff */
    int more_count;
};

static const char *metric_only(unsigned index)
{
    return index ? NULL : "cpu";
}

static bool take_metric(void *arguments, const char *value, struct err *e)
{
    ((struct arguments *)arguments)->metric = value;
    return !strcmp(value, "cpu") ||
           err_set(e, ERR_USAGE, "--metric %s: the database has CPU time (cpu)", value);
}

static const struct option_row rows[] = {
    {.help = "When"},
    {0, "last", "DURATION", .fallback = DATABASE_LAST, .help = "the time up to now: 10m, 6h, 7d",
     .filled = true, FIELD(struct arguments, last)},
    {0, "from", "TIME",
     .help = "from then on: 2026-11-27, \"2026-11-27 14:30\", 14:30 (today), -2h (two hours ago)",
     .filled = true, FIELD(struct arguments, from)},
    {0, "to", "TIME", .help = "up to then", .filled = true, FIELD(struct arguments, to)},
    {0, "before", "RANGE", .help = "of diff: FROM..TO, or the time up to now", .filled = true,
     FIELD(struct arguments, before)},
    {0, "after", "RANGE", .help = "of diff: what is compared with it", .filled = true,
     FIELD(struct arguments, after)},
    {.help = "What"},
    {0, "service", "NAME", .help = "only this service, as services lists it", .filled = true,
     FIELD(struct arguments, service)},
    {0, "program", "NAME", .help = "only processes of this name", .filled = true,
     FIELD(struct arguments, program)},
    {0, "binary", "NAME",
     .help = "only samples whose innermost frame is in this file: its name, path or build-id, or "
             "[kernel]",
     .filled = true, FIELD(struct arguments, binary)},
    {0, "function", "NAME", .help = "only call paths through functions whose names hold NAME",
     .filled = true, FIELD(struct arguments, function)},
    {0, "host", "NAME", .help = "only what this machine has sampled", .filled = true,
     FIELD(struct arguments, host)},
    {0, "metric", "cpu", .help = "what is counted", .word = metric_only, .take = take_metric},
    {.help = "Output"},
    {0, "json", .help = "as JSON (docs/json.md)", FIELD(struct arguments, json)},
    {0, "html", "FILE", .help = "one self-contained page with an interactive flame graph",
     .filled = true, FIELD(struct arguments, html)},
    {'o', "output", "FILE.pnb",
     .help = "an ordinary profile, with all addresses: for report, annotate, export, diff, merge",
     .filled = true, FIELD(struct arguments, output)},
    {0, "addresses", .help = "keep the addresses of a function apart, as -o does",
     FIELD(struct arguments, addresses)},
    SOURCE_ROWS(struct arguments, source),
};

static const struct options options = {
    .command = "query",
    .usage = "Usage: penumbra query [options] [top|tree|services|diff] [-- OPTIONS]\n"
             "Reports what a profile database (penumbra daemon) has of a range of time.\n\n"
             "  top        functions by their own samples (the default)\n"
             "  tree       calling contexts from the root down\n"
             "  services   services and their programs by CPU time\n"
             "  diff       what changed between two ranges, and whether it is more than chance\n\n"
             "OPTIONS are those of penumbra report, or of penumbra diff.\n\n"
             "  penumbra query --last 6h --service ssh.service tree\n"
             "  penumbra query diff --before 2026-11-26..2026-11-27 --after 24h\n"
             "  penumbra query --from 14:00 --to 14:30 -o slow.pnb\n\n",
    .rows = rows,
    .count = sizeof rows / sizeof rows[0],
    .before_program = true,
};

/* ---- arguments ---- */

static bool is_view(const char *word)
{
    static const char *const views[] = {"top", "tree", "services", "diff"};
    for (unsigned i = 0; i < sizeof views / sizeof views[0]; i++)
        if (!strcmp(word, views[i]))
            return true;
    return false;
}

static bool is_diff(const struct arguments *a)
{
    return !strcmp(a->view, "diff");
}

static bool check(const struct arguments *a, struct err *e)
{
    bool ranged = a->last || a->from || a->to, sides = a->before || a->after;
    if (is_diff(a) && (ranged || !a->before || !a->after))
        return err_set(e, ERR_USAGE, "diff takes two ranges: --before RANGE --after RANGE");
    if (!is_diff(a) && sides)
        return err_set(e, ERR_USAGE, "--before and --after are of penumbra query diff");
    if (a->output && (a->json || a->html || is_diff(a)))
        return err_set(e, ERR_USAGE, "-o writes a profile; give it alone, and report that file");
    return !a->json || !a->html || err_set(e, ERR_USAGE, "--json and --html are different outputs");
}

/* Options may stand before the view and after it. */
static bool take_words(struct arguments *a, int argc, char **argv, int *status, struct err *e)
{
    int at = 0;
    a->view = "top";
    while (at < argc) {
        int first;
        if (!options_take(&options, argc - at, argv + at, a, &first, status))
            return false;
        at += first;
        bool ended = strcmp(argv[at - 1], "--") == 0;
        if (at == argc || ended)
            break;
        if (!is_view(argv[at]))
            return err_set(e, ERR_USAGE, "\"%s\" is no view: top, tree, services or diff",
                           argv[at]);
        a->view = argv[at];
    }
    a->more = argv + at;
    a->more_count = argc - at;
    return a->more_count < WORDS_MOST / 2 ||
           err_set(e, ERR_USAGE, "too many options for report");
}

static struct store_query query_of(const struct arguments *a, const struct database_range *range)
{
    return (struct store_query){.from_ns = range->from_ns, .to_ns = range->to_ns, .host = a->host,
                                .service = a->service, .program = a->program, .binary = a->binary,
                                .function = a->function, .fold = !a->output && !a->addresses};
}

/* ---- services ---- */

struct listing {
    bool as_json;
    struct json json;
    uint64_t all_ns;
    struct store_range range;
};

static void service_add_up(void *context, const struct store_service *s)
{
    ((struct listing *)context)->all_ns += s->weight_ns;
}

static void service_put(void *context, const struct store_service *s)
{
    struct listing *l = context;
    if (l->as_json) {
        database_service_json(&l->json, s);
        return;
    }
    printf("%6.2f%% %12.2f  ", text_share(s->weight_ns, l->all_ns),
           (double)s->weight_ns / 1e9);
    size_t used = text_name(stdout, s->service, NAME_COLUMNS);
    printf("%*s  ", (int)(NAME_COLUMNS - used), "");
    text_name(stdout, s->program, 0);
    putchar('\n');
}

static void range_put(const struct store_range *r)
{
    printf("%" PRIu64 " intervals, %.0f s sampled", r->slots, (double)r->covered_ns / 1e9);
    if (r->unclean)
        printf("; the daemon ended %" PRIu64 " time%s without notice, and lost at most an interval "
               "each time", r->unclean, r->unclean == 1 ? "" : "s");
    if (r->missed_ns)
        printf("; %.0f s could not be written", (double)r->missed_ns / 1e9);
    if (r->lost)
        printf("; %" PRIu64 " samples lost", r->lost);
    printf("; the daemon used %.2f s of CPU time\n", (double)r->cost_ns / 1e9);
}

static bool services(struct source *s, const struct store_query *q, const struct arguments *a,
                     struct err *e)
{
    struct buf out = {0};
    struct listing l = {.as_json = a->json, .json = {.out = &out}};
    if (!source_services(s, q, service_add_up, &l, &l.range, e))
        return false;
    if (!l.range.slots)
        return err_set(e, ERR_NOT_FOUND, "the database has nothing of this range");
    if (a->json)
        json_open(&l.json, '[');
    else {
        range_put(&l.range);
        printf("%7s %12s  %-*s  %s\n", "share", "seconds", (int)NAME_COLUMNS, "service",
               "program");
    }
    bool ok = source_services(s, q, service_put, &l, &l.range, e);
    if (a->json) {
        json_close(&l.json, ']');
        buf_put_u8(&out, '\n');
        fwrite(out.data, 1, out.size, stdout);
    }
    ok = ok && buf_ok(&out);
    buf_free(&out);
    return ok;
}

/* ---- profiles ---- */

static struct profile *profile_of(struct source *s, const struct arguments *a,
                                  const struct database_range *range, struct err *e)
{
    struct store_range found;
    const struct store_query q = query_of(a, range);
    return source_get(s, &q, &found, e);
}

/* A file in memory with the profile, which lasts as long as this process, and is read once. */
static bool file_of(const struct profile *p, char path[PATH_MAX], struct err *e)
{
    size_t size;
    uint8_t *bytes = profile_encode_with(p, false, &size, e);
    int fd = bytes ? memfd_create("penumbra-query", MFD_CLOEXEC) : -1;
    bool ok = bytes && fd >= 0;
    for (size_t at = 0; ok && at < size;) {
        ssize_t n = write(fd, bytes + at, size - at);
        ok = n > 0 || errno == EINTR;
        at += n > 0 ? (size_t)n : 0;
    }
    free(bytes);
    if (ok)
        snprintf(path, PATH_MAX, "/proc/self/fd/%d", fd);
    return ok || !bytes || err_set_errno(e, ERR_OUTPUT, errno, "cannot keep the profile in memory");
}

static bool file_make(struct source *s, const struct arguments *a,
                      const struct database_range *range, char path[PATH_MAX], struct err *e)
{
    struct profile *p = profile_of(s, a, range, e);
    bool ok = p && (a->output ? profile_write(p, a->output, e) : file_of(p, path, e));
    profile_free(p);
    return ok;
}

/* What report, or diff, is run with. */
static int show(const struct arguments *a, char paths[SIDES][PATH_MAX])
{
    static char report[] = "report", diff[] = "diff", tree[] = "--tree", json[] = "--json",
                quick[] = "--quick", html[] = "--html";
    char *words[WORDS_MOST];
    int count = 0;
    words[count++] = is_diff(a) ? diff : report;
    words[count++] = quick;
    if (!strcmp(a->view, "tree") && !a->html)
        words[count++] = tree;
    if (a->json)
        words[count++] = json;
    if (a->html) {
        words[count++] = html;
        words[count++] = (char *)a->html;
    }
    for (int i = 0; i < a->more_count; i++)
        words[count++] = a->more[i];
    words[count++] = paths[0];
    if (is_diff(a))
        words[count++] = paths[1];
    words[count] = NULL;
    return is_diff(a) ? command_diff(count, words) : command_report(count, words);
}

static bool run(const struct arguments *a, int *status, struct err *e)
{
    static char paths[SIDES][PATH_MAX];
    struct source *s = NULL;
    struct database_range range, after;
    int64_t now = database_now();
    bool ok = is_diff(a) ? database_range(a->before, "--before", now, &range, e) &&
                               database_range(a->after, "--after", now, &after, e)
                         : database_between(a->last, a->from, a->to, &range, e);
    ok = ok && source_open(&s, &a->source, e);
    bool listed = !strcmp(a->view, "services");
    const struct store_query q = query_of(a, &range);
    ok = ok && (listed ? services(s, &q, a, e) : file_make(s, a, &range, paths[0], e));
    if (ok && is_diff(a))
        ok = file_make(s, a, &after, paths[1], e);
    source_close(s);
    if (ok && !listed && !a->output)
        *status = show(a, paths);
    return ok;
}

int command_query(int argc, char **argv)
{
    struct arguments a = {.json = false};
    struct err e = {0};
    int status = 0;
    bool ok = take_words(&a, argc, argv, &status, &e);
    if (!ok && !e.code)
        return status;
    ok = ok && check(&a, &e) && run(&a, &status, &e);
    return ok ? status : command_fail("query", &e);
}
