/* A process without devices may be read, one that has a kernel object mapped may not, and of one
 * that has ended neither is said. */
#include "collector/machine/machine_devices.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void test_none(void **state)
{
    (void)state;
    assert_int_equal(machine_devices_of(getpid()), DEVICES_NONE);
}

/* As a kernel object's: its name is all that tells. */
static void test_maybe(void **state)
{
    char path[] = "/tmp/anon_inode:XXXXXX";
    int fd = mkstemp(path);
    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 4096), 0);
    void *at = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    unlink(path);
    assert_ptr_not_equal(at, MAP_FAILED);
    assert_int_equal(machine_devices_of(getpid()), DEVICES_MAYBE);
    munmap(at, 4096);
    close(fd);
    assert_int_equal(machine_devices_of(getpid()), DEVICES_NONE);
}

static void test_ended(void **state)
{
    pid_t pid = fork();
    (void)state;
    assert_true(pid >= 0);
    if (!pid)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(machine_devices_of(pid), DEVICES_ENDED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_none), cmocka_unit_test(test_maybe),
                                       cmocka_unit_test(test_ended)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
