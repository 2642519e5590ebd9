/* write_database FILE: a profile database of the last three hours, for the tests of penumbra serve.
 *
 *      -3 h                  -2 h             -1 h                   now
 *        | web.service: work    |                | web.service: main    |
 *        | db.service: work     |                | db.service: work     |
 *        | HOSTILE: work        |                | HOSTILE: work        |
 *
 * Each has 400 samples of 50 ms. It prints when the second one of the hours begins and ends, in
 * seconds since 1970. */
#include <time.h>

#include "../../unit/database/interval.h"
#include "database/store.h"

#define HOSTILE "</script><img src=//hostile.invalid/x onerror=alert(1)>\"'&\\\x1b"

enum { SAMPLES = 400, PROGRAMS = 3, HOUR_S = 3600, MAIN_LEAF = 0x1030, WORK_LEAF = 0x2030 };

static bool put(struct store *s, int64_t begin_s, uint64_t leaf, struct err *e)
{
    const struct interval_program programs[PROGRAMS] = {
        {"web.service", "httpd", "/usr/bin/httpd", leaf, SAMPLES},
        {"db.service", "sqld", "/usr/bin/sqld", WORK_LEAF, SAMPLES},
        {HOSTILE, HOSTILE, "/usr/bin/" HOSTILE, WORK_LEAF, SAMPLES}};
    struct profile *p = interval_make(programs, PROGRAMS);
    const struct store_slot slot = {.begin_ns = begin_s * 1000000000,
                                    .end_ns = (begin_s + HOUR_S) * 1000000000,
                                    .period_ns = 50000000, .cpus = 2, .cost_ns = 1000000000};
    bool ok = store_put(s, p, &slot, e);
    profile_free(p);
    return ok;
}

int main(int argc, char **argv)
{
    struct err e = {0};
    struct store *s = NULL;
    bool unclean;
    const int64_t now = (int64_t)time(NULL);
    bool ok = argc == 2 && store_open(&s, argv[1], STORE_MAKE, &e) &&
              store_run_begin(s, "host", now * 1000000000, &unclean, &e) &&
              put(s, now - 3 * HOUR_S, WORK_LEAF, &e) && put(s, now - HOUR_S, MAIN_LEAF, &e) &&
              store_run_end(s, now * 1000000000, &e);
    store_close(s);
    if (ok)
        printf("%lld %lld\n", (long long)now - HOUR_S, (long long)now);
    else
        fprintf(stderr, "write_database: %s\n", e.message);
    return !ok;
}
