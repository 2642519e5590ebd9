#include "tools/wide.h"

#include <cpuid.h>

/* vector_read.S */
void vector_read_as(unsigned number, uint64_t out[2]) __attribute__((visibility("hidden")));
void vector_read_ymm_as(unsigned number, uint64_t out[4]) __attribute__((visibility("hidden")));
void vector_read_zmm_as(unsigned number, uint64_t out[8]) __attribute__((visibility("hidden")));
void vector_read_mask_as(unsigned number, uint64_t *out) __attribute__((visibility("hidden")));
void vector_read_mask16_as(unsigned number, uint64_t *out) __attribute__((visibility("hidden")));

enum { YMM_REGISTERS = 16, XMM_WORDS = 2, YMM_WORDS = 4 };

static uint64_t vector_word(unsigned number, unsigned word)
{
    uint64_t words[WIDE_WORDS_MAX];
    if (word < XMM_WORDS)
        vector_read_as(number, words);
    else if (word < YMM_WORDS && number < YMM_REGISTERS)
        vector_read_ymm_as(number, words);
    else
        vector_read_zmm_as(number, words);
    return words[word];
}

/* Of masks the low 16 bits, where there are no more (AVX512F without BW). */
static uint64_t mask(unsigned number)
{
    enum { UNKNOWN, SHORT, LONG };
    /* the processor's: threads that find out at the same time find the same */
    static uint32_t kind;
    uint64_t value = 0;
    uint32_t is = __atomic_load_n(&kind, __ATOMIC_RELAXED);
    if (is == UNKNOWN) {
        unsigned a = 0, b = 0, c = 0, d = 0;
        __cpuid_count(7, 0, a, b, c, d);
        is = b & bit_AVX512BW ? LONG : SHORT;
        __atomic_store_n(&kind, is, __ATOMIC_RELAXED);
    }
    if (is == LONG)
        vector_read_mask_as(number, &value);
    else
        vector_read_mask16_as(number, &value);
    return value;
}

uint64_t wide_double_as(uint64_t significand, uint16_t exponent)
{
    enum { BIAS = 16383 - 1023, SPECIAL = 0x7fff, MOST = 0x7ff, DROPPED = 11, FRACTION = 52,
          LEAST = -FRACTION };
    const uint64_t sign = (uint64_t)(exponent >> 15) << 63, infinite = (uint64_t)MOST << FRACTION;
    int e = (exponent & SPECIAL) - BIAS;
    /* the integer bit, which only what is denormal or invalid has not */
    bool whole = significand >> 63;
    if ((exponent & SPECIAL) == SPECIAL && significand << 1)
        return sign | infinite | UINT64_C(1) << (FRACTION - 1) | significand << 1 >> (DROPPED + 1);
    if ((exponent & SPECIAL) && !whole)
        return sign | infinite | UINT64_C(1) << (FRACTION - 1);
    if (e >= MOST)
        return sign | infinite;
    if (e < LEAST)
        return sign;
    unsigned dropped = DROPPED + (e <= 0 ? (unsigned)(1 - e) : 0);
    uint64_t kept = dropped < 64 ? significand >> dropped : 0, half = UINT64_C(1) << (dropped - 1);
    uint64_t rest = dropped < 64 ? significand & ((half << 1) - 1) : significand;
    kept += rest > half || (rest == half && kept & 1);
    return sign | (e <= 0 ? kept : ((uint64_t)(e - 1) << FRACTION) + kept);
}

/* st(number), or the MMX register: behind an MMX instruction it is the same. Nothing is waited for,
 * and nothing raised: that is the next x87 instruction's, as natively. */
static void x87(unsigned number, uint64_t *significand, uint16_t *exponent)
{
    enum { STACK = 32, STEP = 16, SIZE = 512 };
    uint64_t area[SIZE / 8] __attribute__((aligned(16)));
    __asm__ volatile("fxsave64 %0" : "=m"(area));
    *significand = area[(STACK + STEP * number) / 8];
    *exponent = (uint16_t)area[(STACK + STEP * number) / 8 + 1];
}

uint64_t wide_word_as(unsigned number, unsigned word)
{
    uint64_t significand;
    uint16_t exponent;
    if (number >= TUPLE_MASK)
        return mask(number - TUPLE_MASK);
    if (number < TUPLE_X87)
        return vector_word(number - TUPLE_VECTOR, word);
    x87((number - TUPLE_X87) & 7, &significand, &exponent);
    return number < TUPLE_MMX ? wide_double_as(significand, exponent) : significand;
}
