/* usage: target MILLISECONDS   uses so much CPU time; 0: until it is killed */
#include <stdlib.h>
#include <time.h>

static volatile unsigned sink;

__attribute__((noinline)) static void burn(void)
{
    for (unsigned i = 0; i < 100000; i++)
        sink += i * i;
}

int main(int argc, char **argv)
{
    long most = argc > 1 ? atol(argv[1]) : 0;
    while (!most || clock() * 1000 / CLOCKS_PER_SEC < most)
        burn();
    return 7;
}
