/* 80-bit numbers as doubles: as the processor rounds them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "sigsafe/concise.h"
#include "tools/wide.h"

static uint64_t by_processor(uint64_t significand, uint16_t exponent)
{
    struct { uint64_t significand; uint16_t exponent; } __attribute__((packed)) in =
        {significand, exponent};
    uint64_t out;
    __asm__ volatile("fldt %1\n fstpl %0\n" : "=m"(out) : "m"(in) : "st");
    return out;
}

static void check(uint64_t significand, uint16_t exponent)
{
    uint64_t want = by_processor(significand, exponent),
             got = wide_double_as(significand, exponent);
    bool unsupported = (exponent & 0x7fff) && !(significand >> 63);
    if (unsupported)
        want = got & ~(UINT64_C(1) << 63) &
               UINT64_C(0x7ff8000000000000); /* a NaN, whose sign is the processor's */
    if (unsupported ? want != UINT64_C(0x7ff8000000000000) : got != want)
        fail_msg("%04x %016lx is %016lx, not %016lx", exponent, (unsigned long)significand,
                 (unsigned long)got,
                 (unsigned long)want);
}

static void test_doubles(void **state)
{
    static const uint64_t significands[] = {0,
                                            1,
                                            UINT64_C(1) << 63,
                                            (UINT64_C(1) << 63) + 1,
                                            UINT64_MAX,
                                            (UINT64_C(1) << 63) | 0x400,
                                            (UINT64_C(1) << 63) | 0xc00,
                                            UINT64_C(0xfffffffffffffbff),
                                            UINT64_C(0xfffffffffffffc00),
                                            UINT64_C(3) << 62};
    struct hotlist_random r;
    (void)state;
    hotlist_random_seed(&r, 1);
    for (unsigned exponent = 0; exponent < 0x10000; exponent++) {
        for (unsigned i = 0; i < sizeof significands / sizeof *significands; i++)
            check(significands[i], (uint16_t)exponent);
        uint64_t any = hotlist_random_next(&r);
        check(any, (uint16_t)exponent);
        check(any | UINT64_C(1) << 63, (uint16_t)exponent);
        check((any | UINT64_C(1) << 63) & ~UINT64_C(0x3ff), (uint16_t)exponent);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_doubles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
