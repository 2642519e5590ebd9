/* What a recording shows by name: the counts are known. main's argument: rounds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int first;
    long second;
} pair_t;

struct bits {
    unsigned one : 3, two : 5, three : 8;
    int rest;
};

/* Two of these lie in several bytes each. */
struct crossing {
    unsigned low : 3, middle : 7, high : 9;
};

static volatile int sink;

static inline int twice(int x)
{
    return x * 2 + sink;
}

__attribute__((noipa)) static long fill(pair_t *pair, int amount)
{
    pair->first = twice(amount);
    pair->second += amount;
    return pair->second;
}

__attribute__((noipa)) static int second_bits(const struct bits *b)
{
    return (int)b->two;
}

__attribute__((noipa)) static void set_middle(struct crossing *c, unsigned to)
{
    c->middle = to;
}

__attribute__((noipa)) static unsigned set_high(struct crossing *c, unsigned to)
{
    c->high = to;
    return c->middle;
}

__attribute__((noipa)) static int divided(int of, int by)
{
    return of / by;
}

__attribute__((noipa)) static void copied(char *to, const char *from, size_t bytes)
{
    memcpy(to, from, bytes);
    sink = to[0];
}

/* A loop whose accesses ivopts rewrites. */
__attribute__((noipa)) static long summed(const pair_t *all, int count)
{
    long sum = 0;
    for (int i = 0; i < count; i++)
        sum += all[i].second * 3 + all[i].first;
    return sum;
}

/* No layout is proposed for the one; the other keeps its first member. */
union either { long whole; int half; };
struct placed { long _vptr_of; char cold; long hot; };

__attribute__((noipa)) static long laid_out(union either *u, struct placed *p)
{
    u->half++;
    return p->hot += u->half;
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 1000, sum = 0;
    struct bits b = {1, 2, 3, 4};
    char from[64] = "", to[64];
    for (long i = 0; i < rounds; i++) {
        pair_t *pair = calloc(1, sizeof *pair);
        sum += fill(pair, i % 4 ? 5 : -5) + second_bits(&b) + divided((int)i, 7);
        copied(to, from, i % 2 ? 8 : 24);
        free(pair);
    }
    static pair_t many[10];
    for (long i = 0; i < rounds; i++)
        sum += summed(many, 10);
    struct crossing crossing = {1, 2, 3};
    for (long i = 0; i < rounds; i++) {
        set_middle(&crossing, (unsigned)i % 100);
        sum += set_high(&crossing, (unsigned)i % 300);
    }
    union either either = {0};
    struct placed placed = {0, 0, 0};
    for (long i = 0; i < rounds; i++)
        sum += laid_out(&either, &placed);
    printf("%ld\n", sum);
    return 0;
}
