/* With spawn: by posix_spawn, whose children have so many descriptors to duplicate that this takes
 * as long. vforks WAY ROUNDS: so many children on our memory, one after the other, that compute
 * before they execute /bin/true or end; the parent computes as long between them. WAY: exec, exit,
 * clone, nested, killed, fails. */
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MS = 100 };

static volatile unsigned sink;
static volatile int written;
static const char *way;

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void compute(void)
{
    double begun = cpu_ms();
    while (cpu_ms() - begun < MS)
        for (int i = 0; i < 10000; i++)
            sink = sink * 3 + 1;
}

__attribute__((noipa)) static void in_parent(void)
{
    compute();
    written++;
}

__attribute__((noipa)) static void in_child(void)
{
    compute();
    written++;
}

__attribute__((noipa)) static void in_grandchild(void)
{
    compute();
    written++;
}

__attribute__((noreturn)) static void leave(void)
{
    static char *const none[] = {NULL}, *const arguments[] = {"true", NULL};
    if (strcmp(way, "fails") == 0)
        execve("/does/not/exist", arguments, none);
    if (strcmp(way, "fails") == 0)
        in_child();
    if (strcmp(way, "killed") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(way, "exec") == 0)
        execl("/bin/true", "true", (char *)NULL);
    _exit(3);
}

static int child_of_clone(void *unused)
{
    in_child();
    return unused != NULL;
}

static pid_t by_clone(void)
{
    static char stack[1 << 16] __attribute__((aligned(16)));
    return clone(child_of_clone, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
}

static pid_t by_vfork(void)
{
    pid_t pid = vfork();
    if (pid != 0)
        return pid;
    if (strcmp(way, "nested") == 0) {
        pid_t inner = vfork();
        if (inner == 0) {
            in_grandchild();
            _exit(0);
        }
        waitpid(inner, NULL, 0);
    }
    in_child();
    leave();
}

__attribute__((noipa)) static pid_t by_spawn(const posix_spawn_file_actions_t *actions)
{
    static char *const none[] = {NULL}, *arguments[] = {"true", NULL};
    pid_t pid;
    return posix_spawn(&pid, "/bin/true", actions, NULL, arguments, none) == 0 ? pid : -1;
}

static void spawns(int rounds)
{
    enum { ACTIONS = 200000 };
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    for (int i = 0; i < ACTIONS; i++)
        posix_spawn_file_actions_adddup2(&actions, 1, 100 + i % 50);
    for (int i = 0; i < rounds; i++)
        waitpid(by_spawn(&actions), NULL, 0);
}

int main(int argc, char **argv)
{
    int status, sum = 0, rounds = argc > 2 ? atoi(argv[2]) : 1;
    way = argc > 1 ? argv[1] : "exec";
    if (strcmp(way, "spawn") == 0) {
        spawns(rounds);
        rounds = 0;
    }
    for (int i = 0; i < rounds; i++) {
        in_parent();
        pid_t pid = strcmp(way, "clone") == 0 ? by_clone() : by_vfork();
        if (pid < 0 || waitpid(pid, &status, 0) != pid)
            return 1;
        sum += status;
    }
    printf("%s: written %d, statuses %d\n", way, written, sum);
    return 0;
}
