/* Actions of signals, with SIGTRAP in the mask or without, that a child sets itself or has
 * inherited: after a fork, a vfork, and a fork that nobody is told of; in the last one also once it
 * has made a thread. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static char said[1 << 16]; /* shared with a vfork child */
static size_t used;

static void on_signal(int number)
{
    (void)number;
}

static void say(const char *what)
{
    static const int signals[] = {SIGUSR1, SIGUSR2, SIGHUP, SIGALRM, 40};
    used += (size_t)sprintf(said + used, "%s:", what);
    for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction a;
        sigaction(signals[i], NULL, &a);
        used += (size_t)sprintf(said + used, " %d:%d,%x", signals[i],
                                sigismember(&a.sa_mask, SIGTRAP), (unsigned)a.sa_flags);
    }
    used += (size_t)sprintf(said + used, "\n");
}

static void set(int number, int masks, int flags)
{
    struct sigaction a = {.sa_handler = on_signal, .sa_flags = flags};
    sigemptyset(&a.sa_mask);
    if (masks)
        sigaddset(&a.sa_mask, SIGTRAP);
    sigaction(number, &a, NULL);
}

static void *thread(void *unused)
{
    return unused;
}

static void child(const char *how, int threads)
{
    pthread_t t;
    say(how);
    set(SIGUSR1, 0, 0);
    set(SIGUSR2, 1, SA_ONSTACK);
    say("set");
    sigignore(SIGHUP);
    signal(SIGALRM, on_signal);
    set(40, 0, SA_ONSTACK);
    say("set otherwise");
    if (threads && pthread_create(&t, NULL, thread, NULL) == 0)
        pthread_join(t, NULL);
    say("again");
    set(SIGUSR1, 1, 0);
    set(SIGUSR2, 0, 0);
    say("the other way");
}

int main(void)
{
    static const char *const ways[] = {"fork", "raw fork", "raw fork and thread", "vfork"};
    for (int way = 0; way < 4; way++) {
        set(SIGUSR1, 1, 0);
        set(SIGUSR2, 0, 0);
        set(SIGHUP, 1, 0);
        set(SIGALRM, 1, SA_ONSTACK);
        set(40, 1, SA_ONSTACK);
        pid_t pid = way == 0 ? fork() : way == 3 ? vfork() : (pid_t)syscall(SYS_fork);
        if (pid == 0) {
            child(ways[way], way == 2);
            if (way != 3 && write(1, said, used) < 0)
                _exit(1);
            _exit(0);
        }
        waitpid(pid, NULL, 0);
        if (way == 3 && write(1, said, used) < 0)
            return 1;
        used = 0;
        say("the parent");
        if (write(1, said, used) < 0)
            return 1;
        used = 0;
    }
    return 0;
}
