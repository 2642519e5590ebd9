/* Asks the terminal that it is given, and /dev/null, what they are, again and again. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "work.h"

int main(int argc, char **argv)
{
    uint64_t rounds = argc > 2 ? strtoull(argv[2], NULL, 10) : 100, sum = 0, wrong = 0;
    int terminal = argc > 1 ? open(argv[1], O_RDWR | O_NOCTTY) : -1,
        null = open("/dev/null", O_RDWR);
    struct termios first, modes;
    struct winsize size;
    if (terminal < 0 || null < 0 || tcgetattr(terminal, &first))
        return 2;
    for (uint64_t round = 0; round < rounds; round++) {
        int copy = dup(terminal);
        memset(&modes, 0, sizeof modes);
        memset(&size, 0, sizeof size);
        int right = isatty(terminal) && !isatty(null) && errno == ENOTTY &&
                    tcgetattr(copy, &modes) == 0 && modes.c_lflag == first.c_lflag &&
                    modes.c_cflag == first.c_cflag && modes.c_cc[VEOF] == first.c_cc[VEOF] &&
                    ioctl(copy, TIOCGWINSZ, &size) == 0 && size.ws_row == 33 && size.ws_col == 77;
        right &= ioctl(null, TIOCGWINSZ, &size) == -1 && errno == ENOTTY;
        close(copy);
        sum = right ? work_right(sum) : work_wrong(sum);
        wrong += !right;
    }
    printf("%llx %llu\n", (unsigned long long)sum, (unsigned long long)wrong);
    return wrong != 0;
}
