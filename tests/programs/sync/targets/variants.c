/* Every function of the heap, with what each promises; across fork. Prints what it saw. */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int aligned(const void *p, uintptr_t to)
{
    return p && (uintptr_t)p % to == 0;
}

int main(void)
{
    void *kept[100], *p;
    int good = 0;
    for (int i = 0; i < 100; i++)
        kept[i] = malloc(5000);
    good += aligned(memalign(256, 1000), 256);
    good += posix_memalign(&p, 4096, 3000) == 0 && aligned(p, 4096);
    good += aligned(aligned_alloc(64, 640), 64);
    good += aligned(valloc(100), 4096);
    good += aligned(pvalloc(100), 4096);
    p = malloc(10);
    good += malloc_usable_size(p) >= 10;
    strcpy(p, "123456789");
    p = realloc(p, 100000);
    good += !strcmp(p, "123456789");
    p = reallocarray(p, 1000, 300);
    good += !strcmp(p, "123456789");
    char *copy = strdup(p);
    good += !strcmp(copy, "123456789");
    errno = 0;
    volatile size_t huge = SIZE_MAX / 2;
    good += !malloc(huge) && errno == ENOMEM;
    errno = 0;
    good += !realloc(p, huge) && errno == ENOMEM && !strcmp(p, "123456789");
    good += !calloc(huge, 3);
    good += posix_memalign(&p, 3, 10) == EINVAL;
    free(NULL);
    if (fork() == 0) {
        /* What the parent allocated is freed in the child only. */
        for (int i = 0; i < 100; i++)
            free(kept[i]);
        for (int i = 0; i < 100; i++)
            kept[i] = malloc(7000);
        _exit(good == 13 ? 7 : 1);
    }
    int status;
    wait(&status);
    for (int i = 0; i < 100; i++)
        free(kept[i]);
    printf("%d %d\n", good, WEXITSTATUS(status));
    return 0;
}
