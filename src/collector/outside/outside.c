#include "collector/outside/outside.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collector/measure.h"
#include "collector/outside/outside_process.h"
#include "collector/record_living.h"
#include "sigsafe/random.h"
#include "sigsafe/settings.h"

/* A round uses one part in so many of the time to the next: 5% of a processor. Where no process has
 * threads to be looked at, one is soon enough known. */
enum { SPARE = 20, IDLE_NS = 50000000 };

struct outside_rounds {
    struct outside_tools tools;
    struct outside_process *processes;
    struct record_living living; /* noted: has been opened, or could not be */
    uint64_t random;
    bool randomize;
    const uint32_t *stop; /* a futex */
};

static bool is_readable(const char *path)
{
    char text[128];
    FILE *f = fopen(path, "re");
    bool ok = f && fgets(text, sizeof text, f);
    if (f)
        fclose(f);
    return ok;
}

bool outside_is_possible(void)
{
    return is_readable("/proc/self/schedstat") && is_readable("/proc/self/syscall");
}

/* Of those that still run. One number stands for one process: the newest with it. */
static void processes_find(struct outside_rounds *r)
{
    record_living_poll(&r->living, r->tools.spool);
    for (uint32_t i = 0; i < r->living.count; i++) {
        struct record_life *life = &r->living.list[i];
        struct spool_process *record = life->record;
        if (life->noted || record->state != PROCESS_RUNNING ||
            (r->tools.watches && !outside_is_asked(record)))
            continue;
        life->noted = true;
        struct outside_process *p = outside_process_open(&r->tools, record);
        if (r->tools.watches)
            outside_answer(record, p);
        if (!p)
            continue;
        p->next = r->processes;
        r->processes = p;
    }
}

static void round_do(struct outside_rounds *r)
{
    processes_find(r);
    for (struct outside_process **at = &r->processes; *at;) {
        struct outside_process *p = *at;
        if (outside_process_round(&r->tools, p)) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        outside_process_close(&r->tools, p);
    }
}

static uint64_t draw(struct outside_rounds *r)
{
    uint64_t x = random_next(&r->random);
    return r->randomize ? r->tools.period / 2 + x % (r->tools.period + 1) : r->tools.period;
}

/* Until it is to stop, at most: a period may be long. */
static void rest(const struct outside_rounds *r, uint64_t ns)
{
    struct timespec most = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    syscall(SYS_futex, r->stop, FUTEX_WAIT_PRIVATE, 0, &most, NULL, 0);
}

static void *rounds_run(void *context)
{
    struct outside_rounds *r = context;
    for (;;) {
        bool last = __atomic_load_n(r->stop, __ATOMIC_ACQUIRE);
        uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID), wait = draw(r);
        round_do(r);
        if (last)
            break;
        cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
        if (wait < SPARE * cpu)
            wait = SPARE * cpu;
        if (!r->processes && wait < IDLE_NS)
            wait = IDLE_NS;
        rest(r, wait);
    }
    while (r->processes) {
        struct outside_process *p = r->processes;
        r->processes = p->next;
        outside_process_close(&r->tools, p);
    }
    return NULL;
}

static struct outside_rounds *rounds_make(const struct record_spool *spool,
                                          const uint32_t *stop)
{
    const struct spool_config *c = settings_sampling(&spool->spool);
    struct outside_rounds *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->tools.spool = &spool->spool;
    r->tools.spool_name = strrchr(spool->path, '/') ? strrchr(spool->path, '/') + 1 : spool->path;
    r->tools.period = c->period ? c->period : 1;
    r->tools.frames_max = c->max_depth;
    r->tools.frames = calloc(c->max_depth, sizeof *r->tools.frames);
    r->tools.unwind.fetch = outside_memory_fetch;
    r->tools.unwind.fetch_context = &r->tools.memory;
    r->tools.watches = !c->outside;
    r->randomize = c->randomize;
    r->stop = stop;
    if (getrandom(&r->random, sizeof r->random, 0) != sizeof r->random || !r->random)
        r->random = monotonic_ns() | 1;
    if (r->tools.frames)
        return r;
    free(r);
    return NULL;
}

void outside_descriptors_allow(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= limit.rlim_max)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

bool outside_start(struct outside *o, const struct record_spool *spool, struct err *e)
{
    sigset_t all, before;
    outside_descriptors_allow();
    o->stop = 0;
    o->rounds = rounds_make(spool, &o->stop);
    if (!o->rounds)
        return err_set(e, ERR_INTERNAL, "out of memory");
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&o->thread, NULL, rounds_run, o->rounds);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    o->started = error == 0;
    return o->started || err_set_errno(e, ERR_INTERNAL, error,
                                       "cannot make a thread that looks at those that wait");
}

static void put_unseen(struct buf *notes, const struct outside_unseen *u)
{
    if (u->watched)
        buf_printf(notes,
                   "%llu thread%s waited so often that what they waited for was looked at from "
                   "outside; their calls are not counted from then on\n",
                   (unsigned long long)u->watched, u->watched == 1 ? "" : "s");
    if (u->ready)
        buf_printf(
            notes,
            "%llu periods are [unattributed]: threads were ready, and waited for a processor\n",
            (unsigned long long)u->ready);
    if (u->elsewhere)
        buf_printf(
            notes,
            "%llu periods are [unattributed]: waits of threads that were never found waiting\n",
            (unsigned long long)u->elsewhere);
    if (u->refused)
        buf_printf(notes,
                   "%llu looks at threads that wait were refused: %s (processes that have changed "
                   "their user, or forbid "
                   "it; root may look)\n",
                   (unsigned long long)u->refused, strerror(u->error));
}

void outside_stop(struct outside *o, struct buf *notes)
{
    if (!o->started)
        return;
    __atomic_store_n(&o->stop, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &o->stop, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    pthread_join(o->thread, NULL);
    o->started = false;
    put_unseen(notes, &o->rounds->tools.unseen);
    record_living_free(&o->rounds->living);
    free(o->rounds->tools.frames);
    free(o->rounds);
    o->rounds = NULL;
}
