/* A profiler that does nothing: the floor under what any sampling profiler of this kind can cost.
 *
 * Preloaded into a program it gives each thread the event that penumbra's runtime would (CPU time
 * of the thread, one signal a period) and a handler that returns at once. Its overhead is that of
 * the event, the signal's delivery and the return from it.
 *
 *     EMPTY_HANDLER_HZ=997     samples a second of CPU time
 *     EMPTY_HANDLER_MODE=trap  a synchronous SIGTRAP from the event (what penumbra uses); default
 *                        fasync  an asynchronous real-time signal through the event's descriptor
 *                        itimer  SIGPROF of setitimer: the process's clock, bound to the kernel's tick
 *                        ctimer  a timer on each thread's CPU clock, bound to the tick as well
 *
 * A program that runs with it ends with status 125 if the event cannot be had: a floor that was not
 * measured must not look like one. */
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { SECOND_NS = 1000000000, FAILED = 125 };

static enum { MODE_TRAP, MODE_FASYNC, MODE_ITIMER, MODE_CTIMER } mode;
static uint64_t rate = 997;
static int (*real_pthread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static void handler(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    (void)context;
}

/* The event of the calling thread: software task-clock, a fixed period. The descriptor stays open
 * as long as the thread's process; exec closes it. */
static void arm_event(void)
{
    struct perf_event_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_TASK_CLOCK;
    attr.sample_period = SECOND_NS / rate;
    attr.disabled = 1;
    attr.exclude_hv = 1;
    if (mode == MODE_TRAP) {
        attr.sigtrap = 1;
        attr.remove_on_exec = 1;
    } else {
        attr.wakeup_events = 1;
    }
    long tid = syscall(SYS_gettid);
    int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0) {
        attr.exclude_kernel = 1;
        fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    }
    if (fd < 0)
        _exit(FAILED);
    if (mode == MODE_FASYNC) {
        struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = (pid_t)tid};
        if (fcntl(fd, F_SETSIG, SIGRTMAX - 1) != 0 || fcntl(fd, F_SETOWN_EX, &owner) != 0 ||
            fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK) != 0)
            _exit(FAILED);
    }
    if (ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) != 0)
        _exit(FAILED);
}

/* The timer of the calling thread on its own CPU clock; the kernel deletes it with the process. */
static void arm_timer(void)
{
    struct sigevent event;
    struct itimerspec every = {
        .it_interval = {(time_t)(1 / rate), (long)(SECOND_NS / rate % SECOND_NS)}};
    timer_t timer;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGPROF;
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    every.it_value = every.it_interval;
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) != 0 ||
        timer_settime(timer, 0, &every, NULL) != 0)
        _exit(FAILED);
}

static void arm_thread(void)
{
    if (mode == MODE_CTIMER)
        arm_timer();
    else if (mode != MODE_ITIMER)
        arm_event();
}

static void install(int number)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    if (sigaction(number, &action, NULL) != 0)
        _exit(FAILED);
}

__attribute__((constructor)) static void empty_handler_start(void)
{
    const char *hz = getenv("EMPTY_HANDLER_HZ");
    const char *name = getenv("EMPTY_HANDLER_MODE");
    if (hz && strtoull(hz, NULL, 10) > 0)
        rate = strtoull(hz, NULL, 10);
    if (name && strcmp(name, "fasync") == 0)
        mode = MODE_FASYNC;
    else if (name && strcmp(name, "itimer") == 0)
        mode = MODE_ITIMER;
    else if (name && strcmp(name, "ctimer") == 0)
        mode = MODE_CTIMER;
    *(void **)&real_pthread_create = dlsym(RTLD_NEXT, "pthread_create");
    install(mode == MODE_TRAP ? SIGTRAP : mode == MODE_FASYNC ? SIGRTMAX - 1 : SIGPROF);
    if (mode == MODE_ITIMER) {
        struct itimerval every = {.it_interval = {.tv_usec = (suseconds_t)(1000000 / rate)}};
        every.it_value = every.it_interval;
        if (setitimer(ITIMER_PROF, &every, NULL) != 0)
            _exit(FAILED);
    }
    arm_thread();
}

struct start {
    void *(*run)(void *);
    void *argument;
};

static void *armed_thread(void *argument)
{
    struct start start = *(struct start *)argument;
    free(argument);
    arm_thread();
    return start.run(start.argument);
}

__attribute__((visibility("default"))) int
pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *argument)
{
    struct start *start = malloc(sizeof *start);
    if (!start)
        return real_pthread_create(thread, attr, run, argument);
    *start = (struct start){run, argument};
    int error = real_pthread_create(thread, attr, armed_thread, start);
    if (error != 0)
        free(start);
    return error;
}
