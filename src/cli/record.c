/* `penumbra record`: parses its options. record_run, of other commands too, makes the recording
 * (collector/recording.h), and says what that tells:
 *
 *     recording ── note, warning, finished ──> lines on standard error
 *         │  ^ ── live, progress ────────────> the terminal
 *         v  └── recording_stop, _send, ... ── signals (record_signals.h)
 *     the program's own end, as its parent would see it */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/live_line.h"
#include "cli/record_options.h"
#include "cli/record_run.h"
#include "cli/record_signals.h"
#include "cli/record_summary.h"
#include "collector/recording.h"

struct record {
    const struct record_run *options;
    struct live_line line;
    bool left; /* -p: nothing of ours is armed in the process any more */
};

static void say_note(void *context, const char *sentence)
{
    struct record *r = context;
    live_line_erase(&r->line);
    fprintf(stderr, "penumbra: %s\n", sentence);
}

static void say_warning(void *context, const struct err *what)
{
    struct record *r = context;
    live_line_erase(&r->line);
    fprintf(stderr, "penumbra: %s\n", what->message);
    r->left &= what->code != ERR_ATTACH;
}

static void show_live(void *context, const struct recording_live *live)
{
    struct record *r = context;
    live_line_draw(&r->line, live);
}

static void say_progress(void *context, unsigned done, unsigned all)
{
    (void)context;
    fprintf(stderr,
            "penumbra: reading names, of %u of %u files so far (Ctrl-C leaves out the others)\n",
            done, all);
}

static void say_finished(void *context, const struct recording_result *result)
{
    (void)context;
    record_summary(result);
}

/* So that the shell sees that the program has stopped, and not waits for us. */
static bool stop_with_program(void *context)
{
    (void)context;
    /* After Ctrl-Z and fg the program's own SIGCONT is on its way. */
    if (record_signals_continued() || !(isatty(STDIN_FILENO) || isatty(STDERR_FILENO)))
        return false;
    raise(SIGSTOP);
    record_signals_continued();
    return true;
}

static void restore_signals(void *context)
{
    const struct record *r = context;
    record_signals_child();
    if (r->options->in_child)
        r->options->in_child();
}

static struct recording_callbacks callbacks_for(struct record *r)
{
    struct recording_callbacks c = {.context = r,
                                    .warning = say_warning,
                                    .stopped = stop_with_program,
                                    .in_child = restore_signals};
    bool terminal = isatty(STDERR_FILENO) == 1;
    if (r->options->quiet)
        return c;
    c.note = say_note;
    c.finished = say_finished;
    c.live = terminal ? show_live : NULL;
    c.progress = terminal ? say_progress : NULL;
    return c;
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

static bool finish(struct record *r, struct recording *recording)
{
    struct err e = {0};
    live_line_erase(&r->line);
    if (recording_finish(recording, &e))
        return true;
    command_fail(r->options->command, &e);
    if (recording_kept(recording))
        fprintf(stderr,
                "penumbra %s: what was counted is kept in %s; when the cause is "
                "removed, run penumbra recover %s (or, to write elsewhere, with -o)\n",
                r->options->command, recording_kept(recording), recording_shown(recording));
    return false;
}

int record_run(const struct record_run *options)
{
    struct err e = {0};
    struct record r = {.options = options, .left = true};
    bool alone = !recording_options_has_program(options->recording);
    struct recording_callbacks callbacks = callbacks_for(&r);
    struct recording *recording = recording_new(options->recording, &callbacks, &e);
    if (!recording)
        return command_fail(options->command, &e);
    record_signals_for(recording, alone);
    record_signals_install();
    if (!recording_start(recording, &e)) {
        record_signals_for(NULL, false);
        recording_free(recording);
        return command_fail(options->command, &e);
    }
    recording_wait(recording);
    bool written = finish(&r, recording);
    int status = recording_program_wait(recording);
    record_signals_for(NULL, false);
    if (written && options->written)
        options->written(options->context, recording_shown(recording));
    recording_free(recording);
    if (options->recording->pid)
        return !written ? ERR_OUTPUT : r.left ? 0 : ERR_ATTACH;
    return pass_on(status, written);
}

/* With --check. The program need not be named. */
static int check_productions(const struct record_options *o)
{
    struct err e = {0};
    const struct record_productions *p = &o->recording.productions;
    struct production_program *made = calloc(1, sizeof *made);
    bool ok = made || err_set(&e, ERR_INTERNAL, "out of memory");
    if (ok && !p->count)
        ok = err_set(&e, ERR_USAGE, "--check is about productions: add --production FILE");
    ok = ok && record_productions_read(p, NULL, made, &e);
    if (ok)
        production_print(stdout, made);
    if (ok && (fflush(stdout) || ferror(stdout)))
        ok = err_set(&e, ERR_OUTPUT, "cannot write standard output");
    free(made);
    return ok ? 0 : command_fail("record", &e);
}

int command_record(int argc, char **argv)
{
    struct record_options options;
    int status;
    if (!record_options_take(&options, argc, argv, &status))
        return status;
    if (options.check)
        return check_productions(&options);
    return record_run(&(struct record_run){
        .command = "record", .recording = &options.recording, .quiet = options.quiet});
}
