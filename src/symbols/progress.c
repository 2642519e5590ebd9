#include "symbols/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { BAR_WIDTH = 30 };

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

void progress_begin(struct progress *p, const char *what, uint64_t total)
{
    *p = (struct progress){ .what = what, .total = total, .enabled = isatty(STDERR_FILENO) == 1 };
    p->start_ns = now_ns();
}

void progress_add(struct progress *p, uint64_t done)
{
    p->done += done;
    if (!p->enabled || !p->total)
        return;
    uint64_t now = now_ns();
    if (now - p->start_ns < UINT64_C(1000000000) || now - p->shown_ns < UINT64_C(100000000))
        return;
    p->shown_ns = now;
    p->visible = true;
    uint64_t done_now = p->done < p->total ? p->done : p->total;
    int filled = (int)(done_now * BAR_WIDTH / p->total);
    fprintf(stderr, "\r%s [%.*s%*s] %3d%%", p->what, filled, "##############################",
            BAR_WIDTH - filled, "", (int)(done_now * 100 / p->total));
    fflush(stderr);
}

void progress_end(struct progress *p)
{
    if (p->visible)
        fprintf(stderr, "\r\033[K");
    p->visible = false;
}
