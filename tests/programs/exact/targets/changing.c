/* Code that is written, rewritten and moved: in writable and executable memory, by mprotect, in
 * memory that is shared, and by the very code that runs. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

typedef uint64_t function(uint64_t);

/* lea rax, [rdi + n]; ret */
static void emit(unsigned char *to, int32_t n)
{
    static const unsigned char code[8] = {0x48, 0x8d, 0x87, 0, 0, 0, 0, 0xc3};
    memcpy(to, code, sizeof code);
    memcpy(to + 3, &n, sizeof n);
}

static unsigned char *memory(size_t size, int protection, int flags, int fd)
{
    unsigned char *p = mmap(NULL, size, protection, flags, fd, 0);
    if (p == MAP_FAILED)
        exit(1);
    return p;
}

static void writable(void)
{
    unsigned char *p = memory(65536, PROT_READ | PROT_WRITE | PROT_EXEC,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1);
    uint64_t sum = 0;
    for (int i = 0; i < 3000; i++) {
        unsigned char *at = p + i % 50 * 64;
        emit(at, i);
        sum = ((function *)at)(sum) * 3;
    }
    printf("writable %lu\n", sum);
    munmap(p, 65536);
}

static void toggled(void)
{
    unsigned char *p = memory(4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    uint64_t sum = 0;
    for (int i = 0; i < 500; i++) {
        mprotect(p, 4096, PROT_READ | PROT_WRITE);
        emit(p, i);
        emit(p + 2048, 2 * i);
        mprotect(p, 4096, PROT_READ | PROT_EXEC);
        sum = ((function *)p)(sum) * 3;
        sum = ((function *)(p + 2048))(sum) * 3;
    }
    printf("toggled %lu\n", sum);
    munmap(p, 4096);
}

static void two_views(void)
{
    int fd = memfd_create("code", 0);
    if (fd < 0 || ftruncate(fd, 4096) != 0)
        return;
    unsigned char *w = memory(4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
    unsigned char *x = memory(4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd);
    uint64_t sum = 0;
    for (int i = 0; i < 2000; i++) {
        emit(w + i % 7 * 16, i);
        sum = ((function *)(x + i % 7 * 16))(sum) * 3;
    }
    printf("two views %lu\n", sum);
    close(fd);
}

static void remapped(void)
{
    uint64_t sum = 0;
    unsigned char *p = memory(8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    for (int i = 0; i < 300; i++) {
        mmap(p, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        emit(p + 128, i);
        mprotect(p, 4096, PROT_READ | PROT_EXEC);
        sum = ((function *)(p + 128))(sum) * 3;
        unsigned char *to = mremap(p, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, p + 4096);
        sum = ((function *)(to + 128))(sum) * 3;
    }
    printf("remapped %lu\n", sum);
}

/* Changes the constant that it is about to add, in the next basic block. */
static void modifies_itself(void)
{
    static const unsigned char code[] = {
        0x31, 0xc0,                         /*       xor eax, eax */
        0xb9, 100, 0, 0, 0,                 /*       mov ecx, 100 */
        0xff, 0x05, 4, 0, 0, 0,             /* loop: inc dword [rip + 4]: the constant */
        0xeb, 0x00,                         /*       jmp to the next instruction */
        0x48, 0x05, 0, 0, 0, 0,             /*       add rax, constant */
        0xff, 0xc9, 0x75, 0xee,             /*       dec ecx; jnz loop */
        0xc3};
    unsigned char *p = memory(4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1);
    memcpy(p, code, sizeof code);
    printf("modifies itself %lu\n", ((function *)p)(0));
}

static unsigned char *shared_code;
static volatile int generation;

static void *runs(void *argument)
{
    uint64_t bad = 0, last = 0;
    (void)argument;
    while (generation >= 0) {
        uint64_t got = ((function *)shared_code)(0);
        bad += got < last;
        last = got;
    }
    return (void *)bad;
}

/* One thread writes the constant (an aligned store), others run the code. */
static void two_threads(void)
{
    unsigned char *p = memory(4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1);
    shared_code = p + 1; /* so that the constant is aligned */
    emit(shared_code, 0);
    pthread_t thread;
    void *bad;
    pthread_create(&thread, NULL, runs, NULL);
    for (int32_t i = 1; i < 1000; i++) {
        __atomic_store_n((int32_t *)(p + 4), i, __ATOMIC_RELEASE);
        uint64_t got = ((function *)shared_code)(0);
        if (got != (uint64_t)i)
            printf("wrote %d, ran %lu\n", i, got);
    }
    generation = -1;
    pthread_join(thread, &bad);
    printf("two threads %lu\n", (unsigned long)bad);
}

static sigjmp_buf away;

static void fault(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    (void)context;
    siglongjmp(away, 1);
}

/* Calls code in the first page, takes both away, and calls what was never called in the second. */
static void gone(const char *how, unsigned char *p, int take(unsigned char *))
{
    emit(p, 1);
    emit(p + 4096, 2);
    printf("%s %lu", how, ((function *)p)(0));
    if (take(p) != 0)
        exit(1);
    if (!sigsetjmp(away, 1))
        printf(", then %lu\n", ((function *)(p + 4096))(0));
    else
        printf(", then nothing\n");
}

static int unmap(unsigned char *p)
{
    return munmap(p, 8192);
}

static int detach(unsigned char *p)
{
    return shmdt(p);
}

/* The new memory is readable, but no code. */
static int replace(unsigned char *p)
{
    unsigned char *q =
        mmap(p, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    emit(q + 4096, 3);
    return q != p;
}

static void taken_away(void)
{
    const int all = PROT_READ | PROT_WRITE | PROT_EXEC, own = MAP_PRIVATE | MAP_ANONYMOUS;
    struct sigaction action = {.sa_sigaction = fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    gone("unmapped", memory(8192, all, own, -1), unmap);
    gone("replaced", memory(8192, all, own, -1), replace);
    int id = shmget(IPC_PRIVATE, 8192, IPC_CREAT | 0700);
    unsigned char *p = id < 0 ? (void *)-1 : shmat(id, NULL, SHM_EXEC);
    if (id >= 0)
        shmctl(id, IPC_RMID, NULL);
    if (p != (void *)-1)
        gone("detached", p, detach);
}

int main(void)
{
    taken_away();
    writable();
    toggled();
    two_views();
    remapped();
    modifies_itself();
    two_threads();
    return 0;
}
