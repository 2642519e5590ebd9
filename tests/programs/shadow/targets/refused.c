/* refused SECONDS: computes for so long, and may not make processes: as another user than root, of
 * whom there is one already. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { NOBODY = 65534 };

int main(int argc, char **argv)
{
    struct rlimit limit = {1, 1};
    double seconds = argc > 1 ? atof(argv[1]) : 1;
    volatile uint32_t sink = 0;
    if (geteuid() == 0 && (setgid(NOBODY) || setuid(NOBODY)))
        return 1;
    if (setrlimit(RLIMIT_NPROC, &limit))
        return 1;
    while ((double)clock() / CLOCKS_PER_SEC < seconds)
        for (uint32_t i = 0; i < 100000; i++)
            sink = sink * 1664525 + i;
    puts("done");
    return 0;
}
