/* Does nothing but allocate: three quarters of the calls in one function, a quarter in another. */
#include <stdlib.h>

enum { SIZE = 65536 };

static void *volatile kept;

__attribute__((noinline)) static void often(void)
{
    for (int i = 0; i < 3; i++) {
        kept = malloc(SIZE);
        free(kept);
    }
}

__attribute__((noinline)) static void seldom(void)
{
    kept = malloc(SIZE);
    free(kept);
}

int main(int argc, char **argv)
{
    for (int rounds = argc > 1 ? atoi(argv[1]) : 1; rounds > 0; rounds--) {
        often();
        seldom();
    }
    return 0;
}
