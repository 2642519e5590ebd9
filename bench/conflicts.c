/* What a conflict of a store and a later load costs (docs/conflicts.md): loops of one store and one
 * load, with the pair in conflict and without, otherwise the same.
 *
 *      conflicts                    one line of JSON a kind: ticks an iteration, in conflict and apart
 *      conflicts KIND ROUNDS        runs the pair in conflict, for a profiler to find
 *      conflicts KIND-apart ROUNDS
 *
 * The store of each kind is at the symbol KIND_store, the load at KIND_load, in both. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sigsafe/sys.h"

enum { RUNS = 21, ITERATIONS = 200000 };

/* Pages, for accesses at offsets of choice. */
static struct {
    _Alignas(4096) unsigned char bytes[4 * 4096];
} data;

#define AT(name) ".globl " name "\n" name ":\n"

/* The store's address comes out of multiplications (a generator of random numbers), the load's is
 * known before. In conflict one store in eight, without a pattern, goes to what is loaded. */
__attribute__((noipa)) static void order(uint64_t n, uint64_t apart)
{
    __asm__ volatile("    movabsq $0x5851f42d4c957f2d, %%rsi\n"
                     "    movl $1, %%ecx\n"
                     "1:  imulq %%rsi, %%rcx\n"
                     "    addq $1, %%rcx\n"
                     "    movq %%rcx, %%rdx\n"
                     "    shrq $40, %%rdx\n"
                     "    andl $448, %%edx\n"
                     AT("order_store") "    movq %%rax, (%[to],%%rdx)\n"
                     AT("order_load") "    movq (%[from]), %%rax\n"
                     "    leaq 1(%%rax), %%rax\n"
                     "    subq $1, %[n]\n"
                     "    jnz 1b\n"
                     : [n] "+r"(n)
                     : [to] "r"(data.bytes + (apart ? 1024 : 0)), [from] "r"(data.bytes)
                     : "rax", "rcx", "rdx", "rsi", "cc", "memory");
}

/* The load reads the store's bytes and, in conflict, four more. */
__attribute__((noipa)) static void size(uint64_t n, uint64_t apart)
{
    __asm__ volatile("1:\n"
                     AT("size_store") "    movl %%eax, (%[at])\n"
                     AT("size_load") "    movq (%[from]), %%rax\n"
                     "    leal 1(%%rax), %%eax\n"
                     "    subq $1, %[n]\n"
                     "    jnz 1b\n"
                     : [n] "+r"(n)
                     : [at] "r"(data.bytes), [from] "r"(data.bytes + (apart ? 256 : 0))
                     : "rax", "cc", "memory");
}

/* Each load's address needs the load before; the store's data too. */
__attribute__((noipa)) static void synonym(uint64_t n, uint64_t apart)
{
    const void *from = data.bytes + 4096 + (apart ? 256 : 0);
    __asm__ volatile("    xorl %%eax, %%eax\n"
                     "1:\n"
                     AT("synonym_store") "    movq %%rax, (%[at])\n"
                     AT("synonym_load") "    movq (%[from],%%rax), %%rax\n"
                     "    subq $1, %[n]\n"
                     "    jnz 1b\n"
                     : [n] "+r"(n)
                     : [at] "r"(data.bytes), [from] "r"(from)
                     : "rax", "cc", "memory");
}

/* What is stored is read back; in conflict, both cross a line. */
__attribute__((noipa)) static void split(uint64_t n, uint64_t apart)
{
    void *at = data.bytes + (apart ? 0 : 60);
    __asm__ volatile("1:\n"
                     AT("split_store") "    movq %%rax, (%[at])\n"
                     AT("split_load") "    movq (%[at]), %%rax\n"
                     "    leaq 1(%%rax), %%rax\n"
                     "    subq $1, %[n]\n"
                     "    jnz 1b\n"
                     : [n] "+r"(n)
                     : [at] "r"(at)
                     : "rax", "cc", "memory");
}

/* The same with a page's end. */
__attribute__((noipa)) static void page(uint64_t n, uint64_t apart)
{
    void *at = data.bytes + (apart ? 0 : 4092);
    __asm__ volatile("1:\n"
                     AT("page_store") "    movq %%rax, (%[at])\n"
                     AT("page_load") "    movq (%[at]), %%rax\n"
                     "    leaq 1(%%rax), %%rax\n"
                     "    subq $1, %[n]\n"
                     "    jnz 1b\n"
                     : [n] "+r"(n)
                     : [at] "r"(at)
                     : "rax", "cc", "memory");
}

static const struct kind {
    const char *name;
    void (*run)(uint64_t n, uint64_t apart);
} kinds[] = {
    {"order", order}, {"size", size}, {"synonym", synonym}, {"split", split}, {"page", page}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void run(const struct kind *k, uint64_t n, uint64_t apart)
{
    memset(data.bytes, 0, sizeof data.bytes);
    k->run(n, apart);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double ticks_of(const struct kind *k, uint64_t apart)
{
    memset(data.bytes, 0, sizeof data.bytes);
    uint64_t begin = sys_ticks_as();
    k->run(ITERATIONS, apart);
    return (double)(sys_ticks_as() - begin) / (double)ITERATIONS;
}

/* In turn, so that both see the same machine; the median is of the runs of each. */
static void measure(const struct kind *k)
{
    double ticks[2][RUNS];
    for (int i = 0; i < RUNS; i++)
        for (uint64_t apart = 0; apart < 2; apart++)
            ticks[apart][i] = ticks_of(k, apart);
    for (int apart = 0; apart < 2; apart++)
        qsort(ticks[apart], RUNS, sizeof **ticks, compare);
    printf("{\"kind\": \"%s\", \"conflict\": %.2f, \"apart\": %.2f}\n", k->name, ticks[0][RUNS / 2],
           ticks[1][RUNS / 2]);
}

static const struct kind *kind_of(const char *name)
{
    for (int i = 0; i < KINDS; i++) {
        size_t length = strlen(kinds[i].name);
        if (!strncmp(name, kinds[i].name, length) &&
            (!name[length] || !strcmp(name + length, "-apart")))
            return &kinds[i];
    }
    return NULL;
}

int main(int argc, char **argv)
{
    const struct kind *k = argc == 3 ? kind_of(argv[1]) : NULL;
    if (k) {
        run(k, strtoull(argv[2], NULL, 10), strstr(argv[1], "-apart") != NULL);
        return 0;
    }
    if (argc > 1) {
        fprintf(stderr, "usage: conflicts [KIND[-apart] ROUNDS]\n");
        return 2;
    }
    for (int i = 0; i < KINDS; i++)
        measure(&kinds[i]);
}
