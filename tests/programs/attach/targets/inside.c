/* inside FILE: most of the time in the malloc of a library that is linked to this program; FILE,
 * that library, is mapped whole to be read. inside: the same, but within it in a signal handler
 * that another namespace's libc has installed. Until SIGTERM. */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "allocator.h"

enum { MAPPED = 1 << 26, OUTSIDE = 200000, IN_HANDLER = 1000000 };

static volatile sig_atomic_t stop;
static volatile unsigned sink;

static void on_term(int number)
{
    (void)number;
    stop = 1;
}

__attribute__((noipa)) static void compute(unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++)
        sink++;
}

static void on_usr1(int number)
{
    (void)number;
    compute(IN_HANDLER);
}

static void handle(void)
{
    raise(SIGUSR1);
}

static int handler_install(void)
{
    int (*install)(int, const struct sigaction *, struct sigaction *) = NULL;
    struct sigaction action = {.sa_handler = on_usr1};
    void *libc = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);
    if (libc)
        *(void **)&install = dlsym(libc, "sigaction");
    if (!install || install(SIGUSR1, &action, NULL) != 0)
        return 1;
    allocator_inside = handle;
    return 0;
}

/* More than there is of it: so it comes to lie below the library. */
static int file_map(const char *path)
{
    int fd = open(path, O_RDONLY);
    return fd < 0 || mmap(NULL, MAPPED, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED;
}

int main(int argc, char **argv)
{
    signal(SIGTERM, on_term);
    if (argc > 1 ? file_map(argv[1]) : handler_install())
        return 1;
    puts("ready");
    fflush(stdout);
    while (!stop) {
        void *volatile block = malloc(1);
        free(block);
        compute(OUTSIDE);
    }
    return 5;
}
