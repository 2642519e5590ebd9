/* execs HOW: computes until it reads a line, then becomes another program by HOW, with so many
 * arguments that the kernel works for long inside the call; before that it tries one that does not
 * exist. With "thread" as the second argument another thread than the first does all that. "lived"
 * is what the new program says. TAKES_ADDRESS: takes the addresses of the functions too. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ARGUMENTS = 12, LENGTH = 100000 };
static const char *how;
static char *arguments[ARGUMENTS + 2];
extern char **environ;
#ifdef TAKES_ADDRESS
void *volatile addresses[2];
#endif

static volatile uint32_t sink;

static void compute(void)
{
    struct pollfd input = {.fd = 0, .events = POLLIN};
    while (poll(&input, 1, 0) == 0)
        for (uint32_t i = 0; i < 100000; i++)
            sink = sink * 1664525 + i;
}

static void become(const char *path)
{
    if (!strcmp(how, "execve"))
        execve(path, arguments, environ);
    else if (!strcmp(how, "execv"))
        execv(path, arguments);
    else if (!strcmp(how, "execvp"))
        execvp(path, arguments);
    else if (!strcmp(how, "execl"))
        execl(path, "execs", arguments[1], arguments[2], arguments[3], arguments[4], arguments[5],
              arguments[6], arguments[7], arguments[8], arguments[9], arguments[10], (char *)NULL);
    else if (!strcmp(how, "syscall"))
        syscall(SYS_execve, path, arguments, environ);
    else if (!strcmp(how, "fexecve"))
        fexecve(open(path, O_RDONLY | O_CLOEXEC), arguments, environ);
}

static void *work(void *unused)
{
    (void)unused;
    puts("ready");
    fflush(stdout);
    compute();
    become("/nonexistent/program");
    compute(); /* what was stopped for the call goes on */
    become("/proc/self/exe");
    _exit(9);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc > ARGUMENTS / 2 && strlen(argv[1]) == LENGTH) {
        puts("lived");
        return 3;
    }
#ifdef TAKES_ADDRESS
    addresses[0] = (void *)execve, addresses[1] = (void *)execv;
#endif
    how = argc > 1 ? argv[1] : "execve";
    arguments[0] = argv[0];
    for (int i = 1; i <= ARGUMENTS; i++) {
        arguments[i] = malloc(LENGTH + 1);
        memset(arguments[i], 'x', LENGTH);
        arguments[i][LENGTH] = 0;
    }
    if (argc > 2 && !strcmp(argv[2], "thread")) {
        pthread_create(&thread, NULL, work, NULL);
        pthread_join(thread, NULL);
    }
    work(NULL);
    return 0;
}
