/* Starts images in every way that libc has; each prints its environment, which must be the same
 * with and without a profiler. */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void finish(pid_t pid)
{
    int status;
    waitpid(pid, &status, 0);
    printf("status %d\n", status);
    fflush(stdout);
}

static void in_child(int way)
{
    char *const argv[] = {"env", NULL};
    char *const envp[] = {"ONLY=this", "PATH=/usr/bin:/bin", NULL};
    switch (way) {
    case 0: execve("/usr/bin/env", argv, envp); break;
    case 1: execv("/usr/bin/env", argv); break;
    case 2: execvp("env", argv); break;
    case 3: execvpe("env", argv, envp); break;
    case 4: execl("/usr/bin/env", "env", (char *)NULL); break;
    case 5: execlp("env", "env", "A=b", (char *)NULL); break;
    case 6: execle("/usr/bin/env", "env", (char *)NULL, envp); break;
    case 7: fexecve(open("/usr/bin/env", O_RDONLY), argv, envp); break;
    case 11: execveat(open("/usr/bin", O_RDONLY), "env", argv, envp, 0); break;
    case 12: execveat(open("/usr/bin/env", O_RDONLY), "", argv, envp, AT_EMPTY_PATH); break;
    case 8: execve("/no/such/file", argv, envp); _exit(3);
    case 9: system("env"); _exit(4);
    default: _exit(5);
    }
    _exit(1);
}

int main(void)
{
    pid_t pid;
    char line[4096];
    char *const argv[] = {"env", NULL};
    for (int way = 0; way < 13; way++) {
        fflush(stdout);
        if ((pid = fork()) == 0)
            in_child(way);
        finish(pid);
    }
    posix_spawn(&pid, "/usr/bin/env", NULL, NULL, argv, environ);
    finish(pid);
    posix_spawnp(&pid, "env", NULL, NULL, argv, environ);
    finish(pid);
    FILE *pipe = popen("env", "r");
    while (fgets(line, sizeof line, pipe))
        fputs(line, stdout);
    printf("pclose %d\n", pclose(pipe));
    printf("getenv %s\n", getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : "(none)");
    return 0;
}
