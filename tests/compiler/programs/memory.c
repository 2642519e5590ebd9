/* Variable arrays, alloca, variadic functions, structs by value, bit fields, unions, leaf functions
 * that live in the red zone. */
#include <alloca.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct small { short a; char b; };
struct big { long v[9]; struct small s; };
union pun { double d; uint64_t u; struct { unsigned low, high; } half; };
struct bits { unsigned a : 3, b : 7, c : 13; int d : 5; _Bool e : 1; unsigned long f : 40; };
struct tail { int n; struct { int key; union { int i; float f; }; } items[]; };

static int variable(int n)
{
    int array[n], sum = 0;
    for (int i = 0; i < n; i++)
        array[i] = i * i;
    char *text = alloca((size_t)n + 1);
    memset(text, 'x', (size_t)n);
    text[n] = 0;
    for (int i = 0; i < n; i++)
        sum += array[n - 1 - i] ^ text[i];
    return sum;
}

static double average(int n, ...)
{
    va_list list;
    double sum = 0;
    va_start(list, n);
    for (int i = 0; i < n; i++)
        sum += i & 1 ? va_arg(list, double) : va_arg(list, int);
    va_end(list);
    return sum / n;
}

static struct big make(struct big b, struct small s)
{
    for (int i = 0; i < 9; i++)
        b.v[i] += s.a * i;
    b.s = s;
    b.s.b++;
    return b;
}

__attribute__((noinline)) static int red_zone(const int *p, int n)
{
    volatile int local[20];
    int sum = 0;
    for (int i = 0; i < 20; i++)
        local[i] = p[i % n] + i;
    for (int i = 0; i < 20; i++)
        sum = sum * 5 + local[19 - i];
    return sum;
}

static long bit_fields(int n)
{
    struct bits x = {0};
    long sum = 0;
    for (int i = 0; i < n; i++) {
        x.a++;
        x.b += x.a;
        x.c ^= x.b << 3;
        x.d -= 3;
        x.e = x.d < 0;
        x.f += (unsigned long)x.c << 20;
        sum += x.a + x.b + x.c + x.d + x.e + (long)(x.f >> 18);
    }
    return sum;
}

static int tails(int n)
{
    _Alignas(struct tail) char room[sizeof(struct tail) + 64 * 8];
    struct tail *t = (struct tail *)room;
    int sum = 0;
    t->n = n;
    for (int i = 0; i < n; i++) {
        t->items[i].key = i * 3;
        t->items[i].f = (float)i;
    }
    for (int i = 0; i < t->n; i++)
        sum += t->items[i].key + (t->items[i].i >> 20);
    return sum;
}

int main(void)
{
    int numbers[7] = {3, 1, 4, 1, 5, 9, 2};
    union pun p = {.d = 1.5};
    struct big b = {{0}, {0, 0}};
    for (int i = 0; i < 30; i++) {
        b = make(b, (struct small){(short)i, 1});
        p.half.low += (unsigned)b.v[3];
        p.d *= 1.25;
    }
    printf("%d %d %g\n", variable(50), variable(3), average(5, 1, 2.5, 3, 4.5, 5));
    printf("%ld %d %llx\n", b.v[8], b.s.b, (unsigned long long)p.u);
    printf("%d %ld %d\n", red_zone(numbers, 7), bit_fields(100), tails(60));
    return 0;
}
