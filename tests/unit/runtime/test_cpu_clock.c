/* The thread's CPU time by what its event counts: near the CPU clock's, whatever the event was
 * stopped for; and samples hardly ever read that clock, by which the kernel would preempt the
 * program more often than without us. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "alone.h"
#include "runtime/trigger/delivery.h"
#include "runtime/trigger/internal.h"
#include "runtime/trigger/trigger.h"
#include "sigsafe/sys.h"

enum { DEPTH = 100, STACK = 1 << 20, REFUSED = 77 };
static const uint64_t second = 1000000000;

/* With an event that counts, whose period does not end; status: REFUSED, or what went wrong. */
static struct rt_thread *counting_begin(int *status)
{
    struct rt_thread *t = alone_begin(DEPTH, 0, __builtin_frame_address(0), STACK);
    struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE, .size = sizeof a,
                                .config = PERF_COUNT_SW_TASK_CLOCK, .sample_period = 1000 * second,
                                .disabled = 1, .exclude_kernel = 1};
    *status = 1;
    if (!t)
        return NULL;
    *status = REFUSED;
    t->fd = (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
    if (t->fd < 0)
        return NULL;
    trigger_resume_as(t);
    return t;
}

static void burn(uint64_t ns)
{
    for (uint64_t begun = thread_cpu_ns_as(); thread_cpu_ns_as() < begun + ns;)
        continue;
}

/* Whether both clocks are as near as a few hundred switches let them be. */
static bool near(struct rt_thread *t)
{
    enum { NEAR_NS = 10000000 };
    uint64_t before = thread_cpu_ns_as(), told = cpu_clock_as(t), after = thread_cpu_ns_as();
    return told + NEAR_NS > before && told < after + NEAR_NS;
}

static int near_check(void)
{
    enum { STOPPED_NS = 50000000, SWITCHES = 50 };
    static const struct timespec moment = {.tv_nsec = 100000};
    int status;
    struct rt_thread *t = counting_begin(&status);
    if (!t)
        return status;
    burn(STOPPED_NS);
    if (!near(t) || !t->cpu_clock.known)
        return 2;
    trigger_pause_as(t);
    burn(STOPPED_NS);
    trigger_resume_as(t);
    burn(1000000);
    if (!near(t))
        return 3;
    for (int i = 0; i < SWITCHES; i++)
        nanosleep(&moment, NULL);
    if (!near(t))
        return 4;
    perf_close_as(t);
    burn(STOPPED_NS);
    return near(t) ? 0 : 5;
}

static volatile unsigned reads;

/* The call returns an error, and what it would have written is the process's time. */
static void count_read(int number, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    (void)number;
    (void)info;
    reads++;
    u->uc_mcontext.gregs[REG_RAX] =
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID,
                      (struct timespec *)(uintptr_t)u->uc_mcontext.gregs[REG_RSI]);
}

/* From now on. The runtime does not see it: for it the filter would be a sandbox, where it makes no
 * calls. */
static bool reads_count(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CLOCK_THREAD_CPUTIME_ID, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof code / sizeof *code, code};
    struct sigaction action = {.sa_sigaction = count_read, .sa_flags = SA_SIGINFO};
    return sigaction(SIGSYS, &action, NULL) == 0 &&
           sys_call6_as(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0) == 0 &&
           sys_call3_as(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (long)&filter) == 0;
}

/* Each long after the one before, as on a busy processor, and after each the period is drawn
 * anew. */
static int reads_check(void)
{
    enum { SAMPLES = 200 };
    int status;
    struct rt_thread *t = counting_begin(&status);
    union alone_info info;
    ucontext_t here;
    if (!t)
        return status;
    info = alone_signal(t, 0);
    getcontext(&here);
    t->clock.group = 1;
    if (!reads_count())
        return REFUSED;
    thread_cpu_ns_as();
    if (reads != 1)
        return 2;
    for (int i = 0; i < SAMPLES; i++) {
        t->clock.group_left = 1;
        t->clock.last_ticks = 0;
        t->account.turn = 0;
        handler_as(SIGTRAP, &info.info, &here);
    }
    if (rt_quiet_as() || t->record->taken != SAMPLES)
        return 4;
    print_message("%u readings at %d samples\n", reads - 1, SAMPLES);
    return reads - 1 <= 2 + cpu_clock_as(t) / second ? 0 : 3;
}

static void in_child(int (*check)(void))
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        _exit(check());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WEXITSTATUS(status) == REFUSED)
        skip();
    assert_int_equal(status, 0);
}

static void event_is_near_the_clock(void **state)
{
    (void)state;
    in_child(near_check);
}

static void samples_leave_the_clock(void **state)
{
    (void)state;
    in_child(reads_check);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(event_is_near_the_clock),
        cmocka_unit_test(samples_leave_the_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
