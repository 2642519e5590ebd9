/* Eight threads wait for one that touches memory, page by page: a page fault is the moment at which
 * a copy is made. Then all are woken, and go on in any order: whoever is the nth calls a function
 * that is only the nth's and its own. From the faults to the end there are fewer instructions than
 * a turn of a shadow has. */
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 8, PAGES = 3000, PAGE = 4096 };

static uint32_t gate, came, left;
static volatile uint32_t sink;

#define PLACE(p, t)                                                                                \
    static __attribute__((noinline, noclone)) void at_##p##_##t(void)                              \
    {                                                                                              \
        sink += p * 8 + t;                                                                         \
    }
#define ROW(X, p) X(p, 0) X(p, 1) X(p, 2) X(p, 3) X(p, 4) X(p, 5) X(p, 6) X(p, 7)
ROW(PLACE, 0)
ROW(PLACE, 1) ROW(PLACE, 2) ROW(PLACE, 3) ROW(PLACE, 4) ROW(PLACE, 5) ROW(PLACE, 6) ROW(PLACE, 7)
#define NAME(p, t) at_##p##_##t,
    static void (*const places[THREADS][THREADS])(void) = {
        {ROW(NAME, 0)}, {ROW(NAME, 1)}, {ROW(NAME, 2)}, {ROW(NAME, 3)},
        {ROW(NAME, 4)}, {ROW(NAME, 5)}, {ROW(NAME, 6)}, {ROW(NAME, 7)}};

static void *run(void *number)
{
    while (!__atomic_load_n(&gate, __ATOMIC_ACQUIRE))
        syscall(SYS_futex, &gate, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    places[__atomic_fetch_add(&came, 1, __ATOMIC_RELAXED)][(uintptr_t)number]();
    __atomic_fetch_add(&left, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* The thread is in futex. */
static int waits(pid_t tid)
{
    char path[64], text[32] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", tid);
    int fd = open(path, O_RDONLY);
    ssize_t size = read(fd, text, sizeof text - 1);
    close(fd);
    return size > 0 && strncmp(text, "202 ", 4) == 0;
}

static void *number_and_run(void *where)
{
    static uint32_t next;
    uint32_t number = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
    __atomic_store_n((pid_t *)where, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
    return run((void *)(uintptr_t)number);
}

int main(void)
{
    const struct timespec moment = {0, 1000000}, while_shadow_runs = {0, 400000000};
    pthread_t threads[THREADS];
    static pid_t tids[THREADS];
    char *memory = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(memory, (size_t)PAGES * PAGE, MADV_NOHUGEPAGE);
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, number_and_run, &tids[i]);
        while (!__atomic_load_n(&tids[i], __ATOMIC_ACQUIRE) || !waits(tids[i]))
            nanosleep(&moment, NULL);
    }
    for (int i = 0; i < PAGES; i++)
        *(volatile char *)(memory + (size_t)i * PAGE) = 1;
    __atomic_store_n(&gate, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &gate, FUTEX_WAKE_PRIVATE, THREADS, NULL, NULL, 0);
    while (__atomic_load_n(&left, __ATOMIC_ACQUIRE) != THREADS)
        syscall(SYS_sched_yield);
    nanosleep(&while_shadow_runs, NULL); /* a shadow does not wait */
    syscall(SYS_exit_group, 0);
}
