/* What a switch costs is known on a processor that others want, too. */
#include "collector/record_switches.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/perf_event.h"

enum { OTHERS = 3, TIMES = 20, KNOWN = 3 };

static bool events_are_allowed(void)
{
    const struct perf_event event = {
        .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK, .period = 1000000000};
    int fd = perf_event_open(&event, 0);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static pid_t spinner(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (volatile unsigned i = 0;; i++)
            ;
    }
    return pid;
}

static void here_only(void)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((unsigned)sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
}

static void test_busy(void **state)
{
    (void)state;
    static const struct spool_config config = {.period = 1000000};
    pid_t others[OTHERS];
    unsigned known = 0;
    if (!events_are_allowed())
        skip();
    here_only();
    for (unsigned i = 0; i < OTHERS; i++)
        assert_true((others[i] = spinner()) > 0);
    for (unsigned i = 0; i < TIMES && known < KNOWN; i++) {
        struct switch_prices s = record_switches(&config);
        known += s.far_ns >= 100 && s.far_ns <= s.near_ns && s.near_ns <= 200000;
    }
    for (unsigned i = 0; i < OTHERS; i++) {
        kill(others[i], SIGKILL);
        waitpid(others[i], NULL, 0);
    }
    assert_int_equal(known, KNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_busy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
