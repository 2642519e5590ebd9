// Ten expensive activations that are all left by an exception, each at the same place of the stack
// as the one before it.
enum { ROUNDS = 10, WORK = 60000000 };

__attribute__((noinline)) static void spin(long n)
{
    for (volatile long i = 0; i < n; i = i + 1)
        ;
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void thrower(long n)
{
    spin(n);
    throw n;
}

__attribute__((noinline)) static void outer(long n)
{
    thrower(n);
    __asm__ volatile("" ::: "memory");
}

int main()
{
    for (int i = 0; i < ROUNDS; i++) {
        try {
            outer(WORK);
        } catch (long) {
        }
    }
}
