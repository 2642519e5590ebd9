/* Which pages there are. */
#include "runtime/carrier/shadow/pages_there.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { PAGE = 4096, PAGES = 2 * PAGES_FOUND + 10 };

/* Each second page is there, none of them of a file: found in several looks. */
static void test_scan(void **state)
{
    (void)state;
    volatile char *memory = mmap(NULL, (size_t)2 * PAGES * PAGE, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    madvise((void *)memory, (size_t)2 * PAGES * PAGE, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < PAGES; i++)
        memory[(2 * i + 1) * PAGE] = 1;
    struct pages_region found[PAGES_FOUND];
    struct pages_range rest = {(uint64_t)memory, (uint64_t)memory + (uint64_t)2 * PAGES * PAGE};
    long fd = pages_open_as(), n = PAGES_FOUND;
    assert_true(fd >= 0);
    size_t seen = 0;
    while (n == PAGES_FOUND) {
        n = pages_scan_as(fd, &rest, PAGES_PRESENT, PAGES_FILE | PAGES_ZERO, found);
        if (n < 0 && !seen)
            skip(); /* before Linux 6.7 */
        for (long i = 0; i < n; i++, seen++) {
            assert_int_equal(found[i].lo, (uint64_t)memory + (2 * seen + 1) * PAGE);
            assert_int_equal(found[i].hi - found[i].lo, PAGE);
        }
        if (n > 0)
            rest.lo = found[n - 1].hi;
    }
    assert_int_equal(seen, PAGES);
    close((int)fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_scan)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
