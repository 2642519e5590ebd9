#include "collector/watch/watch.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "collector/callbacks.h"
#include "collector/describe.h"
#include "collector/events.h"
#include "collector/machine/machine.h"
#include "collector/machine/machine_kernel.h"
#include "collector/measure.h"
#include "collector/outside/outside.h"
#include "collector/record_files.h"
#include "collector/record_names.h"
#include "collector/record_spool.h"
#include "collector/watch/privileges.h"
#include "profile/spool_read.h"
#include "sigsafe/settings.h"

enum { DEPTH = 128 };

struct watch {
    struct machine *machine;
    struct machine_symbols *kernel;
    struct record_spool spools[2]; /* in turn; the machine has the address of the current one */
    unsigned current;
    bool spooled;
    struct record_files files;
    char *folder;
    uint64_t period_ns;
    int64_t begin_ns;    /* of the interval, CLOCK_REALTIME */
    uint64_t begin_mono; /* the same by CLOCK_MONOTONIC */
    uint64_t lost;       /* before the interval */
    uint32_t cpus;
    unsigned hurried;    /* nobody ever is */
};

static bool spool_make(const struct watch *w, struct record_spool *s, struct err *e)
{
    const char *period;
    const struct event *cpu = events_find("cpu", &period, e);
    if (!cpu)
        return false;
    struct settings all = {.sampling = {.trigger = cpu->trigger,
                                        .mechanism = MECHANISM_PERF,
                                        .perf_type = cpu->perf_type,
                                        .perf_config = cpu->perf_config,
                                        .signal = SIGTRAP,
                                        .period = w->period_ns,
                                        .max_depth = DEPTH}};
    if (!record_spool_create(s, NULL, w->folder, RECORD_RESERVE_LITTLE, e))
        return false;
    struct spool_header *h = spool_header(&s->spool);
    if (!settings_put(&s->spool, &all)) {
        record_spool_release(s, true);
        return err_set(e, ERR_INTERNAL, "the spool has no room for what is to be recorded");
    }
    s->settings = h->settings;
    h->collector_pid = getpid();
    h->start_realtime_ns = clock_ns(CLOCK_REALTIME);
    h->start_monotonic_ns = monotonic_ns();
    return true;
}

static void interval_begin(struct watch *w, const struct record_spool *s)
{
    const struct spool_header *h = spool_header(&s->spool);
    w->begin_ns = (int64_t)h->start_realtime_ns;
    w->begin_mono = h->start_monotonic_ns;
}

static bool open_all(struct watch *w, struct err *e)
{
    const struct machine_options all = {.all = true, .lasting = true};
    struct record_spool *spool = &w->spools[0];
    if (!machine_open(&w->machine, &all, w->period_ns, e) || !spool_make(w, spool, e))
        return false;
    w->spooled = true;
    w->kernel = machine_symbols_read();
    outside_descriptors_allow();
    if (!w->kernel)
        return err_set(e, ERR_INTERNAL, "out of memory");
    if (!privileges_drop(e))
        return false;
    record_files_init(&w->files, 0);
    interval_begin(w, spool);
    return machine_begin(w->machine, spool, &w->files, 0, e) &&
           machine_run(w->machine, 0, e);
}

struct watch *watch_begin(uint64_t period_ns, const char *folder, struct err *e)
{
    struct watch *w = calloc(1, sizeof *w);
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    if (!w || !(w->folder = strdup(folder))) {
        free(w);
        err_set(e, ERR_INTERNAL, "out of memory");
        return NULL;
    }
    w->period_ns = period_ns;
    w->cpus = cpus > 0 ? (uint32_t)cpus : 1;
    if (open_all(w, e))
        return w;
    watch_free(w);
    return NULL;
}

void watch_serve(void *watch)
{
    struct watch *w = watch;
    record_spool_extend(&w->spools[w->current], 0);
}

/* ---- an interval ---- */

static bool services_put(const struct watch *w, struct profile *p, struct err *e)
{
    for (uint32_t i = 0; i < p->process_count; i++) {
        struct profile_process *process = &p->processes[i];
        const char *service = machine_service(w->machine, process->command);
        /* Kernel workers bear numbers, and what they do for now. */
        if (!strcmp(service, "[kernel]"))
            process->name[strcspn(process->name, "/:")] = '\0';
        if (!describe_set(&process->command, *service ? service : "(other)", e))
            return false;
    }
    return true;
}

static struct profile *profile_make(struct watch *w, struct record_spool *old, struct err *e)
{
    bool hidden;
    uint64_t damage;
    spool_header(&old->spool)->state = SPOOL_STOPPED;
    struct profile *p = profile_from_spool(&old->spool, &damage, e);
    bool ok = p && (machine_kernel_name_by(p, NULL, w->kernel, &hidden) ||
                    err_set(e, ERR_INTERNAL, "out of memory"));
    ok = ok && describe_jit(p, &w->files, e) && services_put(w, p, e);
    if (ok)
        return p;
    profile_free(p);
    return NULL;
}

void watch_stop(struct watch *w)
{
    struct buf unused = {0};
    machine_stop(w->machine, &unused);
    buf_free(&unused);
}

struct profile *watch_take(struct watch *w, struct watch_interval *interval, struct err *e)
{
    struct record_spool *old = &w->spools[w->current], *next = &w->spools[!w->current];
    if (!spool_make(w, next, e))
        return NULL;
    bool moved = machine_swap(w->machine, next, e);
    uint64_t lost = machine_lost(w->machine);
    uint64_t spent = spool_header(&next->spool)->start_monotonic_ns - w->begin_mono;
    *interval = (struct watch_interval){.begin_ns = w->begin_ns,
                                        .end_ns = w->begin_ns + (int64_t)spent,
                                        .period_ns = w->period_ns,
                                        .lost = lost - w->lost,
                                        .cpus = w->cpus};
    w->lost = lost;
    w->current = !w->current;
    interval_begin(w, next);
    struct profile *p = moved ? profile_make(w, old, e) : NULL;
    if (p)
        interval->lost += spool_header(&old->spool)->drops[DROP_SPOOL_FULL];
    record_spool_release(old, true);
    return p;
}

void watch_name(struct watch *w, struct profile *wanted)
{
    static const struct recording_callbacks silent;
    const struct record_names names = {.files = &w->files, .serve = watch_serve, .context = w,
                                       .callbacks = &silent, .hurried = &w->hurried,
                                       .gentle = true, .quick = true};
    record_names_add(&names, wanted);
}

void watch_pace(struct watch *w, uint64_t period_ns)
{
    w->period_ns = period_ns;
    machine_pace(w->machine, period_ns);
}

uint64_t watch_cost_ns(void)
{
    struct rusage children;
    getrusage(RUSAGE_CHILDREN, &children);
    const struct timeval *spent[] = {&children.ru_utime, &children.ru_stime};
    uint64_t ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    for (unsigned i = 0; i < sizeof spent / sizeof spent[0]; i++)
        ns += (uint64_t)spent[i]->tv_sec * 1000000000 + (uint64_t)spent[i]->tv_usec * 1000;
    return ns;
}

void watch_free(struct watch *w)
{
    if (!w)
        return;
    machine_free(w->machine);
    machine_symbols_free(w->kernel);
    if (w->spooled)
        record_spool_release(&w->spools[w->current], true);
    record_files_free(&w->files);
    free(w->folder);
    free(w);
}
