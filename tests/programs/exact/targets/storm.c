/* Signals at random moments of code whose state is known at every instruction: the handler compares
 * the registers with what they must be there, and the program in the end with what it must have
 * computed. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/* Between two labels one register changes: r12, then r13, then r14 follow each other. Between b and
 * c a call through a register, between c and d a direct one; d to e touches memory by a
 * rip-relative address. */
uint64_t turn(uint64_t count);
extern char turn_a[], turn_b[], turn_c[], turn_d[], turn_e[], turn_end[];
extern char leaf_begin[], leaf_end[];
extern uint64_t memory_count;
__asm__(".pushsection .data\n.globl memory_count\nmemory_count: .quad 0\n.popsection\n"
        ".text\n.globl turn\n.type turn, @function\nturn:\n"
        " push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
        " xor %r12d, %r12d\n xor %r13d, %r13d\n xor %r14d, %r14d\n mov %rdi, %r15\n"
        " lea leaf(%rip), %rbx\n movq $0, memory_count(%rip)\n"
        ".globl turn_a\nturn_a: inc %r12\n"
        ".globl turn_b\nturn_b: call *%rbx\n"
        ".globl turn_c\nturn_c: call leaf\n"
        ".globl turn_d\nturn_d: incq memory_count(%rip)\n"
        ".globl turn_e\nturn_e: dec %r15\n jnz turn_a\n"
        ".globl turn_end\nturn_end: lea (%r13, %r14), %rax\n"
        " pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n ret\n"
        ".globl leaf_begin\nleaf_begin:\nleaf: inc %r13\n inc %r14\n ret\n"
        ".globl leaf_end\nleaf_end:\n");

static volatile sig_atomic_t arrivals, wrong, quick;

static void complain(const char *what, const greg_t *r)
{
    if (wrong++ < 5)
        dprintf(2, "%s: rip turn+%ld r12 %lld r13 %lld r14 %lld memory %llu\n", what,
                (long)((char *)r[REG_RIP] - (char *)turn), r[REG_R12], r[REG_R13], r[REG_R14],
                (unsigned long long)memory_count);
}

static void look(int number, siginfo_t *info, void *context)
{
    const greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    char *rip = (char *)r[REG_RIP];
    uint64_t turns = (uint64_t)r[REG_R12], twice = (uint64_t)r[REG_R13];
    arrivals++;
    (void)info;
    if (number == SIGALRM && !quick) {
        struct itimerval next = {.it_value.tv_usec = 300 + rand() % 1700};
        setitimer(ITIMER_REAL, &next, NULL);
    }
    if (rip < turn_a || rip >= leaf_end)
        return;
    if (rip == turn_a && (twice != 2 * turns || memory_count != turns))
        complain("a", r);
    if (rip == turn_b && (twice != 2 * turns - 2 || memory_count != turns - 1))
        complain("b", r);
    if (rip == turn_c && (twice != 2 * turns - 1 || memory_count != turns - 1))
        complain("c", r);
    if (rip == turn_d && (twice != 2 * turns || memory_count != turns - 1))
        complain("d", r);
    if (rip == turn_e && (twice != 2 * turns || memory_count != turns))
        complain("e", r);
    if (rip < turn_end && (uint64_t)r[REG_R13] != (uint64_t)r[REG_R14])
        complain("between", r);
    if (rip >= leaf_begin && *(char **)r[REG_RSP] != turn_c && *(char **)r[REG_RSP] != turn_d)
        complain("return address", r);
}

static volatile int stop;

static void *sender(void *target)
{
    pthread_t thread = *(pthread_t *)target;
    while (!stop) {
        /* Never faster than they are handled, or the program would come to nothing else. */
        int before = arrivals;
        pthread_kill(thread, SIGUSR1);
        while (!stop && arrivals == before)
            sched_yield();
        struct timespec pause = {0, 300000 + rand() % 1700000};
        nanosleep(&pause, NULL);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000;
    struct sigaction action = {.sa_sigaction = look, .sa_flags = SA_SIGINFO | SA_RESTART};
    pthread_t self = pthread_self(), other;
    sigaction(SIGALRM, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
    sigset_t set, old;
    sigfillset(&set);
    pthread_sigmask(SIG_BLOCK, &set, &old); /* the other thread takes none */
    pthread_create(&other, NULL, sender, &self);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    struct itimerval first = {.it_value.tv_usec = 100};
    setitimer(ITIMER_REAL, &first, NULL);
    int rounds = argc > 2 ? atoi(argv[2]) : 0; /* 0: until there were enough signals */
    for (int i = 0; rounds ? i < rounds : arrivals < 200; i++)
        if (turn(count) != 4 * count)
            printf("%llu turns went wrong\n", (unsigned long long)count);
    stop = 1;
    pthread_join(other, NULL);
    quick = 1;
    printf("wrong %d\n", (int)wrong);
    return 0;
}
