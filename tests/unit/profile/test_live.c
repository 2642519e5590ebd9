/* The live file: found again, told apart from a profile, and never mistaken when damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profile/live.h"
#include "profile/profile.h"
#include "sample.h"

static void make_path(char path[32])
{
    strcpy(path, "/tmp/pnb-live-XXXXXX");
    close(mkstemp(path));
}

static void test_round_trip(void **state)
{
    (void)state;
    struct err e = {0};
    struct live_info written, read;
    bool is_live;
    char path[32];
    make_path(path);
    assert_true(live_describe_self(&written, "/dev/shm/some-spool", &e));
    assert_int_equal(written.pid, getpid());
    assert_int_equal(strlen(written.boot_id), 36);
    assert_true(live_write(path, &written, &e));
    assert_true(live_read(path, &read, &is_live, &e));
    assert_true(is_live);
    assert_string_equal(read.spool_path, "/dev/shm/some-spool");
    assert_int_equal(read.pid, written.pid);
    assert_int_equal(read.pid_start_ticks, written.pid_start_ticks);
    assert_int_equal(read.start_realtime_ns, written.start_realtime_ns);
    assert_string_equal(read.boot_id, written.boot_id);
    assert_true(live_same_boot(&read));
    assert_true(live_collector_runs(&read));
    assert_null(profile_read(path, &e));
    assert_non_null(strstr(e.message, "penumbra recover"));
    unlink(path);
}

static void test_dead_collector(void **state)
{
    (void)state;
    struct err e = {0};
    struct live_info info;
    assert_true(live_describe_self(&info, "x", &e));
    info.pid_start_ticks++; /* the pid was reused */
    assert_false(live_collector_runs(&info));
    info.pid_start_ticks--;
    info.boot_id[0] = info.boot_id[0] == 'a' ? 'b' : 'a';
    assert_false(live_same_boot(&info));
    assert_false(live_collector_runs(&info));
    assert_true(live_describe_self(&info, "x", &e));
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
    info.pid = child;
    assert_false(live_collector_runs(&info));
}

static void test_other_files(void **state)
{
    (void)state;
    struct err e = {0};
    struct live_info info;
    bool is_live = true;
    char path[32];
    make_path(path);
    assert_true(live_read(path, &info, &is_live, &e));
    assert_false(is_live);
    struct profile *p = sample_profile(1, 10, 1);
    assert_true(profile_write(p, path, &e));
    is_live = true;
    assert_true(live_read(path, &info, &is_live, &e));
    assert_false(is_live);
    profile_free(p);
    unlink(path);
    assert_false(live_read(path, &info, &is_live, &e));
    assert_int_equal(e.code, ERR_NOT_FOUND);
}

static void test_damage(void **state)
{
    (void)state;
    struct err e = {0};
    struct live_info info;
    bool is_live;
    char path[32];
    uint8_t bytes[4096];
    make_path(path);
    assert_true(live_describe_self(&info, "/dev/shm/some-spool", &e));
    assert_true(live_write(path, &info, &e));
    FILE *f = fopen(path, "r");
    size_t size = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    assert_in_range(size, 64, 1000);
    for (size_t i = 0; i < size; i++) {
        bytes[i] ^= 0x20;
        f = fopen(path, "w");
        fwrite(bytes, 1, size, f);
        fclose(f);
        bytes[i] ^= 0x20;
        e = (struct err){0};
        bool ok = live_read(path, &info, &is_live, &e);
        assert_false(is_live);
        if (!ok)
            assert_non_null(strstr(e.message, "offset"));
        e = (struct err){0};
        assert_null(profile_read(path, &e));
    }
    unlink(path);
}

static void test_unwritable(void **state)
{
    (void)state;
    struct err e = {0};
    struct live_info info;
    char longer[SPOOL_PATH_MAX + 10];
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = 0;
    assert_false(live_describe_self(&info, longer, &e));
    e = (struct err){0};
    assert_true(live_describe_self(&info, "x", &e));
    assert_false(live_write("/nonexistent-directory/a.pnb", &info, &e));
    assert_int_equal(e.code, ERR_OUTPUT);
    assert_non_null(strstr(e.message, "/nonexistent-directory/a.pnb"));
    e = (struct err){0};
    assert_true(live_write("/dev/null", &info, &e));
    struct stat st;
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),  cmocka_unit_test(test_dead_collector),
        cmocka_unit_test(test_other_files), cmocka_unit_test(test_damage),
        cmocka_unit_test(test_unwritable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
