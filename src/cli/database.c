#include "cli/database.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/numbers.h"

#define YEARS_NS (100 * 366 * 86400e9)

/* ---- where ---- */

static bool folder_make(const char *path, struct err *e)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *at = strchr(folder + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        if (mkdir(folder, 0700) && errno != EEXIST)
            return err_set_errno(e, ERR_OUTPUT, errno, "cannot make the folder %s", folder);
        *at = '/';
    }
    return true;
}

bool database_path(const char *given, bool make, char path[PATH_MAX], struct err *e)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int n;
    if (given)
        n = snprintf(path, PATH_MAX, "%s", given);
    else if (!geteuid())
        n = snprintf(path, PATH_MAX, "/var/lib/penumbra/machine.db");
    else if (state && *state == '/')
        n = snprintf(path, PATH_MAX, "%s/penumbra/machine.db", state);
    else if (home && *home == '/')
        n = snprintf(path, PATH_MAX, "%s/.local/state/penumbra/machine.db", home);
    else
        return err_set(e, ERR_USAGE, "where is the database? Neither XDG_STATE_HOME nor HOME says "
                                     "it: give --db FILE");
    if (n < 0 || n >= PATH_MAX)
        return err_set(e, ERR_USAGE, "the database's path is too long (--db)");
    return given || !make || folder_make(path, e);
}

/* ---- when ---- */

int64_t database_now(void)
{
    struct timespec t = {0};
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool date_parse(const char *text, int64_t now_ns, int64_t *ns)
{
    static const char *const formats[] = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S",
                                          "%Y-%m-%dT%H:%M",    "%Y-%m-%d %H:%M",
                                          "%Y-%m-%d",          "%H:%M:%S",
                                          "%H:%M"};
    for (unsigned i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        struct tm t = {0};
        time_t now = (time_t)(now_ns / 1000000000);
        if (formats[i][1] == 'H')
            localtime_r(&now, &t);
        t.tm_hour = t.tm_min = t.tm_sec = 0;
        const char *end = strptime(text, formats[i], &t);
        bool utc = end && !strcmp(end, "Z");
        if (!end || (*end && !utc))
            continue;
        t.tm_isdst = -1;
        time_t seconds = utc ? timegm(&t) : mktime(&t);
        if ((double)llabs(seconds) > YEARS_NS / 1e9)
            return false;
        *ns = (int64_t)seconds * 1000000000;
        return true;
    }
    return false;
}

bool database_moment(const char *text, const char *option, int64_t now_ns, int64_t *ns,
                     struct err *e)
{
    double value;
    if (!strcmp(text, "now")) {
        *ns = now_ns;
        return true;
    }
    if (*text == '-' || *text == '@') {
        if (!number_parse(text + 1, number_durations, 0, YEARS_NS, option, &value, e))
            return false;
        *ns = *text == '-' ? now_ns - (int64_t)value : (int64_t)value;
        return true;
    }
    return date_parse(text, now_ns, ns) ||
           err_set(e, ERR_USAGE,
                   "%s wants a time, such as 2026-11-27, \"2026-11-27 14:30\", 14:30, -2h (two "
                   "hours ago) or now, not \"%s\"", option, text);
}

bool database_range(const char *text, const char *option, int64_t now_ns,
                    struct database_range *range, struct err *e)
{
    double value;
    const char *dots = strstr(text, "..");
    *range = (struct database_range){INT64_MIN, INT64_MAX};
    if (!dots) {
        if (!number_parse(text, number_durations, 1, YEARS_NS, option, &value, e))
            return false;
        range->from_ns = now_ns - (int64_t)value;
        return true;
    }
    char *first = strndup(text, (size_t)(dots - text));
    if (!first)
        return err_set(e, ERR_INTERNAL, "out of memory");
    bool ok = (!*first || database_moment(first, option, now_ns, &range->from_ns, e)) &&
         (!dots[2] || database_moment(dots + 2, option, now_ns, &range->to_ns, e));
    free(first);
    return ok && (range->from_ns < range->to_ns ||
                  err_set(e, ERR_USAGE, "%s %s: it ends before it begins", option, text));
}

bool database_between(const char *last, const char *from, const char *to,
                      struct database_range *range, struct err *e)
{
    int64_t now = database_now();
    *range = (struct database_range){INT64_MIN, INT64_MAX};
    if (last && (from || to))
        return err_set(e, ERR_USAGE, "--last is a range; give it without --from and --to");
    if (!from && !to)
        return database_range(last ? last : DATABASE_LAST, "--last", now, range, e);
    return (!from || database_moment(from, "--from", now, &range->from_ns, e)) &&
           (!to || database_moment(to, "--to", now, &range->to_ns, e)) &&
           (range->from_ns < range->to_ns ||
            err_set(e, ERR_USAGE, "--to %s is not after --from", to ? to : "now"));
}
