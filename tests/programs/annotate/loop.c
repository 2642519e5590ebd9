/* A function whose instructions are known: a loop with a branch that is taken or not. */
#include <signal.h>
#include <stdio.h>

__attribute__((noinline)) static unsigned collatz(unsigned n)
{
    unsigned steps = 0;
    while (n != 1) {
        if (n & 1)
            n = 3 * n + 1;
        else
            n >>= 1;
        steps++;
        __asm__ volatile(""); /* keeps the branch a branch */
    }
    return steps;
}

__attribute__((noinline)) static unsigned twice(unsigned n)
{
    return collatz(n) + collatz(n + 1);
}

/* What C++ compilers make of one function, by its symbols: fib(int), a part of it for OpenMP, a
 * lambda in it; and of another one two overloads. */
#define NAMED(name, symbol)                                                                        \
    __attribute__((noinline, used)) static unsigned name(unsigned n) __asm__(symbol);                \
    static unsigned name(unsigned n) { return collatz(n) + 1; }
NAMED(fib, "_Z3fibi")
NAMED(fib_omp, "_Z3fibi._omp_fn.0")
NAMED(fib_lambda, "_ZZ3fibiENKUlvE_clEv")
NAMED(seldom, "_Z4workv.cold") /* before what it is a part of, as linkers have it */
NAMED(often, "_Z4workv")
NAMED(two_int, "_Z3twoi")
NAMED(two_long, "_Z3twol")

/* Has no code of its own. */
static inline __attribute__((always_inline)) unsigned mixed(unsigned n)
{
    n ^= n << 13;
    n ^= n >> 17;
    return n ^ n << 5;
}

__attribute__((noinline, used)) static unsigned host(unsigned n)
{
    return mixed(n);
}

static volatile unsigned handled;

static void handle(int number)
{
    handled += collatz((unsigned)number);
    if (handled & 1)
        handled++;
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) {
        signal(SIGUSR1, handle);
        for (int i = 0; i < 100; i++)
            raise(SIGUSR1);
    }
    printf("%u\n", twice((unsigned)argc + 26));
    return 0;
}
