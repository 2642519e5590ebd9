/* A write barrier as garbage collectors have it: pages are write-protected, the handler notes the
 * fault and opens the page. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGES = 256, PAGE = 4096, ROUNDS = 20, THREADS = 3 };

struct heap {
    char *base;
    unsigned char dirty[PAGES];
};
static struct heap heaps[THREADS];
static volatile int strays;

static void barrier(int number, siginfo_t *info, void *context)
{
    char *address = info->si_addr;
    (void)number;
    (void)context;
    for (int i = 0; i < THREADS; i++) {
        struct heap *h = &heaps[i];
        if (address < h->base || address >= h->base + PAGES * PAGE)
            continue;
        long page = (address - h->base) / PAGE;
        h->dirty[page]++;
        mprotect(h->base + page * PAGE, PAGE, PROT_READ | PROT_WRITE);
        return;
    }
    strays++;
    abort();
}

static void *mutate(void *argument)
{
    struct heap *h = argument;
    uint64_t random = (uint64_t)(h - heaps) + 88172645463325252u, sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
        memset(h->dirty, 0, sizeof h->dirty);
        mprotect(h->base, PAGES * PAGE, PROT_READ);
        for (int i = 0; i < 2000; i++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            uint64_t at = random % (PAGES * PAGE - 64);
            switch (random >> 60 & 3) { /* plain, read-modify-write, copied, atomic */
            case 0: h->base[at] = (char)i; break;
            case 1: h->base[at] ^= 1; break;
            case 2: memcpy(h->base + at, &random, sizeof random); break;
            default:
                __atomic_fetch_add((uint64_t *)(h->base + (at & ~7ull)), random, __ATOMIC_SEQ_CST);
            }
        }
        for (int i = 0; i < PAGES; i++)
            sum = sum * 31 + h->dirty[i];
    }
    for (int i = 0; i < PAGES * PAGE; i++)
        sum = sum * 31 + (unsigned char)h->base[i];
    return (void *)sum;
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = barrier, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGSEGV, &action, NULL);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        heaps[i].base =
            mmap(NULL, PAGES * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        pthread_create(&threads[i], NULL, mutate, &heaps[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        void *sum;
        pthread_join(threads[i], &sum);
        printf("%lx\n", (unsigned long)sum);
    }
    printf("strays %d\n", strays);
    return 0;
}
