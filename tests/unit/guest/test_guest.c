/* Programs that record themselves, with src/guest and src/sigsafe and nothing else of ours, in
 * three forms: the guest in the program, in a static program, in a library. The collector's side is
 * the collector's own: it makes the spool, reads it, and `penumbra report` shows the profile.
 *
 *      test_guest PENUMBRA LIBRARY PROGRAM FORM */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/record_spool.h"
#include "profile/counts.h"
#include "profile/spool_read.h"
#include "sigsafe/settings.h"
#include "sigsafe/tools.h"

enum { WORK_THREADS = 3, COUNTED = 1000 };

static const char *penumbra, *library, *program, *form;
static char directory[] = "/tmp/guest-XXXXXX";

static void spool_make(struct record_spool *s)
{
    struct err e = {0};
    assert_true(record_spool_create(s, directory, NULL, RECORD_RESERVE, &e));
    const struct settings settings = {
        .sampling = {.trigger = TRIGGER_CPU, .period = 1000000, .carrier = CARRIER_BURST,
                     .tools = tools_one(TOOL_BLOCKS)},
        .burst = {.length = 1000, .every = 1}};
    assert_true(settings_put(&s->spool, &settings));
    s->settings = spool_header(&s->spool)->settings;
    spool_header(&s->spool)->follow = 1;
    assert_true(record_spool_name(s, &e));
}

/* The status of the program, as waitpid gives it. */
static int run(const struct record_spool *s, const char *what)
{
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        setenv(SPOOL_ENV, s->path, 1);
        setenv("GUEST_LIBRARY", library, 1);
        execl(program, program, what, (char *)NULL);
        _exit(127);
    }
    assert_true(pid > 0);
    while (waitpid(pid, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    return status;
}

static struct profile *profile_of(struct record_spool *s)
{
    struct err e = {0};
    uint64_t damage = 1;
    struct profile *p = profile_from_spool(&s->spool, &damage, &e);
    assert_string_equal(e.message, "");
    assert_non_null(p);
    assert_int_equal(damage, 0);
    record_spool_release(s, true);
    return p;
}

static struct profile *recorded(const char *what)
{
    struct record_spool s;
    spool_make(&s);
    assert_int_equal(run(&s, what), 0);
    return profile_of(&s);
}

/* The phase of this name, by a thread's number of it. */
static uint32_t phase_named(const struct profile *p, const char *name)
{
    for (uint32_t i = 0; i < p->phase_count; i++)
        if (!strcmp(p->phases[i].name, name))
            return i + 1;
    fail_msg("no phase is called %s", name);
    return 0;
}

static void expect_threads(const struct profile *p, uint32_t process, uint32_t phase,
                           uint32_t threads, uint64_t taken)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < p->thread_count; i++) {
        const struct profile_thread *t = &p->threads[i];
        if (t->process != process || t->phase != phase || t->taken != taken)
            continue;
        found++;
        assert_true(t->end_ns >= t->start_ns && t->end_ns);
        if (!taken)
            continue;
        assert_int_equal(t->node_count, 2);
        assert_int_equal(t->nodes[1].self, taken);
        const struct profile_image *image = &p->images[t->nodes[1].image];
        assert_true(t->nodes[1].offset >= image->first_vaddr);
        assert_true(t->nodes[1].offset < image->last_vaddr);
    }
    assert_int_equal(found, threads);
}

static void expect_counts(const struct profile *p, uint32_t processes)
{
    assert_non_null(observed_code(p));
    assert_int_equal(observed_code(p)->block_count, processes);
    for (uint32_t i = 0; i < processes; i++)
        assert_int_equal(observed_code(p)->blocks[i].count, COUNTED);
}

/* The guest's own image is marked where it is not the program itself. */
static void expect_images(const struct profile *p)
{
    const char *name = strrchr(program, '/') + 1;
    uint32_t mains = 0, runtimes = 0;
    for (uint32_t i = 0; i < p->image_count; i++) {
        mains += p->images[i].flags & IMAGE_MAIN && strstr(p->images[i].path, name);
        runtimes += (p->images[i].flags & IMAGE_RUNTIME) != 0;
    }
    assert_int_equal(mains, 1);
    assert_int_equal(runtimes, !strcmp(form, "library"));
}

/* It was there in one epoch only, and has an end. */
static void expect_library(const struct profile *p, const struct profile_process *process)
{
    const char *name = strrchr(library, '/') + 1;
    uint32_t seen = 0;
    if (!strcmp(form, "static"))
        return;
    for (uint32_t i = 0; i < process->map_count; i++) {
        const struct profile_map *m = &process->maps[i];
        if (!strstr(p->images[m->image].path, name))
            continue;
        seen++;
        assert_int_equal(m->epoch_first, 2);
        assert_int_equal(m->epoch_last, 2);
        assert_true(m->hi > m->lo);
    }
    assert_int_equal(seen, 1);
    assert_int_equal(process->epochs, 3);
}

static void expect_work(const struct profile *p, uint32_t process)
{
    const struct profile_process *of = &p->processes[process];
    uint32_t first = phase_named(p, "first"), inner = phase_named(p, "inner");
    uint32_t second = phase_named(p, "second");
    assert_int_equal(p->phases[inner - 1].outer, first);
    assert_int_equal(p->phases[first - 1].outer, 0);
    assert_int_equal(p->phases[inner - 1].begun, 1);
    expect_threads(p, process, first, WORK_THREADS, 10);
    expect_threads(p, process, second, WORK_THREADS, 20);
    expect_threads(p, process, 0, 1, 0); /* the first thread */
    assert_int_equal(of->pauses, 1);
    assert_int_equal(of->end, PROFILE_END_EXIT);
    assert_non_null(strstr(of->command, "work"));
    expect_library(p, of);
}

static void test_work(void **state)
{
    (void)state;
    struct profile *p = recorded("work");
    assert_int_equal(p->process_count, 1);
    expect_work(p, 0);
    expect_counts(p, 1);
    expect_images(p);
    profile_free(p);
}

/* `penumbra report` shows it. */
static void test_report(void **state)
{
    (void)state;
    struct err e = {0};
    struct profile *p = recorded("work");
    char file[64], command[512], text[1 << 16];
    snprintf(file, sizeof file, "%s/profile.pnb", directory);
    assert_true(profile_write(p, file, &e));
    profile_free(p);
    snprintf(command, sizeof command, "'%s' report --json '%s'", penumbra, file);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    assert_int_equal(pclose(f), 0);
    unlink(file);
    for (const char *const *word = (const char *const[]){"\"first\"", "\"inner\"", "\"second\"",
                                                         "\"blocks\"", NULL};
         *word; word++)
        if (!strstr(text, *word))
            fail_msg("%s is not in the report", *word);
}

/* A child begins in its parent's phase, with its own threads and counters. */
static void test_fork(void **state)
{
    (void)state;
    struct profile *p = recorded("fork");
    assert_int_equal(p->process_count, 2);
    uint32_t child = p->processes[1].ppid == p->processes[0].pid ? 1 : 0;
    assert_int_equal(p->processes[child].ppid, p->processes[!child].pid);
    assert_string_equal(p->processes[0].command, p->processes[1].command);
    assert_int_equal(p->processes[child].map_count, p->processes[!child].map_count);
    expect_threads(p, child, phase_named(p, "outer"), 1, 1);
    expect_threads(p, !child, 0, 1, 0);
    assert_int_equal(observed_code(p)->block_count, 1); /* the parent has counted nothing */
    assert_int_equal(observed_code(p)->blocks[0].count, COUNTED);
    assert_int_equal(p->processes[child].end, PROFILE_END_EXIT);
    assert_int_equal(p->processes[!child].end, PROFILE_END_EXIT);
    profile_free(p);
}

/* The same number twice; one that failed has no effect. */
static void test_exec(void **state)
{
    (void)state;
    struct profile *p = recorded("exec");
    assert_int_equal(p->process_count, 2);
    assert_int_equal(p->processes[0].pid, p->processes[1].pid);
    uint32_t former = p->processes[0].end == PROFILE_END_EXEC ? 0 : 1;
    assert_int_equal(p->processes[former].end, PROFILE_END_EXEC);
    expect_work(p, !former);
    profile_free(p);
}

/* All that was counted is there, and what never ended has no end. */
static void test_killed(void **state)
{
    (void)state;
    struct record_spool s;
    spool_make(&s);
    int status = run(&s, "killed");
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    struct profile *p = profile_of(&s);
    uint32_t open = phase_named(p, "open");
    assert_int_equal(p->processes[0].end, PROFILE_END_RUNNING);
    assert_int_equal(p->processes[0].end_ns, 0);
    expect_counts(p, 1);
    for (uint32_t i = 0; i < p->thread_count; i++)
        if (p->threads[i].phase == open) {
            assert_int_equal(p->threads[i].taken, 5);
            assert_int_equal(p->threads[i].end_ns, 0);
        }
    assert_int_equal(p->thread_count, 2);
    profile_free(p);
}

/* In a sandbox that kills for any system call but three. What it has not seen has no end. */
static void test_quiet(void **state)
{
    (void)state;
    struct profile *p = recorded("quiet");
    uint32_t quiet = phase_named(p, "quiet");
    assert_int_equal(p->phases[quiet - 1].begun, 1);
    assert_int_equal(p->process_count, 1);
    assert_int_equal(p->processes[0].end, PROFILE_END_EXIT);
    assert_int_equal(p->processes[0].pauses, 1);
    assert_int_equal(p->thread_count, 1);
    assert_int_equal(p->threads[0].end_ns, 0);
    profile_free(p);
}

/* A collector of another layout: its records are larger, and what follows their core is not the
 * guest's to write. */
static void test_other_layout(void **state)
{
    (void)state;
    struct record_spool s;
    spool_make(&s);
    struct spool_header *h = spool_header(&s.spool);
    h->layout = SPOOL_LAYOUT + 1;
    h->process_size += 64;
    h->thread_size += 64;
    assert_int_equal(run(&s, "work"), 0);
    const struct spool_process *p = spool_at(&s.spool, h->processes, h->process_size);
    assert_non_null(p);
    const uint8_t *bytes = (const uint8_t *)p;
    for (uint32_t i = SPOOL_PROCESS_CORE; i < h->process_size; i++)
        assert_int_equal(bytes[i], 0);
    const struct spool_thread *t = spool_at(&s.spool, p->threads, h->thread_size);
    for (; t; t = spool_at(&s.spool, t->next, h->thread_size))
        for (uint32_t i = SPOOL_THREAD_CORE; i < h->thread_size; i++)
            assert_int_equal(((const uint8_t *)t)[i], 0);
    h->layout = SPOOL_LAYOUT;
    struct profile *read = profile_of(&s);
    expect_work(read, 0);
    profile_free(read);
}

/* Of another version, or with sizes that cannot be, a spool is left alone, and the program runs
 * on. */
static void test_refused(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        struct record_spool s;
        spool_make(&s);
        struct spool_header *h = spool_header(&s.spool);
        if (i == 0)
            h->version++;
        else if (i == 1)
            h->process_size = SPOOL_PROCESS_CORE - 8;
        else if (i == 2)
            h->thread_size = UINT32_MAX;
        else if (i == 3)
            h->size = UINT64_MAX;
        else
            h->magic ^= 1;
        int status = run(&s, "work");
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 3);
        assert_int_equal(h->processes, 0);
        record_spool_release(&s, true);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_work), cmocka_unit_test(test_report),
        cmocka_unit_test(test_fork), cmocka_unit_test(test_exec),
        cmocka_unit_test(test_killed), cmocka_unit_test(test_quiet),
        cmocka_unit_test(test_other_layout), cmocka_unit_test(test_refused),
    };
    if (argc < 5 || !mkdtemp(directory))
        return 2;
    penumbra = argv[1];
    library = argv[2];
    program = argv[3];
    form = argv[4];
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(directory);
    return failed;
}
