/* A library that allocates: ten blocks that stay, and five that do not. Then what libc gives it and
 * it frees. */
#include <stdlib.h>
#include <string.h>

long keep(void);

static void *volatile kept[10];

long keep(void)
{
    long sum = 0;
    for (int i = 0; i < 10; i++) {
        kept[i] = i % 2 ? malloc(1 << 20) : realloc(calloc(2, 1 << 10), 1 << 20);
        sum += 1 << 20;
        memset(kept[i], 1, 100);
    }
    for (int i = 0; i < 5; i++) {
        void *volatile p = NULL;
        if (posix_memalign((void **)&p, 64, 1 << 20) == 0)
            free(p);
    }
    char *copy = strdup("copied");
    sum += strcmp(copy, "copied");
    free(copy);
    return sum;
}
