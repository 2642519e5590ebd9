/* Loops in which the counter of checks is held in a register: with registers to spare and with
 * none, with several exits, calls that are rare, loops within, a table, floating point. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct node { struct node *next; int key; };

__attribute__((noinline)) static uint32_t sum(const uint8_t *p, size_t n)
{
    uint32_t s = 0;
    for (size_t i = 0; i < n; i++) {
        s = p[i] & 1 ? s * 31 + p[i] : s ^ (uint32_t)p[i] << 3;
        if (s == 77)
            break;
    }
    return s;
}

/* More values than registers: those that the inner loop does not use are needed behind it. */
__attribute__((noinline)) static uint64_t crowded(const uint64_t *v, size_t n, uint64_t *out)
{
    uint64_t a = v[0], b = v[1], c = v[2], d = v[3], e = v[4], f = v[5], g = v[6], h = v[7];
    for (size_t round = 0; round < n; round++) {
        uint64_t x = round;
        for (size_t i = 0; i < 200; i++)
            x = x * 3 + (v[i % 8] ^ i);
        a += x, b ^= a, c += b * 3, d ^= c, e += d, f ^= e * 5, g += f, h ^= g + x;
    }
    out[0] = a, out[1] = b, out[2] = c, out[3] = d, out[4] = e, out[5] = f, out[6] = g;
    return h;
}

__attribute__((noinline)) static void rare(int *found)
{
    if (++*found > 1000000)
        exit(3);
}

__attribute__((noinline)) static int search(const struct node *first, int key, int *found)
{
    int steps = 0;
    for (const struct node *n = first; n; n = n->next, steps++) {
        if (__builtin_expect(n->key == key, 0))
            rare(found);
        if (__builtin_expect(n->key == -1, 0))
            return -1;
    }
    return steps;
}

__attribute__((noinline)) static int table(const uint8_t *p, size_t n)
{
    int x = 1;
    for (size_t i = 0; i < n; i++)
        switch (p[i] % 7) {
        case 0: x += 3; break;
        case 1: x *= 5; break;
        case 2: x ^= 0x55; break;
        case 3: x -= (int)i; break;
        case 4: x = ~x; break;
        case 5: x += x << 3; break;
        default: x |= 1;
        }
    return x;
}

__attribute__((noinline)) static double floating(const double *v, size_t n)
{
    double s = 0, p = 1;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k += 3) {
            s += v[i] * v[k];
            p = p * 0.999 + s / (1 + v[k]);
        }
    return s + p;
}

int main(void)
{
    enum { BYTES = 3000, NODES = 500, NUMBERS = 60 };
    static uint8_t bytes[BYTES];
    static struct node nodes[NODES];
    static double numbers[NUMBERS];
    uint64_t words[8] = {1, 22, 333, 4444, 55555, 666666, 7777777, 88888888}, out[7];
    int found = 0;
    for (int i = 0; i < BYTES; i++)
        bytes[i] = (uint8_t)(i * 7 + i / 11);
    for (int i = 0; i < NODES; i++)
        nodes[i] = (struct node){i + 1 < NODES ? &nodes[i + 1] : NULL, i % 97};
    for (int i = 0; i < NUMBERS; i++)
        numbers[i] = i * 0.25 + 1;
    for (int i = 0; i < 4; i++)
        printf("%u %d %d\n", sum(bytes + i, BYTES - 4), search(nodes, i, &found),
               table(bytes + i, BYTES - 4));
    printf("%d %.6f %llu", found, floating(numbers, NUMBERS),
           (unsigned long long)crowded(words, 40, out));
    for (int i = 0; i < 7; i++)
        printf(" %llu", (unsigned long long)out[i]);
    puts("");
    return 0;
}
