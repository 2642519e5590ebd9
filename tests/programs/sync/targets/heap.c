/* Allocates by construction, every function through the same few sizes:
 *
 *            allocated   live at the end   live at the peak
 *   leaks       1/8            all               1/8
 *   holds       2/8            none              all           (the peak is when it returns)
 *   churns      4/8            none              nothing to speak of
 *   grows       1/8            none              none          (after the peak)
 *
 * argv: MiB in all, threads. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))

enum { SIZES = 7 };
static const size_t sizes[SIZES] = {24, 4096, 100, 65536, 7, 1000, 333};

static void *volatile sink;

NOINLINE static void *take(size_t size)
{
    void *p = malloc(size);
    memset(p, 1, size);
    sink = p;
    return p;
}

/* A list of blocks of `total` bytes. */
struct block {
    struct block *next;
};

NOINLINE static struct block *holds(size_t total)
{
    struct block *list = NULL;
    for (size_t i = 0; total > sizes[i % SIZES]; i++) {
        struct block *b = take(sizes[i % SIZES] + sizeof *b);
        total -= sizes[i % SIZES];
        b->next = list;
        list = b;
    }
    return list;
}

NOINLINE static struct block *leaks(size_t total)
{
    struct block *list = NULL;
    for (size_t i = 0; total > sizes[i % SIZES]; i++) {
        struct block *b = calloc(1, sizes[i % SIZES] + sizeof *b);
        total -= sizes[i % SIZES];
        b->next = list;
        list = b;
    }
    return list;
}

NOINLINE static void releases(struct block *list)
{
    while (list) {
        struct block *next = list->next;
        free(list);
        list = next;
    }
}

NOINLINE static void churns(size_t total)
{
    for (size_t i = 0; total > sizes[i % SIZES]; i++) {
        free(take(sizes[i % SIZES]));
        total -= sizes[i % SIZES];
    }
}

/* Each realloc counts its new size: 1000 + 2000 + ... */
NOINLINE static void grows(size_t total)
{
    void *p = NULL;
    size_t size = 0;
    while (total > size + 1000) {
        size = size < 60000 ? size + 1000 : 1000;
        p = realloc(p, size);
        total -= size;
    }
    free(p);
}

static struct block *volatile leaked[64];

static void *work(void *argument)
{
    size_t *total = argument;
    size_t eighth = *total / 8;
    leaked[total[1]] = leaks(eighth);
    struct block *held = holds(2 * eighth);
    if (total[2])
        return held; /* for another thread to free */
    releases(held);
    churns(4 * eighth);
    grows(eighth);
    return NULL;
}

int main(int argc, char **argv)
{
    size_t total = (argc > 1 ? strtoul(argv[1], NULL, 10) : 64) << 20;
    size_t threads = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    size_t arguments[64][3] = {{total, 0, 0}};
    pthread_t ids[64];
    if (!threads)
        work(arguments[0]);
    for (size_t i = 0; i < threads; i++) {
        arguments[i][0] = total / threads;
        arguments[i][1] = i;
        arguments[i][2] = 1;
        pthread_create(&ids[i], NULL, work, arguments[i]);
    }
    for (size_t i = 0; i < threads; i++) {
        void *held;
        pthread_join(ids[i], &held);
        arguments[i][2] = (size_t)held;
    }
    for (size_t i = 0; i < threads; i++)
        releases((struct block *)arguments[i][2]);
    if (threads) {
        churns(total / 2);
        grows(total / 8);
    }
    return 0;
}
