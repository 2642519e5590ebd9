/* The collector as another program would use it: usage test_recording TARGET. Nothing of it may
 * reach standard output or standard error, and nothing may exit. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/open_profile.h"
#include "collector/recording.h"

static char *target;
static char directory[] = "/tmp/penumbra-embedding-XXXXXX";
static char output[sizeof directory + 16];

/* What a recording has told. */
struct told {
    unsigned notes, warnings, lives, finished, stops, progresses, nameless;
    uint64_t taken;     /* samples, in the last of lives */
    uint64_t result;    /* and in the result */
    unsigned *children; /* shared with them */
    int sleeps;         /* so many seconds, in the second child */
    bool own_group;     /* each child leads one, which a terminal may stop */
    struct recording *stop_at_live, *suspend_at_live, *hurry;
};

static void on_note(void *context, const char *sentence)
{
    struct told *t = context;
    t->notes += *sentence != '\0';
    t->nameless += strstr(sentence, "no time to read all names") != NULL;
}

static void on_warning(void *context, const struct err *what)
{
    struct told *t = context;
    t->warnings += what->code != ERR_NONE;
}

static void on_live(void *context, const struct recording_live *live)
{
    struct told *t = context;
    t->lives++;
    t->taken = live->totals.taken;
    if (t->stop_at_live && live->totals.taken > 20)
        recording_stop(t->stop_at_live);
    if (t->suspend_at_live)
        recording_send(t->suspend_at_live, SIGTSTP);
    t->suspend_at_live = NULL;
}

static bool on_stopped(void *context)
{
    struct told *t = context;
    return ++t->stops == 2;
}

static void on_progress(void *context, unsigned done, unsigned all)
{
    struct told *t = context;
    t->progresses += done < all;
    if (t->hurry)
        recording_hurry(t->hurry);
}

static void on_finished(void *context, const struct recording_result *result)
{
    struct told *t = context;
    struct profile_totals totals;
    profile_totals(result->profile, &totals);
    t->result = totals.taken;
    t->finished += access(result->path, R_OK) == 0;
}

static void in_child(void *context)
{
    struct told *t = context;
    const struct timespec pause = {t->sleeps, 0};
    if (__atomic_fetch_add(t->children, 1, __ATOMIC_RELAXED) == 1 && t->sleeps)
        nanosleep(&pause, NULL);
    if (t->own_group)
        setpgid(0, 0);
}

static struct recording_callbacks callbacks_to(struct told *t)
{
    *t = (struct told){0};
    t->children =
        mmap(NULL, sizeof *t->children, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(t->children != MAP_FAILED);
    return (struct recording_callbacks){.context = t,
                                        .note = on_note,
                                        .warning = on_warning,
                                        .live = on_live,
                                        .finished = on_finished,
                                        .stopped = on_stopped,
                                        .progress = on_progress,
                                        .in_child = in_child};
}

static struct recording_options options_for(char **program)
{
    struct recording_options o;
    recording_options_init(&o);
    o.program = program;
    o.output = output;
    o.spool_dir = directory;
    o.events.frequency = 997;
    o.events.frequency_given = true;
    return o;
}

/* ---- nothing is printed, nothing is left ---- */

static int streams[2], capture = -1;

/* What of the process a recording leaves as it was. */
static struct process {
    struct {
        void (*handler)(int);
        int flags;
        uint64_t mask;
    } actions[NSIG];
    uint64_t mask;
    unsigned descriptors;
} before;

static unsigned files_in(const char *folder)
{
    unsigned count = 0;
    DIR *d = opendir(folder);
    while (d && readdir(d))
        count++;
    if (d)
        closedir(d);
    return count;
}

static void look(struct process *p)
{
    enum { RESTORER = 0x04000000 }; /* libc's own business */
    sigset_t mask;
    memset(p, 0, sizeof *p);
    for (int i = 1; i < NSIG; i++) {
        struct sigaction action = {0};
        sigaction(i, NULL, &action);
        p->actions[i].handler = action.sa_handler;
        p->actions[i].flags = action.sa_flags & ~RESTORER;
        memcpy(&p->actions[i].mask, &action.sa_mask, sizeof p->actions[i].mask);
    }
    sigprocmask(SIG_SETMASK, NULL, &mask);
    memcpy(&p->mask, &mask, sizeof p->mask); /* the kernel's signals */
    p->descriptors = files_in("/proc/self/fd");
}

static bool signals_are_as(const struct process *a, const struct process *b)
{
    bool same = a->mask == b->mask;
    for (int i = 1; i < NSIG; i++)
        same &= a->actions[i].handler == b->actions[i].handler &&
                a->actions[i].flags == b->actions[i].flags &&
                a->actions[i].mask == b->actions[i].mask;
    return same;
}

/* A table in the making may hold a descriptor a little longer. */
static void await_descriptors(unsigned count)
{
    const struct timespec pause = {0, 10000000};
    for (int i = 0; i < 500 && files_in("/proc/self/fd") > count; i++)
        nanosleep(&pause, NULL);
}

static bool is_as_before(void)
{
    struct process after;
    await_descriptors(before.descriptors);
    look(&after);
    bool signals = signals_are_as(&after, &before);
    bool alone = waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD;
    if (!signals || !alone || after.descriptors != before.descriptors)
        fprintf(stderr, "signals %d, no child %d, %u descriptors instead of %u\n", signals, alone,
                after.descriptors, before.descriptors);
    return signals && alone && after.descriptors == before.descriptors;
}

static int begin(void **state)
{
    (void)state;
    look(&before);
    fflush(NULL);
    capture = memfd_create("output", MFD_CLOEXEC);
    for (int i = 0; i < 2; i++) {
        streams[i] = fcntl(i + 1, F_DUPFD_CLOEXEC, 3);
        dup2(capture, i + 1);
    }
    return capture < 0;
}

static unsigned files_left(void)
{
    unsigned count = 0;
    DIR *d = opendir(directory);
    for (struct dirent *entry; d && (entry = readdir(d));)
        count += entry->d_name[0] != '.' && strcmp(entry->d_name, strrchr(output, '/') + 1) != 0;
    if (d)
        closedir(d);
    return count;
}

static int end(void **state)
{
    char said[256] = "";
    (void)state;
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        dup2(streams[i], i + 1);
        close(streams[i]);
    }
    ssize_t n = pread(capture, said, sizeof said - 1, 0);
    close(capture);
    if (n)
        fprintf(stderr, "the collector has said: %s\n", said);
    unsigned left = files_left();
    if (left)
        fprintf(stderr, "%u files are left\n", left);
    unlink(output);
    return n != 0 || left != 0 || !is_as_before();
}

/* ---- recordings ---- */

static uint64_t samples_in_file(void)
{
    struct err e = {0};
    struct profile_totals totals;
    struct profile *p = profile_read(output, &e);
    if (!p)
        return 0;
    profile_totals(p, &totals);
    profile_free(p);
    return totals.taken;
}

/* One of the target with so much to do, that tells t. */
static struct recording *telling(struct told *t, char *work, struct err *e)
{
    static char *program[3];
    program[0] = target;
    program[1] = work;
    struct recording_options o = options_for(program);
    struct recording_callbacks c = callbacks_to(t);
    struct recording *r = recording_new(&o, &c, e);
    assert_non_null(r);
    return r;
}

static void record_to_the_end(struct recording *r, struct err *e)
{
    assert_true(recording_start(r, e));
    recording_wait(r);
    assert_true(recording_finish(r, e));
}

static void records_to_the_end(void **state)
{
    (void)state;
    struct told t;
    struct err e = {0};
    struct recording *r = telling(&t, "700", &e);
    assert_true(recording_start(r, &e));
    assert_string_equal(recording_shown(r), output);
    recording_wait(r);
    assert_true(recording_finish(r, &e));
    assert_null(recording_kept(r));
    int status = recording_program_wait(r);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    recording_free(r);
    assert_int_equal(e.code, ERR_NONE);
    assert_int_equal(t.finished, 1);
    assert_int_equal(t.warnings, 0);
    assert_true(t.lives >= 1);
    assert_true(t.result > 100 && t.taken <= t.result);
    assert_int_equal(samples_in_file(), t.result);
    assert_true(*t.children >= 2); /* the program, and the reader of names */
}

static void records_for_a_time_without_callbacks(void **state)
{
    (void)state;
    char *program[] = {target, "0", NULL};
    struct err e = {0};
    struct recording_options o = options_for(program);
    o.duration_ns = 300000000;
    struct recording *r = recording_new(&o, NULL, &e);
    assert_non_null(r);
    record_to_the_end(r, &e);
    assert_true(samples_in_file() > 0);
    recording_send(r, SIGTERM); /* the program goes on */
    int status = recording_program_wait(r);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    recording_free(r);
}

static void stops_and_hands_on(void **state)
{
    (void)state;
    struct told t;
    struct err e = {0};
    struct recording *r = telling(&t, "0", &e);
    t.stop_at_live = r;
    assert_true(recording_start(r, &e));
    recording_wait(r);
    recording_send(r, SIGUSR1);
    assert_true(recording_finish(r, &e));
    int status = recording_program_wait(r);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1);
    recording_free(r);
    assert_true(samples_in_file() > 20);
}

static void goes_on_after_a_stop(void **state)
{
    (void)state;
    struct told t;
    struct err e = {0};
    struct recording *r = telling(&t, "500", &e);
    t.suspend_at_live = r;
    t.own_group = true;
    record_to_the_end(r, &e);
    assert_int_equal(WEXITSTATUS(recording_program_wait(r)), 7);
    recording_free(r);
    assert_int_equal(t.stops, 2); /* the first answer was no */
}

static void leaves_names_out_in_a_hurry(void **state)
{
    (void)state;
    struct told t;
    struct err e = {0};
    struct recording *r = telling(&t, "50", &e);
    t.hurry = r;
    t.sleeps = 60;
    record_to_the_end(r, &e);
    recording_program_wait(r);
    recording_free(r);
    assert_int_equal(t.progresses, 1);
    assert_int_equal(t.nameless, 1);
    assert_true(samples_in_file() > 0);
}

static void keeps_what_cannot_be_written(void **state)
{
    (void)state;
    char *program[] = {target, "50", NULL}, kept[PATH_MAX];
    unsigned descriptors = files_in("/proc/self/fd");
    struct err e = {0};
    struct rlimit all, little;
    struct sigaction ignore = {.sa_handler = SIG_IGN}, old;
    struct recording_options o = options_for(program);
    struct recording *r = recording_new(&o, NULL, &e);
    assert_non_null(r);
    assert_true(recording_start(r, &e));
    recording_wait(r);
    getrlimit(RLIMIT_FSIZE, &all);
    little = (struct rlimit){64, all.rlim_max};
    sigaction(SIGXFSZ, &ignore, &old);
    setrlimit(RLIMIT_FSIZE, &little);
    bool finished = recording_finish(r, &e);
    setrlimit(RLIMIT_FSIZE, &all);
    sigaction(SIGXFSZ, &old, NULL);
    assert_false(finished);
    assert_int_equal(e.code, ERR_OUTPUT);
    assert_non_null(recording_kept(r));
    snprintf(kept, sizeof kept, "%s", recording_kept(r));
    recording_program_wait(r);
    recording_free(r);
    await_descriptors(descriptors);
    assert_int_equal(access(kept, R_OK), 0);
    static const struct recording_callbacks silent;
    struct profile *p = open_profile(output, &silent, &e);
    assert_non_null(p);
    profile_free(p);
    assert_int_not_equal(access(kept, R_OK), 0);
    assert_true(samples_in_file() > 0);
}

static void *stop_soon(void *r)
{
    usleep(200000);
    recording_stop(r);
    return NULL;
}

static void attaches_and_leaves(void **state)
{
    (void)state;
    struct told t;
    struct err e = {0};
    pthread_t stopper;
    pid_t pid = fork();
    if (!pid) {
        execl(target, target, "0", NULL);
        _exit(127);
    }
    usleep(100000);
    struct recording_options o = options_for(NULL);
    o.pid = pid;
    struct recording_callbacks c = callbacks_to(&t);
    struct recording *r = recording_new(&o, &c, &e);
    assert_non_null(r);
    bool started = recording_start(r, &e);
    if (started) {
        pthread_create(&stopper, NULL, stop_soon, r);
        recording_wait(r);
        pthread_join(stopper, NULL);
        assert_true(recording_finish(r, &e));
        assert_int_equal(recording_program_wait(r), 0);
    }
    recording_free(r);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0); /* it runs */
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    if (!started && e.code == ERR_NOT_EXECUTABLE)
        skip(); /* ptrace is not allowed here */
    assert_true(started);
    assert_true(samples_in_file() > 0);
}

static void on_long_note(void *context, const char *sentence)
{
    size_t *lengths = context;
    lengths[lengths[0] ? 1 : 0] = strlen(sentence);
}

static void tells_notes_whole(void **state)
{
    (void)state;
    enum { LONG = 5000 };
    char lines[LONG + sizeof "\nshort\n"];
    size_t lengths[2] = {0};
    memset(lines, 'x', LONG);
    memcpy(lines + LONG, "\nshort\n", sizeof "\nshort\n");
    tell_notes(&(struct recording_callbacks){.context = lengths, .note = on_long_note}, lines);
    assert_int_equal(lengths[0], LONG);
    assert_int_equal(lengths[1], 5);
}

/* ---- errors ---- */

static void one_at_a_time(void **state)
{
    (void)state;
    char *program[] = {target, "10", NULL};
    struct err e = {0};
    struct recording_options o = options_for(program);
    struct recording *r = recording_new(&o, NULL, &e);
    assert_non_null(r);
    assert_null(recording_new(&o, NULL, &e));
    assert_int_equal(e.code, ERR_INTERNAL);
    recording_free(r);
    e = (struct err){0};
    r = recording_new(&o, NULL, &e);
    assert_non_null(r);
    recording_free(r);
}

static void expect_refusal(const struct recording_options *o, enum err_code code, const char *part)
{
    struct err e = {0};
    assert_null(recording_new(o, NULL, &e));
    assert_int_equal(e.code, code);
    assert_non_null(strstr(e.message, part));
}

static void refuses_options(void **state)
{
    (void)state;
    char *program[] = {target, "10", NULL}, *none[] = {NULL};
    struct recording_options o = options_for(none);
    expect_refusal(&o, ERR_USAGE, "no program");
    o.program = NULL;
    expect_refusal(&o, ERR_USAGE, "no program");
    o = options_for(program);
    o.pid = 1;
    expect_refusal(&o, ERR_USAGE, "not both");
    o = options_for(program);
    o.events.frequency = 0;
    expect_refusal(&o, ERR_USAGE, "-F");
    o = options_for(program);
    o.max_depth = 0;
    expect_refusal(&o, ERR_USAGE, "--max-depth");
    o = options_for(program);
    o.engine.carrier = CARRIER_KIND_COUNT;
    expect_refusal(&o, ERR_USAGE, "carrier");
    o = options_for(program);
    o.engine.length = 5;
    expect_refusal(&o, ERR_USAGE, "--length");
    o = options_for(program);
    o.budget_ppm = 1000001;
    expect_refusal(&o, ERR_USAGE, "between 10 and 1000000 millionths");
    o = options_for(program);
    o.engine.carrier = CARRIER_SHADOW;
    o.engine.load_milli = 8001;
    expect_refusal(&o, ERR_USAGE, "thousandths of a shadow");
    o = options_for(program);
    o.values.summary = HOTLIST_KINDS;
    expect_refusal(&o, ERR_USAGE, "--summary");
    o = options_for(program);
    o.values.every = UINT32_MAX;
    expect_refusal(&o, ERR_USAGE, "--every");
    o = options_for(program);
    o.events.count = 1;
    expect_refusal(&o, ERR_USAGE, "-e");
}

static bool woken;

/* Also while the recording comes to nothing. */
static void *wake_often(void *r)
{
    while (__atomic_load_n(&woken, __ATOMIC_ACQUIRE))
        recording_wake(r);
    return NULL;
}

static void expect_failure(const struct recording_options *o, enum err_code code)
{
    struct err e = {0};
    pthread_t waker;
    struct recording *r = recording_new(o, NULL, &e);
    assert_non_null(r);
    woken = true;
    pthread_create(&waker, NULL, wake_often, r);
    assert_false(recording_start(r, &e));
    __atomic_store_n(&woken, false, __ATOMIC_RELEASE);
    pthread_join(waker, NULL);
    assert_int_equal(e.code, code);
    assert_true(e.message[0]);
    assert_int_equal(files_left(), 0);
    recording_free(r);
}

enum { LONG_ARGUMENT = 1 << 18 };

static void fails_to_start(void **state)
{
    (void)state;
    char *missing[] = {"/nonexistent/program", NULL}, *program[] = {target, "10", NULL};
    struct recording_options o = options_for(missing);
    expect_failure(&o, ERR_NOT_FOUND);
    o = options_for(program);
    o.output = "/nonexistent/directory/x.pnb";
    expect_failure(&o, ERR_OUTPUT);
    o = options_for(program);
    o.spool_dir = "/nonexistent";
    expect_failure(&o, ERR_OUTPUT);
    char *most = malloc(LONG_ARGUMENT + 1);
    memset(most, 'x', LONG_ARGUMENT);
    most[LONG_ARGUMENT] = '\0';
    o = options_for((char *[]){target, most, NULL});
    expect_failure(&o, ERR_NOT_EXECUTABLE); /* exec itself fails, when all else is there */
    free(most);
    o = options_for(NULL);
    o.pid = 1 << 22;
    expect_failure(&o, ERR_NOT_FOUND);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(tells_notes_whole),
        TEST(refuses_options),
        TEST(fails_to_start),
        TEST(one_at_a_time),
        TEST(records_to_the_end),
        TEST(records_for_a_time_without_callbacks),
        TEST(stops_and_hands_on),
        TEST(goes_on_after_a_stop),
        TEST(leaves_names_out_in_a_hurry),
        TEST(keeps_what_cannot_be_written),
        TEST(attaches_and_leaves),
    };
    if (argc < 2 || !mkdtemp(directory))
        return 2;
    target = argv[1];
    snprintf(output, sizeof output, "%s/out.pnb", directory);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(directory);
    return failed;
}
