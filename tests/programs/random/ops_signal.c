/* Signals: actions, masks, alternate stacks, ways to send and to wait, timers, jumps out of
 * handlers. */
#include "calls.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/* What is deprecated is used all the same. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static const int sent[] = {SIGUSR1,   SIGUSR2, SIGTRAP, SIGURG, SIGCHLD, SIGALRM,  SIGPROF,
                           SIGVTALRM, SIGSEGV, SIGBUS,  SIGFPE, SIGILL,  SIGWINCH, SIGCONT,
                           SIGPIPE,   SIGIO,   34,      35,     64};
static const int any[] = {SIGUSR1,  SIGUSR2,   SIGTRAP, SIGTRAP, SIGURG, SIGCHLD, SIGALRM,
                          SIGPROF,  SIGVTALRM, SIGSEGV, SIGSEGV, SIGBUS, SIGFPE,  SIGILL,
                          SIGWINCH, SIGTERM,   SIGHUP,  34,      35,     64,      0,
                          -1,       9,         19,      32,      33,     65,      1000};

static __thread sigjmp_buf *volatile leave; /* where a fault's handler goes */
static char stacks[3][1 << 16];

/* Seldom a stopping one. */
static sigset_t set_draw(struct draw *d)
{
    sigset_t set;
    uint64_t bits = draw_bits(d) & draw_bits(d);
    if (draw(d, 4) == 0)
        bits = draw(d, 2) ? 0 : ~UINT64_C(0);
    memset(&set, 0, sizeof set);
    memcpy(&set, &bits, sizeof bits);
    return set;
}

/* docs/limits.md: a handler's sa_mask does not block the signal that carries the samples, nor does
 * the mask that a handler interrupts show it. */
static uint64_t shown(const sigset_t *set)
{
    enum { OF_TIMERS = 41 };
    return set_bits(set) & ~(UINT64_C(1) << (SIGTRAP - 1) | UINT64_C(1) << (OF_TIMERS - 1));
}

static bool on_alternate(void)
{
    stack_t s = {0};
    sigaltstack(NULL, &s);
    return s.ss_flags & SS_ONSTACK;
}

static void seen(int signal, int code, const ucontext_t *context)
{
    sigset_t mask;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    say(" {%d code %d %s mask %lx", signal, code, on_alternate() ? "alternate" : "plain",
        shown(&mask));
    if (context)
        say(" before %lx", shown(&context->uc_sigmask));
    burn(20);
    say("}");
    if (code > 0 && code != SI_KERNEL && leave &&
        (signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE ||
         signal == SIGTRAP))
        siglongjmp(*leave, 1);
    if (code == SI_KERNEL && leave && (signal == SIGTRAP || signal == SIGSEGV))
        siglongjmp(*leave, 1);
}

static void handler(int signal)
{
    int error = errno;
    seen(signal, 0, NULL);
    if (leave && (signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE ||
                  signal == SIGTRAP))
        siglongjmp(*leave, 1);
    errno = error;
}

static void handler_long(int signal, siginfo_t *info, void *context)
{
    int error = errno;
    seen(signal, info->si_code, context);
    errno = error;
}

int action_kind(int signal)
{
    struct sigaction a;
    if (sigaction(signal, NULL, &a) != 0 || a.sa_handler == SIG_DFL)
        return 0;
    return a.sa_handler == SIG_IGN ? 1 : 2;
}

bool signal_blocked(int signal)
{
    sigset_t set;
    sigprocmask(SIG_BLOCK, NULL, &set);
    return sigismember(&set, signal) == 1;
}

struct touching {
    void (*touch)(void *);
    void *argument;
    bool faults;
};

/* The program's handler, if there is one, ends it. */
static void touch_guarded(void *argument)
{
    struct touching *t = argument;
    sigjmp_buf here;
    if (sigsetjmp(here, 1) == 0) {
        leave = &here;
        t->touch(t->argument);
    } else {
        t->faults = true;
    }
    leave = NULL;
}

bool fault_try(void (*touch)(void *), void *argument, int signal)
{
    struct touching t = {touch, argument, false};
    if (action_kind(signal) != 2 || signal_blocked(signal))
        child_run(touch_guarded, &t);
    else
        touch_guarded(&t);
    return !t.faults;
}

/* ---- actions ---- */

static void action_say(const struct sigaction *a)
{
    say(" was %s,%x,%lx",
        a->sa_handler == SIG_DFL   ? "default"
        : a->sa_handler == SIG_IGN ? "ignored"
                                   : "handler",
        (unsigned)a->sa_flags, set_bits(&a->sa_mask));
}

/* libc reads and writes there itself, and faults. */
struct far_call {
    int number;
    const void *set;
    void *old;
    bool masks;
};

static void far_make(void *argument)
{
    const struct far_call *c = argument;
    said(c->masks ? sigprocmask(c->number, c->set, c->old) : sigaction(c->number, c->set, c->old));
}

static void far_try(struct far_call call, const struct script *s)
{
    if (!s->shares && !fault_try(far_make, &call, SIGSEGV))
        say(" faults");
}

static void op_action(struct draw *d, struct script *s)
{
    static const int flags[] = {SA_RESTART,        SA_NODEFER,   SA_ONSTACK,   SA_ONSTACK,
                                (int)SA_RESETHAND, SA_NOCLDWAIT, SA_NOCLDSTOP, 0x800};
    struct sigaction a = {.sa_mask = set_draw(d)}, old;
    int signal = PICK(d, any);
    memset(&old, 0x55, sizeof old);
    for (unsigned i = draw(d, 3); i; i--)
        a.sa_flags |= PICK(d, flags);
    switch (draw(d, 6)) {
    case 0: a.sa_handler = SIG_DFL; break;
    case 1: a.sa_handler = SIG_IGN; break;
    case 2: a.sa_handler = handler; break;
    default:
        a.sa_sigaction = handler_long;
        a.sa_flags |= SA_SIGINFO;
    }
    unsigned way = draw(d, 12);
    say(" %d way %u flags %x", signal, way, (unsigned)a.sa_flags);
    const void *new = way == 0 ? NULL : way == 1 ? (void *)8 : &a;
    void *was = way == 2 ? NULL : way == 3 ? (void *)8 : &old;
    if (way == 1 || way == 3)
        far_try((struct far_call){signal, new, was, false}, s);
    else if (said(sigaction(signal, new, was)) == 0 && was)
        action_say(&old);
}

static void op_old(struct draw *d, struct script *s)
{
    int number = PICK(d, any);
    (void)s;
    unsigned way = draw(d, 8);
    say(" %d way %u", number, way);
    void *const actions[] = {(void *)SIG_DFL, (void *)SIG_IGN, (void *)handler};
    sighandler_t to, was;
    void *chosen = PICK(d, actions);
    memcpy(&to, &chosen, sizeof to);
    switch (way) {
    case 0: was = signal(number, to); break;
    case 1: was = sigset(number, draw(d, 4) ? to : SIG_HOLD); break;
    case 2: said(sigignore(number)); return;
    case 3: said(siginterrupt(number, (int)draw(d, 2))); return;
    case 4: said(sighold(number)); return;
    case 5: said(sigrelse(number)); return;
    case 6: was = sysv_signal(number, to); break;
    default: said(sigignore(number)); return;
    }
    say(" = %s", was == SIG_ERR    ? "error"
                 : was == SIG_DFL  ? "default"
                 : was == SIG_IGN  ? "ignored"
                 : was == SIG_HOLD ? "hold"
                                   : "handler");
}

/* ---- masks ---- */

static void op_mask(struct draw *d, struct script *s)
{
    static const int hows[] = {SIG_BLOCK, SIG_BLOCK, SIG_UNBLOCK, SIG_SETMASK, 7};
    sigset_t set = set_draw(d), old;
    int how = PICK(d, hows);
    unsigned way = draw(d, 10);
    memset(&old, 0, sizeof old);
    say(" way %u how %d %lx", way, how, set_bits(&set));
    switch (way) {
    case 0: said(pthread_sigmask(how, &set, &old)); break;
    case 1: said(sigprocmask(how, NULL, &old)); break;
    case 2: far_try((struct far_call){how, (void *)8, &old, true}, s); break;
    case 3: said(sigprocmask(how, &set, (void *)8)); break;
    case 9:
        said(syscall(SYS_rt_sigprocmask, (long)how, draw(d, 2) ? &set : (void *)8,
                     draw(d, 2) ? &old : (void *)8, 8L));
        break;
    case 4: said(syscall(SYS_rt_sigprocmask, (long)how, &set, &old, 8L)); break;
    case 5: said(sigblock((int)set_bits(&set))); return;
    case 6: said(sigsetmask((int)set_bits(&set))); return;
    default: said(sigprocmask(how, &set, &old));
    }
    say(" was %lx", set_bits(&old));
}

static void op_pending(struct draw *d, struct script *s)
{
    sigset_t set;
    (void)s;
    memset(&set, 0, sizeof set);
    unsigned way = draw(d, 4);
    said(way == 0   ? sigpending((void *)8)
         : way == 1 ? syscall(SYS_rt_sigpending, &set, 8L)
                    : sigpending(&set));
    say(" %lx", set_bits(&set));
}

/* ---- alternate stacks ---- */

static void op_alternate(struct draw *d, struct script *s)
{
    stack_t new = {.ss_sp = stacks[draw(d, 3)], .ss_size = draw(d, 2) ? 1 << 16 : 1 << 14}, old;
    unsigned way = draw(d, 9);
    memset(&old, 0, sizeof old);
    say(" way %u", way);
    if (way == 0)
        new.ss_flags = SS_DISABLE;
    else if (way == 1)
        new.ss_size = 100;
    else if (way == 2)
        new.ss_flags = 0x77;
    else if (way == 3)
        new.ss_flags = INT_MIN; /* SS_AUTODISARM */
    else if (way == 4 && s->depth)
        new.ss_sp = ARENA + 8 * PAGE * draw(d, 8);
    const void *from = way == 5 ? NULL : way == 6 ? (void *)8 : &new;
    void *was = way == 7 ? NULL : &old;
    if (said(way == 8 ? syscall(SYS_sigaltstack, from, was) : sigaltstack(from, was)) == 0 && was)
        say(" was %zu flags %x", old.ss_flags & SS_DISABLE ? 0 : old.ss_size,
            old.ss_flags & SS_DISABLE
                ? SS_DISABLE
                : (unsigned)old.ss_flags); /* an exec leaves SS_AUTODISARM there */
}

/* ---- sending ---- */

static void send(int way, int number)
{
    union sigval value = {.sival_int = 77};
    switch (way) {
    case 0: said(raise(number)); break;
    case 1: said(kill(getpid(), number)); break;
    case 2: said(pthread_kill(pthread_self(), number)); break;
    case 3: said(syscall(SYS_tgkill, (long)getpid(), syscall(SYS_gettid), (long)number)); break;
    case 4: said(sigqueue(getpid(), number, value)); break;
    case 5: said(pthread_sigqueue(pthread_self(), number, value)); break;
    default: said(syscall(SYS_tkill, syscall(SYS_gettid), (long)number));
    }
}

static bool ends(int number)
{
    return action_kind(number) == 0 && number != SIGCHLD && number != SIGURG &&
           number != SIGWINCH && number != SIGCONT;
}

struct sending {
    int way, number;
};

static void send_in_child(void *argument)
{
    const struct sending *s = argument;
    send(s->way, s->number);
}

static void op_send(struct draw *d, struct script *s)
{
    struct sending sending = {(int)draw(d, 7), PICK(d, sent)};
    if (draw(d, 16) == 0)
        sending.number = draw(d, 2) ? 65 : 0;
    say(" %d way %d", sending.number, sending.way);
    if (sending.number == SIGTRAP && (sending.way == 1 || sending.way == 4))
        sending.way = 0; /* docs/limits.md: to the process, it may come a moment later */
    bool valid = sending.number > 0 && sending.number < 65;
    if (!valid || !ends(sending.number))
        send(sending.way, sending.number);
    else if (!s->shares)
        child_run(send_in_child, &sending);
}

/* ---- waiting ---- */

static void op_wait(struct draw *d, struct script *s)
{
    sigset_t set = set_draw(d), pending;
    siginfo_t info;
    struct timespec none = {0, draw(d, 5) ? 0 : 2000000};
    int number = 0;
    unsigned way = draw(d, 5);
    (void)s;
    memset(&info, 0, sizeof info);
    sigpending(&pending);
    say(" way %u %lx", way, set_bits(&set));
    if (way == 0 && set_bits(&pending) & set_bits(&set)) {
        if (said(sigwait(&set, &number)) == 0)
            say(" %d", number);
        return;
    }
    if (way == 1 && set_bits(&pending) & set_bits(&set))
        number = (int)said(sigwaitinfo(&set, &info));
    else if (way == 2)
        number = (int)said(sigtimedwait(&set, NULL, &none));
    else
        number = (int)said(sigtimedwait(&set, &info, &none));
    if (number > 0)
        say(" code %d value %d", info.si_code, info.si_code == SI_QUEUE ? info.si_int : 0);
}

/* One that is pending already would end a wait before the timer does, whose signal comes later: or
 * not, where the script has ended by then. */
static void pending_drop(int number)
{
    static const struct timespec now;
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, number);
    while (sigtimedwait(&one, NULL, &now) > 0)
        ;
}

/* A timer's signal ends it, and nothing else can. */
static void op_suspend(struct draw *d, struct script *s)
{
    struct sigaction a = {.sa_sigaction = handler_long,
                          .sa_flags = SA_SIGINFO | (draw(d, 2) ? SA_ONSTACK : 0)},
                     was;
    struct itimerval soon = {.it_value = {0, 1000}};
    sigset_t all, mask;
    (void)s;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &mask);
    sigset_t others = all;
    sigdelset(&others, SIGALRM);
    sigaction(SIGALRM, &a, &was);
    pending_drop(SIGALRM);
    setitimer(ITIMER_REAL, &soon, NULL);
    if (draw(d, 2))
        said(sigsuspend(&others));
    else
        said(ppoll(NULL, 0, NULL, &others));
    sigaction(SIGALRM, &was, NULL);
    sigprocmask(SIG_SETMASK, &mask, NULL);
}

/* A pending signal that the mask of a wait lets through. */
static void op_let(struct draw *d, struct script *s)
{
    struct sigaction a = {.sa_sigaction = handler_long,
                          .sa_flags = SA_SIGINFO | (draw(d, 2) ? SA_RESTART : 0)}, was;
    static const int signals[] = {SIGUSR1, SIGTRAP, 34};
    int number = PICK(d, signals), queue = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event;
    struct timespec long_time = {1, 0};
    sigset_t all, others, mask;
    unsigned way = draw(d, 5);
    if (s->shares)
        return;
    say(" %d way %u", number, way);
    sigfillset(&all);
    others = all;
    sigdelset(&others, number);
    sigprocmask(SIG_SETMASK, &all, &mask);
    sigaction(number, &a, &was);
    raise(number);
    switch (way) {
    case 0: said(ppoll(NULL, 0, &long_time, &others)); break;
    case 1: said(pselect(0, NULL, NULL, NULL, &long_time, &others)); break;
    case 2: said(epoll_pwait(queue, &event, 1, 1000, &others)); break;
    case 3: said(syscall(SYS_rt_sigsuspend, &others, 8L)); break;
    default: said(epoll_pwait2(queue, &event, 1, &long_time, &others));
    }
    sigaction(number, &was, NULL);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    close(queue);
}

static void op_signalfd(struct draw *d, struct script *s)
{
    sigset_t set = set_draw(d);
    struct signalfd_siginfo info;
    (void)s;
    if (draw(d, 2))
        sigdelset(&set, SIGTRAP);
    int fd = (int)said(signalfd(-1, &set, SFD_NONBLOCK | (draw(d, 2) ? SFD_CLOEXEC : 0)));
    if (fd < 0)
        return;
    for (int i = 0; i < 3 && said(read(fd, &info, sizeof info)) > 0; i++)
        say(" %u code %d", info.ssi_signo, info.ssi_code);
    if (draw(d, 3))
        close(fd);
}

static void op_timer(struct draw *d, struct script *s)
{
    static const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_THREAD_CPUTIME_ID,
                                       CLOCK_PROCESS_CPUTIME_ID, 99};
    static const int signals[] = {SIGUSR1, SIGPROF, SIGTRAP, 34, 64};
    int number = PICK(d, signals);
    struct sigevent event = {
        .sigev_notify = SIGEV_SIGNAL, .sigev_signo = number, .sigev_value.sival_int = 9};
    struct itimerspec soon = {.it_value = {0, 1000000}};
    struct timespec patience = {10, 0};
    siginfo_t info = {0};
    sigset_t one, mask;
    timer_t timer;
    (void)s;
    sigemptyset(&one);
    sigaddset(&one, number);
    sigprocmask(SIG_BLOCK, &one, &mask);
    clockid_t clock = PICK(d, clocks);
    say(" %d clock %d", number, clock);
    if (said(timer_create(clock, &event, &timer)) == 0) {
        timer_settime(timer, 0, &soon, NULL);
        for (sigset_t p; clock == CLOCK_THREAD_CPUTIME_ID || clock == CLOCK_PROCESS_CPUTIME_ID;
             burn(100))
            if (sigpending(&p) != 0 || sigismember(&p, number))
                break;
        said(sigtimedwait(&one, &info, &patience));
        say(" code %d value %d", info.si_code, info.si_code == SI_TIMER ? info.si_int : 0);
        said(timer_delete(timer));
    }
    sigprocmask(SIG_SETMASK, &mask, NULL);
}

static void op_itimer(struct draw *d, struct script *s)
{
    static const int signals[] = {SIGALRM, SIGVTALRM, SIGPROF};
    int which = (int)draw(d, 3);
    struct itimerval soon = {.it_value = {0, 2000}}, now;
    struct timespec patience = {10, 0};
    sigset_t one, mask, pending;
    (void)s;
    sigemptyset(&one);
    sigaddset(&one, signals[which]);
    sigprocmask(SIG_BLOCK, &one, &mask);
    pending_drop(signals[which]);
    said(setitimer((__itimer_which_t)which, &soon, NULL));
    do
        burn(100);
    while (which && sigpending(&pending) == 0 && !sigismember(&pending, signals[which]));
    said(sigtimedwait(&one, NULL, &patience));
    said(getitimer((__itimer_which_t)which, &now));
    say(" %ld", now.it_value.tv_sec);
    said(alarm(100));
    said(alarm(0));
    sigprocmask(SIG_SETMASK, &mask, NULL);
}

/* ---- leaving frames ---- */

static void op_jump(struct draw *d, struct script *s)
{
    sigjmp_buf here;
    sigset_t set = set_draw(d);
    int saved = (int)draw(d, 2);
    (void)s;
    int times = sigsetjmp(here, saved);
    say(" saved %d, %d", saved, times);
    if (times < 2) {
        burn(30);
        sigprocmask(SIG_BLOCK, &set, NULL);
        siglongjmp(here, times + 1);
    }
}

static ucontext_t home, away;

static void elsewhere(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, NULL);
    burn(30);
    say(" elsewhere");
}

static void op_context(struct draw *d, struct script *s)
{
    (void)d;
    if (s->shares)
        return;
    said(getcontext(&away));
    away.uc_stack.ss_sp = stacks[2];
    away.uc_stack.ss_size = sizeof stacks[2];
    away.uc_link = &home;
    makecontext(&away, elsewhere, 0);
    stack_t alternate = {0};
    sigaltstack(NULL, &alternate);
    if (alternate.ss_sp == stacks[2])
        return;
    said(swapcontext(&home, &away));
}

/* ---- faults of the processor ---- */

static void fault(void *argument)
{
    volatile int zero = 0;
    switch (*(unsigned *)argument) {
    case 0: __asm__ volatile("int3"); break;
    case 1: __asm__ volatile("ud2"); break;
    case 2: zero = 1 / zero; break;
    case 3: __asm__ volatile("hlt"); break;
    default: (void)*(volatile char *)(UINT64_C(1) << 62);
    }
}

static void op_fault(struct draw *d, struct script *s)
{
    static const int signals[] = {SIGTRAP, SIGILL, SIGFPE, SIGSEGV, SIGSEGV};
    unsigned which = draw(d, 5);
    say(" %u", which);
    if (!s->shares)
        say(" %s", fault_try(fault, &which, signals[which]) ? "by itself" : "handled");
}

const struct operation signal_operations[] = {
    {"action", op_action, 24},
    {"old", op_old, 10},
    {"mask", op_mask, 16},
    {"pending", op_pending, 4},
    {"alternate", op_alternate, 10},
    {"send", op_send, 30},
    {"wait", op_wait, 10},
    {"suspend", op_suspend, 4},
    {"let", op_let, 5},
    {"signalfd", op_signalfd, 4},
    {"timer", op_timer, 4},
    {"itimer", op_itimer, 3},
    {"jump", op_jump, 6},
    {"context", op_context, 3},
    {"fault", op_fault, 8},
    {NULL, NULL, 0},
};
