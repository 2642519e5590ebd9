#include "collector/record_processes.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "collector/measure.h"
#include "collector/record_launch.h"
#include "profile/profile.h"
#include "profile/spool_read.h"
#include "sigsafe/settings.h"
#include "sigsafe/sys.h"

enum { LEAST = 16, TIMES = 5, FORKS = 16, PROGRAMS = 8, PAUSE_NS = 50000, MOST_NS = 1000000000 };

/* ---- how many ---- */

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* A forked child has its parent's command, the very string. */
static void count(struct record_processes *p, uint32_t *commands, uint32_t processes)
{
    qsort(commands, processes, sizeof *commands, compare);
    for (uint32_t i = 0; i < processes; i++)
        if (commands[i] && i && commands[i] == commands[i - 1])
            p->forked++;
        else
            p->executed++;
}

static struct record_processes counted(const struct spool *s, uint32_t processes)
{
    struct record_processes p = {0};
    uint32_t *commands = calloc(processes, sizeof *commands), known = 0;
    spool_ref ref = __atomic_load_n(&spool_header(s)->processes, __ATOMIC_ACQUIRE);
    const struct spool_process *at;
    for (; commands && known < processes && (at = spool_at(s, ref, sizeof *at)) != NULL;
         ref = at->next)
        commands[known++] = at->command;
    if (commands)
        count(&p, commands, known);
    free(commands);
    return p;
}

/* ---- what one costs ---- */

struct trial {
    struct record_program shell;
    struct record_spool spool;
    const char *runtime;
    const struct recording_callbacks *callbacks;
    uint64_t tsc_hz;
};

static bool trial_begin(struct trial *x, const struct spool_config *config, const char *directory,
                        const char *output)
{
    struct err ignored = {0};
    if (!record_check_program("/bin/sh", &x->shell, &ignored) ||
        !record_spool_create(&x->spool, directory, output, RECORD_RESERVE_LITTLE, &ignored))
        return false;
    struct spool_header *h = spool_header(&x->spool.spool);
    struct settings settings = {.sampling = *config};
    settings.sampling.carrier = CARRIER_HANDLER;
    settings.sampling.timeline = settings.sampling.outside = settings.sampling.arm_sandboxes = 0;
    settings.sampling.watch = 0;
    h->tsc_hz = x->tsc_hz;
    h->follow = 1;
    h->collector_pid = getpid();
    h->start_monotonic_ns = monotonic_ns();
    x->runtime = config->runtime_path;
    /* Found by the collector's descriptor: if that is killed, nobody would look for a file. */
    if (!x->spool.named)
        snprintf(x->spool.path, sizeof x->spool.path, "/proc/%d/fd/%d", (int)getpid(), x->spool.fd);
    if (settings_put(&x->spool.spool, &settings))
        return true;
    record_spool_release(&x->spool, true);
    return false;
}

/* CPU time of it and of all that it has waited for; 0: it did not end as it should. */
static uint64_t used_ns(const struct trial *x, struct record_child *c)
{
    const struct timespec pause = {0, PAUSE_NS};
    uint64_t until = monotonic_ns() + MOST_NS;
    while (!c->ended && monotonic_ns() < until) {
        nanosleep(&pause, NULL);
        record_child_poll(c, monotonic_ns(), x->callbacks);
    }
    if (!c->ended) {
        kill(c->pid, SIGKILL);
        while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
            continue;
        return 0;
    }
    return c->status ? 0 : c->cpu_ns;
}

static uint64_t native_ns(struct trial *x, char **argv)
{
    struct record_child c = {0};
    struct err ignored = {0};
    return record_launch_native(&c.pid, &x->shell, argv, NULL, x->callbacks, &ignored)
               ? used_ns(x, &c)
               : 0;
}

/* What the account of the trial has so far. */
static double stated_ns(const struct trial *x)
{
    struct profile_totals t;
    uint32_t processes, threads;
    spool_totals(&x->spool.spool, &t, &processes, &threads);
    return profile_spent_ns(&t);
}

/* Above native, and above what the account says; 0 also where it is not known. */
static double unseen_ns(struct trial *x, char *script)
{
    char *argv[] = {(char *)(uintptr_t)"sh", (char *)(uintptr_t)"-c", script, NULL};
    struct record_child c = {0};
    struct err ignored = {0};
    double before = stated_ns(x), native = (double)native_ns(x, argv);
    if (!record_launch(&c, &x->shell, argv, x->runtime, x->spool.path, x->callbacks, &ignored))
        return 0;
    double recorded = (double)used_ns(x, &c);
    record_spool_extend(&x->spool, 0);
    double unseen = recorded - native - (stated_ns(x) - before);
    return native > 0 && unseen > 0 ? unseen : 0;
}

/* The last command is the shell's own: it may execute a last program in its place. */
static void script_make(struct buf *b, const char *command, unsigned times)
{
    while (times--)
        buf_puts(b, command);
    buf_puts(b, ":");
    buf_put_u8(b, '\0');
}

static uint64_t each(double all, double shell, unsigned times)
{
    return all > shell ? (uint64_t)((all - shell) / times) : 0;
}

static void trial_run(struct trial *x, struct record_processes *p)
{
    struct buf nothing = {0}, forks = {0}, programs = {0};
    uint64_t executed[TIMES] = {0}, forked[TIMES] = {0};
    script_make(&nothing, "", 0);
    script_make(&forks, "(:)\n", FORKS);
    script_make(&programs, "/bin/sh -c :\n", PROGRAMS);
    bool made = buf_ok(&nothing) && buf_ok(&forks) && buf_ok(&programs);
    for (unsigned i = 0; made && i < TIMES; i++) {
        double shell = unseen_ns(x, (char *)nothing.data);
        forked[i] = each(unseen_ns(x, (char *)forks.data), shell, FORKS);
        executed[i] = each(unseen_ns(x, (char *)programs.data), shell, PROGRAMS);
    }
    buf_free(&nothing);
    buf_free(&forks);
    buf_free(&programs);
    p->ns =
        p->executed * measure_median(executed, TIMES) + p->forked * measure_median(forked, TIMES);
}

struct record_processes record_processes_cost(const struct spool *s,
                                              const struct spool_config *config, uint64_t tsc_hz,
                                              const char *directory, const char *output,
                                              const struct recording_callbacks *callbacks)
{
    struct profile_totals t;
    uint32_t processes, threads;
    spool_totals(s, &t, &processes, &threads);
    struct record_processes p = counted(s, processes);
    struct trial x = {.spool.fd = -1, .tsc_hz = tsc_hz, .callbacks = callbacks};
    if (processes < LEAST || !carrier_samples(config->carrier) ||
        !trial_begin(&x, config, directory, output))
        return p;
    trial_run(&x, &p);
    record_spool_release(&x.spool, true);
    return p;
}
