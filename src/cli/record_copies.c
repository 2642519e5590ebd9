#include "cli/record_copies.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/measure.h"

enum {
    PAGES = 512, /* more than the nearest caches hold, as in programs */
    PAGE = 4096,
    TIMES = 3,
};

static bool pages_need(struct record_copies *c)
{
    if (c->pages)
        return true;
    char *pages = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return false;
    madvise(pages, (size_t)PAGES * PAGE, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < PAGES; i++)
        pages[i * PAGE] = 1;
    c->pages = pages;
    return true;
}

/* The mean over all pages: the first write to each after a fork. In CPU time: on a busy machine others run in between.
 * 0: there was no fork. */
static uint64_t measure_ns(volatile char *pages)
{
    int ends[2];
    char byte;
    if (pipe(ends))
        return 0;
    pid_t child = fork();
    if (child == 0) {
        close(ends[1]);
        _exit(read(ends[0], &byte, 1) != 0); /* until the parent has closed its end */
    }
    uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (size_t i = 0; i < PAGES; i++)
        pages[i * PAGE]++;
    uint64_t passed = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
    close(ends[0]);
    close(ends[1]);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        continue;
    return child > 0 ? passed / PAGES : 0;
}

static uint64_t median_ns(const struct record_copies *c)
{
    uint64_t sorted[COPIES_KEPT];
    size_t n = c->count < COPIES_KEPT ? c->count : COPIES_KEPT;
    memcpy(sorted, c->costs_ns, n * sizeof *sorted);
    return measure_median(sorted, n);
}

void record_copies_poll(struct record_copies *c, struct spool_config *config)
{
    const uint64_t every_ns = 1000000000, guess_ns = 1000;
    if (config->carrier != CARRIER_SHADOW && config->carrier != CARRIER_AUTO)
        return;
    uint64_t now = monotonic_ns();
    if (c->looked_ns && now - c->looked_ns < every_ns)
        return;
    c->looked_ns = now;
    uint64_t costs[TIMES];
    for (unsigned i = 0; i < TIMES; i++)
        costs[i] = pages_need(c) ? measure_ns(c->pages) : 0;
    uint64_t cost = measure_median(costs, TIMES);
    if (cost)
        c->costs_ns[c->count++ % COPIES_KEPT] = cost;
    uint64_t price = median_ns(c);
    __atomic_store_n(&config->cow_ns, (uint32_t)(price ? price : guess_ns), __ATOMIC_RELAXED);
}

void record_copies_end(struct record_copies *c)
{
    if (c->pages)
        munmap(c->pages, (size_t)PAGES * PAGE);
    c->pages = NULL;
}
