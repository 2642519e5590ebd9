/* A program that tells libc of nothing, as Go's runtime does: a thread, its stack for signals and a
 * handler that runs there are made by the program's own system calls.
 *
 * With GO: as Go's runtime does with cgo. Threads and handlers are libc's; of its stack each thread
 * asks the kernel, and takes the one that it finds. */
#ifdef GO
#include <pthread.h>
#endif
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "spin.h"

enum { SIZE = 32768, ROUNDS = 300 };

static _Alignas(64) char first[SIZE], second[SIZE];
static volatile struct {
    uint64_t lo, size;
} stacks[2];
static volatile long handled, elsewhere, replaced;
static volatile int done;

static long call(long number, long a, long b, long c, long d)
{
    register long r10 __asm__("r10") = d;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                     : "rcx", "r11", "memory");
    return result;
}

static void on_signal(int signal)
{
    (void)signal;
    uint64_t here = (uint64_t)__builtin_frame_address(0);
    handled++;
    elsewhere += here - stacks[0].lo >= stacks[0].size && here - stacks[1].lo >= stacks[1].size;
}

static void *stack_take(int number, char *own)
{
    stack_t set = {.ss_sp = own, .ss_size = SIZE};
#ifdef GO
    stack_t found;
    call(SYS_sigaltstack, 0, (long)&found, 0, 0);
    if (!(found.ss_flags & SS_DISABLE))
        set = found;
    else
#endif
        call(SYS_sigaltstack, (long)&set, 0, 0, 0);
    stacks[number].lo = (uint64_t)set.ss_sp;
    stacks[number].size = set.ss_size;
    return set.ss_sp;
}

__attribute__((noinline)) static void own_worker(int number, char *memory)
{
    volatile unsigned long r = 0;
    void *own = stack_take(number, memory);
    stack_t now;
    for (int i = 0; i < ROUNDS; i++) {
        r = r + spin(300000);
        call(SYS_tgkill, call(SYS_getpid, 0, 0, 0, 0), call(SYS_gettid, 0, 0, 0, 0), SIGUSR1, 0);
        replaced += call(SYS_sigaltstack, 0, (long)&now, 0, 0) != 0 || now.ss_sp != own;
    }
}

#ifdef GO
__asm__(".section .note.go.buildid,\"a\",@note\n"
        ".long 4, 4, 4\n"
        ".asciz \"Go\"\n"
        ".zero 1\n"
        ".long 0\n"
        ".text\n");
/* by which it is known where the linker has put other notes before its own */
void _cgo_topofstack(void);
void _cgo_topofstack(void)
{
}

static void *thread(void *argument)
{
    own_worker(1, second);
    done = 1;
    return argument;
}

static void thread_make(void)
{
    pthread_t made;
    pthread_create(&made, NULL, thread, NULL);
}

static void handler_set(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
}
#else
static _Alignas(64) char stack[1 << 18];

/* What the kernel takes; libc's is another. */
struct action {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};

void restore(void);
__asm__(".text\n"
        ".globl restore\n"
        ".type restore, @function\n"
        "restore: mov $15, %eax\n" /* rt_sigreturn */
        "    syscall\n"
        ".size restore, . - restore\n");

static void thread(void)
{
    own_worker(1, second);
    done = 1;
    call(SYS_exit, 0, 0, 0, 0);
}

static void thread_make(void)
{
    long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
    register void (*run)(void) __asm__("r12") = thread;
    register long r10 __asm__("r10") = 0;
    register long r8 __asm__("r8") = 0;
    long result;
    __asm__ volatile("syscall\n"
                     "test %%rax, %%rax\n"
                     "jnz 1f\n"
                     "xor %%ebp, %%ebp\n"
                     "call *%%r12\n"
                     "1:"
                     : "=a"(result)
                     : "a"((long)SYS_clone), "D"(flags), "S"(stack + sizeof stack), "d"(0L),
                       "r"(r10), "r"(r8), "r"(run)
                     : "rcx", "r11", "memory");
}

static void handler_set(void)
{
    struct action action = {on_signal, SA_ONSTACK | SA_RESTART | 0x04000000 /* SA_RESTORER */,
                            restore, 0};
    call(SYS_rt_sigaction, SIGUSR1, (long)&action, 0, sizeof action.mask);
}
#endif

int main(void)
{
    handler_set();
    thread_make();
    while (!done)
        usleep(10000);
    own_worker(0, first);
    printf("%ld handled, %ld elsewhere; %ld times another stack was set\n", handled, elsewhere,
           replaced);
    return 0;
}
