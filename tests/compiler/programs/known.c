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

__attribute__((noipa)) static int divided(int of, int by)
{
    return of / by;
}

__attribute__((noipa)) static void copied(char *to, const char *from, size_t bytes)
{
    memcpy(to, from, bytes);
    sink = to[0];
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
    printf("%ld\n", sum);
    return 0;
}
