/* Makes a temporary file again and again, writes to it, and reads it back; whoever finds something
 * else, in a shadow too, ends by an illegal instruction. Then, how much was read. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

static void must(int condition)
{
    if (!condition)
        __builtin_trap();
}

static __attribute__((noinline)) uint64_t work_behind(uint64_t sum)
{
    for (int i = 0; i < 20000; i++)
        sum = sum * 31 + (uint64_t)i;
    return sum;
}

/* A link is not followed where it is not to be. */
static int refused(const char *name, int flags, int why)
{
    return open(name, O_RDONLY | O_NOFOLLOW | flags) < 0 && errno == why;
}

int main(int argc, char **argv)
{
    uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 100, sum = 0, block[64];
    for (uint64_t round = 0; round < rounds; round++) {
        char name[] = "/tmp/shadow-scratch-XXXXXX";
        struct stat status;
        int fd = mkstemp(name);
        ioctl(fd, 0x8004f50c, block); /* F2FS_IOC_GET_FEATURES, as sqlite3 asks */
        must(fd >= 0 && unlink(name) == 0);
        for (uint64_t n = 0; n < 8; n++) {
            for (uint64_t i = 0; i < 64; i++)
                block[i] = round * n + i;
            must(write(fd, block, sizeof block) == sizeof block);
        }
        must(ftruncate(fd, 7 * sizeof block) == 0 && fstat(fd, &status) == 0 &&
             status.st_size == 7 * sizeof block);
        must(lseek(fd, 0, SEEK_END) == 7 * sizeof block);
        for (uint64_t n = 0; n < 7; n++) {
            must(pread(fd, block, sizeof block, (off_t)(n * sizeof block)) == sizeof block);
            for (uint64_t i = 0; i < 64; i++)
                must(block[i] == round * n + i);
            sum += block[63];
        }
        must(pread(fd, block, 1, 7 * sizeof block) == 0);
        must(open("/tmp/no such folder/file", O_CREAT | O_EXCL | O_RDWR, 0600) < 0);
        must(open("/tmp", O_CREAT | O_EXCL | O_RDWR, 0600) < 0);
        must(refused("/dev/fd", 0, ELOOP) && refused("/dev/fd", O_DIRECTORY, ENOTDIR));
        close(fd);
        sum = work_behind(sum);
    }
    printf("%llx\n", (unsigned long long)sum);
    return 0;
}
