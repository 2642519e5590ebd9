/* fork, vfork, posix_spawn and exec, from several threads at once, with signals about. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static const char *self;
static volatile int alarms;

static void on_alarm(int number)
{
    (void)number;
    alarms++;
}

static int status_of(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static int child_work(int n)
{
    char text[64];
    snprintf(text, sizeof text, "%d %f", n, n / 7.0);
    return atoi(text) % 100;
}

static pid_t by_fork(int n)
{
    pid_t pid = fork();
    if (pid == 0)
        exit(child_work(n));
    return pid;
}

static pid_t by_vfork(int n)
{
    char number[16];
    snprintf(number, sizeof number, "%d", n);
    volatile int local = n;
    pid_t pid = vfork();
    if (pid == 0) {
        local++;
        if (n % 3 == 0)
            _exit(n % 100);
        execl(n % 3 == 1 ? "/nonexistent/program" : self, self, number, (char *)NULL);
        _exit(n % 100);
    }
    if (local != n + 1)
        puts("vfork child's write is missing");
    return pid;
}

static pid_t by_spawn(int n)
{
    char number[16];
    pid_t pid;
    snprintf(number, sizeof number, "%d", n);
    char *arguments[] = {(char *)self, number, NULL};
    posix_spawnattr_t attributes;
    sigset_t defaults;
    posix_spawnattr_init(&attributes);
    sigfillset(&defaults);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    int error = posix_spawn(&pid, n % 5 ? self : "/nonexistent/program", NULL, &attributes,
                            arguments, environ);
    posix_spawnattr_destroy(&attributes);
    return error ? -error : pid;
}

static pid_t by_clone(int n)
{
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        _exit(child_work(n));
    return pid;
}

static void *many(void *argument)
{
    int from = (int)(long)argument;
    static pid_t (*const ways[])(int) = {by_fork, by_vfork, by_spawn, by_clone};
    long sum = 0;
    for (int i = 0; i < 24; i++) {
        int n = from + i;
        pid_t pid = ways[i % 4](n);
        int status = pid > 0 ? status_of(pid) : pid;
        if (i % 4 == 2 && n % 5 == 0 ? status != -ENOENT && status != 127 : status != n % 100)
            printf("way %d, number %d: status %d\n", i % 4, n, status);
        sum += status;
    }
    return (void *)sum;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return atoi(argv[1]) % 100;
    self = argv[0];
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval often = {.it_value.tv_usec = 500, .it_interval.tv_usec = 1700};
    setitimer(ITIMER_REAL, &often, NULL);
    pthread_t threads[3];
    for (long i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, many, (void *)(i * 24 + 1));
    void *sums[3];
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], &sums[i]);
    for (int i = 0; i < 3; i++)
        printf("%ld\n", (long)sums[i]);
    struct itimerval never = {0};
    setitimer(ITIMER_REAL, &never, NULL); /* it would end the program that is executed last */
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        raise(SIGSEGV);
    printf("killed by %d\n", status_of(pid) - 1000);
    fflush(stdout);
    pid = fork();
    if (pid == 0)
        __asm__ volatile("int3");
    printf("killed by %d\n", status_of(pid) - 1000);
    fflush(stdout);
    signal(SIGTRAP, SIG_IGN);
    execl(self, self, "42", (char *)NULL);
    return 1;
}
