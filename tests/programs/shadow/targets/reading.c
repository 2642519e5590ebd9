/* Reads a file from its beginning to its end, again and again, and knows what comes next. Who is
 * told anything else goes where the program never comes. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { WORDS = 64, BLOCKS = 4096 };

static volatile uint64_t sink;

__attribute__((noinline, noclone)) static void told_wrong(void)
{
    for (uint64_t i = 0; i < 100000000; i++)
        sink += i;
}

__attribute__((noinline, noclone)) static uint64_t told_right(const uint64_t *words, uint64_t sum)
{
    for (unsigned k = 0; k < 40; k++)
        for (unsigned i = 0; i < WORDS; i++)
            sum = sum * 6364136223846793005u + words[i];
    return sum;
}

static int made(void)
{
    uint64_t words[WORDS];
    char name[] = "/tmp/penumbra-reading-XXXXXX";
    int fd = mkstemp(name), again = open(name, O_RDONLY);
    unlink(name);
    for (uint64_t b = 0; b < BLOCKS; b++) {
        for (unsigned i = 0; i < WORDS; i++)
            words[i] = b;
        if (write(fd, words, sizeof words) != sizeof words)
            exit(2);
    }
    close(fd);
    return again;
}

int main(int argc, char **argv)
{
    uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 100, sum = 0, words[WORDS];
    int fd = made();
    for (uint64_t r = 0; r < rounds; r++) {
        lseek(fd, 0, SEEK_SET);
        for (uint64_t b = 0; b < BLOCKS; b++) {
            if (read(fd, words, sizeof words) != sizeof words || words[0] != b ||
                words[WORDS - 1] != b)
                told_wrong();
            sum = told_right(words, sum);
        }
    }
    printf("%016lx\n", sum);
    return 0;
}
