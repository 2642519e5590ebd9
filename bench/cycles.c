/* Core cycles that a program takes, without performance counters: what bench/cpi.py asks.
 *
 *     bench-cycles CPU TIMES COMMAND...     a line for each run: user system cycles
 *     bench-cycles additions N              a program whose cycles are known: N and little more
 *
 *     processor CPU:   chain │ program │ chain │ program │ ... │ chain
 *
 * user, system: seconds of CPU time. A chain is dependent additions, one a cycle; cycles are those
 * of a second of CPU time, by the chains before and after the run. What else runs on the processor
 * takes no CPU time of either, but it takes cache from the program. So all of this runs as a
 * real-time process, which others do not interrupt, where that is allowed (root).
 *
 * Standard input is rewound before each run. Lines go to standard error, with what the program
 * writes there. The exit status is the program's in the last run; 125: it could not be run. */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CANNOT = 125, ADDITIONS = 64, CHAIN = 8000000, MOST_TIMES = 100000 };

/* Of a register to itself, which renaming does not do. */
#define ADD "add %0, %0\n\t"
#define ADD8 ADD ADD ADD ADD ADD ADD ADD ADD

static void add(uint64_t times)
{
    uint64_t x = times;
    for (uint64_t i = 0; i < times / ADDITIONS; i++)
        __asm__ volatile(ADD8 ADD8 ADD8 ADD8 ADD8 ADD8 ADD8 ADD8 : "+r"(x));
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double chain_seconds(void)
{
    double begun = cpu_seconds();
    add(CHAIN);
    return cpu_seconds() - begun;
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

/* False: it could not be begun, or not be waited for. */
static bool run(char **command, int *status, struct rusage *used)
{
    if (lseek(STDIN_FILENO, 0, SEEK_SET) < 0 && errno != ESPIPE)
        return false;
    pid_t pid = fork();
    if (pid == 0) {
        execvp(command[0], command);
        fprintf(stderr, "bench-cycles: %s cannot be run: %s\n", command[0], strerror(errno));
        _exit(CANNOT);
    }
    return pid > 0 && wait4(pid, status, 0, used) == pid;
}

static int measure(unsigned long times, char **command)
{
    int status = 0;
    double before = chain_seconds();
    for (unsigned long i = 0; i < times; i++) {
        struct rusage used;
        if (!run(command, &status, &used))
            return CANNOT;
        if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT)
            return CANNOT;
        double after = chain_seconds();
        fprintf(stderr, "%.6f %.6f %.0f\n", seconds(used.ru_utime), seconds(used.ru_stime),
                2 * CHAIN / (before + after));
        before = after;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : CANNOT;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "additions") == 0) {
        add(strtoull(argv[2], NULL, 10));
        return 0;
    }
    char *end = "?", *last = "?";
    unsigned long cpu = argc > 3 ? strtoul(argv[1], &end, 10) : 0;
    unsigned long times = argc > 3 ? strtoul(argv[2], &last, 10) : 0;
    if (*end || *last || cpu >= CPU_SETSIZE || !times || times > MOST_TIMES) {
        fputs("bench-cycles CPU TIMES COMMAND...\nbench-cycles additions N\n", stderr);
        return CANNOT;
    }
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one)) {
        fprintf(stderr, "bench-cycles: processor %lu: %s\n", cpu, strerror(errno));
        return CANNOT;
    }
    if (sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1}))
        fprintf(stderr, "bench-cycles: not in real time, so other load counts: %s\n",
                strerror(errno));
    return measure(times, argv + 3);
}
