/* system() and popen() in several threads, while others read the environment: it is the program's
 * own again afterwards, in cancelled threads and in forked children too. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static volatile int stop;
static volatile size_t total;

static void print_environment(const char *when)
{
    int count = 0;
    while (environ[count])
        count++;
    printf("%s: %d variables, LD_PRELOAD %s\n", when, count,
           getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : "unset");
    fflush(stdout);
}

static void *reader(void *argument)
{
    for (; !stop; usleep(50))
        for (char **v = environ; *v; v++)
            total += strlen(*v);
    return argument;
}

static void *caller(void *argument)
{
    for (int i = 0; i < 8; i++)
        if (system("test -z \"$PENUMBRA_NEVER_SET\"") != 0)
            puts("system failed");
    for (int i = 0; i < 20; i++) {
        char line[64];
        FILE *f = popen("echo line", "r");
        if (!f || !fgets(line, sizeof line, f) || strcmp(line, "line\n") != 0 || pclose(f) != 0)
            puts("popen failed");
    }
    return argument;
}

static void *sleeper(void *argument)
{
    if (system("exec sleep 60") == 0)
        puts("not cancelled");
    return argument;
}

int main(void)
{
    pthread_t readers[2], callers[4], cancelled;
    int status;
    print_environment("start");
    for (int i = 0; i < 2; i++)
        pthread_create(&readers[i], NULL, reader, NULL);
    for (int i = 0; i < 4; i++)
        pthread_create(&callers[i], NULL, caller, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(callers[i], NULL);
    print_environment("after calls");
    pthread_create(&cancelled, NULL, sleeper, NULL);
    usleep(200000);
    pid_t pid = fork();
    if (pid == 0) {
        print_environment("child");
        _exit(0);
    }
    waitpid(pid, &status, 0);
    setenv("ADDED", "yes", 1);
    pthread_cancel(cancelled);
    pthread_join(cancelled, NULL);
    stop = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(readers[i], NULL);
    print_environment("end");
    return 0;
}
