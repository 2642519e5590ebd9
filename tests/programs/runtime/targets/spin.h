/* Work whose length is counted in iterations, for programs whose time shares are known by
 * construction. */
#ifndef SPIN_H
#define SPIN_H

__attribute__((noinline)) static unsigned long spin(unsigned long iterations)
{
    unsigned long x = 1;
    for (unsigned long i = 0; i < iterations; i++) {
        x = x * 6364136223846793005ul + 1442695040888963407ul;
        __asm__ volatile("" : "+r"(x));
    }
    return x;
}

#endif
