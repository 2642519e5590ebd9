/* The collector as another program would use it: usage test_recording TARGET. Nothing of it may
 * reach standard output or standard error, and nothing may exit. */
#include <dirent.h>
#include <fcntl.h>
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
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/recording.h"

static char *target;
static char directory[] = "/tmp/penumbra-embedding-XXXXXX";
static char output[sizeof directory + 16];

/* What a recording has told. */
struct told {
    unsigned notes, warnings, lives, finished;
    uint64_t taken;     /* samples, in the last of lives */
    uint64_t result;    /* and in the result */
    unsigned *children; /* shared with them */
    struct recording *stop_at_live;
};

static void on_note(void *context, const char *sentence)
{
    struct told *t = context;
    t->notes += *sentence != '\0';
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
    __atomic_fetch_add(t->children, 1, __ATOMIC_RELAXED);
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
                                        .in_child = in_child};
}

static struct recording_options options_for(char **program)
{
    struct recording_options o;
    recording_options_init(&o);
    o.program = program;
    o.output = output;
    o.events.frequency = 997;
    o.events.frequency_given = true;
    return o;
}

/* ---- nothing is printed, nothing is left ---- */

static int streams[2], capture = -1;

static int begin(void **state)
{
    (void)state;
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
    return n != 0 || left != 0;
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

static void records_to_the_end(void **state)
{
    (void)state;
    char *program[] = {target, "700", NULL};
    struct told t;
    struct err e = {0};
    struct recording_options o = options_for(program);
    struct recording_callbacks c = callbacks_to(&t);
    struct recording *r = recording_new(&o, &c, &e);
    assert_non_null(r);
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
    assert_true(recording_start(r, &e));
    recording_wait(r);
    assert_true(recording_finish(r, &e));
    assert_true(samples_in_file() > 0);
    recording_send(r, SIGTERM); /* the program goes on */
    int status = recording_program_wait(r);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    recording_free(r);
}

static void stops_and_hands_on(void **state)
{
    (void)state;
    char *program[] = {target, "0", NULL};
    struct told t;
    struct err e = {0};
    struct recording_options o = options_for(program);
    struct recording_callbacks c = callbacks_to(&t);
    struct recording *r = recording_new(&o, &c, &e);
    assert_non_null(r);
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
    if (!started)
        skip(); /* ptrace is not allowed here */
    assert_true(samples_in_file() > 0);
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
    o.events.count = 1;
    expect_refusal(&o, ERR_USAGE, "-e");
}

static void expect_failure(const struct recording_options *o, enum err_code code)
{
    struct err e = {0};
    struct recording *r = recording_new(o, NULL, &e);
    assert_non_null(r);
    assert_false(recording_start(r, &e));
    assert_int_equal(e.code, code);
    assert_true(e.message[0]);
    recording_free(r);
}

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
    o = options_for(NULL);
    o.pid = 1 << 22;
    expect_failure(&o, ERR_NOT_FOUND);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(refuses_options),
        TEST(fails_to_start),
        TEST(one_at_a_time),
        TEST(records_to_the_end),
        TEST(records_for_a_time_without_callbacks),
        TEST(stops_and_hands_on),
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
