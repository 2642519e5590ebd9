/* 1,000 threads coming and going, 20 at a time; some return, some call pthread_exit, some are
 * cancelled. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "spin.h"

enum { ROUNDS = 50, AT_ONCE = 20 };

static void *work(void *argument)
{
    long kind = (long)argument;
    volatile unsigned long r = spin(400000);
    (void)r;
    if (kind % 3 == 1)
        pthread_exit(argument);
    if (kind % 3 == 2)
        for (;;)
            pause();
    return argument;
}

int main(void)
{
    long sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t thread[AT_ONCE];
        for (long i = 0; i < AT_ONCE; i++)
            if (pthread_create(&thread[i], NULL, work, (void *)i) != 0)
                return 1;
        for (long i = 0; i < AT_ONCE; i++) {
            void *result;
            if (i % 3 == 2)
                pthread_cancel(thread[i]);
            pthread_join(thread[i], &result);
            sum += result == PTHREAD_CANCELED ? 1000 : (long)result;
        }
    }
    printf("%ld\n", sum);
    return 0;
}
