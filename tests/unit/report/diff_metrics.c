/* What test_diff_metrics.py builds twice: GROWN, the functions of which the names end in _grown
 * allocate, touch, call and load more, by a half. The others do what they did. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef GROWN
#define TIMES(n) ((n) + (n) / 2)
#else
#define TIMES(n) (n)
#endif
#define FUNCTION __attribute__((noinline, noclone)) void

enum { PAGE = 4096, PAGES = 20 };

volatile unsigned long sink;
volatile size_t block = 1000;

FUNCTION allocate(unsigned times)
{
    while (times--) {
        char *memory = malloc(block);
        sink += (unsigned long)(size_t)memory;
        free(memory);
    }
}

FUNCTION allocate_grown(void)
{
    allocate(TIMES(20000));
    sink++;
}

FUNCTION allocate_same(void)
{
    allocate(20000);
    sink++;
}

FUNCTION keep_grown(void)
{
    for (unsigned i = 0; i < TIMES(4000); i++)
        sink += (unsigned long)(size_t)malloc(block);
}

FUNCTION keep_same(void)
{
    for (unsigned i = 0; i < 4000; i++)
        sink += (unsigned long)(size_t)malloc(block);
}

static void touch(unsigned times)
{
    while (times--) {
        char *pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                           -1, 0);
        if (pages == MAP_FAILED)
            abort();
        for (unsigned i = 0; i < PAGES; i++)
            pages[i * PAGE] = 1;
        munmap(pages, PAGES * PAGE);
    }
}

FUNCTION touch_grown(void)
{
    touch(TIMES(200));
}

FUNCTION touch_same(void)
{
    touch(200);
}

FUNCTION tick(void)
{
    sink++;
}

FUNCTION call_grown(void)
{
    for (unsigned i = 0; i < TIMES(10000); i++)
        tick();
}

FUNCTION call_same(void)
{
    for (unsigned i = 0; i < 10000; i++)
        tick();
}

int main(void)
{
    allocate_grown();
    allocate_same();
    keep_grown();
    keep_same();
    touch_grown();
    touch_same();
    call_grown();
    call_same();
    return 0;
}
