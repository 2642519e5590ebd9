/* Results in vector, x87 and MMX registers, and in the second of two general ones, known by
 * construction; each instruction is named by a symbol (w_...). Without an argument: whether the
 * processor has AVX2. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static const uint64_t words[4] __attribute__((aligned(32))) = {11, 22, 33, 44};
static const uint32_t shorts[8] __attribute__((aligned(32))) = {1, 2, 3, 4, 5, 6, 7, 8};
static const float floats[8] __attribute__((aligned(32))) = {0.5f, 1, 1.5f, 2, 2.5f, 3, 3.5f, 4};
static const double half = 2.5;
static const long double longs = 0.1L;

static void avx(uint64_t i)
{
    __asm__ volatile(
        ".globl w_words, w_shorts, w_floats, w_narrow, w_high, w_mixed\n"
        "w_words: vmovdqa %[words], %%ymm9\n"
        "vmovdqa %[shorts], %%ymm1\n"
        "w_shorts: vpaddd %%ymm1, %%ymm1, %%ymm2\n"
        "vmovaps %[floats], %%ymm3\n"
        "w_floats: vaddps %%ymm3, %%ymm3, %%ymm4\n"
        "w_narrow: vcvtpd2ps %%ymm9, %%xmm5\n"
        "w_high: vextracti128 $1, %%ymm9, %%xmm6\n"
        "vmovq %[i], %%xmm7\n"
        "vpbroadcastq %%xmm7, %%ymm8\n"
        "w_mixed: vpblendd $0xf0, %%ymm8, %%ymm9, %%ymm10\n"
        "vzeroupper\n"
        :
        : [words] "m"(words), [shorts] "m"(shorts), [floats] "m"(floats), [i] "r"(i & 1)
        : "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10");
}

static void sse(uint64_t i)
{
    __asm__ volatile(".globl w_pair, w_scalar, w_far\n"
                     "w_pair: movdqa %[words], %%xmm1\n"
                     "w_scalar: movsd %[half], %%xmm2\n"
                     "w_far: cvtsi2ss %[i], %%xmm13\n"
                     :
                     : [words] "m"(words), [half] "m"(half), [i] "r"((int)(i & 3))
                     : "xmm1", "xmm2", "xmm13");
}

static void x87(uint64_t i)
{
    int number = (int)(i & 1);
    __asm__ volatile(
        ".globl w_load, w_long, w_add, w_popped, w_deeper, w_mmx\n"
        "w_load: fldl %[half]\n"
        "w_long: fldt %[longs]\n"
        "w_add: fiaddl %[number]\n"
        "w_deeper: fmul %%st, %%st(1)\n"
        "w_popped: faddp\n"
        "fstp %%st\n"
        "movq %[words], %%mm3\n"
        "w_mmx: paddw %%mm3, %%mm3\n"
        "emms\n"
        :
        : [half] "m"(half), [longs] "m"(longs), [number] "m"(number), [words] "m"(words)
        : "st", "st(1)", "st(2)", "st(3)", "st(4)", "st(5)", "st(6)", "st(7)", "mm3");
}

/* What has two results, and what is not observed. */
static void two(uint64_t i)
{
    uint64_t a = UINT64_MAX, b = 5, one = i & 1;
    uint8_t buffer[8];
    void *to = buffer;
    uint64_t count = sizeof buffer;
    __asm__ volatile(".globl w_product, w_swapped, w_loop, w_stored, w_cpuid\n"
                     "movq $7, %%rdx\n"
                     "w_product: mulq %[b]\n"
                     "w_swapped: xchgq %[b], %[one]\n"
                     "w_stored: rep stosb\n"
                     "movq $1, %%rcx\n"
                     "w_loop: loop w_loop\n"
                     : [b] "+r"(b), [one] "+r"(one), "+a"(a), "+D"(to), "+c"(count)
                     :
                     : "rdx", "cc", "memory");
    if (i % 100 == 0)
        __asm__ volatile("w_cpuid: cpuid" : "+a"(b), "+c"(count) : : "rbx", "rdx");
}

int main(int argc, char **argv)
{
    uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 0) : 0;
    int has = __builtin_cpu_supports("avx2");
    for (uint64_t i = 0; i < n; i++) {
        if (has)
            avx(i);
        sse(i);
        x87(i);
        two(i);
    }
    printf("%d\n", has != 0);
    return 0;
}
