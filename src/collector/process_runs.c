#include "collector/process_runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collector/measure.h"

/* When it has begun, in ticks since the machine did; 0: it does not run. The name, in parentheses,
 * may hold anything. */
static unsigned long long began(int32_t pid)
{
    enum { STATE = 3, BEGAN = 22 };
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return 0;
    size_t n = fread(line, 1, sizeof line - 1, f);
    fclose(f);
    line[n] = '\0';
    const char *at = strrchr(line, ')');
    if (!at || at[1] != ' ' || at[2] == 'Z' || at[2] == 'X')
        return 0;
    at++;
    for (int field = STATE; at && field < BEGAN; field++)
        at = strchr(at + 1, ' ');
    unsigned long long ticks = at ? strtoull(at, NULL, 10) : 0;
    return ticks ? ticks : 1;
}

/* Of a tick. */
static double tick_ns(void)
{
    long hz = sysconf(_SC_CLK_TCK);
    return 1e9 / (double)(hz > 0 ? hz : 100);
}

uint64_t process_began_ns(int32_t pid)
{
    return (uint64_t)((double)began(pid) * tick_ns());
}

uint64_t thread_age_ns(int32_t tid)
{
    uint64_t now = clock_ns(CLOCK_BOOTTIME);
    unsigned long long ticks = began(tid);
    double born = (double)(ticks + 1) * tick_ns();
    return !ticks ? UINT64_MAX : born < (double)now ? now - (uint64_t)born : 0;
}

bool process_runs(int32_t pid)
{
    return began(pid) != 0;
}

bool process_runs_younger(int32_t pid)
{
    unsigned long long ticks = began(pid);
    return ticks && ticks >= began(getpid());
}
