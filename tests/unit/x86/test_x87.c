/* What x87 instructions leave behind, against this processor: of the registers that are not empty
 * behind one, only what x86_wide_result_as names has changed, and that has for some operands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "x86/insn.h"

enum { LOADED = 4, AREA_TAGS = 4, AREA_STATUS = 2, AREA_STACK = 32, AREA_STEP = 16,
      FLAGS = 0x45 /* CF PF ZF */ };

struct area {
    uint8_t bytes[512];
} __attribute__((aligned(16)));

static uint8_t *place; /* of code */

static unsigned top_of(const struct area *a)
{
    return a->bytes[AREA_STATUS + 1] >> 3 & 7;
}

static const uint8_t *physical(const struct area *a, unsigned number)
{
    return a->bytes + AREA_STACK + AREA_STEP * ((number - top_of(a)) & 7);
}

/* With four registers loaded, in each of two ways, and the flags all set or none. */
static void run(const uint8_t *code, unsigned length, unsigned way, struct area *before,
                struct area *after)
{
    static const double loaded[2][LOADED] = {{0.25, 3, 1.5, -0.5}, {-7, 0.125, 0.1, 0.375}};
    /* 1 as 2 bytes; some 1.5 as 4 and as 8. */
    static uint8_t operand[512]
        __attribute__((aligned(16))) = {1, 0, 0xc0, 0x3f, 0, 0, 0xf8, 0x3f, 0xff, 0x3f};
    const double *from = loaded[way & 1];
    uint64_t flags = 0x202 | (way & 2 ? FLAGS : 0), old;
    memcpy(place, code, length);
    place[length] = 0xc3;
    __asm__ volatile(
        "fninit\n fldl 0(%[from])\n fldl 8(%[from])\n fldl 16(%[from])\n fldl 24(%[from])\n"
        "fxsave64 (%[before])\n"
        "pushfq\n pop %[old]\n push %[flags]\n popfq\n"
        "call *%[place]\n"
        "push %[old]\n popfq\n"
        "fxsave64 (%[after])\n fninit\n"
        : [old] "=&r"(old)
        : [from] "r"(from), [before] "r"(before), [after] "r"(after), [flags] "r"(flags),
          [place] "r"(place), "D"(operand)
        : "rax", "memory", "cc");
}

/* 0: it is as was said; and *changed if the result has. */
static int check(const struct x86_wide *wide, bool is, bool more, const uint8_t *code,
                 unsigned length, bool *changed)
{
    int wrong = 0;
    for (unsigned way = 0; way < 4; way++) {
        struct area before, after;
        run(code, length, way, &before, &after);
        unsigned named = (top_of(&after) + wide->reg) & 7;
        for (unsigned n = 0; n < 8; n++) {
            bool was = before.bytes[AREA_TAGS] >> n & 1, there = after.bytes[AREA_TAGS] >> n & 1;
            if (!there || (was && memcmp(physical(&before, n), physical(&after, n), 10) == 0))
                continue;
            if (is && n == named)
                *changed = true;
            else if (!more)
                wrong++;
        }
    }
    return wrong;
}

/* fxch, fst and fcmov of the top with itself. */
static bool is_idle(unsigned escape, unsigned modrm)
{
    return (modrm & 7) == 0 &&
           (((escape & 1) && modrm == 0xc8) || (escape == 0xdd && modrm == 0xd0) ||
            ((escape == 0xda || escape == 0xdb) && modrm < 0xe0));
}

static void one(uint8_t escape, uint8_t modrm, unsigned *results)
{
    const uint8_t code[32] = {escape, modrm};
    struct x86_insn insn;
    struct x86_wide wide;
    bool more, changed = false;
    unsigned length = x86_decode_as(code, sizeof code, &insn);
    if (!length || insn.kind == X86_FPU_STATE ||
        (modrm >= 0xc0 && (modrm & 7) >= LOADED && modrm < 0xe0))
        return;
    bool is = x86_wide_result_as(&insn, code, &wide, &more);
    int wrong = check(&wide, is, more, code, length, &changed);
    if (wrong || (is && !changed && !is_idle(escape, modrm)))
        fail_msg("%02x %02x: %d other registers changed; the result is %s", escape, modrm, wrong,
                 !is ? "none" : changed ? "known" : "the same always");
    *results += is;
}

static void test_results(void **state)
{
    unsigned results = 0;
    (void)state;
    place =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(place != MAP_FAILED);
    for (unsigned escape = 0xd8; escape < 0xe0; escape++) {
        for (unsigned digit = 0; digit < 8; digit++) {
            bool loads_state = digit == 4 || digit == 5; /* fldenv, fldcw, frstor */
            if (!((escape == 0xd9 || escape == 0xdd) && loads_state))
                one((uint8_t)escape, (uint8_t)(digit << 3 | X86_RDI), &results);
        }
        for (unsigned modrm = 0xc0; modrm < 0x100; modrm++)
            one((uint8_t)escape, (uint8_t)modrm, &results);
    }
    munmap(place, 4096);
    print_message("%u instructions have a result\n", results);
    assert_true(results > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
