/* works THREADS: as many threads as that compute half of the time in heavy() and half in light(),
 * by the number of calls, and allocate; and one after the other, threads that live for a few
 * milliseconds. Runs until standard input ends, then prints a checksum of what does not depend on
 * time. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_int stop, broken;

__attribute__((noipa)) static uint32_t heavy(uint32_t x)
{
    for (int i = 0; i < 300000; i++)
        x = x * 1664525 + 1013904223;
    return x;
}

__attribute__((noipa)) static uint32_t light(uint32_t x)
{
    for (int i = 0; i < 100000; i++)
        x = x * 1664525 + 1013904223;
    return x;
}

static void *work(void *once)
{
    uint32_t sum = 0, first = heavy(1) ^ light(2);
    do {
        char *block = malloc(1000 + sum % 5000);
        memset(block, 1, 1000);
        sum = heavy(1) ^ light(2);
        if (sum != first || block[999] != 1)
            broken = 1;
        free(block);
    } while (!once && !stop);
    return NULL;
}

static void *churn(void *unused)
{
    pthread_t t;
    while (!stop) {
        pthread_create(&t, NULL, work, &stop);
        pthread_join(t, NULL);
        usleep(1000);
    }
    return unused;
}

int main(int argc, char **argv)
{
    enum { MOST = 64 };
    int count = argc > 1 ? atoi(argv[1]) : 1;
    pthread_t threads[MOST + 1];
    char c;
    count = count < MOST ? count : MOST;
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    pthread_create(&threads[count], NULL, churn, NULL);
    puts("ready");
    fflush(stdout);
    ssize_t end = read(STDIN_FILENO, &c, 1);
    stop = 1;
    for (int i = 0; i <= count; i++)
        pthread_join(threads[i], NULL);
    printf("end %zd broken %d\n", end, broken);
    return 0;
}
