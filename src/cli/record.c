/* `penumbra record`: checks, starts the program, serves its runtimes, writes the profile.
 *
 *      parse ─> check ─> probe ─> spool ─> launch ─> serve ... ─> stop ─> write ─> wait
 *                 │ nothing has been left behind      │ until the program ends, the time is up,
 *                 │ if any of these fails             │ or a signal asks for it
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/command.h"
#include "cli/live_line.h"
#include "cli/open_profile.h"
#include "cli/record_finish.h"
#include "cli/record_options.h"
#include "collector/attach/record_attach.h"
#include "collector/measure.h"
#include "collector/outside/outside.h"
#include "collector/process_runs.h"
#include "collector/record_check.h"
#include "collector/record_copies.h"
#include "collector/record_discover.h"
#include "collector/record_files.h"
#include "collector/record_host.h"
#include "collector/record_launch.h"
#include "collector/record_live.h"
#include "collector/record_probe.h"
#include "collector/record_processes.h"
#include "collector/record_rank.h"
#include "collector/record_sandbox.h"
#include "collector/record_shadows.h"
#include "collector/record_signals.h"
#include "collector/record_spool.h"
#include "collector/record_tables.h"
#include "collector/record_verify.h"
#include "profile/live.h"
#include "profile/spool_read.h"
#include "sigsafe/sys.h"
#include "sigsafe/tools.h"

#define POLL_NS UINT64_C(100000000)
#define FULL_WAIT_NS 10000000

struct recording {
    struct record_options options;
    struct record_program program;
    struct record_rank rank;
    char shown[PATH_MAX];  /* the output as the user may call it */
    char output[PATH_MAX]; /* its real path */
    char abandoned[SPOOL_PATH_MAX]; /* spool of a dead recording whose file we replace, or "" */
    struct spool_config config;
    struct buf notes; /* NUL-terminated once begun */
    struct record_spool spool;
    struct record_tables tables;
    struct record_child child;
    struct record_verify verify;
    struct record_attach attach; /* -p */
    struct record_shadows shadows;
    struct record_discover discover;
    struct record_copies copies;
    struct record_files files;
    struct outside outside;
    struct record_sandbox sandbox;
    struct record_processes processes;
    struct record_host host;     /* of the module, if values are sampled */
    bool left;                   /* -p: nothing of ours is armed in the process any more */
    char **arguments;            /* of the program; -p: of the process */
    struct live_line line;
    struct record_clocks began; /* the collector */
    uint64_t start_ns;
    uint64_t alone_ns; /* --wait-all: elapsed time when a descendant was last seen; 0: not yet */
};

/* Another recording's file must not be taken from it; what a killed one left is replaced. */
static bool check_other_recording(struct recording *r, struct err *e)
{
    struct live_info info;
    struct record_spool other = {.fd = -1};
    bool is_live = false, alive = false;
    struct err ignored = {0};
    struct stat st;
    /* A live file is a small regular one; reading a device might never end. */
    if (stat(r->output, &st) || !S_ISREG(st.st_mode) || st.st_size > LIVE_FILE_MOST ||
        !live_read(r->output, &info, &is_live, &ignored) || !is_live)
        return true;
    if (!record_spool_open(&other, info.spool_path, &alive, &ignored))
        return true;
    record_spool_release(&other, false);
    if (alive)
        return err_set(e, ERR_OUTPUT, "\"%s\" is being written by another recording (process %d); "
                       "choose another name with -o%s", r->shown, info.pid,
                       r->rank.known ? ", or -o DIR/ for a file a rank" : "");
    memcpy(r->abandoned, info.spool_path, sizeof r->abandoned);
    return true;
}

static void settle_config(struct recording *r)
{
    const struct record_options *o = &r->options;
    r->config.follow = o->follow;
    r->config.randomize = o->randomize;
    r->config.budget_ppm = o->budget_ppm;
    bool handler = o->engine.carrier == CARRIER_HANDLER;
    r->config.bound_ppm = record_events_bound_ppm(&o->events, 0, o->budget_ppm, handler);
    for (unsigned i = 1; i < o->events.count; i++)
        r->config.more[i - 1].bound_ppm = record_events_bound_ppm(&o->events, i, o->budget_ppm, handler);
    r->config.max_depth = o->max_depth;
    r->config.carrier = o->engine.carrier;
    r->config.trampoline = o->trampoline && !r->config.outside && r->config.mechanism != MECHANISM_CALLS &&
                           !r->config.more_triggers && r->config.carrier == CARRIER_HANDLER;
    r->config.arm_sandboxes = o->arm_sandboxes;
    r->config.timeline = o->timeline && r->config.carrier != CARRIER_EXACT;
    r->config.tools = o->engine.tools;
    r->config.length = o->engine.length;
    r->config.burst_length = o->engine.burst_length;
    r->config.length_least = o->engine.length_least;
    r->config.skip = o->engine.skip;
    r->config.native_ns = o->engine.native_ns;
    r->config.load_milli = o->engine.load_milli;
    r->config.shadow_flags = o->engine.shadow_flags;
    r->config.shadow_memory = o->engine.shadow_memory;
    r->config.barrier_us = o->engine.barrier_us;
    r->config.seed = o->engine.seed;
    r->config.contexts = o->engine.contexts;
    r->config.fold_recursion = o->engine.fold_recursion;
    sched_getaffinity(0, sizeof r->config.cpus, (cpu_set_t *)(void *)r->config.cpus);
    r->config.rank = r->rank.known ? r->rank.rank + 1 : 0;
}

static bool check_subject(struct recording *r, struct err *e)
{
    const struct record_options *o = &r->options;
    if (!o->pid) {
        r->arguments = o->program;
        r->rank = record_rank_find();
        return record_check_program(o->program[0], &r->program, e) &&
               record_rank_output(o->output, &r->rank, o->program[0], getpid(), r->shown, e);
    }
    return record_attach_check(&r->attach, o->pid, e) &&
           record_rank_output(o->output, &r->rank, r->attach.name, o->pid, r->shown, e);
}

/* What stands in front of a program's calls must be there before they are bound. */
static bool check_mechanism(struct recording *r, struct err *e)
{
    if (!r->options.pid)
        return true;
    if (r->config.mechanism == MECHANISM_TIMER)
        buf_puts(&r->notes, "threads that begin otherwise than by pthread_create or thrd_create are found while "
                            "another thread runs, some 50 ms after they begin\n");
    return record_attach_signal(&r->attach, &r->config, e);
}

static bool prepare(struct recording *r, struct err *e)
{
    if (!record_check_proc(e) || !check_subject(r, e) ||
        !record_check_output(r->shown, r->output, e) || !check_other_recording(r, e) ||
        !record_find_runtime(r->config.runtime_path, sizeof r->config.runtime_path,
                             record_options_family(&r->options), e) ||
        !record_probe_trigger(&r->options.events, r->options.engine.carrier, &r->config, &r->notes, e) || !check_mechanism(r, e))
        return false;
    buf_put_u8(&r->notes, '\0');
    if (!buf_ok(&r->notes))
        return err_set(e, ERR_INTERNAL, "out of memory");
    settle_config(r);
    bool counts = r->config.carrier != CARRIER_EXACT || !tools_about(r->config.tools).silent;
    if (!record_spool_create(&r->spool, r->options.spool_dir, r->output,
                             counts ? RECORD_RESERVE : RECORD_RESERVE_LITTLE, e))
        return false;
    record_calibrate(&r->config, &r->began);
    record_copies_poll(&r->copies, &r->config);
    return true;
}

static bool start_subject(struct recording *r, struct err *e)
{
    if (!r->options.pid)
        return (!r->options.verify_cost ||
                record_verify_start(&r->verify, &r->program, r->arguments, e)) &&
               record_launch(&r->child, &r->program, r->arguments, r->config.runtime_path,
                             r->spool.path, e);
    r->arguments = record_attach_arguments(r->options.pid);
    if (!r->arguments)
        return err_set(e, ERR_INTERNAL, "out of memory");
    return record_attach_begin(&r->attach, r->config.runtime_path, &r->spool, e);
}

/* The moment that all times count from, by both clocks. */
static void start_clocks(struct spool_header *h)
{
    uint64_t hz = h->config.tsc_hz;
    h->start_monotonic_ns = monotonic_ns();
    h->config.start_ticks = sys_ticks_as();
    h->config.tick_fraction = hz ? (uint64_t)(((unsigned __int128)1000000000 << 32) / hz) : 0;
    h->config.timeline &= hz != 0;
}

static bool start(struct recording *r, struct err *e)
{
    struct live_info live;
    struct record_live file;
    struct spool_header *h = spool_header(&r->spool.spool);
    if (!live_describe_self(&live, r->spool.path, e) ||
        !record_values_calibrate(&r->options.values, r->options.quiet, e) ||
        !record_values_start(&r->options.values, &r->host, &r->options.engine, &r->spool, &r->config, e))
        return false;
    h->config = r->config;
    h->collector_pid = getpid();
    h->start_realtime_ns = live.start_realtime_ns;
    start_clocks(h);
    r->start_ns = h->start_monotonic_ns;
    record_signals_set_bell(&h->bell);
    record_live_begin(&file, r->output, &live);
    bool started = record_spool_name(&r->spool, e) && start_subject(r, e);
    struct err warning = {0};
    if (!record_live_settle(&file, r->output, &live, started, &warning) && !r->options.quiet)
        fprintf(stderr, "penumbra: %s; if penumbra is killed, nothing will be recoverable\n",
                warning.message);
    if (!started)
        return false;
    if (r->abandoned[0]) {
        fprintf(stderr, "penumbra: replacing the unfinished recording in %s\n", r->shown);
        unlink(r->abandoned);
    }
    warning = (struct err){0};
    /* Nothing is unwound in whole runs: the tables of libc alone take longer than a short program. */
    if (r->config.carrier != CARRIER_EXACT && !record_tables_start(&r->tables, &r->spool, &warning) &&
        !r->options.quiet)
        fprintf(stderr, "penumbra: %s; unwinding will be slower\n", warning.message);
    warning = (struct err){0};
    if (r->config.arm_sandboxes && !r->options.pid && r->config.carrier != CARRIER_EXACT && !record_sandbox_start(&r->sandbox, &r->spool.spool, &warning))
        fprintf(stderr, "penumbra: %s; threads that are made in sandboxes are not seen\n", warning.message);
    warning = (struct err){0};
    if (r->config.outside && !outside_start(&r->outside, &r->spool, &warning))
        fprintf(stderr, "penumbra: %s; what threads wait is not seen\n", warning.message);
    return true;
}

/* Before the state is STOPPED: what is waited until then belongs to the recording. */
static void outside_end(struct recording *r)
{
    r->notes.size--; /* its NUL */
    outside_stop(&r->outside, &r->notes);
    buf_put_u8(&r->notes, '\0');
}

#define ALONE_LEAST_NS UINT64_C(300000000)

static bool descendants_run(const struct spool *s)
{
    spool_ref ref = __atomic_load_n(&spool_header(s)->processes, __ATOMIC_ACQUIRE);
    for (uint64_t n = 0; n < s->mapped / sizeof(struct spool_process); n++) {
        const struct spool_process *p = spool_at(s, ref, sizeof *p);
        if (!p)
            return false;
        if (__atomic_load_n(&p->state, __ATOMIC_RELAXED) != PROCESS_EXITED && process_runs_younger(p->pid))
            return true;
        ref = p->next;
    }
    return false;
}

/* The signals of the process that -p names are none of our business. */
static void hand_on_signals(const struct recording *r)
{
    int number;
    if (r->options.pid)
        return;
    while ((number = record_signals_take()) != 0)
        if (!r->child.ended)
            kill(r->child.pid, number);
}

static void wait_for_bell(const struct record_spool *s, uint32_t seen, uint64_t most_ns)
{
    /* Every sample that finds no storage rings: once the file system is full that is not news. */
    if (s->full && most_ns > FULL_WAIT_NS) {
        struct timespec pause = {0, FULL_WAIT_NS};
        nanosleep(&pause, NULL);
        return;
    }
    struct timespec timeout = {(time_t)(most_ns / 1000000000), (long)(most_ns % 1000000000)};
    syscall(SYS_futex, &spool_header(&s->spool)->bell, FUTEX_WAIT, seen, &timeout, NULL, 0);
}

/* With --wait-all, a descendant that was just executed may not have registered yet: the recording ends
 * when none has been seen for a while. */
static bool recording_is_over(struct recording *r, uint64_t elapsed)
{
    const struct record_options *o = &r->options;
    if (record_signals_stop() || (o->duration_ns && elapsed >= o->duration_ns))
        return true;
    if (!r->child.ended || !o->wait_all)
        return r->child.ended;
    if (!r->alone_ns || descendants_run(&r->spool.spool))
        r->alone_ns = elapsed;
    return elapsed - r->alone_ns > ALONE_LEAST_NS;
}

static void subject_poll(struct recording *r, uint64_t now)
{
    if (r->options.pid)
        r->child.ended = !record_attach_runs(&r->attach);
    else
        record_child_poll(&r->child, now);
}

/* Serves the runtimes until the recording is over; returns how long it was. */
static uint64_t serve(struct recording *r)
{
    const struct spool *s = &r->spool.spool;
    for (;;) {
        uint32_t seen = __atomic_load_n(&spool_header(s)->bell, __ATOMIC_ACQUIRE);
        uint64_t now = monotonic_ns(), elapsed = now - r->start_ns;
        spool_header(s)->elapsed_ms = (uint32_t)(elapsed / 1000000);
        record_spool_extend(&r->spool, 0);
        record_tables_kick(&r->tables);
        record_files_poll(&r->files, s);
        subject_poll(r, now);
        record_host_poll(&r->host);
        record_shadows_poll(&r->shadows, s);
        record_discover_poll(&r->discover, s, now);
        record_copies_poll(&r->copies, &spool_header(s)->config);
        if (!record_signals_stop())
            hand_on_signals(r);
        if (recording_is_over(r, elapsed))
            return elapsed;
        live_line_draw(&r->line, s, now, elapsed);
        uint64_t most = POLL_NS, duration = r->options.duration_ns;
        if (duration && duration - elapsed < most)
            most = duration - elapsed;
        wait_for_bell(&r->spool, seen, most);
    }
}

static void wait_for_program(struct recording *r)
{
    const struct spool *s = &r->spool.spool;
    for (;;) {
        uint32_t seen = __atomic_load_n(&spool_header(s)->bell, __ATOMIC_ACQUIRE);
        record_child_poll(&r->child, monotonic_ns());
        record_shadows_poll(&r->shadows, s);
        if (r->child.ended)
            return;
        hand_on_signals(r);
        wait_for_bell(&r->spool, seen, POLL_NS);
    }
}

/* The program's own end, as its own parent would see it. */
static int pass_on(int status, bool written)
{
    if (WIFSIGNALED(status))
        record_signals_die(WTERMSIG(status));
    if (WEXITSTATUS(status) == 0 && !written)
        return ERR_OUTPUT;
    return WEXITSTATUS(status);
}

/* While names are read, the program may go on. */
static void serve_on(void *recording)
{
    struct recording *r = recording;
    if (r->options.pid)
        return;
    record_child_poll(&r->child, monotonic_ns());
    record_shadows_poll(&r->shadows, &r->spool.spool);
    hand_on_signals(r);
}

static void say_notes(const char *notes)
{
    while (*notes) {
        int n = (int)strcspn(notes, "\n");
        fprintf(stderr, "penumbra: %.*s\n", n, notes);
        notes += n + (notes[n] == '\n');
    }
}

/* What was measured beside the recording becomes one of its notes. */
static void verify_end(struct recording *r, uint64_t elapsed)
{
    struct profile_totals t;
    uint32_t processes, threads;
    if (!r->options.verify_cost)
        return;
    spool_totals(&r->spool.spool, &t, &processes, &threads);
    t.begun_ns = r->processes.ns;
    double spent = profile_spent_ns(&t), native = (double)r->child.cpu_ns - spent;
    size_t from = --r->notes.size; /* its NUL */
    record_verify_end(&r->verify, &r->child, elapsed, native > 0 ? 100 * spent / native : 0,
                      &r->notes);
    buf_put_u8(&r->notes, '\0');
    if (!r->options.quiet && buf_ok(&r->notes))
        say_notes((const char *)r->notes.data + from);
}

static bool stop_and_write(struct recording *r, uint64_t elapsed)
{
    struct err e = {0};
    record_files_last(&r->files, &r->spool.spool);
    outside_end(r);
    record_sandbox_stop(&r->sandbox);
    __atomic_store_n(&spool_header(&r->spool.spool)->state, SPOOL_STOPPED, __ATOMIC_RELEASE);
    hand_on_signals(r);
    live_line_erase(&r->line);
    r->left = !r->options.pid || record_attach_leave(&r->attach, &r->spool, &e);
    if (!r->left)
        command_fail("record", &e);
    record_shadows_end(&r->spool.spool);
    record_discover_end(&r->discover);
    e = (struct err){0};
    record_host_finish(&r->host);
    if (r->child.ended && !r->options.pid && !record_signals_stop())
        r->processes = record_processes_cost(&r->spool.spool, &r->config, r->options.spool_dir, r->output);
    verify_end(r, elapsed);
    struct record_result result = {.argv = r->arguments,
                                   .output = r->output,
                                   .shown = r->shown,
                                   .notes = (const char *)r->notes.data,
                                   .exit_status = r->child.ended && !r->options.pid ? r->child.status : -1,
                                   .duration_ns = elapsed,
                                   .cpu_ns = r->options.pid ? 0 : r->child.cpu_ns,
                                   .left_behind = r->child.ended && !r->options.pid &&
                                                  descendants_run(&r->spool.spool),
                                   .wait_all = r->options.wait_all,
                                   .processes = r->processes,
                                   .quiet = r->options.quiet,
                                   .with_names = r->options.names,
                                   .names = {.files = &r->files, .serve = serve_on, .context = r,
                                             .quiet = r->options.quiet,
                                             .gentle = !r->child.ended}};
    if (record_finish(&result, &r->spool, &e)) {
        unlink(r->spool.path);
        return true;
    }
    command_fail("record", &e);
    struct stat st;
    if (!stat(r->output, &st) && S_ISREG(st.st_mode))
        fprintf(stderr, "penumbra record: what was counted is kept in %s; when the cause is "
                        "removed, run penumbra recover %s (or, to write elsewhere, with -o)\n",
                r->spool.path, r->shown);
    else
        unlink(r->spool.path);
    return false;
}

static int run(struct recording *r)
{
    struct err e = {0};
    if (!prepare(r, &e))
        return command_fail("record", &e);
    if (!r->options.quiet)
        say_notes((const char *)r->notes.data);
    if (!start(r, &e)) {
        record_host_abandon(&r->host);
        record_verify_kill(&r->verify);
        record_spool_release(&r->spool, true);
        record_attach_end(&r->attach);
        return command_fail("record", &e);
    }
    record_files_init(&r->files, r->options.pid);
    live_line_init(&r->line, r->options.quiet, r->start_ns);
    uint64_t elapsed = serve(r);
    record_copies_end(&r->copies);
    bool written = stop_and_write(r, elapsed);
    record_files_free(&r->files);
    bool idle = record_tables_stop(&r->tables);
    if (!r->options.pid)
        wait_for_program(r);
    record_signals_set_bell(NULL);
    if (idle)
        record_spool_release(&r->spool, false);
    if (r->options.pid) {
        free(r->arguments);
        record_attach_end(&r->attach);
        return !written ? ERR_OUTPUT : r->left ? 0 : ERR_ATTACH;
    }
    return pass_on(r->child.status, written);
}

int command_record(int argc, char **argv)
{
    struct err e = {0};
    static struct recording r;
    record_clocks_read(&r.began);
    if (!record_options_parse(&r.options, argc, argv, &e))
        return command_fail("record", &e);
    if (r.options.help) {
        record_options_help(&r.options, stdout);
        return 0;
    }
    record_signals_install(r.options.pid != 0);
    int status = run(&r);
    buf_free(&r.notes);
    return status;
}
