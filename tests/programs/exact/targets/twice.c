/* Several signals that are pending and let through at once: the kernel puts their frames on each
 * other before any of the handlers has run. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { MASK_CALL, SUSPEND, POLL, HANDLER, WAYS };

static const int numbers[] = {SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS, SIGUSR1, 40};
enum { COUNT = sizeof numbers / sizeof *numbers };

static unsigned long bits(const sigset_t *set)
{
    unsigned long value;
    memcpy(&value, set, sizeof value);
    return value & ~(1UL << (SIGTRAP - 1)); /* docs/limits.md: what contexts do not show */
}

static void seen(int number, siginfo_t *info, void *context)
{
    sigset_t mask;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    printf("  {%d code %d mask %lx before %lx\n", number, info->si_code, bits(&mask),
           bits(&((ucontext_t *)context)->uc_sigmask));
    printf("  %d}\n", number);
}

static void lets(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
    sigemptyset(&((ucontext_t *)context)->uc_sigmask);
}

static void let_through(int way)
{
    sigset_t none;
    sigemptyset(&none);
    switch (way) {
    case MASK_CALL: sigprocmask(SIG_SETMASK, &none, NULL); break;
    case SUSPEND: sigsuspend(&none); break;
    case POLL: ppoll(NULL, 0, NULL, &none); break;
    default: raise(SIGUSR2);
    }
}

static void block(void)
{
    sigset_t set;
    sigfillset(&set);
    sigdelset(&set, SIGUSR2);
    sigprocmask(SIG_SETMASK, &set, NULL);
}

static void install(int number, void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction a = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
    sigaddset(&a.sa_mask, SIGWINCH);
    sigaction(number, &a, NULL);
}

static void after(const char *what)
{
    sigset_t mask, pending;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    sigpending(&pending);
    printf("%s: mask %lx pending %lx\n", what, bits(&mask), bits(&pending));
}

/* One for the process and one for the thread. */
static void twice(int number, int way, int flags)
{
    printf("signal %d way %d flags %x\n", number, way, (unsigned)flags);
    block();
    install(number, seen, flags);
    if (number != SIGTRAP) /* docs/limits.md: to the process, it may come a moment later */
        kill(getpid(), number);
    syscall(SYS_tgkill, getpid(), getpid(), number);
    let_through(way);
    after("twice");
}

/* One of each kind, from `first` on. */
static void together(int first, int way, int flags)
{
    printf("from %d way %d flags %x\n", numbers[first], way, (unsigned)flags);
    block();
    for (int i = first; i < COUNT; i++) {
        install(numbers[i], seen, flags);
        syscall(SYS_tgkill, getpid(), getpid(), numbers[i]);
    }
    let_through(way);
    after("together");
}

int main(void)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    install(SIGUSR2, lets, 0);
    for (int way = 0; way < WAYS; way++)
        for (int flags = 0; flags < 2; flags++) {
            for (int i = 0; i < COUNT; i++)
                twice(numbers[i], way, flags ? SA_NODEFER : 0);
            for (int i = 0; i < COUNT; i++)
                together(i, way, flags ? SA_NODEFER : 0);
        }
    return 0;
}
