/* Blocks SIGTRAP in every way there is, has it sent in every way there is, and prints when it
 * comes: it must come when, and as often as, without a profiler. Between sending and unblocking it
 * computes, so that samples are due. */
#include <errno.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "spin.h"

enum { MASK_SIZE = 8 };
#define BIT(number) (1 << ((number) - 1))
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static volatile int caught, code, value, nested, deepest, raises;
static sigset_t trap;

static void on_trap(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    caught++;
    code = info->si_code;
    value = info->si_code == SI_QUEUE ? info->si_value.sival_int : 0;
    deepest = ++nested > deepest ? nested : deepest;
    if (raises-- > 0)
        raise(SIGTRAP);
    nested--;
}

static __attribute__((noinline)) void compute(void)
{
    volatile unsigned long r = spin(5000000);
    (void)r;
}

static void say(const char *when)
{
    sigset_t pending;
    sigemptyset(&pending);
    sigpending(&pending);
    printf("  %s: caught %d code %d value %d pending %d\n", when, caught, code, value,
           sigismember(&pending, SIGTRAP));
}

/* ---- blocking and unblocking ---- */

static void hold(void) { sighold(SIGTRAP); }
static void release(void) { sigrelse(SIGTRAP); }
static void block(void) { sigprocmask(SIG_BLOCK, &trap, NULL); }
static void unblock(void) { sigprocmask(SIG_UNBLOCK, &trap, NULL); }
static void block_thread(void) { pthread_sigmask(SIG_BLOCK, &trap, NULL); }
static void unblock_thread(void) { pthread_sigmask(SIG_UNBLOCK, &trap, NULL); }
static void block_bsd(void) { sigblock(BIT(SIGTRAP)); }
static void set_bsd(void) { sigsetmask(BIT(SIGTRAP) | BIT(SIGUSR1)); }
static void clear_bsd(void) { sigsetmask(0); }
static void set_hold(void) { sigset(SIGTRAP, SIG_HOLD); }

static const struct {
    const char *name;
    void (*block)(void), (*unblock)(void);
} blocks[] = {{"sighold", hold, release},           {"sigprocmask", block, unblock},
              {"pthread_sigmask", block_thread, unblock_thread},
              {"sigblock", block_bsd, clear_bsd}, {"sigsetmask", set_bsd, clear_bsd},
              {"SIG_HOLD", set_hold, unblock}};

/* ---- sending ---- */

static void send_raise(void) { raise(SIGTRAP); }
static void send_kill(void) { kill(getpid(), SIGTRAP); }
static void send_thread(void) { pthread_kill(pthread_self(), SIGTRAP); }
static void send_queue(void) { sigqueue(getpid(), SIGTRAP, (union sigval){.sival_int = 42}); }
static void send_child(void)
{
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        kill(parent, SIGTRAP);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
}
static void send_twice(void)
{
    raise(SIGTRAP);
    raise(SIGTRAP);
}
static void send_both(void)
{
    raise(SIGTRAP);
    kill(getpid(), SIGTRAP);
}

static const struct {
    const char *name;
    void (*send)(void);
} sends[] = {{"raise", send_raise},    {"kill", send_kill},   {"pthread_kill", send_thread},
             {"sigqueue", send_queue}, {"child", send_child}, {"twice", send_twice},
             {"both", send_both}};

enum { BLOCKS = sizeof blocks / sizeof *blocks, SENDS = sizeof sends / sizeof *sends };

/* ---- taking ---- */

static void take_sigwait(void)
{
    int number = 0, result = sigwait(&trap, &number);
    printf("  sigwait %d %d\n", result, number);
}
static void take_sigwaitinfo(void)
{
    siginfo_t info;
    int result = sigwaitinfo(&trap, &info);
    printf("  sigwaitinfo %d code %d from %d\n", result, info.si_code, info.si_pid == getpid());
}
static void take_sigtimedwait(void)
{
    const struct timespec now = {0, 0};
    int first = sigtimedwait(&trap, NULL, &now), second = sigtimedwait(&trap, NULL, &now);
    printf("  sigtimedwait %d %d errno %d\n", first, second, errno);
}
static void take_sigsuspend(void)
{
    sigset_t none;
    sigemptyset(&none);
    int result = sigsuspend(&none);
    printf("  sigsuspend %d errno %d\n", result, errno);
}
static void take_ppoll(void)
{
    sigset_t none;
    sigemptyset(&none);
    int result = ppoll(NULL, 0, NULL, &none);
    printf("  ppoll %d errno %d\n", result, errno);
}
static void take_pselect(void)
{
    sigset_t none;
    sigemptyset(&none);
    int result = pselect(0, NULL, NULL, NULL, NULL, &none);
    printf("  pselect %d errno %d\n", result, errno);
}
static void take_epoll(void)
{
    sigset_t none;
    struct epoll_event event;
    sigemptyset(&none);
    int fd = epoll_create1(0), result = epoll_pwait(fd, &event, 1, -1, &none);
    printf("  epoll_pwait %d errno %d\n", result, errno);
    close(fd);
}
static void take_by_number(void)
{
    const struct timespec now = {0, 0};
    siginfo_t info;
    long first = syscall(SYS_rt_sigtimedwait, &trap, &info, &now, (long)MASK_SIZE);
    long second = syscall(SYS_rt_sigtimedwait, &trap, NULL, &now, (long)MASK_SIZE);
    printf("  rt_sigtimedwait %ld code %d %ld errno %d\n", first, info.si_code, second, errno);
}
static void wait_by_number(long number, long a, long b, long c, long d, long e, long f)
{
    errno = 0;
    long result = syscall(number, a, b, c, d, e, f);
    printf("  system call %ld: %ld errno %d\n", number, result, errno);
}
static void take_suspend_number(void)
{
    sigset_t none;
    sigemptyset(&none);
    wait_by_number(SYS_rt_sigsuspend, (long)&none, MASK_SIZE, 0, 0, 0, 0);
}
static void take_ppoll_number(void)
{
    sigset_t none;
    sigemptyset(&none);
    wait_by_number(SYS_ppoll, 0, 0, 0, (long)&none, MASK_SIZE, 0);
}
static void take_pselect_number(void)
{
    sigset_t none;
    const struct {
        const sigset_t *mask;
        long size;
    } given = {&none, MASK_SIZE};
    sigemptyset(&none);
    wait_by_number(SYS_pselect6, 0, 0, 0, 0, 0, (long)&given);
}
static void take_epoll_number(void)
{
    sigset_t none;
    struct epoll_event event;
    int fd = epoll_create1(0);
    sigemptyset(&none);
    wait_by_number(SYS_epoll_pwait, fd, (long)&event, 1, -1, (long)&none, MASK_SIZE);
    close(fd);
}
static void take_epoll2_number(void)
{
    sigset_t none;
    struct epoll_event event;
    int fd = epoll_create1(0);
    sigemptyset(&none);
    wait_by_number(SYS_epoll_pwait2, fd, (long)&event, 1, 0, (long)&none, MASK_SIZE);
    close(fd);
}
static void take_uring_number(void)
{
    struct io_uring_params parameters = {0};
    sigset_t none;
    int fd = (int)syscall(SYS_io_uring_setup, 1L, &parameters);
    sigemptyset(&none);
    wait_by_number(SYS_io_uring_enter, fd, 0, 1, IORING_ENTER_GETEVENTS, (long)&none, MASK_SIZE);
    close(fd);
}
static void take_sigpause(void)
{
    int result = sigpause(SIGTRAP);
    printf("  sigpause %d errno %d\n", result, errno);
}
static void take_ignore(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    sigaction(SIGTRAP, &ignore, &before);
    sigaction(SIGTRAP, &before, NULL);
}
static void (*const takes[])(void) = {
    take_sigwait,      take_sigwaitinfo,    take_sigtimedwait, take_sigsuspend,
    take_ppoll,        take_pselect,        take_epoll,        take_by_number,
    take_ppoll_number, take_suspend_number, take_pselect_number, take_epoll_number,
    take_epoll2_number, take_uring_number,  take_sigpause,     take_ignore};
enum { TAKES = sizeof takes / sizeof *takes };

/* ---- threads: the signal is the process's, and one of them takes it ---- */

static volatile int ready;

static void *waiter(void *argument)
{
    int number = 0;
    ready = 1;
    sigwait(&trap, &number);
    printf("  waited for %d\n", number);
    return argument;
}

static void *unblocker(void *argument)
{
    ready = 1;
    unblock_thread();
    while (!caught)
        compute();
    return argument;
}

static void threads(void *(*start)(void *))
{
    pthread_t thread;
    block_thread();
    ready = caught = 0;
    pthread_create(&thread, NULL, start, NULL);
    while (!ready)
        compute();
    kill(getpid(), SIGTRAP);
    pthread_join(thread, NULL);
    say("threads");
    unblock_thread();
    say("threads, unblocked");
}

/* ---- jumps, and what executes another program ---- */

static sigjmp_buf back;

static void jumps(int saves)
{
    caught = 0;
    if (sigsetjmp(back, saves) == 0) {
        block();
        raise(SIGTRAP);
        say("before the jump");
        siglongjmp(back, 1);
    }
    say("after the jump");
    unblock();
    say("unblocked");
}

static void jump_blocked(void)
{
    block();
    caught = 0;
    if (sigsetjmp(back, 1) == 0) {
        unblock();
        siglongjmp(back, 1);
    }
    raise(SIGTRAP);
    say("blocked by a jump");
    unblock();
    say("unblocked");
}

static void fork_and_exec(const char *self)
{
    block();
    raise(SIGTRAP);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        say("child of a fork");
        fflush(stdout);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    pid = fork();
    if (pid == 0) {
        raise(SIGTRAP);
        execl(self, self, "executed", NULL);
        _exit(1);
    }
    waitpid(pid, NULL, 0);
    unblock();
}

/* With masks of their own, while it is blocked. */
static void wait_each(void)
{
    static void (*const each[])(void) = {take_ppoll, take_pselect, take_epoll, take_sigsuspend,
                                         take_suspend_number, take_ppoll_number};
    for (unsigned i = 0; i < sizeof each / sizeof *each; i++) {
        caught = 0;
        raise(SIGTRAP);
        each[i]();
        say("waited");
    }
}

static void descriptors(void)
{
    struct signalfd_siginfo info;
    struct pollfd ready_fd = {.events = POLLIN};
    block();
    caught = 0;
    raise(SIGTRAP);
    ready_fd.fd = signalfd(-1, &trap, SFD_CLOEXEC);
    printf("  readable %d\n", poll(&ready_fd, 1, 0));
    for (int i = 0; i < SENDS; i++) {
        sends[i].send();
        long n = read(ready_fd.fd, &info, sizeof info);
        printf("  read %ld: %u %d\n", n, info.ssi_signo, info.ssi_code);
        if (poll(&ready_fd, 1, 0) == 1 && read(ready_fd.fd, &info, sizeof info) > 0)
            printf("  and %u %d\n", info.ssi_signo, info.ssi_code);
        compute();
    }
    say("read");
    wait_each();
    unblock();
    raise(SIGTRAP);
    say("unblocked");
    close(ready_fd.fd);
}

/* Its action is its own, and its mask. */
static void raw_child(void)
{
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    block();
    fflush(stdout);
    if (syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L) == 0) {
        sigaction(SIGTRAP, &action, NULL);
        wait_each();
        raise(SIGTRAP);
        say("blocked in a raw child");
        unblock();
        say("unblocked");
        fflush(stdout);
        _exit(0);
    }
    wait(NULL);
    unblock();
}

static void faults(void)
{
    fflush(stdout);
    pid_t pid = fork();
    int status;
    if (pid == 0) {
        block();
        __asm__ volatile("int3");
        _exit(0);
    }
    waitpid(pid, &status, 0);
    printf("a breakpoint while it is blocked: signal %d\n", WTERMSIG(status));
}

/* Each wait ends with the signal that was pending, and not only because samples end. */
static void waits(int rounds)
{
    enum { PATIENCE_S = 60 };
    sigset_t none;
    sigemptyset(&none);
    alarm(PATIENCE_S);
    block();
    for (int i = 0; i < rounds; i++) {
        raise(SIGTRAP);
        syscall(SYS_rt_sigsuspend, &none, (long)MASK_SIZE);
    }
    printf("%d of %d waits\n", caught, rounds);
}

/* Nothing is pending that nobody has sent, though there is a descriptor for it. */
static void unsent(int rounds)
{
    sigset_t pending;
    int found = 0, fd = signalfd(-1, &trap, SFD_CLOEXEC);
    for (int i = 0; i < rounds; i++) {
        block();
        sigpending(&pending);
        found += sigismember(&pending, SIGTRAP);
        unblock();
    }
    printf("pending %d times\n", found);
    close(fd);
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    if (argc > 2) {
        sigaction(SIGTRAP, &action, NULL);
        (!strcmp(argv[1], "unsent") ? unsent : waits)(atoi(argv[2]));
        return 0;
    }
    /* what is pending there is not dropped where it is ignored */
    bool engine = argc > 1 && !strcmp(argv[1], "engine");
    if (argc > 1 && !engine) {
        say(argv[1]);
        return 0;
    }
    sigaction(SIGTRAP, &action, NULL);
    for (int b = 0; b < BLOCKS; b++)
        for (int s = 0; s < SENDS; s++) {
            caught = code = value = 0;
            printf("%s, %s\n", blocks[b].name, sends[s].name);
            blocks[b].block();
            sends[s].send();
            compute();
            say("blocked");
            blocks[b].unblock();
            say("unblocked");
        }
    for (int t = 0; t < TAKES - engine; t++)
        for (int s = 0; s < SENDS; s++) {
            caught = code = value = 0;
            printf("%s\n", sends[s].name);
            block();
            sends[s].send();
            takes[t]();
            say("taken");
            unblock();
            say("unblocked");
        }
    caught = deepest = 0;
    raises = 3;
    raise(SIGTRAP);
    printf("raised by its handler: %d, %d at once\n", caught, deepest);
    raises = 0;
    puts("jumps");
    jumps(1);
    jumps(0);
    jump_blocked();
    puts("threads");
    threads(waiter);
    threads(unblocker);
    fork_and_exec(argv[0]);
    raw_child();
    faults();
    puts("descriptors");
    descriptors();
    return 0;
}
