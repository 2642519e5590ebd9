// Each activation of `thrower` lasts some samples, so that its return address, or one of the spinner's, is marked when
// it throws. The handler is in its caller.
enum { WORK = 1000000 };

__attribute__((noinline)) static void spin(long n)
{
    for (volatile long i = 0; i < n; i = i + 1)
        ;
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void thrower(long n)
{
    spin(WORK);
    throw n;
}

__attribute__((noinline)) static long catcher(long n)
{
    try {
        thrower(n);
        __asm__ volatile("" ::: "memory");
    } catch (long caught) {
        return caught;
    }
    return 0;
}

extern "C" long run(int rounds)
{
    long sum = 0;
    for (long i = 0; i < rounds; i++)
        sum += catcher(i);
    return sum;
}
