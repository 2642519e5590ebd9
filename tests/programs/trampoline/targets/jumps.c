/* Non-local exits of all kinds, and backtrace(): out of deep frames, out of signal handlers,
 * between the stacks of ucontext coroutines. */
#include <execinfo.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <ucontext.h>

enum { ROUNDS = 1000000, ALARMS = 200, COROUTINES = 4, STACK = 65536 };

static jmp_buf target;
static sigjmp_buf signal_target;
static ucontext_t main_context, coroutine[COROUTINES];
static char stacks[COROUTINES][STACK];
static long hops;

__attribute__((noinline)) static int down(int depth, int kind)
{
    volatile int sum = 0;
    for (int i = 0; i < 50; i++)
        sum += i;
    if (depth == 0 && kind == 0)
        longjmp(target, 3);
    if (depth == 0)
        _longjmp(target, 4);
    int result = down(depth - 1, kind);
    __asm__ volatile("" : "+r"(result));
    return result + sum;
}

static void on_alarm(int number)
{
    (void)number;
    siglongjmp(signal_target, 1);
}

__attribute__((noinline)) static int spin(int depth)
{
    volatile int sum = 0;
    if (depth)
        return spin(depth - 1) + 1;
    for (;;)
        sum++;
}

__attribute__((noinline)) static void hop(int depth, int number)
{
    if (depth)
        hop(depth - 1, number);
    else if (++hops)
        swapcontext(&coroutine[number], &main_context);
    __asm__ volatile("" ::: "memory");
}

static void body(int number)
{
    for (;;)
        hop(5, number);
}

static void alarms(void)
{
    struct itimerval often = {{0, 2000}, {0, 2000}}, never = {{0, 0}, {0, 0}};
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &often, NULL);
    for (volatile int i = 0; i < ALARMS; i++)
        if (!sigsetjmp(signal_target, 1))
            spin(40);
    signal(SIGALRM, SIG_IGN);
    setitimer(ITIMER_REAL, &never, NULL);
}

static void coroutines(void)
{
    for (int i = 0; i < COROUTINES; i++) {
        getcontext(&coroutine[i]);
        coroutine[i].uc_stack.ss_sp = stacks[i];
        coroutine[i].uc_stack.ss_size = STACK;
        makecontext(&coroutine[i], (void (*)(void))body, 1, i);
    }
    for (long i = 0; i < ROUNDS; i++)
        swapcontext(&main_context, &coroutine[i % COROUTINES]);
}

int main(void)
{
    static volatile long sum;
    void *addresses[100];
    int frames = 0;
    for (volatile long i = 0; i < ROUNDS; i++) {
        int value = setjmp(target);
        if (!value)
            down(20, (int)(i & 1));
        sum += value;
    }
    alarms();
    coroutines();
    for (int i = 0; i < 20000; i++)
        frames = backtrace(addresses, 100);
    printf("%ld %ld %d\n", sum, hops, frames);
    return 0;
}
