/* Memory that is gone is found to be gone, by the handlers of faults. */
#include "engine/probe.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

static void handler(int number, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    (void)number;
    (void)info;
    if (!engine_probe_fault_as(u->uc_mcontext.gregs))
        abort();
}

static void probes(void **state)
{
    const long page = 4096;
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO}, before;
    uint8_t *p =
        mmap(NULL, (size_t)(2 * page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t value;
    (void)state;
    assert_true(p != MAP_FAILED);
    munmap(p + page, (size_t)page);
    for (unsigned i = 0; i < page; i++)
        p[i] = (uint8_t)(i * 7 + 1);
    sigaction(SIGSEGV, &action, &before);
    for (unsigned bytes = 1; bytes <= 8; bytes++)
        for (long at = page - 16; at < page + 8; at++) {
            uint64_t want = 0;
            bool there = engine_probe_as((uintptr_t)p + (uint64_t)at, bytes, &value);
            assert_int_equal(there, at + bytes <= page);
            if (there) {
                memcpy(&want, p + at, bytes);
                assert_int_equal(value, want);
            }
        }
    sigaction(SIGSEGV, &before, NULL);
    munmap(p, (size_t)page);
}

/* A fault anywhere else is not taken for one of these. */
static void others(void **state)
{
    gregset_t gregs = {0};
    (void)state;
    gregs[REG_RIP] = (greg_t)(uintptr_t)others;
    assert_false(engine_probe_fault_as(gregs));
    assert_int_equal(gregs[REG_RIP], (uintptr_t)others);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(probes), cmocka_unit_test(others)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
