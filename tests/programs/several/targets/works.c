/* Page faults in one function, allocated bytes in another, CPU time in a third, bytes read in a
 * fourth:
 *
 *     works PAGES MIB MILLISECONDS [thread | fork | exec | kill | attach]
 *
 * thread: the same in three more threads, which end one after the other. fork: the same in a child.
 * exec: executes itself once it has done all that. kill: it kills itself then. attach: it says
 * "ready" and waits for a line first. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "penumbra/penumbra.h"

#define APART __attribute__((noinline, noclone))
enum { PAGE = 4096, PIECE = 1000, BLOCK = 1 << 16, FILE_MIB = 4 };

static uint64_t pages, mib, milliseconds;

/* Mapped without a reserve, it is no allocation; and each page is a fault of its own. */
APART static void touches(void)
{
    volatile char *at = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        abort();
    madvise((void *)(uintptr_t)at, pages * PAGE, MADV_NOHUGEPAGE);
    for (uint64_t i = 0; i < pages; i++)
        at[i * PAGE] = 1;
    munmap((void *)(uintptr_t)at, pages * PAGE);
}

APART static void allocates(void)
{
    for (uint64_t i = 0; i < (mib << 20) / PIECE; i++) {
        char *volatile piece = malloc(PIECE);
        free(piece);
    }
}

static uint64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

APART static void spins(void)
{
    uint64_t end = cpu_ns() + milliseconds * 1000000u;
    while (cpu_ns() < end)
        for (volatile unsigned i = 0; i < 200000; i++)
            ;
}

APART static void reads(void)
{
    static char block[BLOCK];
    int fd = open("/dev/zero", O_RDONLY);
    for (unsigned i = 0; i < (FILE_MIB << 20) / BLOCK; i++)
        if (read(fd, block, sizeof block) != sizeof block)
            abort();
    close(fd);
}

static void *works(void *unused)
{
    spins();
    penumbra_phase_begin("memory");
    touches();
    allocates();
    penumbra_phase_end();
    reads();
    return unused;
}

static int child_works(void)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        works(NULL);
        exit(0);
    }
    return waitpid(child, &status, 0) != child || status;
}

static void threads_work(void)
{
    for (unsigned i = 0; i < 3; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, works, NULL) || pthread_join(thread, NULL))
            abort();
    }
}

int main(int argc, char **argv)
{
    const char *more = argc > 4 ? argv[4] : "";
    if (argc < 4)
        return 2;
    pages = strtoull(argv[1], NULL, 10);
    mib = strtoull(argv[2], NULL, 10);
    milliseconds = strtoull(argv[3], NULL, 10);
    if (!strcmp(more, "attach")) {
        puts("ready");
        fflush(stdout);
        getchar();
    }
    works(NULL);
    if (!strcmp(more, "thread"))
        threads_work();
    if (!strcmp(more, "fork"))
        return child_works();
    if (!strcmp(more, "exec"))
        execl("/proc/self/exe", argv[0], argv[1], argv[2], argv[3], (char *)NULL);
    if (!strcmp(more, "kill"))
        raise(SIGKILL);
    return 0;
}
