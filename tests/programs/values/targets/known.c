/* Instructions whose values are known by construction; each is named by a symbol (v_...). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { ENTRIES = 1024 };

static uint64_t two[ENTRIES], zipf[ENTRIES], strided[ENTRIES], spread[ENTRIES];
static uint64_t constant = 10;
static const double half = 2.5;
static const float small = 1.5f;
static const uint32_t lanes[4] __attribute__((aligned(16))) = {1, 2, 3, 4};

/* 70% of 3, 30% of 77777777; n of ENTRIES / (n * 2) each, as far as they go, then 1; and so on. */
static void fill(void)
{
    uint64_t at = 0, x = 88172645463325252u;
    for (uint64_t value = 2; at < ENTRIES && value < 12; value++)
        for (uint64_t k = 0; k < ENTRIES / (2 * (value - 1)) && at < ENTRIES; k++)
            zipf[at++] = value;
    while (at < ENTRIES)
        zipf[at++] = 1;
    for (uint64_t i = 0; i < ENTRIES; i++) {
        two[i] = i % 10 < 7 ? 3 : 77777777;
        strided[i] = i * 64;
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        spread[i] = x;
    }
}

int main(int argc, char **argv)
{
    uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 0) : 1, sum = 0;
    fill();
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = i * 389 % ENTRIES, x;
        __asm__ volatile(".globl v_constant, v_two, v_zipf, v_strided, v_spread\n"
                         "v_constant: movq %[constant], %[x]\n addq %[x], %[sum]\n"
                         "v_two: movq (%[two],%[at],8), %[x]\n addq %[x], %[sum]\n"
                         "v_zipf: movq (%[zipf],%[at],8), %[x]\n addq %[x], %[sum]\n"
                         "v_strided: movq (%[strided],%[at],8), %[x]\n addq %[x], %[sum]\n"
                         "v_spread: movq (%[spread],%[at],8), %[x]\n addq %[x], %[sum]\n"
                         : [x] "=&r"(x), [sum] "+r"(sum)
                         : [at] "r"(at), [two] "r"(two), [zipf] "r"(zipf), [strided] "r"(strided),
                           [spread] "r"(spread), [constant] "m"(constant)
                         : "cc", "memory");
        __asm__ volatile(".globl v_double, v_float, v_lanes, v_half\n"
                         "movsd %[half], %%xmm1\n"
                         "v_double: addsd %%xmm1, %%xmm1\n"
                         "movss %[small], %%xmm2\n"
                         "v_float: mulss %%xmm2, %%xmm2\n"
                         "movdqa %[lanes], %%xmm3\n"
                         "v_lanes: paddd %%xmm3, %%xmm3\n"
                         "v_half: cvttsd2si %%xmm1, %%eax\n"
                         :
                         : [half] "m"(half), [small] "m"(small), [lanes] "m"(lanes)
                         : "xmm1", "xmm2", "xmm3", "eax");
    }
    printf("%lu\n", (unsigned long)sum);
    return 0;
}
