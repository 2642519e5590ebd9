#include "collector/record_copies.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collector/measure.h"

enum {
    PAGES = 512, /* more than the nearest caches hold, as in programs */
    PAGE = 4096,
    TIMES = 3,
    FIRST_TIMES = 9,
    GUESS_NS = 1000,
};

static bool pages_need(struct record_copies *c)
{
    if (c->pages)
        return true;
    char *pages = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return false;
    madvise(pages, (size_t)PAGES * PAGE, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < PAGES; i++)
        pages[i * PAGE] = 1;
    c->pages = pages;
    return true;
}

/* The mean over these pages: the first write to each since a fork. In CPU time: on a busy machine
 * others run in between. */
static uint64_t write_ns(volatile char *pages, size_t count)
{
    uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (size_t i = 0; i < count; i++)
        pages[i * PAGE]++;
    return (clock_ns(CLOCK_THREAD_CPUTIME_ID) - start) / count;
}

/* Half of them as long as the child is there, the other half afterwards. False: there was no
 * fork. */
static bool measure(char *pages, uint64_t *copy_ns, uint64_t *reuse_ns)
{
    int ends[2];
    char byte;
    if (pipe2(ends, O_CLOEXEC))
        return false;
    pid_t child = fork();
    if (child == 0) {
        close(ends[1]);
        _exit(read(ends[0], &byte, 1) != 0); /* until the parent has closed its end */
    }
    *copy_ns = write_ns(pages, PAGES / 2);
    close(ends[0]);
    close(ends[1]);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        continue;
    *reuse_ns = write_ns(pages + (size_t)PAGES / 2 * PAGE, PAGES / 2);
    return child > 0;
}

static uint32_t median_ns(const uint64_t *kept, uint64_t count)
{
    uint64_t sorted[COPIES_KEPT];
    size_t n = count < COPIES_KEPT ? count : COPIES_KEPT;
    memcpy(sorted, kept, n * sizeof *sorted);
    measure_median(sorted, n);
    return (uint32_t)sorted[(n - 1) / 2];
}

static void note(struct record_copies *c, uint64_t copy_ns, uint64_t reuse_ns)
{
    size_t at = c->count++ % COPIES_KEPT;
    c->costs_ns[at] = copy_ns;
    c->reuses_ns[at] = reuse_ns < copy_ns ? reuse_ns : copy_ns;
}

/* Whether the kernel makes huge pages only where a program asks for them. */
static bool pages_are_small(void)
{
    char text[64] = "";
    FILE *f = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "re");
    bool read = f && fgets(text, sizeof text, f);
    if (f)
        fclose(f);
    return !read || !strstr(text, "[always]");
}

void record_copies_poll(struct record_copies *c, uint32_t carrier, struct shadow_settings *settings)
{
    const uint64_t every_ns = 1000000000;
    if (!settings || (carrier != CARRIER_SHADOW && carrier != CARRIER_AUTO))
        return;
    uint64_t now = monotonic_ns();
    if (!c->looked_ns)
        settings->small_pages = pages_are_small();
    if (c->looked_ns && now - c->looked_ns < every_ns)
        return;
    c->looked_ns = now;
    uint64_t copies[FIRST_TIMES], reuses[FIRST_TIMES];
    size_t measured = 0, times = c->count ? TIMES : FIRST_TIMES;
    while (measured < times && pages_need(c) &&
           measure(c->pages, &copies[measured], &reuses[measured]))
        measured++;
    if (measured) {
        uint64_t copy_ns = measure_median(copies, measured);
        note(c, c->count ? copy_ns : copies[0], measure_median(reuses, measured));
    }
    __atomic_store_n(&settings->cow_ns, c->count ? median_ns(c->costs_ns, c->count) : GUESS_NS,
                     __ATOMIC_RELAXED);
    __atomic_store_n(&settings->reuse_ns, c->count ? median_ns(c->reuses_ns, c->count) : GUESS_NS,
                     __ATOMIC_RELAXED);
}

void record_copies_end(struct record_copies *c)
{
    if (c->pages)
        munmap(c->pages, (size_t)PAGES * PAGE);
    c->pages = NULL;
}
