/* Blocks that access fields, 32 in each burst, in so many functions that a thread has no room for
 * all pairs of them; then an indirect call of many functions. Argument: rounds. */
#include <stdlib.h>

struct counts {
    unsigned first, second, third, fourth;
};

#define BLOCK(bit, field)                                                                          \
    if (bits >> (bit) & 1) {                                                                       \
        c->field += bit + 1;                                                                       \
        __asm__ volatile("" ::: "memory");                                                         \
    }
#define BLOCKS4(bit)                                                                               \
    BLOCK(bit, first) BLOCK(bit + 1, second) BLOCK(bit + 2, third) BLOCK(bit + 3, fourth)
#define BLOCKS16(bit) BLOCKS4(bit) BLOCKS4(bit + 4) BLOCKS4(bit + 8) BLOCKS4(bit + 12)
#define WORK(n)                                                                                    \
    static __attribute__((noipa)) void work##n(struct counts *c, unsigned bits)                    \
    {                                                                                              \
        BLOCKS16(0) BLOCKS16(16)                                                                   \
    }
#define TARGET(n)                                                                                  \
    static __attribute__((noipa)) void target##n(void)                                             \
    {                                                                                              \
        __asm__ volatile("");                                                                      \
    }
#define EACH8(each, n)                                                                             \
    each(n##0) each(n##1) each(n##2) each(n##3) each(n##4) each(n##5) each(n##6) each(n##7)
#define EACH64(each)                                                                               \
    EACH8(each, 0) EACH8(each, 1) EACH8(each, 2) EACH8(each, 3)                                    \
    EACH8(each, 4) EACH8(each, 5) EACH8(each, 6) EACH8(each, 7)
#define CALL_WORK(n) work##n(&c, bits);
#define ADDRESS(n) target##n,

EACH64(WORK)
EACH64(TARGET)

static void (*const targets[64])(void) = {EACH64(ADDRESS)};

int main(int argc, char **argv)
{
    struct counts c = {0};
    unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 1, bits = ~0u;
    for (unsigned i = 0; i < rounds; i++) {
        EACH64(CALL_WORK)
    }
    for (unsigned i = 0; i < 640; i++)
        targets[i % 64]();
    return c.first == 0;
}
