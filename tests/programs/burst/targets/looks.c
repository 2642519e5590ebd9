/* Timers whose handlers look at the interrupted context: the instruction lies in an image of the
 * program, the GS base is 0, the mask is the program's. The work between is floating point of all
 * kinds. */
#include <asm/prctl.h>
#include <dlfcn.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

static volatile uint64_t bad, seen;

static void on_timer(int signal, siginfo_t *info, void *context)
{
    const ucontext_t *u = context;
    Dl_info where;
    uint64_t gs = 1;
    (void)info;
    syscall(SYS_arch_prctl, ARCH_GET_GS, &gs);
    if (!dladdr((void *)u->uc_mcontext.gregs[REG_RIP], &where))
        bad |= 1;
    if (gs)
        bad |= 2;
    for (int i = 1; i < 32; i++)
        if (sigismember(&u->uc_sigmask, i) != (i == SIGHUP))
            bad |= 4;
    if (signal != SIGALRM && signal != SIGVTALRM)
        bad |= 8;
    seen++;
}

/* x87, SSE, AVX as the compiler has it, rounding modes. */
static double work(double x)
{
    long double y = (long double)x;
    double lanes[64];
    for (int i = 0; i < 64; i++)
        lanes[i] = x * i + 1.0 / (i + 1);
    for (int k = 0; k < 20; k++)
        for (int i = 0; i < 64; i++)
            lanes[i] = lanes[i] * 0.75 + lanes[(i + 7) & 63] * 0.25;
    y = y * 1.0000001L + sqrtl(y + 2) - logl(y + 3);
    return (double)y * 0.5 + lanes[13] * 0.001;
}

int main(int argc, char **argv)
{
    sigset_t hup;
    sigemptyset(&hup);
    sigaddset(&hup, SIGHUP);
    sigprocmask(SIG_BLOCK, &hup, NULL);
    struct sigaction action = { .sa_sigaction = on_timer, .sa_flags = SA_SIGINFO | SA_RESTART };
    struct itimerval every = { { 0, 500 }, { 0, 500 } };
    sigaddset(&action.sa_mask, SIGALRM);
    sigaddset(&action.sa_mask, SIGVTALRM);
    sigaction(SIGALRM, &action, NULL);
    sigaction(SIGVTALRM, &action, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    setitimer(ITIMER_VIRTUAL, &every, NULL);
    double x = 1.5;
    for (long n = argc > 1 ? atol(argv[1]) : 100000; n; n--)
        x = work(x);
    memset(&every, 0, sizeof every);
    setitimer(ITIMER_REAL, &every, NULL);
    setitimer(ITIMER_VIRTUAL, &every, NULL);
    printf("%.17g bad %lu\n", x, bad);
    return bad != 0;
}
