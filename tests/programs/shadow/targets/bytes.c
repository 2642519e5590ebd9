/* Writes a file and its output byte by byte, with much to do between: no byte may be written twice,
 * and no position may move. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t work(uint64_t x)
{
    for (int i = 0; i < 20000; i++)
        x = x * 6364136223846793005u + 1442695040888963407u;
    return x;
}

int main(void)
{
    enum { BYTES = 20000 };
    char name[] = "/tmp/penumbra-bytes-XXXXXX", other[] = "/tmp/penumbra-bytes-XXXXXX";
    int out = mkstemp(name), in = mkstemp(other), end[2];
    static char text[BYTES];
    uint64_t x = 1;
    if (out < 0 || in < 0 || pipe(end) != 0)
        return 1;
    unlink(name);
    unlink(other);
    for (int i = 0; i < BYTES; i++)
        text[i] = (char)('a' + i % 23);
    if (write(in, text, BYTES) != BYTES || lseek(in, 0, SEEK_SET) != 0)
        return 1;
    for (int i = 0; i < BYTES; i++) {
        char byte, back;
        x = work(x);
        if (read(in, &byte, 1) != 1 || byte != text[i])
            return 2;
        if (write(out, &byte, 1) != 1 || write(end[1], &byte, 1) != 1 ||
            read(end[0], &back, 1) != 1 || back != byte)
            return 3;
        if (i % 100 == 0 && write(STDOUT_FILENO, &byte, 1) != 1)
            return 4;
        if (lseek(in, 0, SEEK_CUR) != i + 1 || lseek(out, 0, SEEK_CUR) != i + 1)
            return 5;
    }
    static char again[BYTES + 1];
    if (pread(out, again, sizeof again, 0) != BYTES || memcmp(again, text, BYTES) != 0)
        return 6;
    printf("\n%llx\n", (unsigned long long)x);
    return 0;
}
