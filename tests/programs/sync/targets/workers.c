/* Ends while two threads are still at work: each has used 100 ms of CPU time by then. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void *work(void *unused)
{
    free(malloc(100));
    for (volatile long i = 0;; i++)
        ;
    return unused;
}

int main(void)
{
    enum { THREADS = 2, WANTED_MS = 100 };
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        clockid_t clock;
        struct timespec used = {0};
        if (pthread_create(&thread, NULL, work, NULL) || pthread_getcpuclockid(thread, &clock))
            return 1;
        while (!used.tv_sec && used.tv_nsec < WANTED_MS * 1000000L) {
            usleep(1000);
            clock_gettime(clock, &used);
        }
    }
    return 0;
}
