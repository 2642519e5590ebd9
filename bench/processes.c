/* Processes that do nothing, one after the other: `processes execs N` executes itself N times,
 * `processes forks N` forks N children and waits for each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int forks(long n)
{
    while (n--) {
        pid_t child = fork();
        if (child == 0)
            _exit(0);
        if (child < 0 || waitpid(child, NULL, 0) != child)
            return 1;
    }
    return 0;
}

static int execs(char **argv, long n)
{
    char left[24];
    if (!n)
        return 0;
    snprintf(left, sizeof left, "%ld", n - 1);
    execl("/proc/self/exe", argv[0], argv[1], left, (char *)NULL);
    return 1;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    long n = strtol(argv[2], NULL, 10);
    return strcmp(argv[1], "forks") == 0 ? forks(n) : execs(argv, n);
}
