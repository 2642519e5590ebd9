/* malloc in a library of its own, with a lock that says so if it is taken twice. */
#include "allocator.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEAP = 1 << 26, HEAD = 16, ROUNDS = 1000000 };

static _Alignas(16) char heap[HEAP];
static size_t used;
static volatile int locked;
void (*allocator_inside)(void);

void allocator_spin(unsigned rounds)
{
    for (volatile unsigned i = 0; i < rounds; i++)
        ;
}

static void fail(const char *why)
{
    if (write(1, why, strlen(why)) > 0)
        _exit(9);
}

void *malloc(size_t size)
{
    size_t room = HEAD + ((size + 15) & ~(size_t)15);
    if (locked)
        fail("malloc within malloc\n");
    locked = 1;
    if (allocator_inside)
        allocator_inside();
    else
        allocator_spin(ROUNDS);
    if (room > HEAP - used)
        fail("no memory\n");
    char *block = heap + used + HEAD;
    memcpy(block - HEAD, &size, sizeof size);
    used += room;
    locked = 0;
    return block;
}

void free(void *block)
{
    (void)block;
}

void *calloc(size_t count, size_t size)
{
    return malloc(count * size); /* zero: nothing is used again */
}

void *realloc(void *old, size_t size)
{
    size_t before = 0;
    void *block = malloc(size);
    if (old)
        memcpy(&before, (char *)old - HEAD, sizeof before);
    if (old)
        memcpy(block, old, before < size ? before : size);
    return block;
}
