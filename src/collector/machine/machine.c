#include "collector/machine/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/machine/machine_internal.h"
#include "collector/machine/machine_waits.h"
#include "collector/measure.h"
#include "sigsafe/settings.h"

enum { ROUND_MS = 100, LASTING_ROUND_MS = 500, LASTING_RING = 2 << 20, RING = 16 << 20 };
#define LASTING_TABLES (UINT64_C(40) << 20)
/* Between looks at waiting threads; and in so many times the time that one takes there is one. */
enum { LOOK_LEAST_MS = 10, LOOK_MOST_MS = 500, LOOK_SHARE = 200 };
/* Between looks that tell once more of all who wait. */
#define RETELL_NS UINT64_C(1000000000)

/* ---- what is asked for ---- */

static bool user_find(const char *name, int64_t *user, struct err *e)
{
    char *end;
    errno = 0;
    unsigned long number = strtoul(name, &end, 10);
    const struct passwd *entry = getpwnam(name);
    *user = entry ? (int64_t)entry->pw_uid : (int64_t)number;
    if (entry || (end != name && !*end && !errno && number < UINT32_MAX))
        return true;
    return err_set(e, ERR_USAGE, "there is no user \"%s\" (--uid): give a name or a number", name);
}

/* A path, or what follows the mount of control groups: of version 2, or of version 1's perf
 * events. */
static bool cgroup_open(const char *name, int *fd, struct err *e)
{
    static const char *const mounts[] = {"", "/sys/fs/cgroup/", "/sys/fs/cgroup/unified/",
                                         "/sys/fs/cgroup/perf_event/"};
    char path[4096];
    for (unsigned i = 0; i < sizeof mounts / sizeof mounts[0]; i++) {
        snprintf(path, sizeof path, "%s%s", mounts[i], name);
        *fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (*fd >= 0)
            return true;
    }
    return err_set_errno(e, ERR_USAGE, errno,
                         "cannot open the control group \"%s\" (--cgroup): give its folder, or "
                         "what follows /sys/fs/cgroup/",
                         name);
}

/* Where stacks are walked: in the kernel, where that can be; PENUMBRA_WALK=kernel: there or not at
 * all; =collector: not there. What threads wait for is known from there only. */
static bool bpf_open(struct machine *m, struct err *e)
{
    const char *where = getenv("PENUMBRA_WALK");
    bool asked = where && !strcmp(where, "kernel");
    bool not_there = where && !strcmp(where, "collector");
    if (where && *where && !asked && !not_there)
        return err_set(e, ERR_USAGE, "PENUMBRA_WALK is \"%s\"; it may be \"kernel\" or "
                                     "\"collector\"", where);
    const struct machine_bpf_wishes wishes = {.lasting = m->lasting, .walks = !not_there,
                                              .waits = m->waits};
    if ((not_there && !m->waits) || machine_bpf_open(&m->bpf, &m->rings, &wishes, &m->no_bpf))
        return true;
    if (m->waits)
        return err_set(e, m->no_bpf.code, "what threads of the whole machine wait for is not seen: "
                                          "%s. Try -e cpu, or, for one program, penumbra record "
                                          "-e wall PROGRAM",
                       m->no_bpf.message);
    if (asked)
        *e = m->no_bpf;
    return !asked;
}

bool machine_open(struct machine **to, const struct machine_options *o, uint64_t period_ns,
                  struct err *e)
{
    struct machine *m = *to = calloc(1, sizeof *m);
    if (!m)
        return err_set(e, ERR_INTERNAL, "out of memory");
    m->period_ns = period_ns;
    m->cgroup = -1;
    m->lasting = o->lasting;
    m->waits = o->waits;
    m->ranges_known = m->waits && machine_kernel_ranges(&m->ranges);
    m->images.tables_most = o->lasting ? LASTING_TABLES : MACHINE_TABLES_MOST;
    m->processes.services = o->lasting ? &m->services : NULL;
    pthread_mutex_init(&m->walking, NULL);
    m->processes.selection.user = -1;
    m->values_wanted = o->values;
    m->whole = !o->external && !o->cgroup && !o->user;
    return (!o->user || user_find(o->user, &m->processes.selection.user, e)) &&
           (!o->cgroup || cgroup_open(o->cgroup, &m->cgroup, e)) &&
           machine_rings_open(&m->rings, period_ns, o->lasting ? LASTING_RING : RING, m->cgroup,
                              e) &&
           bpf_open(m, e);
}

/* ---- how busy the machine is ---- */

/* The first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, in ticks. */
static uint64_t busy_read(void)
{
    uint64_t t[7];
    long hz = sysconf(_SC_CLK_TCK);
    FILE *f = fopen("/proc/stat", "re");
    bool ok = f && fscanf(f,
                          "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
                          " %" SCNu64 " %" SCNu64,
                          &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6]) == 7;
    if (f)
        fclose(f);
    return ok && hz > 0 ? (t[0] + t[1] + t[2] + t[5] + t[6]) * (1000000000 / (uint64_t)hz) : 0;
}

/* ---- the threads ---- */

/* Comes before what it samples, where it may: while it does not run, rings fill. */
static void reader_hurry(void)
{
    enum { NICE = -10 };
    int own = getpriority(PRIO_PROCESS, 0);
    if (own > NICE)
        setpriority(PRIO_PROCESS, 0, NICE); /* of the calling thread */
}

/* What has been lost by what the rings tell: the next look comes after that in the queue. All who
 * wait are told of then, which may be what fills the rings. */
static void losses_see(struct machine *m, uint64_t now)
{
    if (m->losses == m->rings.losses || now < m->retell_ns)
        return;
    machine_bpf_look_again(m->bpf);
    m->losses = m->rings.losses;
    m->retell_ns = now + RETELL_NS;
}

/* Looks at who waits, if it is time to, and there is room for it. How many ms there are until the
 * next time. */
static int look(struct machine *m)
{
    uint64_t now = monotonic_ns(), begun = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (now >= m->look_ns && machine_rings_are_full(&m->rings))
        return LOOK_LEAST_MS;
    losses_see(m, now);
    if (now >= m->look_ns) {
        machine_bpf_look(m->bpf, &m->rings, m->period_ns);
        uint64_t ms = (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun) * LOOK_SHARE / 1000000;
        ms = ms < LOOK_LEAST_MS ? LOOK_LEAST_MS : ms > LOOK_MOST_MS ? LOOK_MOST_MS : ms;
        m->look_ns = now + ms * 1000000;
    }
    return (int)((m->look_ns - now) / 1000000) + 1;
}

/* Who waits now is found once more. */
static void waits_stop(struct machine *m)
{
    machine_rings_read(&m->rings, false);
    machine_bpf_look_again(m->bpf); /* what has been lost may not have been told yet */
    machine_bpf_stop(m->bpf, &m->rings);
}

/* Until a ring fills, or so many ms have passed. */
static void reader_wait(struct machine *m, int ms)
{
    uint64_t end = monotonic_ns() + (uint64_t)ms * 1000000;
    while (m->waits && !__atomic_load_n(&m->stop, __ATOMIC_ACQUIRE)) {
        int next = look(m);
        uint64_t now = monotonic_ns();
        if (now >= end || machine_rings_wait(&m->rings, next))
            return;
    }
    if (!m->waits)
        machine_rings_wait(&m->rings, ms);
}

static void *reader_run(void *context)
{
    struct machine *m = context;
    reader_hurry();
    for (;;) {
        bool last = __atomic_load_n(&m->stop, __ATOMIC_ACQUIRE);
        if (m->waits && last)
            waits_stop(m);
        bool some = machine_rings_read(&m->rings, last);
        if (last)
            __atomic_store_n(&m->complete, true, __ATOMIC_RELEASE);
        if (some || last)
            sem_post(&m->more);
        if (last)
            break;
        reader_wait(m, m->lasting ? LASTING_ROUND_MS : ROUND_MS);
    }
    __atomic_fetch_add(&m->cpu_ns, clock_ns(CLOCK_THREAD_CPUTIME_ID), __ATOMIC_RELAXED);
    return NULL;
}

static void note_lost(struct machine *m, uint64_t lost)
{
    m->lost += lost;
    __atomic_fetch_add(&spool_header(m->processes.spool)->drops[DROP_LOST], lost,
                       __ATOMIC_RELAXED);
    machine_processes_forget(&m->processes);
    if (m->waits)
        machine_waits_forget(m->sampler);
}

/* A stack that is complete in its record. */
static void stack_take(struct machine *m, const struct machine_record *r)
{
    switch (r->subject) {
    case WALK_WAIT: machine_waits_begin(m->sampler, r); break;
    case WALK_WAKE: machine_waits_wake(m->sampler, r); break;
    default: machine_sampler_take(m->sampler, r); break;
    }
}

/* What the kernel lacked to walk it. */
static void want(struct machine *m, const struct machine_record *r)
{
    struct machine_process *p = machine_process_find(&m->processes, r->pid);
    if (m->bpf && p && machine_process_is_selected(&m->processes, p))
        machine_bpf_want(m->bpf, &m->processes, p, r);
}

static void sample_take(struct machine *m, const struct machine_record *r)
{
    if (r->reason != WALK_DONE)
        want(m, r);
    if (r->reason == WALK_DONE || r->kind == MACHINE_SAMPLE)
        stack_take(m, r);
}

static void record_take(struct machine *m, const struct machine_queued *queued)
{
    struct machine_record r;
    if (!machine_record_read(queued->bytes, queued->size, &r))
        return;
    switch (r.kind) {
    case MACHINE_SAMPLE:
    case MACHINE_WALK: sample_take(m, &r); break;
    case MACHINE_END: machine_waits_end(m->sampler, &r); break;
    case MACHINE_CAPTURE: machine_values_take(m->values, &r); break;
    case MACHINE_LOST: note_lost(m, r.lost); break;
    case MACHINE_THROTTLE: m->throttled++; break;
    default: machine_processes_note(&m->processes, &r); break;
    }
}

/* All of an earlier time has been taken. */
static void waits_last(struct machine *m, uint64_t time)
{
    if (!m->waits || time == UINT64_MAX)
        return;
    pthread_mutex_lock(&m->walking);
    machine_waits_last(m->sampler, time);
    pthread_mutex_unlock(&m->walking);
}

static void *walker_run(void *context)
{
    struct machine *m = context;
    struct machine_queued queued;
    for (bool last = false; !last;) {
        while (sem_wait(&m->more) && errno == EINTR)
            continue;
        last = __atomic_load_n(&m->complete, __ATOMIC_ACQUIRE);
        while (machine_rings_take(&m->rings, &queued)) {
            pthread_mutex_lock(&m->walking);
            record_take(m, &queued);
            pthread_mutex_unlock(&m->walking);
            free(queued.bytes);
        }
        waits_last(m, queued.time);
    }
    __atomic_fetch_add(&m->cpu_ns, clock_ns(CLOCK_THREAD_CPUTIME_ID), __ATOMIC_RELAXED);
    return NULL;
}

/* ---- beginning and end ---- */

/* Who waits already is found at once. */
static void waits_begin(struct machine *m)
{
    struct stat st;
    uint64_t group = m->cgroup >= 0 && !fstat(m->cgroup, &st) ? st.st_ino : 0;
    machine_bpf_waits(m->bpf, m->period_ns, group);
    machine_bpf_look(m->bpf, &m->rings, 0);
}

bool machine_begin(struct machine *m, const struct record_spool *spool, struct record_files *files,
                   int32_t pid, struct err *e)
{
    const struct spool_config *c = settings_sampling(&spool->spool);
    m->images.spool = m->processes.spool = &spool->spool;
    m->images.files = files;
    m->processes.images = &m->images;
    m->sampler = machine_sampler_make(&m->processes, c->max_depth, m->period_ns, c->timeline);
    if (!m->sampler)
        return err_set(e, ERR_INTERNAL, "out of memory");
    m->sampler->kernel = m->ranges;
    m->start_ns = monotonic_ns();
    m->begun_ns = busy_read();
    m->processes.selection.pid = pid;
    if (m->values_wanted &&
        !machine_values_open(&m->values, &m->processes, &m->rings, m->period_ns, m->cgroup, e))
        return false;
    machine_rings_start(&m->rings);
    machine_values_run(m->values, true);
    if (m->waits)
        waits_begin(m);
    machine_processes_scan(&m->processes);
    return true;
}

bool machine_run(struct machine *m, int32_t program, struct err *e)
{
    sigset_t all, before;
    if (program)
        m->processes.selection.pid = program;
    sem_init(&m->more, 0, 0);
    /* Signals are the main thread's. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&m->reader, NULL, reader_run, m);
    m->reads = !error;
    if (!error)
        error = pthread_create(&m->walker, NULL, walker_run, m);
    m->walks = !error;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return !error || err_set_errno(e, ERR_INTERNAL, error, "cannot make a thread");
}

/* How many, and what of them, if there are any. */
static void put_some(struct buf *notes, uint64_t n, const char *one, const char *many,
                     const char *sentence)
{
    if (!n)
        return;
    buf_put_count(notes, n, one, many);
    buf_printf(notes, " %s\n", sentence);
}

/* How much of the time that all processors were busy the samples stand for. */
static void put_covered(const struct machine *m, uint64_t busy_ns, struct buf *notes)
{
    double sampled_ns = (double)m->sampler->taken * (double)m->period_ns;
    if (m->whole && busy_ns)
        buf_printf(notes, "samples stand for %.1f%% of the %.3f s that processors were busy, by "
                          "/proc/stat\n",
                   100 * sampled_ns / (double)busy_ns, (double)busy_ns / 1e9);
}

/* Half of the walks took no longer than so many ns; 0: there were none. */
static unsigned median_ns(const uint32_t *by_ns)
{
    uint64_t all = 0, seen = 0;
    unsigned bin = 0;
    for (unsigned i = 0; i < MACHINE_WALK_BINS; i++)
        all += by_ns[i];
    while (all && (seen += by_ns[bin]) < (all + 1) / 2)
        bin++;
    return all ? (bin + 1) * MACHINE_WALK_BIN_NS : 0;
}

static void put_walked(const struct machine *m, struct buf *notes)
{
    const struct machine_walked *w = &m->sampler->walked;
    unsigned thirty = median_ns(w->thirty_by_ns);
    if (!m->bpf) {
        if (m->no_bpf.code)
            buf_printf(notes, "the collector walked the stacks, not the kernel: %s\n",
                       m->no_bpf.message);
        return;
    }
    if (w->count) {
        buf_printf(notes, "the kernel walked %" PRIu64 " stacks itself, %.1f frames each, in "
                          "%.3f s of CPU time; half of them took %.2f us or less",
                   w->count, (double)w->frames / (double)w->count, (double)w->ns / 1e9,
                   median_ns(w->by_ns) / 1e3);
        if (thirty)
            buf_printf(notes, ", those of 30 frames %.2f us", thirty / 1e3);
        buf_puts(notes, "\n");
    }
    machine_bpf_notes(m->bpf, notes);
    put_some(notes, w->stale, "stack", "stacks",
             "walked by the kernel left out: what was mapped had just changed");
}

static void put_notes(const struct machine *m, struct buf *notes)
{
    double all_ns = (double)(monotonic_ns() - m->start_ns) * m->rings.count;
    put_some(notes, m->throttled, "time the kernel", "times the kernel",
             "held samples back (kernel.perf_event_max_sample_rate): a lower -F loses fewer");
    put_some(notes, m->processes.unreadable, "process", "processes",
             "may not be looked at (root may): their stacks are not walked");
    put_some(notes, m->images.unknown, "mapped file", "mapped files",
             "could not be read, or no ELF file: what runs there has no name");
    put_some(notes, m->images.too_many, "file has", "files have",
             "no unwind table, as others fill the memory for tables");
    put_some(notes, m->sampler->over, "sample", "samples",
             "left out: of threads at their very end, which have no number any more");
    put_walked(m, notes);
    if (m->waits)
        machine_waits_notes(m->sampler, notes);
    if (m->waits && !m->ranges_known)
        buf_puts(notes, "/proc/kallsyms does not say where the scheduler is: waits end in its own "
                        "frames, and what interrupts wake is charged to who was interrupted\n");
    put_some(notes, m->rings.broken, "record", "records", "of the kernel's made no sense");
    machine_values_notes(m->values, notes);
    buf_printf(notes,
               "the collector used %.3f s of CPU time to walk stacks, %.2f%% of the machine's time "
               "(interrupts, and the kernel's copies of stacks, not included)\n",
               (double)m->cpu_ns / 1e9, 100 * (double)m->cpu_ns / all_ns);
}

static void threads_end(struct machine *m)
{
    __atomic_store_n(&m->stop, true, __ATOMIC_RELEASE);
    if (m->reads)
        pthread_join(m->reader, NULL);
    if (m->walks)
        pthread_join(m->walker, NULL);
    m->reads = m->walks = false;
}

uint64_t machine_stop(struct machine *m, struct buf *notes)
{
    if (!m || !m->reads)
        return 0;
    uint64_t busy = busy_read(), now = monotonic_ns();
    pthread_mutex_lock(&m->walking);
    m->sampler->waits.end_ns = now;
    pthread_mutex_unlock(&m->walking);
    machine_values_run(m->values, false);
    machine_rings_stop(&m->rings);
    uint64_t stopped = monotonic_ns();
    threads_end(m);
    uint64_t lost = machine_rings_lost(&m->rings);
    if (lost > m->lost)
        note_lost(m, lost - m->lost);
    if (m->waits) /* knows by then whether ends of waits may have been lost */
        machine_waits_finish(m->sampler, now);
    put_notes(m, notes);
    put_covered(m, busy - m->begun_ns, notes);
    return stopped;
}

void machine_free(struct machine *m)
{
    if (!m)
        return;
    threads_end(m);
    machine_rings_close(&m->rings);
    machine_bpf_close(m->bpf);
    machine_values_free(m->values);
    machine_processes_free(&m->processes);
    machine_images_free(&m->images);
    machine_sampler_free(m->sampler);
    machine_services_free(&m->services);
    if (m->cgroup >= 0)
        close(m->cgroup);
    free(m);
}
