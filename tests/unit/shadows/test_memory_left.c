/* What is left of memory, read from files as the kernel writes them, in a folder that stands for
 * the root. */
#include "collector/memory_left.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char root[] = "/tmp/penumbra-memory-XXXXXX";

static int make_root(void **state)
{
    (void)state;
    strcpy(strrchr(root, '-'), "-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", root);
    return system(command);
}

static void write_file(const char *path, const char *text)
{
    char whole[512];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *slash = strchr(whole + strlen(root) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(whole, 0700);
        *slash = '/';
    }
    FILE *f = fopen(whole, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void machine(unsigned available_mb)
{
    char text[256];
    snprintf(text, sizeof text,
             "MemTotal:       1024000 kB\nMemFree:           1 kB\nMemAvailable:   %u kB\n",
             available_mb * 1000);
    write_file("/proc/meminfo", text);
}

static double left(void)
{
    struct memory_left m;
    memory_left_of(&m, root, 7);
    return memory_left_share(&m);
}

static void of_nothing_known(void **state)
{
    (void)state;
    assert_true(left() == 1);
}

static void of_the_machine(void **state)
{
    (void)state;
    machine(256);
    write_file("/proc/7/cgroup", "0::/\n");
    assert_float_equal(left(), 0.25, 1e-6);
}

static void of_a_group(void **state)
{
    (void)state;
    machine(512);
    write_file("/proc/7/cgroup", "1:name=systemd:/other\n0::/a/b\n");
    write_file("/sys/fs/cgroup/a/b/memory.max", "max\n");
    write_file("/sys/fs/cgroup/a/b/memory.current", "990\n");
    assert_float_equal(left(), 0.5, 1e-6);
    write_file("/sys/fs/cgroup/a/memory.max", "1000\n");
    write_file("/sys/fs/cgroup/a/memory.current", "990\n");
    write_file("/sys/fs/cgroup/a/memory.stat",
               "anon 700\nfile 290\ninactive_file 200\nactive_file 40\n");
    assert_float_equal(left(), 0.25, 1e-6); /* what files take can be taken back */
    write_file("/sys/fs/cgroup/a/b/memory.max", "500\n");
    assert_float_equal(left(), 0, 1e-6);
    write_file("/sys/fs/cgroup/a/b/memory.current", "100\n");
    assert_float_equal(left(), 0.25, 1e-6); /* of the one above it */
}

static void of_an_old_group(void **state)
{
    (void)state;
    machine(512);
    write_file("/proc/7/cgroup", "4:memory:/docker/0123\n3:cpu:/a\n0::/\n");
    /* a container sees its own as the root */
    write_file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "1000\n");
    write_file("/sys/fs/cgroup/memory/memory.usage_in_bytes", "800\n");
    write_file("/sys/fs/cgroup/memory/memory.stat",
               "inactive_file 1\ntotal_inactive_file 100\ntotal_active_file 0\n");
    assert_float_equal(left(), 0.3, 1e-6);
    write_file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"); /* none */
    assert_float_equal(left(), 0.5, 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(of_nothing_known, make_root, remove_root),
        cmocka_unit_test_setup_teardown(of_the_machine, make_root, remove_root),
        cmocka_unit_test_setup_teardown(of_a_group, make_root, remove_root),
        cmocka_unit_test_setup_teardown(of_an_old_group, make_root, remove_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
