/* Masks, nesting, alternate stacks, one-shot handlers, and jumps out of handlers. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static void print_mask(const char *when)
{
    sigset_t set;
    sigprocmask(SIG_BLOCK, NULL, &set);
    printf("%s:", when);
    for (int i = 1; i < 65; i++)
        if (sigismember(&set, i) == 1)
            printf(" %d", i);
    puts("");
}

static void install(int number, void (*handler)(int, siginfo_t *, void *), unsigned flags, int also)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = (int)(SA_SIGINFO | flags)};
    if (also)
        sigaddset(&action.sa_mask, also);
    sigaction(number, &action, NULL);
}

static void first(int number, siginfo_t *info, void *context)
{
    (void)context;
    printf("handler %d code %d pid %d\n", number, info->si_code, info->si_pid == getpid());
    print_mask("in handler");
    if (number == SIGUSR1)
        raise(SIGUSR2);
}

static void nesting(void)
{
    puts("-- nesting");
    install(SIGUSR1, first, 0, SIGTERM);
    install(SIGUSR2, first, SA_NODEFER, 0);
    raise(SIGUSR1);
    print_mask("after");
    install(SIGUSR1, first, SA_RESETHAND, 0);
    raise(SIGUSR1);
    struct sigaction now;
    sigaction(SIGUSR1, NULL, &now);
    printf("reset %d\n", now.sa_handler == SIG_DFL);
}

static int deep;
static void recursive(int number, siginfo_t *info, void *context)
{
    (void)info;
    (void)context;
    if (++deep < 20)
        raise(number);
}

static void change_mask(int number, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    (void)number;
    (void)info;
    sigaddset(&u->uc_sigmask, SIGHUP);
    sigdelset(&u->uc_sigmask, SIGUSR2);
}

static void masks(void)
{
    puts("-- masks");
    install(SIGUSR1, recursive, SA_NODEFER, 0);
    raise(SIGUSR1);
    printf("depth %d\n", deep);
    install(SIGUSR1, change_mask, 0, 0);
    sigset_t set, old;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, &old);
    raise(SIGUSR2);
    raise(SIGUSR1); /* unblocks the other one */
    print_mask("changed by the handler");
    sigprocmask(SIG_SETMASK, &old, NULL);
}

static sigjmp_buf back;
static void jump(int number, siginfo_t *info, void *context)
{
    (void)info;
    (void)context;
    siglongjmp(back, number);
}

static int overflow(volatile char *above)
{
    volatile char here[4096];
    here[0] = *above;
    return here[0] ? 0 : overflow(here) + here[0];
}

static char alternate[65536];
static volatile int checked;

static void on_alternate(int number, siginfo_t *info, void *context)
{
    volatile char local = 1;
    (void)info;
    (void)context;
    int inside = (char *)&local >= alternate && (char *)&local < alternate + sizeof alternate;
    stack_t now;
    sigaltstack(NULL, &now);
    printf("signal %d on the alternate stack %d flags %d\n", number, inside, now.ss_flags);
    if (number == SIGUSR1) {
        char pattern[2048];
        memset(pattern, 0x5a, sizeof pattern);
        /* Signals come while this handler runs cold code. */
        struct itimerval soon = {.it_value.tv_usec = 50, .it_interval.tv_usec = 70};
        setitimer(ITIMER_REAL, &soon, NULL);
        unsigned long sum = 0;
        for (int i = 0; i < 200; i++) {
            char text[64];
            snprintf(text, sizeof text, "%d %g %lx", i, i / 3.0, sum);
            sum = sum * 31 + strlen(text) + (unsigned long)atoi(text);
        }
        while (checked < 20)
            sum++;
        struct itimerval off = {0};
        setitimer(ITIMER_REAL, &off, NULL);
        for (unsigned i = 0; i < sizeof pattern; i++)
            if (pattern[i] != 0x5a)
                puts("the frame was overwritten");
    }
}

static void nested_alarm(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    (void)context;
    checked++;
}

static void alternates(void)
{
    puts("-- alternate stacks");
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate}, old;
    sigaltstack(&stack, &old);
    printf("before %d\n", old.ss_flags);
    install(SIGUSR1, on_alternate, SA_ONSTACK, 0);
    install(SIGUSR2, on_alternate, 0, 0);
    install(SIGALRM, nested_alarm, SA_ONSTACK | SA_RESTART, 0);
    raise(SIGUSR1);
    raise(SIGUSR2);
    install(SIGSEGV, jump, SA_ONSTACK, 0);
    for (int i = 0; i < 3; i++) {
        int from = sigsetjmp(back, 1);
        if (!from) {
            volatile char top = 0;
            overflow(&top);
        }
        printf("overflow %d\n", from);
    }
    install(SIGFPE, jump, 0, 0);
    volatile int zero = 0;
    for (volatile int i = 0; i < 100; i++)
        if (!sigsetjmp(back, 1))
            deep = 1 / zero;
    print_mask("after jumps");
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, NULL);
}

static volatile int ticks;
static void tick(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    (void)context;
    ticks++;
}

static void arm(int microseconds)
{
    struct itimerval value = {.it_value.tv_usec = microseconds};
    setitimer(ITIMER_REAL, &value, NULL);
}

static void waiting(void)
{
    puts("-- waiting");
    sigset_t alarm_set, old, none;
    install(SIGALRM, tick, 0, 0);
    sigemptyset(&none);
    sigemptyset(&alarm_set);
    sigaddset(&alarm_set, SIGALRM);
    sigprocmask(SIG_BLOCK, &alarm_set, &old);
    for (int i = 0; i < 50; i++) {
        arm(200);
        int before = ticks;
        if (sigsuspend(&none) != -1 || errno != EINTR || ticks != before + 1)
            puts("sigsuspend");
        arm(200);
        siginfo_t info;
        if (sigwaitinfo(&alarm_set, &info) != SIGALRM || ticks != before + 1)
            puts("sigwaitinfo");
        arm(200);
        struct timespec long_time = {5, 0};
        if (pselect(0, NULL, NULL, NULL, &long_time, &none) != -1 || ticks != before + 2)
            puts("pselect");
    }
    sigprocmask(SIG_SETMASK, &old, NULL);
    int ends[2];
    char byte;
    if (pipe(ends) != 0)
        return;
    for (int i = 0; i < 50; i++) { /* a moment to be asleep in, but no matter if it is not */
        arm(3000);
        if (read(ends[0], &byte, 1) != -1 || errno != EINTR)
            puts("read");
        arm(3000);
        struct pollfd p = {.fd = ends[0], .events = POLLIN};
        if (poll(&p, 1, 5000) != -1 || errno != EINTR)
            puts("poll");
    }
    install(SIGALRM, tick, SA_RESTART, 0);
    if (fork() == 0) {
        usleep(20000);
        _exit(write(ends[1], "x", 1) != 1);
    }
    arm(3000);
    printf("restarted %zd\n", read(ends[0], &byte, 1));
    wait(NULL);
}

int main(void)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    print_mask("start");
    nesting();
    masks();
    alternates();
    waiting();
    return 0;
}
