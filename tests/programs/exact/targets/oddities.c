/* What few programs do, and some depend on. */
#include <asm/prctl.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static void on_signal(int number)
{
    (void)number;
}

static void actions(void)
{
    for (int i = 1; i < 65; i++) {
        struct sigaction a = {.sa_handler = on_signal, .sa_flags = i % 2 ? SA_RESTART : SA_NODEFER},
                         b;
        sigaddset(&a.sa_mask, SIGSEGV);
        sigaddset(&a.sa_mask, SIGTRAP);
        int set = sigaction(i, &a, NULL);
        memset(&b, 0, sizeof b);
        int got = sigaction(i, NULL, &b);
        printf("%d: %d %d %d %x %d%d%d\n", i, set, got, b.sa_handler == on_signal,
               (unsigned)b.sa_flags, sigismember(&b.sa_mask, SIGSEGV),
               sigismember(&b.sa_mask, SIGTRAP), sigismember(&b.sa_mask, SIGHUP));
    }
    for (int i = 1; i < 65; i++)
        signal(i, i % 3 ? SIG_DFL : SIG_IGN);
    for (int i = 1; i < 65; i++) {
        struct sigaction b;
        if (sigaction(i, NULL, &b) == 0)
            printf("%d%c ", i, b.sa_handler == SIG_DFL ? 'd' : b.sa_handler == SIG_IGN ? 'i' : '?');
    }
    puts("");
    errno = 0;
    long bad = syscall(SYS_rt_sigaction, SIGUSR1, (void *)8, NULL, 8);
    printf("bad pointer %ld %d\n", bad, errno);
    bad = syscall(SYS_rt_sigaction, SIGUSR1, NULL, NULL, 7);
    printf("bad size %ld %d\n", bad, errno);
    bad = syscall(SYS_rt_sigaction, 65, NULL, NULL, 8);
    printf("bad number %ld %d\n", bad, errno);
    raise(SIGTRAP); /* 5: default */
}

static volatile int steps;
static uint64_t stepped_at[64];

static void step(int number, siginfo_t *info, void *context)
{
    const ucontext_t *u = context;
    (void)number;
    if (steps < 64)
        stepped_at[steps] = (uint64_t)u->uc_mcontext.gregs[REG_RIP];
    steps++;
    if (info->si_code != 2)
        puts("not a step");
}

/* The program single-steps itself. */
extern char step_begin[], step_end[];
static void single_step(void)
{
    struct sigaction action = {.sa_sigaction = step, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, NULL);
    uint64_t rax = 5;
    __asm__ volatile(
        "sub $128, %%rsp\n pushfq\n orq $0x100, (%%rsp)\n popfq\n"
        "nop\n"
        ".globl step_begin\nstep_begin: add $1, %0\n lea 3(%0), %0\n mov %0, %0\n xor $1, %0\n"
        "pushfq\n andq $~0x100, (%%rsp)\n popfq\n"
        ".globl step_end\nstep_end: add $128, %%rsp\n"
        : "+a"(rax)
        :
        : "cc", "memory");
    printf("steps %d result %lu:", steps, rax);
    for (int i = 0; i < steps && i < 64; i++)
        printf(" %ld", (long)(stepped_at[i] - (uint64_t)step_begin));
    puts("");
}

static void old_entry_points(void)
{
    struct timeval tv = {0, 0};
    unsigned cpu = 1000, node = 1000;
    int (*gettimeofday_old)(struct timeval *, void *) = (void *)0xffffffffff600000;
    time_t (*time_old)(time_t *) = (void *)0xffffffffff600400;
    int (*getcpu_old)(unsigned *, unsigned *, void *) = (void *)0xffffffffff600800;
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    int there = 0;
    while (maps && fgets(line, sizeof line, maps))
        there |= strstr(line, "[vsyscall]") != NULL;
    if (maps)
        fclose(maps);
    if (!there)
        return;
    int result = gettimeofday_old(&tv, NULL);
    time_t now = time(NULL), old = time_old(NULL);
    printf("vsyscall %d %d %d", result, tv.tv_sec > 1000000, now - old <= 1 && old - now <= 1);
    printf(" %d %d\n", getcpu_old(&cpu, &node, NULL), cpu < 1000);
}

static void *rseq_thread(void *argument)
{
    return (void *)(long)(sched_getcpu() >= 0 && argument == NULL);
}

int main(void)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    uint64_t gs = 1;
    long result = syscall(SYS_arch_prctl, ARCH_GET_GS, &gs);
    printf("gs %ld %lu\n", result, gs);
    pthread_t thread;
    void *sum;
    pthread_create(&thread, NULL, rseq_thread, NULL);
    pthread_join(thread, &sum);
    printf("cpu %d %ld\n", sched_getcpu() >= 0, (long)sum);
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    clock_gettime(CLOCK_MONOTONIC, &b);
    printf("clock %d\n", b.tv_sec > a.tv_sec || (b.tv_sec == a.tv_sec && b.tv_nsec >= a.tv_nsec));
    old_entry_points();
    single_step();
    actions();
    puts("not reached");
    return 0;
}
