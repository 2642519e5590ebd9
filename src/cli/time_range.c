#include "cli/time_range.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "profile/timeline.h"

#define YEAR_NS (366 * 86400e9)

static bool parse_end(const char *text, uint64_t duration_ns, uint64_t missing, uint64_t *ns,
                      struct err *e)
{
    double value;
    size_t length = strlen(text);
    bool percent = length && text[length - 1] == '%';
    *ns = missing;
    if (!length)
        return true;
    if (!number_parse(text, percent ? number_percent : number_durations, 0, percent ? 100 : YEAR_NS,
                      "--time", &value, e))
        return false;
    *ns = (uint64_t)(percent ? value / 100 * (double)duration_ns : value);
    return true;
}

bool time_range_keep(struct profile *p, const char *text, const char *metric, struct err *e)
{
    if (!text)
        return true;
    if (metric)
        return err_set(
            e, ERR_USAGE,
            "--time does not go with --metric %s: it is known when memory was allocated, but "
            "not when it was live",
            metric);
    const char *dots = strstr(text, "..");
    char *first = dots ? strndup(text, (size_t)(dots - text)) : NULL;
    uint64_t from, to;
    bool ok = first && parse_end(first, p->duration_ns, 0, &from, e) &&
              parse_end(dots + 2, p->duration_ns, p->duration_ns, &to, e);
    free(first);
    if (!dots)
        return err_set(e, ERR_USAGE,
                       "--time wants FROM..TO, such as 2.5..4 or 50%%..100%%, not \"%s\"", text);
    if (ok && (from >= to || (p->duration_ns && from >= p->duration_ns)))
        ok = err_set(e, ERR_USAGE, "--time %s: nothing lies there; the recording lasted %.6g s",
                     text, (double)p->duration_ns / 1e9);
    if (ok && p->duration_ns && to > p->duration_ns)
        to = p->duration_ns;
    return ok && profile_keep_time(p, from, to, e);
}

bool time_range_join(char text[TIME_RANGE_SIZE], const char *from, const char *to, struct err *e)
{
    int length = snprintf(text, TIME_RANGE_SIZE, "%s..%s", from ? from : "", to ? to : "");
    if ((from && strstr(from, "..")) || (to && strstr(to, "..")) || length >= TIME_RANGE_SIZE)
        return err_set(e, ERR_USAGE,
                       "--from and --to want a time each, such as 2.5, 2.5s or 50%%, not \"%s\"",
                       to && (!from || !strstr(from, "..")) ? to : from);
    return true;
}
