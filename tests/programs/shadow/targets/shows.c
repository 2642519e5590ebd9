/* Maps a file to read it, shared, and finds in memory what is in the file. Which of these it does
 * each round:
 *
 *      reads    only that
 *      asks     to make the memory writable, too, which is refused
 *      writes   another descriptor opens the file for writing afterwards, and what it writes is seen
 *      open     one that may write is open all the time
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "work.h"

enum { WORDS = 512, SIZE = 8 * WORDS };

/* The first word is the round's, where it is written to. */
static int sees(const uint64_t *memory, uint64_t first)
{
    int right = memory[0] == first;
    for (uint64_t i = 1; i < WORDS; i++)
        right &= memory[i] == i * i;
    return right;
}

static int put(const char *name, uint64_t word)
{
    int fd = open(name, O_WRONLY);
    int right = pwrite(fd, &word, sizeof word, 0) == sizeof word;
    close(fd);
    return right;
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[2] : "reads";
    uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 100, sum = 0, wrong = 0,
             words[WORDS];
    char name[] = "/tmp/shadow-shows-XXXXXX";
    int made = mkstemp(name);
    for (uint64_t i = 0; i < WORDS; i++)
        words[i] = i * i;
    if (write(made, words, SIZE) != SIZE)
        return 2;
    if (strcmp(what, "open"))
        close(made);
    uint64_t first = 0;
    for (uint64_t round = 0; round < rounds; round++) {
        int fd = open(name, O_RDONLY);
        uint64_t *memory = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);
        close(fd);
        if (memory == MAP_FAILED)
            return 3;
        int right = sees(memory, first);
        if (!strcmp(what, "asks"))
            right &= mprotect(memory, SIZE, PROT_READ | PROT_WRITE) == -1 && errno == EACCES;
        if (!strcmp(what, "writes"))
            right &= put(name, ++first) && sees(memory, first);
        munmap(memory, SIZE);
        sum = right ? work_right(sum) : work_wrong(sum);
        wrong += !right;
    }
    unlink(name);
    printf("%llx %llu\n", (unsigned long long)sum, (unsigned long long)wrong);
    return wrong != 0;
}
