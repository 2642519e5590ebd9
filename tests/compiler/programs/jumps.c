/* setjmp, nested functions and their jumps out, signal handlers, calls that do not return. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static jmp_buf again;

static int deep(int n)
{
    if (n == 0)
        longjmp(again, 5);
    return deep(n - 1) + 1;
}

__attribute__((noipa)) static int jumped(int n)
{
    volatile int times = 0;
    int value = setjmp(again);
    if (value && times > n)
        return times * value;
    times++;
    return deep(times);
}

__attribute__((noipa)) static int outer(int n)
{
    __label__ out;
    int sum = 0;
    int inner(int k)
    {
        sum += k;
        if (sum > n)
            goto out;
        return k + 1;
    }
    for (int k = 1;; k = inner(k))
        if (k < 0)
            return -1;
out:
    return sum;
}

static int each(int (*function)(int), int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += function(i);
    return sum;
}

static int closure(int n)
{
    int add(int x) { return x * n; }
    return each(add, n);
}

static volatile sig_atomic_t handled;

static void handler(int number)
{
    for (int i = 0; i < 10; i++)
        handled += number > 0;
}

static volatile long spent;

static void spin(void)
{
    for (int i = 0; handled < 500; i++)
        spent += i & 3;
}

static void finish(void)
{
    printf("finish\n");
}

int main(void)
{
    printf("%d %d %d\n", jumped(10), outer(1000), closure(20));
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
    for (int i = 0; i < 20; i++)
        raise(SIGUSR1);
    ualarm(200, 200);
    spin();
    ualarm(0, 0);
    printf("%d\n", handled >= 500);
    atexit(finish);
    fflush(stdout);
    if (handled > 0)
        exit(7);
    return 0;
}
