/* Faults in the middle of hot code, handled: what the handler sees, and what comes of it, is
 * printed.
 *
 *   barrier   writes to a protected page; the handler opens it, as garbage collectors do
 *   null      loads through 0; the handler moves on behind the load, as null checks of JITs do
 *   divide    division by zero, left by siglongjmp
 *   illegal   ud2, skipped
 *   sent      SIGSEGV and SIGFPE that the program sends to itself
 *
 * Each handler looks at the address, the code and the mask that it gets. */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { PAGES = 64, PAGE = 4096 };
static uint8_t *heap;
static volatile uint64_t counts[8], bad, nothing;
static sigjmp_buf back;

extern const char null_load[], null_after[], illegal_at[], illegal_after[];

static void expect(int condition, uint64_t which)
{
    if (!condition)
        bad |= UINT64_C(1) << which;
}

static void check_mask(const ucontext_t *u, int signal)
{
    sigset_t now;
    sigprocmask(SIG_BLOCK, NULL, &now);
    expect(sigismember(&now, signal) == 1 && sigismember(&now, SIGUSR1) == 1, 0);
    expect(sigismember(&now, SIGUSR2) == 0, 1);
    expect(sigismember(&u->uc_sigmask, SIGUSR1) == 0 && sigismember(&u->uc_sigmask, SIGTERM) == 0,
           2);
    expect(sigismember(&u->uc_sigmask, SIGHUP) == 1, 3); /* the program blocks it */
}

static void on_segv(int signal, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    uint64_t rip = (uint64_t)u->uc_mcontext.gregs[REG_RIP];
    check_mask(u, signal);
    if (info->si_code <= 0) {
        expect(info->si_pid == getpid(), 4);
        counts[4]++;
        return;
    }
    uint8_t *at = info->si_addr;
    if (at >= heap && at < heap + PAGES * PAGE) {
        counts[0]++;
        mprotect(heap + (at - heap) / PAGE * PAGE, PAGE, PROT_READ | PROT_WRITE);
    } else {
        expect(at == (uint8_t *)16 && rip == (uint64_t)null_load, 5);
        counts[1]++;
        u->uc_mcontext.gregs[REG_RIP] = (greg_t)null_after;
        u->uc_mcontext.gregs[REG_RAX] = 7;
    }
}

static void on_fpe(int signal, siginfo_t *info, void *context)
{
    check_mask(context, signal);
    if (info->si_code <= 0) {
        counts[5]++;
        return;
    }
    expect(info->si_code == FPE_INTDIV, 6);
    expect((greg_t)info->si_addr == ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP], 7);
    counts[2]++;
    siglongjmp(back, 1);
}

static void on_ill(int signal, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    check_mask(u, signal);
    expect(info->si_addr == illegal_at, 8);
    expect(u->uc_mcontext.gregs[REG_RIP] == (greg_t)illegal_at, 9);
    counts[3]++;
    u->uc_mcontext.gregs[REG_RIP] = (greg_t)illegal_after;
}

static __attribute__((noinline)) uint64_t checked_load(const uint64_t *p)
{
    uint64_t value;
    __asm__ volatile(".globl null_load, null_after\n"
                     "null_load: movq 16(%1), %%rax\n"
                     "null_after: movq %%rax, %0"
                     : "=r"(value) : "r"(p) : "rax");
    return value;
}

static __attribute__((noinline)) void illegal(void)
{
    __asm__ volatile(".globl illegal_at, illegal_after\nillegal_at: ud2\nillegal_after: nop");
}

static void handle(int signal, void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags }, now;
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGUSR1);
    sigaction(signal, &action, NULL);
    sigaction(signal, NULL, &now);
    expect(now.sa_sigaction == handler && (now.sa_flags & ~0x4000000) == (SA_SIGINFO | flags), 10);
}

static uint64_t round_of(uint64_t seed)
{
    volatile uint64_t sum = seed;
    uint64_t table[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    mprotect(heap, PAGES * PAGE, PROT_READ);
    for (volatile unsigned i = 0; i < 4000; i++) {
        heap[(sum >> 13) % (PAGES * PAGE)] = (uint8_t)i;
        sum = sum * UINT64_C(6364136223846793005) + 1442695040888963407u;
        sum ^= checked_load(i % 97 ? table : NULL);
        if (i % 131 == 0 && !sigsetjmp(back, 1))
            sum += sum / nothing;
        if (i % 211 == 0)
            illegal();
        if (i % 509 == 0)
            raise(i % 2 ? SIGSEGV : SIGFPE);
    }
    return sum;
}

int main(int argc, char **argv)
{
    static uint8_t alternate[65536];
    sigset_t hup;
    uint64_t sum = 1, rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 50;
    sigemptyset(&hup);
    sigaddset(&hup, SIGHUP);
    sigprocmask(SIG_BLOCK, &hup, NULL);
    heap = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigaltstack(&(stack_t){ .ss_sp = alternate, .ss_size = sizeof alternate }, NULL);
    handle(SIGSEGV, on_segv, SA_ONSTACK);
    handle(SIGFPE, on_fpe, 0);
    handle(SIGILL, on_ill, SA_ONSTACK | SA_RESTART);
    for (uint64_t i = 0; i < rounds; i++)
        sum = round_of(sum);
    printf("%016lx", sum);
    for (unsigned i = 0; i < 6; i++)
        printf(" %lu", counts[i]);
    printf(" bad %lx\n", bad);
    return bad != 0;
}
