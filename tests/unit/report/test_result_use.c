/* What results are used for in the code behind them. */
#include "report/result_use.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define CHECK(use, where, ...)                                                \
    do {                                                                      \
        static const uint8_t code[] = { __VA_ARGS__ };                        \
        size_t at = SIZE_MAX;                                                 \
        assert_int_equal(result_use_find(code, sizeof code, &at), use);       \
        assert_int_equal(at, where);                                          \
    } while (0)

static void loads(void **state)
{
    (void)state;
    CHECK(RESULT_USE_LOADED, 0, 0x48, 0x8b, 0x07, 0xc3);       /* mov rax, [rdi]; ret */
    CHECK(RESULT_USE_LOADED, 0, 0x0f, 0xb6, 0x0e);             /* movzx ecx, byte [rsi] */
    CHECK(RESULT_USE_NONE, 0, 0x58, 0xc3);                     /* pop rax; ret */
    CHECK(RESULT_USE_NONE, 0, 0x48, 0x03, 0x07, 0xc3);         /* add rax, [rdi]; ret */
    CHECK(RESULT_USE_NONE, 0, 0x48, 0x89, 0xf8, 0xc3);         /* mov rax, rdi; ret */
    CHECK(RESULT_USE_NONE, 0, 0x48, 0x89, 0x07);               /* mov [rdi], rax */
    CHECK(RESULT_USE_NONE, 0, 0x8a, 0x27);                     /* mov ah, [rdi]: a part */
    CHECK(RESULT_USE_NONE, 0, 0x48, 0x8d, 0x47, 0x08);         /* lea rax, [rdi + 8] */
}

static void divisors(void **state)
{
    (void)state;
    /* mov rcx, [rdi]; xor edx, edx; div rcx */
    CHECK(RESULT_USE_DIVISOR, 5, 0x48, 0x8b, 0x0f, 0x31, 0xd2, 0x48, 0xf7, 0xf1);
    /* mov ecx, esi; cdq; nop; idiv ecx */
    CHECK(RESULT_USE_DIVISOR, 4, 0x89, 0xf1, 0x99, 0x90, 0xf7, 0xf9);
    /* mov r8, [rdi]; div r8 */
    CHECK(RESULT_USE_DIVISOR, 3, 0x4c, 0x8b, 0x07, 0x49, 0xf7, 0xf0);
    /* mov rcx, [rdi]; mul rcx */
    CHECK(RESULT_USE_LOADED, 0, 0x48, 0x8b, 0x0f, 0x48, 0xf7, 0xe1);
    /* mov rcx, [rdi]; div dword [rcx] */
    CHECK(RESULT_USE_LOADED, 0, 0x48, 0x8b, 0x0f, 0xf7, 0x31);
    /* mov ecx, esi; mov ecx, edi; div ecx */
    CHECK(RESULT_USE_NONE, 0, 0x89, 0xf1, 0x89, 0xf9, 0xf7, 0xf1);
    /* mov ecx, esi; jz; div ecx */
    CHECK(RESULT_USE_NONE, 0, 0x89, 0xf1, 0x74, 0x00, 0xf7, 0xf1);
    /* mov ecx, 7; div ecx: is known */
    CHECK(RESULT_USE_NONE, 0, 0xb9, 7, 0, 0, 0, 0xf7, 0xf1);
}

static void others(void **state)
{
    (void)state;
    /* mov ecx, esi; shl rax, cl */
    CHECK(RESULT_USE_SHIFT, 2, 0x89, 0xf1, 0x48, 0xd3, 0xe0);
    /* mov ecx, esi; shrd eax, edx, cl */
    CHECK(RESULT_USE_SHIFT, 2, 0x89, 0xf1, 0x0f, 0xad, 0xd0);
    /* mov edx, esi; shl rax, cl */
    CHECK(RESULT_USE_NONE, 0, 0x89, 0xf2, 0x48, 0xd3, 0xe0);
    /* mov rax, [rdi + 16]; call rax */
    CHECK(RESULT_USE_TARGET, 4, 0x48, 0x8b, 0x47, 0x10, 0xff, 0xd0);
    /* mov r8, [rdi]; jmp r8 */
    CHECK(RESULT_USE_TARGET, 3, 0x4c, 0x8b, 0x07, 0x41, 0xff, 0xe0);
    /* mov rax, [rdi]; jmp r8 */
    CHECK(RESULT_USE_LOADED, 0, 0x48, 0x8b, 0x07, 0x41, 0xff, 0xe0);
}

static void ends(void **state)
{
    (void)state;
    /* mov rax, [rdi + 16]; call [rax]: another place's target */
    CHECK(RESULT_USE_LOADED, 0, 0x48, 0x8b, 0x47, 0x10, 0xff, 0x10);
    CHECK(RESULT_USE_LOADED, 0, 0x48, 0x8b, 0x0f, 0x48);             /* cut */
    CHECK(RESULT_USE_NONE, 0, 0x48);
    CHECK(RESULT_USE_NONE, 0, 0xc3);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads),
        cmocka_unit_test(divisors),
        cmocka_unit_test(others),
        cmocka_unit_test(ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
