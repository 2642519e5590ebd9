/* Uses 2 s of CPU time and nothing else. */
#include <time.h>

int main(void)
{
    struct timespec used;
    volatile unsigned long work = 0;
    do {
        for (int i = 0; i < 1000000; i++)
            work += (unsigned long)i;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    } while (used.tv_sec < 2);
    return work == 0;
}
