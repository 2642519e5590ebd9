/* Vectors, x87, complex and 128-bit numbers, code for SSE 4.1, tail calls, divisors. */
#include <complex.h>
#include <stdio.h>
#include <string.h>

typedef int v8 __attribute__((vector_size(32)));
typedef float v4f __attribute__((vector_size(16)));

static int vectors(int n)
{
    v8 sum = {0}, step = {1, 2, 3, 4, 5, 6, 7, 8};
    for (int i = 0; i < n; i++) {
        sum += step * i;
        step ^= sum >> 3;
    }
    int all = 0;
    for (int i = 0; i < 8; i++)
        all = all * 3 + sum[i];
    return all;
}

static float floats(const float *f, int n)
{
    v4f sum = {0};
    for (int i = 0; i + 4 <= n; i += 4) {
        v4f x;
        memcpy(&x, f + i, sizeof x);
        sum = sum * 0.5f + x;
    }
    return sum[0] + sum[1] * 2 + sum[2] * 3 + sum[3] * 4;
}

static long double series(int n)
{
    long double sum = 0, term = 1;
    for (int i = 1; i <= n; i++) {
        term /= i;
        if (i % 3 == 0)
            sum -= term;
        else
            sum += term;
        while (sum > 100)
            sum /= 2;
    }
    return sum;
}

static double complex power(double complex z, int n)
{
    double complex product = 1;
    for (; n; n >>= 1, z *= z)
        if (n & 1)
            product *= z;
    return product;
}

static unsigned __int128 wide(unsigned n)
{
    unsigned __int128 x = 1;
    for (unsigned i = 1; i < n; i++)
        x = x * (2 * i + 1) + x / (i + 7) % 1000003;
    return x;
}

__attribute__((target("sse4.1"), noinline)) static int other_set(const int *p, int n)
{
    int most = -1000;
    for (int i = 0; i < n; i++)
        most = p[i] > most ? p[i] : most;
    return most;
}

__attribute__((noinline)) static int odd(int n, int steps);
__attribute__((noinline)) static int even(int n, int steps)
{
    return n == 0 ? steps : odd(n - 1, steps + 1);
}
__attribute__((noinline)) static int odd(int n, int steps)
{
    return n == 0 ? -steps : even(n - 1, steps + 1);
}

static unsigned divisors(unsigned n)
{
    unsigned count = 0;
    for (unsigned i = 1; i <= n; i++)
        count += n % i == 0;
    return count;
}

int main(void)
{
    float f[32];
    int numbers[32];
    for (int i = 0; i < 32; i++) {
        f[i] = (float)i / 3;
        numbers[i] = i * 37 % 64 - 20;
    }
    double complex z = power(1.1 + 0.3 * I, 13);
    unsigned __int128 x = wide(60);
    printf("%d %.6g %.15Lg\n", vectors(100), (double)floats(f, 32), series(40));
    printf("%.9g %.9g %llx%016llx\n", creal(z), cimag(z), (unsigned long long)(x >> 64),
           (unsigned long long)x);
    printf("%d %d %d %u\n", other_set(numbers, 32), even(200, 0), odd(201, 0), divisors(720));
    return 0;
}
