/* Threads, one after the other, on stacks of which nothing is left as soon as they have ended.
 * Behind each the first thread writes to memory that others could see. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

enum { THREADS = 100, STEPS = 500000, STACK = 256 << 10 };

static void *run(void *sum)
{
    volatile uint64_t *to = sum;
    for (uint64_t i = 0; i < STEPS; i++)
        *to = *to * 31 + i;
    return sum;
}

int main(void)
{
    uint64_t *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0),
             sum = 0;
    if (shared == MAP_FAILED)
        return 1;
    for (int i = 0; i < THREADS; i++) {
        pthread_attr_t a;
        pthread_t thread;
        void *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (stack == MAP_FAILED || pthread_attr_init(&a) ||
            pthread_attr_setstack(&a, stack, STACK) || pthread_create(&thread, &a, run, &sum) ||
            pthread_join(thread, NULL) || munmap(stack, STACK))
            return 1;
        *shared += sum;
    }
    printf("%llu\n", (unsigned long long)*shared);
    return 0;
}
