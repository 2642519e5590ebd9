/* Writes to files that were there before, under several descriptors, and reads back what it has
 * written. In a shadow the first round may find what the program has written since; no later one
 * may find anything else than natively. "large": to a file of a gigabyte. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORK_LOOPS 1000
#include "work.h"

enum { BLOCKS = 8, SIZE = 512 };

static char name[64], log_name[72], copied_name[72];
static uint64_t block[SIZE / 8], found[SIZE / 8];

static void fill(uint64_t round, uint64_t n)
{
    for (uint64_t i = 0; i < SIZE / 8; i++)
        block[i] = round * 1000 + n * 100 + i;
}

static int finds(int fd, uint64_t round, uint64_t n)
{
    fill(round, n);
    return pread(fd, found, SIZE, (off_t)(n * SIZE)) == SIZE && !memcmp(found, block, SIZE);
}

static int is_so_large(int fd, off_t size)
{
    static ino_t inode;
    struct stat by_fd, by_name;
    if (fstat(fd, &by_fd) || stat(name, &by_name))
        return 0;
    inode = inode ? inode : by_name.st_ino;
    return by_fd.st_size == size && by_name.st_size == size && by_fd.st_ino == inode &&
           by_name.st_ino == inode && by_fd.st_mode == by_name.st_mode && by_fd.st_nlink == 1 &&
           lseek(fd, 0, SEEK_END) == size;
}

static int rewrites(int fd, int other, uint64_t round)
{
    int right = ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0 && is_so_large(other, 0);
    int copy = dup(fd);
    for (uint64_t n = 0; n < BLOCKS; n++) {
        fill(round, n);
        right &= write(n % 2 ? fd : copy, block, SIZE) == SIZE; /* one position */
    }
    close(copy);
    for (uint64_t n = 0; n < BLOCKS; n++)
        right &= finds(n % 2 ? fd : other, round, n);
    right &= is_so_large(other, BLOCKS * SIZE) && pread(other, found, 1, BLOCKS * SIZE) == 0;
    int third = open(name, O_RDONLY);
    right &= finds(third, round, 3) && read(third, found, SIZE) == SIZE;
    int empty = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    right &= is_so_large(other, 0) && read(third, found, SIZE) == 0;
    fill(round, 0);
    right &=
        write(empty, block, SIZE) == SIZE && finds(other, round, 0) && is_so_large(other, SIZE);
    int end = open(name, O_WRONLY | O_APPEND);
    fill(round, 1);
    right &= write(end, block, SIZE) == SIZE && finds(other, round, 1) && is_so_large(fd, 2 * SIZE);
    right &= read(end, found, 1) < 0;
    close(third);
    close(empty);
    close(end);
    return right;
}

/* It becomes the shadow's own with two descriptors of one description, each time. */
static int shares(uint64_t round)
{
    int fd = open(copied_name, O_RDWR | O_CREAT, 0600), copy = dup(fd), right = copy >= 0;
    fill(round, 0);
    right &= lseek(copy, 50, SEEK_SET) == 50;
    for (int n = 0; n < 4; n++)
        right &= write(n % 2 ? copy : fd, block, 100) == 100;
    right &= lseek(fd, 0, SEEK_CUR) == 450 && lseek(copy, -100, SEEK_CUR) == 350 &&
             read(fd, found, 100) == 100 && !memcmp(found, block, 100);
    close(fd);
    close(copy);
    return right;
}

/* What nobody reads is not kept, but has a position; of what has been emptied all is known. */
static int logs(int fd, uint64_t round)
{
    struct stat status;
    off_t before = lseek(fd, 0, SEEK_CUR);
    fill(round, 0);
    int again = open(copied_name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int right = write(again, block, 100) == 100 && lseek(again, 0, SEEK_CUR) == 100 &&
                fstat(again, &status) == 0 && status.st_size == 100;
    close(again);
    return right && write(fd, block, 100) == 100 && lseek(fd, 0, SEEK_CUR) == before + 100 &&
           lseek(fd, -100, SEEK_CUR) == before;
}

/* Its own lock is in nobody's way. */
static int locks(int fd)
{
    struct flock lock = {.l_type = F_WRLCK}, asked = lock;
    return fcntl(fd, F_SETLK, &lock) == 0 && fcntl(fd, F_GETLK, &asked) == 0 &&
           asked.l_type == F_UNLCK;
}

int main(int argc, char **argv)
{
    uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 100, sum = 0, wrong = 0;
    int large = argc > 2 && !strcmp(argv[2], "large");
    snprintf(name, sizeof name, "/tmp/shadow-kept-%d", getpid());
    snprintf(log_name, sizeof log_name, "%s-log", name);
    snprintf(copied_name, sizeof copied_name, "%s-copied", name);
    int fd = open(name, O_RDWR | O_CREAT, 0600), other = open(name, O_RDONLY),
        out = open(log_name, O_WRONLY | O_CREAT, 0600);
    if (large && ftruncate(fd, 1 << 30))
        return 1;
    for (uint64_t round = 0; round < rounds; round++) {
        int right =
            large ? pwrite(fd, block, SIZE, 0) == SIZE && pread(fd, found, SIZE, 0) == SIZE
                  : rewrites(fd, other, round) & shares(round) & logs(out, round) & locks(out);
        sum = right ? work_right(sum) : work_wrong(sum);
        wrong += !right;
    }
    unlink(name);
    unlink(log_name);
    unlink(copied_name);
    printf("%llx %llu\n", (unsigned long long)sum, (unsigned long long)wrong);
    return wrong != 0;
}
