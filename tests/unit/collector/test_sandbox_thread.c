/* Finding a thread of another PID namespace, in a folder that looks like a process's in /proc. */
#include "collector/record_sandbox_thread.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/penumbra-XXXXXX";
static struct sandbox_place place;

static void path_of(char path[64], int tid, const char *name)
{
    snprintf(path, 64, "%s/task/%d/%s", folder, tid, name);
}

static void file_write(int tid, const char *name, const char *text)
{
    char path[64];
    path_of(path, tid, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void thread_make(int tid, const char *status)
{
    char path[64];
    path_of(path, tid, "");
    assert_int_equal(mkdir(path, 0700), 0);
    file_write(tid, "status", status);
    file_write(tid, "schedstat", "5000 0 1\n");
}

static int make(void **unused)
{
    char task[64];
    (void)unused;
    assert_non_null(mkdtemp(folder));
    snprintf(task, sizeof task, "%s/task", folder);
    assert_int_equal(mkdir(task, 0700), 0);
    thread_make(100, "Name:\tx\nNSpid:\t100\t1\n");
    thread_make(101, "Name:\tx\nNSpid:\t101\t2\n");
    thread_make(102, "Name:\tx\nNSpid:\t102\n");
    place = (struct sandbox_place){open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC), 100};
    return place.folder < 0;
}

static int clean(void **unused)
{
    char command[64];
    (void)unused;
    close(place.folder);
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static int found(int32_t inside)
{
    struct spool_thread record = {.tid = inside};
    struct spool_process process = {0};
    struct sandbox_thread t;
    int error = sandbox_thread_open(&t, &record, 0, &place);
    if (!error)
        sandbox_thread_close(&t, &process, OUTSIDE_GONE);
    return error;
}

static void test_found(void **unused)
{
    (void)unused;
    assert_int_equal(found(2), 0);
    assert_int_equal(found(102), 0); /* of our own namespace */
}

static void test_ended(void **unused)
{
    (void)unused;
    assert_int_equal(found(9), ESRCH);
    assert_int_equal(found(101), ESRCH); /* the number that it has here is not its own */
}

/* As a list of threads is read one of them ends, for which the kernel leaves out another one. */
static void *thread_ends(void *unused)
{
    char path[64], other[64];
    path_of(path, 200, "status");
    int fd = open(path, O_WRONLY);
    thread_make(400, "Name:\tx\nNSpid:\t400\t9\n");
    path_of(path, 300, "");
    path_of(other, 301, "");
    rename(path, other);
    path_of(path, 200, "status");
    path_of(other, 301, "status");
    rename(other, path);
    dprintf(fd, "NSpid:\t200\t3\n");
    close(fd);
    return unused;
}

static void test_left_out(void **unused)
{
    pthread_t t;
    char path[64];
    (void)unused;
    thread_make(200, "");
    path_of(path, 200, "status");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    thread_make(300, "Name:\tx\nNSpid:\t300\t4\n");
    assert_int_equal(pthread_create(&t, NULL, thread_ends, NULL), 0);
    assert_int_equal(found(9), 0);
    pthread_join(t, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_found),
        cmocka_unit_test(test_ended),
        cmocka_unit_test(test_left_out),
    };
    return cmocka_run_group_tests(tests, make, clean);
}
