/* Runs out of descriptors and of memory, and goes on. Prints how far it came: the same with and
 * without a profiler. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "spin.h"

static void *work(void *argument)
{
    volatile unsigned long r = spin(100000000);
    (void)r;
    return argument;
}

static void run_thread(const char *when)
{
    pthread_t thread;
    int result = pthread_create(&thread, NULL, work, NULL);
    printf("thread %s: %s\n", when, strerror(result));
    if (result == 0)
        pthread_join(thread, NULL);
}

int main(void)
{
    struct rlimit limit = {200, 400};
    setrlimit(RLIMIT_NOFILE, &limit);
    int opened = 0, last = -1, fd;
    while ((fd = open("/dev/null", O_RDONLY)) >= 0) {
        opened++;
        last = fd;
    }
    printf("opened %d, last %d, then %s\n", opened, last, strerror(errno));
    run_thread("without descriptors");
    getrlimit(RLIMIT_NOFILE, &limit);
    printf("limit %lu\n", (unsigned long)limit.rlim_cur);
    closefrom(3);
    printf("lowest %d\n", open("/dev/null", O_RDONLY));
    limit.rlim_cur = limit.rlim_max = 1;
    setrlimit(RLIMIT_AS, &limit);
    printf("mmap: %s\n", mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
                                 MAP_FAILED
                             ? strerror(errno)
                             : "mapped");
    run_thread("without memory");
    volatile unsigned long r = spin(300000000);
    (void)r;
    puts("end");
    return 0;
}
