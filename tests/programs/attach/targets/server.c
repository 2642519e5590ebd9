/* A server that makes a child for each line it reads, and prints how each ended: a number is
 * computed in the child; "exec" becomes another program. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int serve(const char *line)
{
    if (!strncmp(line, "exec", 4)) {
        execl("/bin/sh", "sh", "-c", "exit 3", (char *)NULL);
        return 99;
    }
    uint32_t x = (uint32_t)atoi(line);
    for (int i = 0; i < 20000000; i++)
        x = x * 1664525 + 1013904223;
    return (int)(x >> 24) % 50;
}

int main(void)
{
    char line[64];
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        int status = 0;
        pid_t pid = fork();
        if (pid == 0)
            _exit(serve(line));
        waitpid(pid, &status, 0);
        printf("%#x\n", (unsigned)status);
        fflush(stdout);
    }
    return 0;
}
