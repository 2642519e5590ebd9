/* Locks its memory in every way there is, makes threads and children meanwhile, and prints what the
 * kernel says is locked, in steps that are far more than it has. With an argument: limited to some
 * megabytes, and without privileges. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

enum { STEP_KB = 48 << 10 };

static void *work(void *argument)
{
    volatile unsigned long r = spin(20000000);
    (void)r;
    return argument;
}

static long status_kb(const char *name)
{
    char line[256];
    long kb = -1;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, name, strlen(name)))
            kb = strtol(line + strlen(name) + 1, NULL, 10);
    fclose(f);
    return kb;
}

static unsigned long shm_free_kb(void)
{
    struct statvfs v;
    return statvfs("/dev/shm", &v) == 0 ? v.f_bavail * v.f_frsize >> 10 : 0;
}

static void say(const char *what, int result, unsigned long shm)
{
    pthread_t thread;
    int error = result ? errno : 0;
    if (pthread_create(&thread, NULL, work, NULL) == 0)
        pthread_join(thread, NULL);
    unsigned long now = shm_free_kb();
    printf("%s: %d errno %d, locked %s, in memory %ld, of /dev/shm %lu\n", what, result, error,
           status_kb("VmLck:") == 0 ? "nothing" : status_kb("VmLck:") < STEP_KB ? "little" : "much",
               status_kb("VmRSS:") / (16 * STEP_KB),
           now < shm ? (shm - now) / (8 * STEP_KB) : 0);
}

/* Each line of the list of its mappings, as LTP's mlock test does. */
static int lines(int (*call)(const void *, size_t))
{
    static char text[1 << 20];
    unsigned long from, to;
    char access[8];
    int failed = 0;
    size_t n = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    for (long got;
         n < sizeof text - 1 && (got = (long)fread(text + n, 1, sizeof text - 1 - n, f)) > 0;)
        n += (size_t)got;
    fclose(f);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        if (sscanf(line, "%lx-%lx %7s", &from, &to, access) == 3 && access[0] == 'r' &&
            !strstr(line, "[v"))
            failed += call((const void *)from, to - from) != 0;
    return failed ? -1 : 0;
}

static int lock_on_fault(const void *at, size_t size)
{
    return mlock2(at, size, MLOCK_ONFAULT);
}

int main(int argc, char **argv)
{
    unsigned long shm = shm_free_kb();
    (void)argv;
    if (argc > 1) {
        struct rlimit limit = {0, 0};
        getrlimit(RLIMIT_MEMLOCK, &limit);
        if (limit.rlim_max > 32 << 20)
            limit.rlim_max = 32 << 20;
        limit.rlim_cur = limit.rlim_max;
        if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0 ||
            (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0))
            return 1;
    }
    work(NULL);
    say("at the beginning", 0, shm);
    if (argc == 1) {
        errno = 0;
        say("each line", lines(mlock), shm);
        say("each line, unlocked", lines(munlock), shm);
        say("each line on fault", lines(lock_on_fault), shm);
        say("munlockall", munlockall(), shm);
    }
    say("MCL_CURRENT", mlockall(MCL_CURRENT), shm);
    say("munlockall", munlockall(), shm);
    say("MCL_FUTURE", mlockall(MCL_FUTURE), shm);
    say("both", mlockall(MCL_CURRENT | MCL_FUTURE), shm);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        say("child", 0, shm);
        fflush(stdout);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    say("MCL_CURRENT again", mlockall(MCL_CURRENT), shm);
    say("munlockall", munlockall(), shm);
    say("MCL_ONFAULT", mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT), shm);
    say("munlockall", munlockall(), shm);
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_MEMLOCK, &none);
    say("no limit left", mlockall(MCL_CURRENT), shm);
    munlockall();
    return 0;
}
