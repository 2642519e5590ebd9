/* Brings its own allocator, as programs with a statically linked one do. */
#include <stddef.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

static char arena[1 << 24];
static size_t used;

void *malloc(size_t size)
{
    size_t at = __atomic_fetch_add(&used, (size + 31) / 16 * 16, __ATOMIC_RELAXED);
    return at + size < sizeof arena ? arena + at + 16 : NULL;
}

void free(void *p)
{
    (void)p;
}

void *calloc(size_t count, size_t size)
{
    return malloc(count * size);
}

void *realloc(void *old, size_t size)
{
    void *p = malloc(size);
    if (p && old)
        memcpy(p, old, size);
    return p;
}

int main(void)
{
    char *volatile p = NULL;
    for (int i = 0; i < 1000; i++)
        p = malloc(1000);
    printf("%d\n", p != NULL);
    return 0;
}
