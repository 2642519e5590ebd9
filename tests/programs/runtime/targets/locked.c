/* Locks all of its memory, limits it by prlimit, and puts descriptors on high numbers. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "spin.h"

int main(void)
{
    struct rlimit limit = {1ul << 31, RLIM_INFINITY};
    volatile unsigned long r = spin(100000000);
    printf("mlockall %s\n", mlockall(MCL_CURRENT | MCL_FUTURE) == 0 ? "done" : strerror(errno));
    printf("prlimit %d\n", prlimit(0, RLIMIT_AS, &limit, NULL));
    r += spin(200000000);
    int fd = open("/dev/null", O_RDONLY), taken = 0;
    for (int to = 4096; to < 4112; to++)
        taken += dup2(fd, to) == to;
    char byte;
    for (int to = 4096; to < 4112; to++)
        taken += read(to, &byte, 1) == 0;
    r += spin(100000000);
    printf("%d\n", taken);
    return r == 0;
}
