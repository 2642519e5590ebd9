/* How much memory a process uses: by a file that is kept open, and of its own process only. */
#include "sigsafe/memory_used.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { PAGE = 4096, MANY = 2000, SOME = 50 /* of others, meanwhile */ };

static char *touch(uint64_t pages)
{
    char *at = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(at != MAP_FAILED);
    for (uint64_t i = 0; i < pages; i++)
        at[i * PAGE] = 1;
    return at;
}

/* What is touched is seen, and what is given back. */
static void check_seen(void)
{
    uint64_t before = memory_used_pages_as();
    char *at = touch(MANY);
    assert_in_range(memory_used_pages_as(), before + MANY - SOME, before + MANY + SOME);
    munmap(at, (size_t)MANY * PAGE);
    assert_in_range(memory_used_pages_as(), 0, before + SOME);
}

static void keep(void)
{
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    memory_used_keep(fd);
    assert_int_equal(memory_used_kept_as(), fd);
}

static void test_used(void **state)
{
    (void)state;
    assert_int_equal(memory_used_kept_as(), -1);
    check_seen();
    keep();
    check_seen();
    check_seen();
    close(memory_used_kept_as());
    memory_used_keep(-1);
    check_seen();
}

/* What is kept is read, but not a parent's. */
static void test_kept(void **state)
{
    (void)state;
    keep();
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) { /* a parent's file tells the parent's memory: */
        uint64_t before = memory_used_pages_as();
        touch(MANY);
        _exit(memory_used_pages_as() < before + MANY - SOME);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    FILE *other = tmpfile();
    int fd = memory_used_kept_as();
    assert_true(other && fprintf(other, "9000 3000 1000 7\n") > 0 && fflush(other) == 0);
    assert_int_equal(dup2(fileno(other), fd), fd); /* is it that one which is read? */
    assert_int_equal(memory_used_pages_as(), 2000);
    close(fd); /* unseen */
    assert_in_range(memory_used_pages_as(), 1, 1999);
    fclose(other);
    memory_used_keep(-1);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(test_used),
                                              cmocka_unit_test(test_kept)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
