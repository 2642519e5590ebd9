/* fleet_send SPOOL URL HOST BEGIN COUNT SECONDS CPUS: puts so many batches, of so many seconds
 * each, into a spool, from BEGIN on (seconds since 1970), and sends what the spool has. URL -:
 * sends nothing. COUNT 0: sends only. A failure is one line on standard error, and status 1.
 *
 * FLEET_SEND_BROKEN in the environment: a file that ends so cannot be read, as its disk fails.
 *
 * Each batch has web.service: work 7, db.service: main 5 and HOSTILE: work 1, of 50 ms. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../unit/database/interval.h"
#include "fleet/queue.h"
#include "fleet/send.h"

#define HOSTILE "</script>\t\n\\'\"'; DROP TABLE samples; --\x1b\xff"

enum { PROGRAMS = 3, WORDS = 8, TIMEOUT_MS = 20000 };

ssize_t read(int fd, void *to, size_t size)
{
    char link[64], path[PATH_MAX];
    const char *broken = getenv("FLEET_SEND_BROKEN");
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = broken ? readlink(link, path, sizeof path) : -1;
    if (n < 0 || (size_t)n < strlen(broken) ||
        memcmp(path + (size_t)n - strlen(broken), broken, strlen(broken)) != 0)
        return syscall(SYS_read, fd, to, size);
    errno = EIO;
    return -1;
}

static bool put(struct queue *queue, const char *host, int64_t begin_s, int64_t length_s,
                uint32_t cpus, struct err *e)
{
    static const struct interval_program programs[PROGRAMS] = {
        {"web.service", "httpd", "/usr/bin/httpd", 0x2030, 7},
        {"db.service", "sqld", "/usr/bin/sqld", 0x1030, 5},
        {HOSTILE, HOSTILE, "/usr/bin/" HOSTILE, 0x2030, 1}};
    struct profile *p = interval_make(programs, PROGRAMS);
    const struct store_slot slot = {.begin_ns = begin_s * 1000000000,
                                    .end_ns = (begin_s + length_s) * 1000000000,
                                    .period_ns = 50000000, .cpus = cpus, .lost = 1,
                                    .cost_ns = 1000000};
    struct buf bytes = {0};
    struct queue_lost lost;
    uint64_t number = 0;
    bool ok = getrandom(&number, sizeof number, 0) == sizeof number &&
              batch_make(p, p->names, &slot, host, number, &bytes, e) &&
              queue_put(queue, &bytes, &lost, e);
    buf_free(&bytes);
    profile_free(p);
    return ok;
}

static bool send(const char *spool, const char *url, struct err *e)
{
    const struct fleet_options options = {.url = url, .timeout_ms = TIMEOUT_MS};
    struct fleet *f = NULL;
    struct sent_set *known = sent_set_new();
    bool ok = known && fleet_open(&f, &options, e) && sender_run(f, spool, known, e);
    fleet_close(f);
    sent_set_free(known);
    return ok;
}

int main(int argc, char **argv)
{
    struct err e = {0};
    struct queue *queue = NULL;
    bool ok = argc == WORDS && queue_open(&queue, argv[1], UINT64_C(1) << 30, &e);
    int64_t begin = ok ? atoll(argv[4]) : 0, length = ok ? atoll(argv[6]) : 0;
    for (int64_t i = 0; ok && i < atoll(argv[5]); i++)
        ok = put(queue, argv[3], begin + i * length, length, (uint32_t)atoll(argv[7]), &e);
    ok = ok && (!strcmp(argv[2], "-") || send(argv[1], argv[2], &e));
    queue_close(queue);
    if (!ok)
        fprintf(stderr, "fleet_send: %s\n", e.message);
    return !ok;
}
