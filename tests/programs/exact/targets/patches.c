/* Code that changes an immediate of its own code, or where a jump in it goes, and runs it: over and
 * over, in two threads at once, one of which sleeps now and then. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PLACES = 100, APART = 64, TARGETS = 7 };

static long rounds;

/* mov eax, value; ret */
static void put_value(unsigned char *at, uint32_t value)
{
    at[0] = 0xb8;
    memcpy(at + 1, &value, sizeof value);
    at[5] = 0xc3;
}

static void *patch(void *sleeps)
{
    enum { SIZE = (PLACES + TARGETS + 1) * APART };
    unsigned char *code =
        mmap(NULL, SIZE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t sum = 0;
    if (code == MAP_FAILED)
        exit(1);
    unsigned char *targets = code + PLACES * APART, *trampoline = targets + TARGETS * APART;
    for (uint32_t i = 0; i < TARGETS; i++)
        put_value(targets + i * APART, i);
    trampoline[0] = 0xe9;
    for (long i = 0; i < rounds; i++) {
        unsigned char *at = code + i % PLACES * APART;
        put_value(at, (uint32_t)i);
        sum += ((uint32_t(*)(void))at)();
        int32_t distance = (int32_t)(targets + i % TARGETS * APART - (trampoline + 5));
        memcpy(trampoline + 1, &distance, sizeof distance);
        sum += ((uint32_t(*)(void))trampoline)();
        if (sleeps && i % 10000 == 0)
            usleep(1000);
    }
    return (void *)sum;
}

int main(int argc, char **argv)
{
    pthread_t other;
    void *theirs;
    rounds = argc > 1 ? atol(argv[1]) : 100000;
    pthread_create(&other, NULL, patch, &rounds);
    uint64_t ours = (uint64_t)patch(NULL);
    pthread_join(other, &theirs);
    printf("%lu %lu\n", ours, (uint64_t)theirs);
    return 0;
}
