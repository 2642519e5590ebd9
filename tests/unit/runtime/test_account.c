/* What the runtime does at the beginning of a process, in a forked child, at exec and at exit is in
 * the account: the CPU time that the call takes is what the thread's record has more of, by and by.
 * Each in a process of its own, since it ends what it has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "alone.h"
#include "runtime/process.h"
#include "runtime/self.h"
#include "runtime/trigger/delivery.h"
#include "runtime/trigger/internal.h"
#include "runtime/trigger/trigger.h"
#include "sigsafe/sys.h"

enum { DEPTH = 100, STACK = 1 << 20, TIMES = 50 };

/* So much of what the collector has measured is charged where no latency is known, in percent. */
enum { UNKNOWN = 300, UNKNOWN_SIGNAL = 120 };

/* Some of what a call takes comes after the account's last look at the clock: reading that, or, in
 * a process that has become ours a moment ago, the rest of a function. So much of it is charged at
 * least, by percent. */
enum { LEAST = 30 };

static uint64_t charged_ns(const struct rt_thread *t)
{
    return (uint64_t)((unsigned __int128)t->record->cost_ticks * 1000000000u /
                      spool_header(&guest.spool)->tsc_hz);
}

/* What the call itself took. */
static uint64_t exec_once(void)
{
    uint64_t begun = thread_cpu_ns_as();
    struct signals_lent lent = process_before_exec();
    uint64_t took = thread_cpu_ns_as() - begun;
    process_after_failed_exec(lent);
    return took;
}

static uint64_t exit_once(void)
{
    uint64_t begun = thread_cpu_ns_as();
    process_end_as();
    uint64_t took = thread_cpu_ns_as() - begun;
    __atomic_store_n(&guest.process->state, PROCESS_RUNNING, __ATOMIC_RELEASE);
    return took;
}

/* What comes has a record of its own. */
static uint64_t fork_once(void)
{
    uint64_t begun = thread_cpu_ns_as();
    process_fork_child();
    return thread_cpu_ns_as() - begun;
}

static uint64_t begin_once(void)
{
    uint64_t begun = thread_cpu_ns_as();
    self_set(NULL);
    process_arm(STACK, __builtin_frame_address(0), begun);
    return thread_cpu_ns_as() - begun;
}

/* Of single calls the kernel takes much more, for interrupts, where no look at the clock is near:
 * most of them say what is charged. Tells by its exit status: 0: as it is to be; 1: not set up; 2:
 * it is not all charged; 3: more is. */
static int charge_check(uint64_t (*once)(void), bool fresh)
{
    struct rt_thread *t = alone_begin(DEPTH, 0, __builtin_frame_address(0), STACK);
    uint64_t charged = 0, took = 0;
    int less = 0;
    if (!t)
        return 1;
    once(); /* the first one brings in what is touched before and after the looks at the clock */
    for (int i = 0; i < TIMES; i++) {
        t = self_get();
        if (!t)
            return 1;
        uint64_t before = fresh ? 0 : charged_ns(t);
        uint64_t call = once();
        t = self_get();
        if (!t)
            return 1;
        uint64_t of_it = charged_ns(t) - before;
        less += of_it * 100 < call * LEAST;
        took += call;
        charged += of_it;
    }
    print_message("%llu ns charged of %llu\n", (unsigned long long)charged / TIMES,
                  (unsigned long long)took / TIMES);
    return less > TIMES / 2 ? 2 : charged > took ? 3 : 0;
}

static void charged_in_child(uint64_t (*once)(void), bool fresh)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        _exit(charge_check(once, fresh));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void exec_is_charged(void **state)
{
    (void)state;
    charged_in_child(exec_once, false);
}

static void exit_is_charged(void **state)
{
    (void)state;
    charged_in_child(exit_once, false);
}

static void fork_is_charged(void **state)
{
    (void)state;
    charged_in_child(fork_once, true);
}

static void begin_is_charged(void **state)
{
    (void)state;
    charged_in_child(begin_once, true);
}

/* Periods that expired where no signal came of them: in the kernel, which is not seen, ... or as
 * one signal. */
static int unseen_check(bool excludes)
{
    enum { PERIODS = 10, DELIVERY_NS = 20000, SIGNAL_NS = 3000,
          PRICE_NS = (DELIVERY_NS * UNKNOWN - SIGNAL_NS * UNKNOWN_SIGNAL) / 100 };
    struct rt_thread *t = alone_begin(DEPTH, 0, __builtin_frame_address(0), STACK);
    struct spool_config *c = t ? settings_sampling_as(&guest.spool) : NULL;
    if (!t)
        return 1;
    c->delivery_ns = DELIVERY_NS;
    c->tick_ns = SIGNAL_NS;
    guest.process->exclude_kernel = excludes;
    while (thread_cpu_ns_as() < 2 * PERIODS * UINT64_C(1000000))
        continue;
    t->clock.mean = t->clock.period = 1000000;
    t->clock.group = t->clock.group_left = 1;
    t->clock.base = thread_cpu_ns_as() - (PERIODS + 1) * t->clock.period;
    t->clock.last_ticks = 0;
    union alone_info info = alone_signal(t, 0);
    ucontext_t here;
    getcontext(&here);
    handler_as(SIGTRAP, &info.info, &here);
    uint64_t own = DELIVERY_NS * UNKNOWN / 100, least = own + PERIODS * PRICE_NS;
    print_message("%llu ns, %llu at least\n", (unsigned long long)t->record->delivered_ns,
                  (unsigned long long)least);
    return t->record->delivered_ns < least                  ? 2
           : t->record->delivered_ns > least + 2 * PRICE_NS ? 3
                                                            : 0;
}

static void unseen_is_charged(void **state)
{
    (void)state;
    for (int excludes = 0; excludes < 2; excludes++) {
        int status = 0;
        pid_t pid = fork();
        if (pid == 0)
            _exit(unseen_check(excludes));
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
}

/* Where a thread is preempted a switch costs as much more than in the collector's loop as signals
 * come later, but no more than twice as much. */
static void switches_are_charged(void **state)
{
    enum { SWITCH_NS = 2000, LATENCY_NS = 5000, SWITCHES = 10 };
    int status = 0;
    pid_t pid = fork();
    (void)state;
    if (pid == 0) {
        struct rt_thread *t = alone_begin(DEPTH, 0, __builtin_frame_address(0), STACK);
        if (!t)
            _exit(1);
        struct spool_config *c = settings_sampling_as(&guest.spool);
        c->switch_ns = SWITCH_NS;
        c->latency_ns = LATENCY_NS;
        c->period = t->clock.period = 1000000;
        account_switches_as(t, (struct rt_switches){.waits = SWITCHES, .preempted = SWITCHES});
        if (t->record->switches != 2 * SWITCHES ||
            t->record->switched_ns != 2 * SWITCHES * SWITCH_NS)
            _exit(2);
        t->account.latency_ns = LATENCY_NS + LATENCY_NS / 2;
        account_switches_as(t, (struct rt_switches){.preempted = 2 * SWITCHES});
        if (t->record->switched_ns != 5 * SWITCHES * SWITCH_NS)
            _exit(3);
        t->account.latency_ns = 3 * LATENCY_NS;
        account_switches_as(t, (struct rt_switches){.waits = SWITCHES, .preempted = SWITCHES});
        if (t->record->switched_ns != 8 * SWITCHES * SWITCH_NS)
            _exit(4);
        /* With a long period the timer is mostly another's. */
        t->clock.period = 10 * c->period;
        c->switch_far_ns = SWITCH_NS / 4;
        account_switches_as(t, (struct rt_switches){.waits = 40 * SWITCHES});
        _exit(t->record->switched_ns == (8 + 13) * SWITCHES * SWITCH_NS ? 0 : 5);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* No timer is programmed for page faults and the like. */
static int price_check(void)
{
    enum { DELIVERY_NS = 20000, SIGNAL_NS = 3000, LATENCY_NS = 5000,
           WARM_NS = SIGNAL_NS * UNKNOWN_SIGNAL / 100 };
    struct rt_thread *t = alone_begin(DEPTH, 0, __builtin_frame_address(0), STACK);
    struct spool_config *c = t ? settings_sampling_as(&guest.spool) : NULL;
    if (!t)
        return 1;
    c->delivery_ns = DELIVERY_NS;
    c->tick_ns = SIGNAL_NS;
    c->latency_ns = LATENCY_NS;
    if (account_price_as(t) != (uint64_t)DELIVERY_NS * UNKNOWN / 100)
        return 2;
    t->clock.trigger = TRIGGER_PAGE_FAULTS;
    if (account_price_as(t) != WARM_NS)
        return 3;
    t->account.latency_ns = 4 * LATENCY_NS;
    if (account_price_as(t) != 4 * WARM_NS)
        return 4;
    t->clock.trigger = TRIGGER_CPU;
    return account_price_as(t) == (uint64_t)4 * LATENCY_NS * 140 / 100 ? 0 : 5;
}

static void signals_without_a_timer_are_cheaper(void **state)
{
    int status = 0;
    (void)state;
    pid_t pid = fork();
    if (pid == 0)
        _exit(price_check());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* A tick of discovery is no sample, but a signal like one; and as rarer samples would not make it
 * rarer, the window of the budget does not see it. */
static int tick_check(void)
{
    enum { TICKS = 20, DELIVERY_NS = 20000 };
    struct rt_thread *t = alone_begin(DEPTH, 0, __builtin_frame_address(0), STACK);
    if (!t)
        return 1;
    settings_sampling_as(&guest.spool)->delivery_ns = DELIVERY_NS;
    union alone_info info = alone_signal(t, 0);
    info.perf.data = (info.perf.data & ~(uint64_t)UINT32_MAX) | RT_SLOT_DISCOVERY;
    ucontext_t here;
    getcontext(&here);
    /* The first one brings in what is touched before the first look at a clock. */
    handler_as(SIGTRAP, &info.info, &here);
    const struct spool_thread before = *t->record;
    const struct rt_clock window = t->clock;
    uint64_t charged = charged_ns(t), begun = thread_cpu_ns_as();
    for (int i = 0; i < TICKS; i++)
        handler_as(SIGTRAP, &info.info, &here);
    uint64_t took = thread_cpu_ns_as() - begun;
    charged = charged_ns(t) - charged;
    const struct spool_thread *r = t->record;
    print_message("%llu ns charged of %llu\n", (unsigned long long)charged,
                  (unsigned long long)took);
    if (r->taken != before.taken || r->deliveries != before.deliveries + TICKS ||
        r->delivered_ns != before.delivered_ns + TICKS * (uint64_t)DELIVERY_NS * UNKNOWN / 100)
        return 2;
    if (charged * 100 < took * LEAST || charged > took)
        return 3;
    return t->clock.window_deliveries - window.window_deliveries == TICKS &&
                   t->clock.window_delivered_ns - window.window_delivered_ns ==
                       r->delivered_ns - before.delivered_ns &&
                   t->clock.window_cost_ticks - window.window_cost_ticks ==
                       r->cost_ticks - before.cost_ticks
               ? 0
               : 4;
}

static void ticks_are_charged(void **state)
{
    int status = 0;
    (void)state;
    pid_t pid = fork();
    if (pid == 0)
        _exit(tick_check());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* One that took long is charged what the thread has used, not what others have had meanwhile. */
static int long_tick_check(void)
{
    enum { USED_NS = 1000000, WAITED_NS = 5000000 };
    static const struct timespec wait = {.tv_nsec = WAITED_NS};
    struct rt_thread *t = alone_begin(DEPTH, 0, __builtin_frame_address(0), STACK);
    if (!t)
        return 1;
    uint64_t charged = charged_ns(t), ticks = sys_ticks_as(), begun = thread_cpu_ns_as();
    nanosleep(&wait, NULL);
    while (thread_cpu_ns_as() < begun + USED_NS)
        continue;
    trigger_ticked_as(t, ticks, begun);
    uint64_t took = thread_cpu_ns_as() - begun;
    charged = charged_ns(t) - charged;
    print_message("%llu ns charged of %llu\n", (unsigned long long)charged,
                  (unsigned long long)took);
    return charged < USED_NS / 100 * 99 ? 2 : charged > took ? 3 : 0;
}

static void long_ticks_are_charged(void **state)
{
    int status = 0;
    (void)state;
    pid_t pid = fork();
    if (pid == 0)
        _exit(long_tick_check());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

enum { REFUSED = 77 };

/* With an event that is to expire once; status: REFUSED, or what went wrong. */
static struct rt_thread *once_begin(uint64_t period_ns, int *status)
{
    struct rt_thread *t = alone_begin(DEPTH, 0, __builtin_frame_address(0), STACK);
    struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE, .size = sizeof a,
                                .config = PERF_COUNT_SW_TASK_CLOCK,
                                .sample_period = period_ns, .disabled = 1, .exclude_kernel = 1};
    *status = 1;
    if (!t)
        return NULL;
    *status = REFUSED;
    t->fd = (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
    t->clock.once = true;
    return t->fd < 0 ? NULL : t;
}

/* Hardly ever in the kernel, where an event may not expire. */
static void burn(uint64_t ns)
{
    for (uint64_t begun = thread_cpu_ns_as(); thread_cpu_ns_as() < begun + ns;)
        for (volatile unsigned i = 0; i < 20000; i++)
            continue;
}

/* An event that expires once, and stops then, goes on after a signal whose period had been charged
 * before. */
static int premature_check(void)
{
    int status;
    struct rt_thread *t = once_begin(1000000000, &status);
    uint64_t count = 0, taken;
    if (!t)
        return status;
    t->clock.spent = true;
    taken = t->record->taken;
    union alone_info info = alone_signal(t, 0);
    ucontext_t here;
    getcontext(&here);
    handler_as(SIGTRAP, &info.info, &here);
    burn(1000000);
    if (read(t->fd, &count, sizeof count) != sizeof count || t->record->taken != taken)
        return 2;
    return count ? 0 : 3;
}

/* Paused and resumed before that, it still expires once. */
static int resumed_check(void)
{
    enum { PERIOD_NS = 2000000 };
    int status;
    struct rt_thread *t = once_begin(PERIOD_NS, &status);
    if (!t)
        return status;
    const struct perf_event_mmap_page *ring =
        mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, t->fd, 0);
    if (ring == MAP_FAILED)
        return REFUSED;
    trigger_resume_as(t);
    trigger_pause_as(t);
    trigger_resume_as(t);
    burn(5 * PERIOD_NS);
    return ring->data_head == sizeof(struct perf_event_header) ? 0 : 3;
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

static void premature_goes_on(void **state)
{
    (void)state;
    in_child(premature_check);
}

static void resumed_expires_once(void **state)
{
    (void)state;
    in_child(resumed_check);
}

/* Times that a signal is tried: in the handler the thread may be preempted, and then it tells
 * nothing. */
enum { TRIES = 20 };

/* How late a signal came is not known where it came at the end of a system call: there rcx is
 * rip. Before each the thread was switched out, which is no reason. */
static int latency_check(bool in_call)
{
    const struct timespec moment = {.tv_nsec = 100000};
    enum { PERIOD_NS = 1000000, LATE_NS = 50000 };
    struct rt_thread *t = alone_begin(DEPTH, 0, __builtin_frame_address(0), STACK);
    if (!t)
        return 1;
    while (thread_cpu_ns_as() < 2 * PERIOD_NS)
        continue;
    union alone_info info = alone_signal(t, 0);
    ucontext_t here;
    getcontext(&here);
    here.uc_mcontext.gregs[REG_RCX] = in_call ? here.uc_mcontext.gregs[REG_RIP] : 0;
    for (int i = 0; i < TRIES && !t->account.measured; i++) {
        t->clock.mean = t->clock.period = PERIOD_NS;
        t->clock.group_left = 2;
        t->clock.base = thread_cpu_ns_as() - PERIOD_NS - LATE_NS;
        t->clock.last_ticks = sys_ticks_as();
        account_set_as(t);
        nanosleep(&moment, NULL);
        handler_as(SIGTRAP, &info.info, &here);
    }
    return t->account.measured == !in_call ? 0 : 2;
}

static void latency_is_not_a_call(void **state)
{
    (void)state;
    for (int in_call = 0; in_call < 2; in_call++) {
        int status = 0;
        pid_t pid = fork();
        if (pid == 0)
            _exit(latency_check(in_call));
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exec_is_charged),      cmocka_unit_test(exit_is_charged),
        cmocka_unit_test(fork_is_charged),      cmocka_unit_test(begin_is_charged),
        cmocka_unit_test(unseen_is_charged),    cmocka_unit_test(premature_goes_on),
        cmocka_unit_test(resumed_expires_once), cmocka_unit_test(ticks_are_charged),
        cmocka_unit_test(long_ticks_are_charged),
        cmocka_unit_test(switches_are_charged),
        cmocka_unit_test(latency_is_not_a_call),
        cmocka_unit_test(signals_without_a_timer_are_cheaper)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
