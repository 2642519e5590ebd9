/* endless: begins a read that never ends, in a child that the parent waits for; killed from
 * outside. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noipa)) static int for_ever(int fd)
{
    char byte;
    return (int)read(fd, &byte, 1);
}

int main(void)
{
    int ends[2];
    if (pipe(ends))
        return 1;
    if (fork() == 0)
        return for_ever(ends[0]) + 1;
    puts("ready");
    fflush(stdout);
    return wait(NULL) > 0;
}
