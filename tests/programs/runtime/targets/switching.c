/* Two threads that hand over to each other all the time, in one way of many:
 *
 *     switching pipe|futex|condition|epoll|sleep|yield|raw ROUNDS
 *
 * With `raw` two more threads, which no library knows of, do the same afterwards. Prints how many
 * system calls failed with EINTR, and the rounds. */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { STACK = 1 << 20 };

static long rounds, interrupted;
static int ways[2][2], polls[2];
static uint32_t turn;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static long check(long result)
{
    if (result < 0 && errno == EINTR)
        __atomic_fetch_add(&interrupted, 1, __ATOMIC_RELAXED);
    return result;
}

static void pass_by_pipe(int from, int to)
{
    char byte = 0;
    check(read(from, &byte, 1));
    check(write(to, &byte, 1));
}

static void by_epoll(long side)
{
    struct epoll_event event;
    check(epoll_wait(polls[side], &event, 1, -1));
    pass_by_pipe(ways[side][0], ways[!side][1]);
}

static void by_futex(long side)
{
    while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != side)
        check(syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, !side, NULL, NULL, 0));
    __atomic_store_n(&turn, !side, __ATOMIC_RELEASE);
    check(syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0));
}

static void by_condition(long side)
{
    pthread_mutex_lock(&mutex);
    while (turn != side)
        pthread_cond_wait(&condition, &mutex);
    turn = !side;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
}

static void by_sleep(long side)
{
    struct timespec pause = {0, 1000 + side};
    for (volatile int i = 0; i < 3000; i++)
        ;
    check(nanosleep(&pause, NULL));
}

static void by_yield(long side)
{
    (void)side;
    sched_yield();
}

static void by_ways(long side)
{
    pass_by_pipe(ways[side][0], ways[!side][1]);
}

static void (*hand_over)(long side);

static void *work(void *side)
{
    for (long i = 0; i < rounds; i++)
        hand_over((long)side);
    return side;
}

/* No function of libc that keeps anything in thread-local storage, but for errno. */
static int raw_work(void *side)
{
    for (long i = 0; i < rounds; i++) {
        char byte;
        syscall(SYS_read, ways[(long)side][0], &byte, 1);
        syscall(SYS_write, ways[!(long)side][1], &byte, 1);
    }
    return 0;
}

static volatile int gone[2];

static void raw_make(long side)
{
    char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    gone[side] = 1;
    clone(raw_work, stack + STACK,
          CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
              CLONE_CHILD_CLEARTID,
          (void *)side, NULL, NULL, (void *)&gone[side]);
}

static void raw_join(void)
{
    for (int side = 0; side < 2; side++)
        for (int seen; (seen = gone[side]) != 0;)
            syscall(SYS_futex, &gone[side], FUTEX_WAIT, seen, NULL, NULL, 0);
}

static void run(void)
{
    pthread_t other;
    pthread_create(&other, NULL, work, (void *)1);
    work((void *)0);
    pthread_join(other, NULL);
}

static void start(void)
{
    char byte = 0;
    for (int i = 0; i < 2; i++) {
        struct epoll_event event = {.events = EPOLLIN};
        polls[i] = epoll_create1(0);
        if (pipe(ways[i]))
            exit(2);
        epoll_ctl(polls[i], EPOLL_CTL_ADD, ways[i][0], &event);
    }
    if (write(ways[0][1], &byte, 1) != 1)
        exit(2);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*function)(long side);
    } kinds[] = {{"pipe", by_ways},   {"futex", by_futex}, {"condition", by_condition},
                 {"epoll", by_epoll}, {"sleep", by_sleep}, {"yield", by_yield},
                 {"raw", by_ways}};
    if (argc != 3)
        return 2;
    rounds = atol(argv[2]);
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kinds[i].name, argv[1]))
            hand_over = kinds[i].function;
    if (!hand_over)
        return 2;
    start();
    run();
    if (!strcmp(argv[1], "raw")) {
        raw_make(0);
        raw_make(1);
        raw_join();
    }
    printf("%ld rounds, %ld interrupted\n", rounds, interrupted);
    return 0;
}
