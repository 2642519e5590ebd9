/* What a process knows of its children: it has none, and those that it has are those that it
 * made. */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t children_ended;
static volatile uint64_t sink;

static void on_child(int signal)
{
    (void)signal;
    children_ended++;
}

static void work(int rounds)
{
    for (int i = 0; i < rounds; i++)
        for (int k = 0; k < 1000000; k++)
            sink = sink * 31 + (uint64_t)k;
}

static int expect(int condition, const char *what)
{
    if (!condition)
        printf("not so: %s\n", what);
    return condition;
}

/* Nobody is there to be waited for. */
static int alone(pid_t parent)
{
    int ok = 1;
    for (int i = 0; i < 8; i++) {
        work(8);
        ok &= expect(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "wait finds nobody");
        ok &= expect(getppid() == parent, "the parent is the same");
        ok &= expect(children_ended == 0, "no child has ended");
    }
    return ok;
}

int main(void)
{
    struct rusage usage;
    struct tms times_now;
    signal(SIGCHLD, on_child);
    int ok = alone(getppid());
    getrusage(RUSAGE_CHILDREN, &usage);
    times(&times_now);
    ok &= expect(usage.ru_utime.tv_sec == 0 && usage.ru_utime.tv_usec == 0 &&
                     usage.ru_stime.tv_usec == 0 && usage.ru_minflt == 0,
                 "children have used nothing");
    ok &= expect(times_now.tms_cutime == 0 && times_now.tms_cstime == 0, "nor by times");
    pid_t self = getpid(), group = getpgrp();
    for (int i = 0; i < 3; i++) {
        pid_t child = fork();
        if (child == 0) {
            signal(SIGCHLD, SIG_DFL);
            int good = alone(self) && expect(getpgrp() == group, "the group is the same");
            fflush(stdout);
            _exit(good ? i : 99);
        }
        int status;
        while (waitpid(-1, &status, 0) != child)
            if (errno != EINTR)
                return 1;
        ok &= expect(WIFEXITED(status) && WEXITSTATUS(status) == i, "it was the child");
    }
    ok &= expect(children_ended == 3, "a signal for each child");
    ok &= expect(wait(NULL) == -1 && errno == ECHILD, "no further child");
    printf("%s\n", ok ? "well" : "not well");
    return !ok;
}
