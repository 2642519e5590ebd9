/* maps stay FILE...: maps each FILE whole to read it, as symbolizers do. maps again FILE...: a
 * second thread maps and unmaps them over and over. maps cycle: the loader's list of images leads
 * from its first to its first. Until SIGTERM. */
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static volatile sig_atomic_t stop;
static volatile unsigned sink;
static char **files;

static void on_term(int number)
{
    (void)number;
    stop = 1;
}

static const char *map_file(const char *path, size_t *size)
{
    struct stat st;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &st) != 0)
        return MAP_FAILED;
    *size = (size_t)st.st_size;
    const char *data = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    return data;
}

static void *again(void *unused)
{
    while (!stop)
        for (char **file = files; *file; file++) {
            size_t size;
            const char *data = map_file(*file, &size);
            if (data == MAP_FAILED)
                continue;
            for (size_t i = 0; i < size; i += 4096)
                sink += (unsigned char)data[i];
            munmap((void *)data, size);
        }
    return unused;
}

#ifndef STATIC
static void cycle(void)
{
    for (struct link_map *link = _r_debug.r_map; link; link = NULL)
        link->l_next = link;
}
#else
static void cycle(void) {}
#endif

int main(int argc, char **argv)
{
    pthread_t thread;
    size_t size;
    if (argc < 2)
        return 1;
    files = argv + 2;
    signal(SIGTERM, on_term);
    for (char **file = files; *file; file++)
        if (map_file(*file, &size) == MAP_FAILED)
            return 2;
    if (!strcmp(argv[1], "again") && pthread_create(&thread, NULL, again, NULL) != 0)
        return 3;
    if (!strcmp(argv[1], "cycle"))
        cycle();
    puts("ready");
    fflush(stdout);
    while (!stop)
        sink++;
    _exit(5);
}
