/* Calls by way of the procedure linkage table whose page is not there: a sample of -e page-faults
 * comes in the stub, when the return address of what is called is on the stack already. Those that
 * are called find out who called, or let somebody return there later. */
#include <dlfcn.h>
#include <link.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { ROUNDS = 50, PAGE = 4096, FAR = 1 << 17 }; /* the kernel maps 64 kB around a fault */

static void *stubs;
static jmp_buf plain;
static sigjmp_buf masked;
static ucontext_t context;
static void *next; /* pthread_create of the first library: a profiler's may be another's next */
static volatile int went[6];

/* The program's first executable page has the table. */
static int table_find(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    for (int i = 0; i < info->dlpi_phnum && !stubs; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X)
            stubs = (void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    return 1;
}

/* After it, the next call by way of the table faults there. */
#define FORGET() madvise(stubs, PAGE, MADV_DONTNEED)

/* Ends in a jump to the stub: its return address is dlsym's. */
__attribute__((noinline, aligned(FAR))) static void *next_of(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

__attribute__((noinline, aligned(FAR))) static void round_of(void)
{
    FORGET();
    if (_setjmp(plain) == 0)
        longjmp(plain, 1);
    went[0]++;
    FORGET();
    if (sigsetjmp(masked, 1) == 0)
        siglongjmp(masked, 1);
    went[1]++;
    volatile int again = 0;
    FORGET();
    getcontext(&context);
    if (!again++)
        setcontext(&context);
    went[2]++;
    FORGET();
    void *found = dlsym(RTLD_NEXT, "pthread_create");
    went[3] += found == next;
    madvise((void *)next_of, PAGE, MADV_DONTNEED);
    found = next_of("pthread_create");
    went[5] += found == next;
    FORGET();
    pid_t child = vfork();
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
    went[4]++;
}

int main(void)
{
    dl_iterate_phdr(table_find, NULL);
    next = dlsym(RTLD_NEXT, "pthread_create");
    for (int i = 0; i < ROUNDS; i++)
        round_of();
    printf("%d %d %d %d %d %d\n", went[0], went[1], went[2], went[3], went[4], went[5]);
    return 0;
}
