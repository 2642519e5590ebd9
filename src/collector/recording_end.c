#include "collector/recording.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/describe.h"
#include "collector/machine/machine_kernel.h"
#include "collector/measure.h"
#include "collector/record_names.h"
#include "collector/record_notes.h"
#include "collector/recording_internal.h"
#include "profile/spool_read.h"
#include "sigsafe/settings.h"

#define POLL_NS UINT64_C(100000000)

/* ---- nothing is recorded any more ---- */

/* Before the state is STOPPED: what is waited until then belongs to the recording. */
static void outside_end(struct recording *r)
{
    r->notes.size--; /* its NUL */
    outside_stop(&r->outside, &r->notes);
    uint64_t stopped = machine_stop(r->machine, &r->notes);
    if (stopped)
        r->elapsed_ns = stopped - r->start_ns;
    buf_put_u8(&r->notes, '\0');
}

/* What was measured beside the recording becomes one of its notes. */
static void verify_end(struct recording *r)
{
    struct profile_totals t;
    uint32_t processes, threads;
    if (!r->options.verify_cost)
        return;
    spool_totals(&r->spool.spool, &t, &processes, &threads);
    t.begun_ns = r->processes.ns;
    double spent = profile_spent_ns(&t), native = (double)r->child.cpu_ns - spent;
    size_t from = --r->notes.size; /* its NUL */
    record_verify_end(&r->verify, &r->child, r->elapsed_ns, native > 0 ? 100 * spent / native : 0,
                      &r->notes);
    buf_put_u8(&r->notes, '\0');
    if (buf_ok(&r->notes))
        tell_notes(&r->callbacks, (const char *)r->notes.data + from);
}

/* Those of a short program would have seen little more than its beginning. */
static void shadows_finish(struct recording *r)
{
    const struct spool *s = &r->spool.spool;
    uint64_t begin = monotonic_ns(), most = r->child.ended ? r->options.engine.finish_ns : 0;
    if (most)
        record_shadows_hurry(s);
    while (monotonic_ns() - begin < most &&
           !__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE) &&
           __atomic_load_n(&spool_header(s)->shadows_active, __ATOMIC_RELAXED)) {
        uint32_t seen = __atomic_load_n(&spool_header(s)->bell, __ATOMIC_ACQUIRE);
        record_spool_extend(&r->spool, 0);
        record_shadows_poll(&r->shadows, s);
        recording_hand_on(r);
        recording_sleep(&r->spool, seen, POLL_NS);
    }
    record_shadows_end(s);
}

static void end(struct recording *r)
{
    struct err e = {0};
    record_copies_end(&r->copies);
    if (!r->machine)
        record_files_last(&r->files, &r->spool.spool);
    outside_end(r);
    record_sandbox_stop(&r->sandbox);
    record_windows_stop(&r->windows);
    __atomic_store_n(&spool_header(&r->spool.spool)->state, SPOOL_STOPPED, __ATOMIC_RELEASE);
    recording_switch(r, false);
    recording_hand_on(r);
    /* Its ticks are signals, of which none may come when those that wait have been taken away. */
    record_discover_end(&r->discover);
    if (recording_attaches(r) && !record_attach_leave(&r->attach, &r->spool, &e)) {
        e.code = ERR_ATTACH; /* by which callers know */
        tell_warning(&r->callbacks, &e);
    }
    shadows_finish(r);
    record_host_finish(&r->host);
    if (r->child.ended && recording_launches(r) && !__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE))
        r->processes = record_processes_cost(&r->spool.spool, &r->config, r->tsc_hz,
                                             r->options.spool_dir, r->output, &r->callbacks);
    verify_end(r);
}

/* ---- the profile ---- */

/* While names are read, the program may go on. */
static void serve_on(void *recording)
{
    struct recording *r = recording;
    if (!recording_has_program(r))
        return;
    record_child_poll(&r->child, monotonic_ns(), &r->callbacks);
    record_shadows_poll(&r->shadows, &r->spool.spool);
    recording_hand_on(r);
}

static bool describe(const struct recording *r, const struct record_outcome *outcome,
                     struct profile *p, struct err *e)
{
    bool program_ended = r->child.ended && recording_has_program(r);
    const struct spool_config *config = settings_sampling(&r->spool.spool);
    char *command = describe_command(r->arguments);
    char *notes = record_notes_all(outcome, p, &r->spool);
    bool ok = command && notes && describe_set(&p->command, command, e) &&
              describe_set(&p->notes, notes, e) && describe_machine(p, config, e);
    if (!command || !notes)
        err_set(e, ERR_INTERNAL, "out of memory");
    free(command);
    free(notes);
    p->exit_status = program_ended ? r->child.status : -1;
    p->duration_ns = r->elapsed_ns;
    p->kernel_cpu_ns = r->machine && !r->options.machine.external ? 0 : r->child.cpu_ns;
    if (r->processes.ns)
        p->begun = (struct profile_begun){r->processes.executed, r->processes.forked,
                                          r->processes.ns};
    return ok && describe_jit(p, &r->files, e);
}

/* *nameless: of how many files names are missing since there was no time. */
static bool write_profile(struct recording *r, struct profile *p, unsigned *nameless, struct err *e)
{
    const struct record_names names = {.files = &r->files,
                                       .serve = serve_on,
                                       .context = r,
                                       .callbacks = &r->callbacks,
                                       .hurried = &r->hurried,
                                       .gentle = !r->child.ended};
    *nameless = 0;
    if (!r->options.names)
        return profile_write(p, r->output, e);
    /* Whoever asked to stop may not wait for long. */
    if (__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE) && !profile_write(p, r->output, e))
        return false;
    *nameless = record_names_add(&names, p);
    return profile_write(p, r->output, e);
}

static void tell_finished(struct recording *r, const struct record_outcome *outcome,
                          const struct profile *p, unsigned nameless)
{
    const struct recording_result result = {.profile = p, .path = r->output, .shown = r->shown};
    if (nameless)
        tell_note(&r->callbacks,
                  "there was no time to read all names of %u file%s: penumbra symbolize %s "
                  "adds them",
                  nameless, nameless == 1 ? "" : "s", r->shown);
    record_notes_tell(outcome, p, &r->spool, &r->callbacks);
    if (r->callbacks.finished)
        r->callbacks.finished(r->callbacks.context, &result);
}

static bool name_kernel(struct recording *r, struct profile *p, struct err *e)
{
    bool hidden = false;
    if (!machine_kernel_name(p, &r->spool.spool, true, &hidden))
        return err_set(e, ERR_INTERNAL, "out of memory");
    if (!hidden)
        return true;
    r->notes.size--; /* its NUL */
    buf_puts(&r->notes, "kernel functions have no names: /proc/kallsyms shows no addresses here "
                        "(kernel.kptr_restrict; root sees them)\n");
    buf_put_u8(&r->notes, '\0');
    return buf_ok(&r->notes) || err_set(e, ERR_INTERNAL, "out of memory");
}

static bool make_profile(struct recording *r, struct err *e)
{
    bool program_ended = r->child.ended && recording_launches(r);
    struct record_outcome outcome = {
        .left_behind = program_ended && recording_descendants_run(r),
        .wait_all = r->options.wait_all,
    };
    unsigned nameless;
    bool overwritten = record_spool_restore(&r->spool);
    struct profile *p = profile_from_spool(&r->spool.spool, &outcome.damage, e);
    outcome.damage += overwritten;
    bool ok = p && name_kernel(r, p, e);
    outcome.notes = (const char *)r->notes.data;
    ok = ok && describe(r, &outcome, p, e) && write_profile(r, p, &nameless, e);
    if (ok)
        tell_finished(r, &outcome, p, nameless);
    profile_free(p);
    return ok;
}

bool recording_finish(struct recording *r, struct err *e)
{
    struct stat st;
    end(r);
    bool ok = make_profile(r, e);
    /* By its live file, which is at the place of the profile then. */
    r->kept = !ok && !stat(r->output, &st) && S_ISREG(st.st_mode);
    if (!r->kept)
        unlink(r->spool.path);
    record_files_free(&r->files);
    return ok;
}

const char *recording_kept(const struct recording *r)
{
    return r->kept ? r->spool.path : NULL;
}

int recording_program_wait(struct recording *r)
{
    const struct spool *s = &r->spool.spool;
    record_tables_stop(&r->tables);
    while (recording_has_program(r)) {
        uint32_t seen = __atomic_load_n(&spool_header(s)->bell, __ATOMIC_ACQUIRE);
        record_child_poll(&r->child, monotonic_ns(), &r->callbacks);
        record_shadows_poll(&r->shadows, s);
        if (r->child.ended)
            return r->child.status;
        recording_hand_on(r);
        recording_sleep(&r->spool, seen, POLL_NS);
    }
    return 0;
}
