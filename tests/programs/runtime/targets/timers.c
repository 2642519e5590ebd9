/* POSIX timers of every kind: what is called, in which thread, with which value; what timers and
 * clocks say. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "spin.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { MS = 1000000, EXPIRATIONS = 20 };

static unsigned counted, wrong; /* atomic */
static int current;             /* the timer's number; a function of one before may come late */
static pid_t awaited;           /* who is to run the handler; 0: anybody */

static void count(int is_right)
{
    __atomic_add_fetch(&wrong, !is_right, __ATOMIC_RELAXED);
    __atomic_add_fetch(&counted, 1, __ATOMIC_RELEASE);
}

static void called(union sigval value)
{
    spin(20000);
    if (value.sival_int == __atomic_load_n(&current, __ATOMIC_ACQUIRE))
        count(1);
}

static void handler(int number, siginfo_t *info, void *context)
{
    count(number == SIGRTMIN + 2 && info->si_code == SI_TIMER &&
          info->si_value.sival_int == current &&
          context && (!awaited || gettid() == awaited));
}

static void tick(int number)
{
    count(number == SIGVTALRM || number == SIGPROF);
}

static void until(unsigned number)
{
    while (__atomic_load_n(&counted, __ATOMIC_ACQUIRE) < number)
        spin(1000);
}

static void arm(const char *what, clockid_t clock, struct sigevent *event, long ns, long every)
{
    timer_t timer;
    struct itimerspec time = {{0, every}, {0, ns}}, rest;
    unsigned wanted = every ? EXPIRATIONS : 1;
    event->sigev_value.sival_int = __atomic_add_fetch(&current, 1, __ATOMIC_RELEASE);
    __atomic_store_n(&counted, 0, __ATOMIC_RELAXED);
    if (timer_create(clock, event, &timer)) {
        printf("%s: %d\n", what, errno);
        return;
    }
    int set = timer_settime(timer, 0, &time, NULL);
    until(wanted);
    int got = timer_gettime(timer, &rest), more = timer_getoverrun(timer);
    unsigned seen = __atomic_load_n(&counted, __ATOMIC_RELAXED);
    printf("%s: set %d, called %s, wrong %u, asked %d, every %ld, ", what, set,
           seen == wanted || every ? "as often" : "too often", wrong, got,
           rest.it_interval.tv_nsec);
    printf("left %d, overrun %d", every ? 0 : rest.it_value.tv_nsec != 0, every ? 0 : more);
    printf(", deleted %d\n", timer_delete(timer));
}

static void *waits(void *tid)
{
    __atomic_store_n((pid_t *)tid, gettid(), __ATOMIC_RELEASE);
    until(EXPIRATIONS);
    return NULL;
}

static void to_a_thread(void)
{
    pthread_t t;
    pid_t tid = 0;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN + 2};
    __atomic_store_n(&counted, 0, __ATOMIC_RELAXED);
    pthread_create(&t, NULL, waits, &tid);
    while (!__atomic_load_n(&tid, __ATOMIC_ACQUIRE))
        spin(1000);
    event.sigev_notify_thread_id = awaited = tid;
    arm("to a thread", CLOCK_MONOTONIC, &event, 2 * MS, 2 * MS);
    pthread_join(t, NULL);
    awaited = 0;
    event.sigev_notify_thread_id = 1 << 30;
    arm("to nobody", CLOCK_MONOTONIC, &event, MS, 0);
}

/* Clocks of a thread's and a process's CPU time are asked, and expire no earlier than told. */
static void cpu_clocks(struct sigevent *event)
{
    static const struct { const char *name; clockid_t clock; } clocks[] = {
        {"thread", CLOCK_THREAD_CPUTIME_ID}, {"process", CLOCK_PROCESS_CPUTIME_ID}};
    clockid_t own;
    pthread_getcpuclockid(pthread_self(), &own);
    for (int i = 0; i < 3; i++) {
        struct timespec before, after;
        clockid_t clock = i < 2 ? clocks[i].clock : own;
        clock_gettime(clock, &before);
        arm(i < 2 ? clocks[i].name : "own", clock, event, 6 * MS, 0);
        clock_gettime(clock, &after);
        printf("not early: %d\n", (after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec -
                                      before.tv_nsec >= 6 * MS);
    }
    arm("thread, often", CLOCK_THREAD_CPUTIME_ID, event, MS, MS);
}

static void intervals(void)
{
    static const struct { int which, number; } of[] = {{ITIMER_VIRTUAL, SIGVTALRM},
                                                       {ITIMER_PROF, SIGPROF}};
    for (int i = 0; i < 2; i++) {
        struct itimerval time = {{0, 4000}, {0, 4000}}, none = {{0, 0}, {0, 0}}, rest;
        signal(of[i].number, tick);
        __atomic_store_n(&counted, 0, __ATOMIC_RELAXED);
        int set = setitimer(of[i].which, &time, NULL);
        until(5);
        int ended = setitimer(of[i].which, &none, &rest);
        printf("interval: %d %d, wrong %u, every %ld\n", set, ended, wrong,
               (long)rest.it_interval.tv_usec);
    }
}

static void refused(struct sigevent *event)
{
    timer_t timer;
    struct sigevent bad = *event;
    struct itimerspec time = {{0, 0}, {0, 1000 * MS}};
    printf("bad clock %d", timer_create(99, event, &timer) ? errno : 0);
    bad.sigev_signo = 99;
    printf(", bad signal %d", timer_create(CLOCK_MONOTONIC, &bad, &timer) ? errno : 0);
    bad.sigev_notify = SIGEV_NONE;
    printf(", none %d", timer_create(CLOCK_MONOTONIC, &bad, &timer) ? errno : 0);
    printf(", bad time %d, no timer %d, deleted %d\n",
           timer_settime(timer, 0, &time, NULL) ? errno : 0,
           (int)(syscall(SYS_timer_gettime, 9999, &time) ? errno : 0), timer_delete(timer));
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 2},
                    thread = {.sigev_notify = SIGEV_THREAD,
                              .sigev_notify_function = called};
    sigaction(SIGRTMIN + 2, &action, NULL);
    refused(&event);
    arm("signal", CLOCK_REALTIME, &event, 2 * MS, 2 * MS);
    arm("signal, once", CLOCK_BOOTTIME, &event, 2 * MS, 0);
    to_a_thread();
    arm("function", CLOCK_MONOTONIC, &thread, 2 * MS, 2 * MS);
    arm("function, once", CLOCK_REALTIME, &thread, 2 * MS, 0);
    arm("function, thread's clock", CLOCK_THREAD_CPUTIME_ID, &thread, 3 * MS, 0);
    cpu_clocks(&event);
    intervals();
    return 3;
}
