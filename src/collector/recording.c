#include "collector/recording.h"

#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collector/measure.h"
#include "collector/open_profile.h"
#include "collector/process_runs.h"
#include "collector/record_instrumented.h"
#include "collector/record_live.h"
#include "collector/recording_internal.h"
#include "profile/live.h"
#include "profile/spool_read.h"
#include "sigsafe/settings.h"
#include "sigsafe/sys.h"
#include "sigsafe/tools.h"

#define POLL_NS UINT64_C(100000000)
#define LIVE_NS UINT64_C(250000000)
#define FULL_WAIT_NS 10000000

static bool active; /* atomic: the process has a recording */

/* ---- before the program runs ---- */

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
        return err_set(e, ERR_OUTPUT,
                       "\"%s\" is being written by another recording (process %d); "
                       "choose another name with -o%s",
                       r->shown, info.pid, r->rank.known ? ", or -o DIR/ for a file a rank" : "");
    memcpy(r->abandoned, info.spool_path, sizeof r->abandoned);
    return true;
}

static void settle_config(struct recording *r)
{
    const struct recording_options *o = &r->options;
    r->config.randomize = o->randomize;
    r->config.budget_ppm = o->budget_ppm;
    r->config.bound_ppm = record_events_bound_ppm(&o->events, 0, o->budget_ppm, o->engine.carrier);
    for (unsigned i = 1; i < o->events.count; i++)
        r->config.more[i - 1].bound_ppm =
            record_events_bound_ppm(&o->events, i, o->budget_ppm, o->engine.carrier);
    r->config.max_depth = o->max_depth;
    r->config.carrier = o->engine.carrier;
    r->config.trampoline = o->trampoline && !r->config.outside &&
                           r->config.mechanism != MECHANISM_CALLS && !r->config.more_triggers &&
                           r->config.carrier == CARRIER_HANDLER;
    r->config.kernel_stacks =
        o->kernel && r->config.mechanism == MECHANISM_PERF && !r->config.exclude_kernel;
    r->config.arm_sandboxes = o->arm_sandboxes;
    r->config.timeline = o->timeline && carrier_samples(r->config.carrier);
    if (r->config.carrier == CARRIER_COMPILED)
        r->config.period = o->engine.interval;
    r->inst = (struct inst_settings){.interval = (uint32_t)o->engine.interval,
                                     .fixed = !o->randomize, .seed = o->engine.seed,
                                     .iterations = (uint32_t)o->engine.iterations,
                                     .windows = (uint32_t)o->engine.windows,
                                     .timer_us = o->engine.timer_us};
    r->config.tools = o->engine.tools;
    r->shadow.length = o->engine.length;
    r->burst.length = o->engine.burst_length ? o->engine.burst_length : o->engine.length;
    r->burst.length_least = o->engine.length_least;
    r->burst.skip = o->engine.skip;
    r->burst.beside_shadows = o->engine.carrier == CARRIER_AUTO;
    r->config.native_ns = o->engine.native_ns;
    r->load_milli = o->engine.load_milli;
    r->shadow.flags = o->engine.shadow_flags;
    /* Half as long as it may take afterwards: shadows are at most some three times slower. */
    r->shadow.alone_ms = (uint32_t)(o->engine.finish_ns / 2 / 1000000);
    r->shadow.memory = o->engine.shadow_memory;
    r->shadow.barrier_us = o->engine.barrier_us;
    r->shadow.seed = o->engine.seed;
    r->config.contexts = o->engine.contexts;
    r->config.fold_recursion = o->engine.fold_recursion;
    sched_getaffinity(0, sizeof r->shadow.cpus, (cpu_set_t *)(void *)r->shadow.cpus);
    r->config.rank = r->rank.known ? r->rank.rank + 1 : 0;
}

static bool check_machine(struct recording *r, struct err *e)
{
    const struct recording_options *o = &r->options;
    static char name[] = "machine", *whole[] = {name, NULL};
    r->arguments = recording_has_program(r) ? o->program : whole;
    r->program.any = true;
    if (o->pid && !process_runs(o->pid))
        return err_set(e, ERR_ATTACH, "there is no process %d (-p)", o->pid);
    return (!recording_has_program(r) || record_check_program(o->program[0], &r->program, e)) &&
           record_rank_output(o->output, &r->rank, r->arguments[0], getpid(), r->shown, e);
}

static bool check_subject(struct recording *r, struct err *e)
{
    const struct recording_options *o = &r->options;
    if (recording_options_is_machine(o))
        return check_machine(r, e);
    if (!o->pid) {
        r->arguments = o->program;
        r->rank = record_rank_find();
        r->program.without_library = o->engine.carrier == CARRIER_COMPILED;
        return record_check_program(o->program[0], &r->program, e) &&
               record_rank_output(o->output, &r->rank, o->program[0], getpid(), r->shown, e);
    }
    return record_attach_check(&r->attach, o->pid, e) &&
           record_rank_output(o->output, &r->rank, r->attach.name, o->pid, r->shown, e);
}

/* What stands in front of a program's calls must be there before they are bound. */
static bool check_mechanism(struct recording *r, struct err *e)
{
    if (!recording_attaches(r))
        return true;
    if (r->config.mechanism == MECHANISM_TIMER)
        buf_puts(
            &r->notes,
            "threads that begin otherwise than by pthread_create or thrd_create are found while "
            "another thread runs, some 50 ms after they begin\n");
    return record_attach_signal(&r->attach, &r->config, e);
}

/* What is compiled into a program is seen only where it was asked for; asked for in vain it may
 * still be in libraries. */
static void note_instrumented(struct recording *r)
{
    bool compiled = r->options.engine.carrier == CARRIER_COMPILED;
    if (recording_options_is_machine(&r->options))
        return;
    bool is = !r->options.pid && record_instrumented(r->program.path);
    if (is && !compiled)
        buf_puts(&r->notes, "the program has instrumentation compiled in: record --carrier "
                            "compiled observes its fields and calls\n");
    else if (!is && compiled)
        buf_puts(&r->notes, "the program itself has no instrumentation compiled in (penumbra cc); "
                            "what it executes, and its libraries, may have some\n");
}

/* How samples are made. */
static bool check_trigger(struct recording *r, struct err *e)
{
    const struct record_event *first = &r->options.events.list[0];
    if (!recording_options_is_machine(&r->options))
        return record_find_runtime(r->config.runtime_path, sizeof r->config.runtime_path,
                                   recording_options_family(&r->options), e) &&
               record_probe_trigger(&r->options.events, r->options.engine.carrier, &r->config,
                                    &r->notes, e) &&
               check_mechanism(r, e);
    r->config.trigger = first->event->trigger;
    r->config.perf_type = first->event->perf_type;
    r->config.perf_config = first->event->perf_config;
    r->config.period = first->period;
    r->config.mechanism = MECHANISM_PERF;
    r->config.signal = SIGTRAP;
    if (r->options.machine.waits) {
        r->config.more_triggers = 1;
        r->config.more[0] = (struct spool_trigger){.trigger = TRIGGER_WAKING,
                                                   .period = first->period};
    }
    return machine_open(&r->machine, &r->options.machine, first->period, e);
}

static bool prepare(struct recording *r, struct err *e)
{
    if (!record_check_proc(e) || !check_subject(r, e) ||
        !record_check_output(r->shown, r->output, e) || !check_other_recording(r, e) ||
        !check_trigger(r, e))
        return false;
    note_instrumented(r);
    if (r->options.kernel)
        record_probe_kernel(&r->config, &r->notes);
    buf_put_u8(&r->notes, '\0');
    if (!buf_ok(&r->notes))
        return err_set(e, ERR_INTERNAL, "out of memory");
    settle_config(r);
    bool counts = r->config.carrier != CARRIER_EXACT || !tools_about(r->config.tools).silent;
    if (!record_spool_create(&r->spool, r->options.spool_dir, r->output,
                             counts ? RECORD_RESERVE : RECORD_RESERVE_LITTLE, e))
        return false;
    r->spooled = true;
    r->tsc_hz = record_calibrate(&r->config, &r->began);
    record_copies_poll(&r->copies, r->config.carrier, &r->shadow);
    return true;
}

static bool start_machine(struct recording *r, struct err *e)
{
    const struct recording_options *o = &r->options;
    if (!machine_begin(r->machine, &r->spool, &r->files, o->pid, e))
        return false;
    return !recording_has_program(r) ||
           record_launch_native(&r->child.pid, &r->program, r->arguments, NULL, &r->callbacks, e);
}

static bool start_subject(struct recording *r, struct err *e)
{
    if (r->machine)
        return start_machine(r, e);
    if (!r->options.pid)
        return (!r->options.verify_cost ||
                record_verify_start(&r->verify, &r->program, r->arguments, &r->callbacks, e)) &&
               record_launch(&r->child, &r->program, r->arguments,
                             r->config.carrier == CARRIER_COMPILED ? "" : r->config.runtime_path,
                             r->spool.path, &r->callbacks, e);
    r->arguments = record_attach_arguments(r->options.pid);
    if (!r->arguments)
        return err_set(e, ERR_INTERNAL, "out of memory");
    return record_attach_begin(&r->attach, r->config.runtime_path, &r->spool, e);
}

/* The moment that all times count from, by both clocks. */
static void start_clocks(struct recording *r, struct spool_header *h)
{
    uint64_t hz = h->tsc_hz;
    r->start_ns = r->live_ns = h->start_monotonic_ns = monotonic_ns();
    h->start_ticks = sys_ticks_as();
    h->tick_fraction = hz ? (uint64_t)(((unsigned __int128)1000000000 << 32) / hz) : 0;
}

static bool start_module(struct recording *r, struct err *e)
{
    const struct recording_options *o = &r->options;
    return record_values_calibrate(&o->values, &r->callbacks, e) &&
           record_values_start(&o->values, &r->host, &o->engine, &r->spool, r->config.carrier,
                               &r->burst, &r->shadow, &r->value, &r->callbacks, e);
}

/* A part that could not be started: how, and what follows from it. */
static void tell_without(struct recording *r, const struct err *why, const char *so)
{
    struct err warning = {0};
    err_set(&warning, why->code, "%s; %s", why->message, so);
    tell_warning(&r->callbacks, &warning);
}

/* The recording goes on without those that cannot be started. */
static void start_helpers(struct recording *r)
{
    struct err e = {0};
    bool samples = carrier_samples(r->config.carrier);
    if (r->machine) {
        if (!machine_run(r->machine, r->options.machine.external ? r->child.pid : 0, &e))
            tell_without(r, &e, "nothing is sampled");
        return;
    }
    /* Nothing is unwound in whole runs: the tables of libc alone take longer than a short
     * program. */
    if (samples && !record_tables_start(&r->tables, &r->spool, &e))
        tell_note(&r->callbacks, "%s; unwinding will be slower", e.message);
    e = (struct err){0};
    if (r->config.arm_sandboxes && !r->options.pid && samples &&
        !record_sandbox_start(&r->sandbox, &r->spool.spool, &e))
        tell_without(r, &e, "threads that are made in sandboxes are not seen");
    e = (struct err){0};
    struct inst_settings *inst = settings_inst_as(&r->spool.spool);
    if (inst && record_windows_wanted(inst) &&
        !record_windows_start(&r->windows, inst, spool_at(&r->spool.spool, inst->page, SPOOL_PAGE),
                              &e))
        tell_without(r, &e, "checks that can be switched are not executed");
    e = (struct err){0};
    if (settings_look_outside(&r->config) && !outside_start(&r->outside, &r->spool, &e))
        tell_without(r, &e, "what threads wait is not seen");
}

static bool switch_make(struct recording *r, struct err *e)
{
    if (r->config.carrier != CARRIER_COMPILED)
        return true;
    void *page = spool_alloc_pages_as(&r->spool.spool, SPOOL_PAGE);
    if (!page)
        return err_set(e, ERR_INTERNAL, "the spool has no room for the switch of checks");
    r->inst.page = spool_ref_of(&r->spool.spool, page);
    recording_switch(r, r->inst.interval != 0 && !record_windows_wanted(&r->inst));
    return true;
}

static bool write_settings(struct recording *r, struct err *e)
{
    struct spool_header *h = spool_header(&r->spool.spool);
    h->tsc_hz = r->tsc_hz;
    h->follow = r->options.follow;
    h->load_milli = r->load_milli;
    r->config.timeline &= r->tsc_hz != 0;
    const struct settings all = {r->config, r->burst,      r->shadow,
                                 r->value,  r->inst,       r->production};
    if (!settings_put(&r->spool.spool, &all))
        return err_set(e, ERR_INTERNAL, "the spool has no room for what is to be recorded");
    r->spool.settings = h->settings;
    return true;
}

static bool start(struct recording *r, struct err *e)
{
    struct live_info live;
    struct record_live file;
    struct spool_header *h = spool_header(&r->spool.spool);
    if (!live_describe_self(&live, r->spool.path, e) || !start_module(r, e) ||
        !record_productions_put(&r->options.productions, r->program.path, &r->spool,
                                &r->production, e) ||
        !switch_make(r, e) || !write_settings(r, e))
        return false;
    h->collector_pid = getpid();
    h->start_realtime_ns = live.start_realtime_ns;
    start_clocks(r, h);
    __atomic_store_n(&r->bell, &h->bell, __ATOMIC_RELEASE);
    record_live_begin(&file, r->output, &live);
    bool started = record_spool_name(&r->spool, e) && start_subject(r, e);
    struct err warning = {0};
    if (!record_live_settle(&file, r->output, &live, started, &warning))
        tell_note(&r->callbacks, "%s; if penumbra is killed, nothing will be recoverable",
                  warning.message);
    if (!started)
        return false;
    if (r->abandoned[0]) {
        struct err replaced = {0};
        err_set(&replaced, ERR_OUTPUT, "replacing the unfinished recording in %s", r->shown);
        tell_warning(&r->callbacks, &replaced);
        unlink(r->abandoned);
    }
    if (r->machine)
        outside_descriptors_allow();
    record_files_init(&r->files, r->options.pid);
    start_helpers(r);
    return true;
}

/* The spool stays mapped: other threads may be about to ring its bell. */
static void abandon(struct recording *r)
{
    record_host_abandon(&r->host);
    record_verify_kill(&r->verify);
    record_copies_end(&r->copies);
    if (r->spooled && r->spool.named)
        unlink(r->spool.path);
}

struct recording *recording_new(const struct recording_options *options,
                                const struct recording_callbacks *callbacks, struct err *e)
{
    static const struct recording_callbacks silent;
    struct recording_options settled = *options;
    if (!recording_options_settle(&settled, e))
        return NULL;
    struct recording *r = calloc(1, sizeof *r);
    if (!r) {
        err_set(e, ERR_INTERNAL, "out of memory");
        return NULL;
    }
    if (__atomic_exchange_n(&active, true, __ATOMIC_ACQ_REL)) {
        err_set(e, ERR_INTERNAL, "this process has a recording already; it must be freed first");
        free(r);
        return NULL;
    }
    r->options = settled;
    r->callbacks = callbacks ? *callbacks : silent;
    r->attach.mem = r->attach.lifeline = -1;
    record_clocks_read(&r->began);
    return r;
}

bool recording_start(struct recording *r, struct err *e)
{
    if (!prepare(r, e)) {
        abandon(r);
        return false;
    }
    tell_notes(&r->callbacks, (const char *)r->notes.data);
    if (start(r, e))
        return true;
    abandon(r);
    return false;
}

static void dispose(void *recording)
{
    struct recording *r = recording;
    if (r->spooled)
        record_spool_release(&r->spool, false);
    free(r);
}

void recording_free(struct recording *r)
{
    if (!r)
        return;
    if (recording_attaches(r))
        free(r->arguments);
    machine_free(r->machine);
    record_attach_end(&r->attach);
    buf_free(&r->notes);
    __atomic_store_n(&active, false, __ATOMIC_RELEASE);
    /* What a thread that compiles a huge table still uses is left to it. */
    if (record_tables_stop(&r->tables))
        dispose(r);
    else
        record_tables_leave(&r->tables, dispose, r);
}

const char *recording_shown(const struct recording *r)
{
    return r->shown;
}

/* ---- while it runs ---- */

#define ALONE_LEAST_NS UINT64_C(300000000)

bool recording_descendants_run(struct recording *r)
{
    struct record_living *l = &r->files.living;
    record_living_poll(l, &r->spool.spool);
    for (uint32_t i = l->count; i-- > 0;)
        if (process_runs_younger(l->list[i].record->pid))
            return true;
    return false;
}

void recording_sleep(const struct record_spool *s, uint32_t seen, uint64_t most_ns)
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

/* With --wait-all, a descendant that was just executed may not have registered yet: the recording
 * ends when none has been seen for a while. */
static bool recording_is_over(struct recording *r, uint64_t elapsed)
{
    const struct recording_options *o = &r->options;
    if (__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE) ||
        (o->duration_ns && elapsed >= o->duration_ns))
        return true;
    if (!r->child.ended || !o->wait_all)
        return r->child.ended;
    if (!r->alone_ns || recording_descendants_run(r))
        r->alone_ns = elapsed;
    return elapsed - r->alone_ns > ALONE_LEAST_NS;
}

static void subject_poll(struct recording *r, uint64_t now)
{
    if (recording_attaches(r))
        r->child.ended = !record_attach_runs(&r->attach);
    else if (r->options.pid)
        r->child.ended = !process_runs(r->options.pid);
    else if (recording_has_program(r))
        record_child_poll(&r->child, now, &r->callbacks);
}

void recording_hand_on(struct recording *r)
{
    uint64_t signals = __atomic_exchange_n(&r->to_send, 0, __ATOMIC_ACQ_REL);
    /* The signals of the process that -p names are none of our business. */
    bool runs = recording_has_program(r) && !r->child.ended;
    for (int number = 1; signals && runs && number < 64; number++)
        if (signals >> number & 1)
            kill(r->child.pid, number);
}

static void tell_live(struct recording *r, uint64_t now)
{
    const struct spool *s = &r->spool.spool;
    if (!r->callbacks.live || now - r->live_ns < LIVE_NS)
        return;
    struct recording_live live = {.elapsed_ns = now - r->start_ns,
                                  .budget_ppm = settings_sampling(s)->budget_ppm};
    r->live_ns = now;
    spool_totals(s, &live.totals, &live.processes, &live.threads);
    r->callbacks.live(r->callbacks.context, &live);
}

void recording_switch(struct recording *r, bool on)
{
    uint32_t *page = spool_at(&r->spool.spool, r->inst.page, SPOOL_PAGE);
    if (page)
        __atomic_store_n(page, on, __ATOMIC_RELAXED);
}

/* `penumbra control` sets the interval; 0: the program is to run undisturbed. */
static void switch_poll(struct recording *r)
{
    const struct inst_settings *settings = settings_inst_as(&r->spool.spool);
    if (settings && !record_windows_wanted(settings))
        recording_switch(r, __atomic_load_n(&settings->interval, __ATOMIC_RELAXED) != 0);
}

/* What is due. */
static void serve(struct recording *r, uint64_t now)
{
    const struct spool *s = &r->spool.spool;
    spool_header(s)->elapsed_ms = (uint32_t)((now - r->start_ns) / 1000000);
    record_spool_extend(&r->spool, 0);
    subject_poll(r, now);
    if (!__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE))
        recording_hand_on(r);
    record_host_poll(&r->host);
    if (r->machine)
        return;
    record_tables_kick(&r->tables);
    record_files_poll(&r->files, s);
    record_shadows_poll(&r->shadows, s);
    record_discover_poll(&r->discover, &r->files.living, s, now);
    record_copies_poll(&r->copies, r->config.carrier, settings_shadow_as(s));
    switch_poll(r);
}

void recording_wait(struct recording *r)
{
    const struct spool *s = &r->spool.spool;
    uint64_t duration = r->options.duration_ns;
    for (;;) {
        uint32_t seen = __atomic_load_n(&spool_header(s)->bell, __ATOMIC_ACQUIRE);
        uint64_t now = monotonic_ns(), elapsed = now - r->start_ns;
        r->elapsed_ns = elapsed;
        serve(r, now);
        if (recording_is_over(r, elapsed))
            return;
        tell_live(r, now);
        recording_sleep(&r->spool, seen,
                        duration && duration - elapsed < POLL_NS ? duration - elapsed : POLL_NS);
    }
}

/* ---- from any thread, and signal handlers ---- */

void recording_wake(struct recording *r)
{
    uint32_t *bell = __atomic_load_n(&r->bell, __ATOMIC_ACQUIRE);
    if (bell)
        spool_wake_as(&r->spool.spool, bell);
}

void recording_stop(struct recording *r)
{
    __atomic_store_n(&r->stop, true, __ATOMIC_RELEASE);
    recording_wake(r);
}

void recording_hurry(struct recording *r)
{
    __atomic_fetch_add(&r->hurried, 1, __ATOMIC_RELAXED);
}

void recording_send(struct recording *r, int number)
{
    __atomic_fetch_or(&r->to_send, UINT64_C(1) << number, __ATOMIC_RELEASE);
    recording_wake(r);
}
