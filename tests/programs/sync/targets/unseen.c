/* Memory that no call of the program's malloc gives: by a library that is loaded apart, from arenas
 * that the program maps, from an allocator that is a part of it, and from system calls that it
 * makes itself. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

static int load(const char *how, const char *path)
{
    void *library =
        strcmp(how, "dlmopen") == 0
            ? dlmopen(LM_ID_NEWLM, path, RTLD_LAZY)
            : dlopen(path, RTLD_DEEPBIND | (strcmp(how, "deepbind") ? RTLD_NOW : RTLD_LAZY));
    long (*keep)(void) = library ? (long (*)(void))dlsym(library, "keep") : NULL;
    if (!keep) {
        printf("%s\n", dlerror());
        return 1;
    }
    long kept = keep();
    printf("%ld %d\n", kept, dlsym(library, "nothing") == NULL && dlerror() != NULL);
    return 0;
}

static __attribute__((noipa)) void *arena_new(size_t size)
{
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(at, 1, size);
    return at;
}

static void arenas(void)
{
    char *first = arena_new(8 * MIB), *second = arena_new(8 * MIB), *third = arena_new(8 * MIB);
    second = mremap(second, 8 * MIB, 8 * MIB, MREMAP_MAYMOVE | MREMAP_FIXED, third + 512L * MIB);
    munmap(second, 8 * MIB);
    printf("%d\n", first[5]);
}

/* An allocator as one that is linked statically and hidden. */
static char *from, *to;

static __attribute__((noipa)) void arena_grow(void)
{
    from = sbrk(4 * MIB);
    to = from + 4 * MIB;
}

static void *own_malloc(size_t size)
{
    if ((size_t)(to - from) < size)
        arena_grow();
    from += size;
    return memset(from - size, 1, size);
}

static void raw(void)
{
    for (int i = 0; i < 32; i++) {
        register long r10 __asm__("r10") = MAP_PRIVATE | MAP_ANONYMOUS, r8 __asm__("r8") = -1,
                          r9 __asm__("r9") = 0;
        long at = SYS_mmap;
        __asm__ volatile("syscall"
                         : "+a"(at)
                         : "D"(0L), "S"((long)MIB), "d"((long)PROT_READ | PROT_WRITE), "r"(r10),
                           "r"(r8), "r"(r9)
                         : "rcx", "r11", "memory");
        memset((void *)at, 1, MIB);
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    if (argc > 2)
        return load(how, argv[2]);
    if (strcmp(how, "arena") == 0)
        arenas();
    else if (strcmp(how, "raw") == 0)
        raw();
    for (int i = 0; strcmp(how, "hidden") == 0 && i < 20 * MIB / 1024; i++)
        own_malloc(1024);
    for (int i = 0; strcmp(how, "seen") == 0 && i < 20000; i++) {
        char *volatile p = malloc(1000);
        memset(p, 1, 1000);
    }
    return 0;
}
