/* What of the argument registers procedures read. */
#include "report/arguments.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { RDI = 1, RSI = 2, RDX = 4, RCX = 8, R8 = 16, R9 = 32 };

#define CHECK(read, ...)                                                   \
    do {                                                                   \
        static const uint8_t code[] = { __VA_ARGS__ };                     \
        assert_int_equal(arguments_read(code, sizeof code), read);         \
    } while (0)

static void straight(void **state)
{
    (void)state;
    CHECK(0, 0x31, 0xc0, 0xc3);                                     /* xor eax, eax; ret */
    CHECK(RDI | RSI, 0x48, 0x8d, 0x04, 0x37, 0xc3);                 /* lea rax, [rdi + rsi]; ret */
    /* mov esi, edi; add esi, esi; xor edx, edx; ret */
    CHECK(RDI, 0x89, 0xfe, 0x01, 0xf6, 0x31, 0xd2, 0xc3);
    /* xor edi, edi; add edi, ecx; ret */
    CHECK(RCX, 0x31, 0xff, 0x01, 0xcf, 0xc3);
    /* push r15; test r8, r8; pop r15; ret */
    CHECK(R8, 0x41, 0x57, 0x4d, 0x85, 0xc0, 0x41, 0x5f, 0xc3);
    /* sub esi, esi; sub edi, edi; ret */
    CHECK(0, 0x2b, 0xf6, 0x29, 0xff, 0xc3);
    CHECK(RSI, 0x01, 0xf6, 0xc3);                                   /* add esi, esi; ret */
    CHECK(RSI, 0x48, 0x31, 0x36, 0xc3);                             /* xor [rsi], rsi; ret */
    CHECK(RDI | RSI, 0x31, 0xfe, 0xc3);                             /* xor esi, edi; ret */
    CHECK(0, 0xc3, 0x01, 0xfe);                                     /* ret; ... */
    CHECK(0, 0x0f, 0x0b, 0x01, 0xfe);                               /* ud2; ... */
}

/* Of two ways one reads; a loop comes back with less, a jump with more. */
static void branches(void **state)
{
    (void)state;
    /* test edi, edi; jz 1f; add eax, edx; ret; 1: ret */
    CHECK(RDI | RDX, 0x85, 0xff, 0x74, 0x03, 0x01, 0xd0, 0xc3, 0xc3);
    CHECK(RDI, 0xff, 0xcf, 0x75, 0xfc, 0xc3);                         /* 1: dec edi; jnz 1b; ret */
    /* ...; jmp back to the ret */
    CHECK(RSI, 0x31, 0xff, 0xeb, 0x01, 0xc3, 0x01, 0xfe, 0x31, 0xf6, 0xeb, 0xf9);
    /* jmp 2f; 1: add eax, edx; ret; 2: jmp 1b */
    CHECK(RDX, 0xeb, 0x03, 0x01, 0xd0, 0xc3, 0xeb, 0xfb);
    /* jz 2f; xor edi, edi; 1: mov eax, edi; ret; 2: jmp 1b */
    CHECK(RDI, 0x74, 0x06, 0x31, 0xff, 0x89, 0xf8, 0xc3, 0x90, 0xeb, 0xfa);
    /* loop 1f; ret; 1: add esi, edi; ret */
    CHECK(RDI | RSI | RCX, 0xe2, 0x01, 0xc3, 0x01, 0xfe, 0xc3);
}

/* A call takes what there is, and leaves nothing; what goes on elsewhere may read anything. */
static void elsewhere(void **state)
{
    (void)state;
    CHECK(0, 0xe8, 0, 0, 0, 0, 0x89, 0xf8, 0xc3);         /* call f; mov eax, edi; ret */
    CHECK(0, 0xff, 0xd0, 0x89, 0xf8, 0xc3);               /* call *rax; mov eax, edi; ret */
    CHECK(0, 0xe9, 0, 1, 0, 0);                           /* jmp f */
    CHECK(RSI, 0x01, 0xf0, 0xe9, 0, 1, 0, 0);             /* add eax, esi; jmp f */
    /* add eax, esi; what follows is another's */
    CHECK(RSI, 0x01, 0xf0);
    CHECK(63 & ~RDI, 0x31, 0xff, 0xff, 0xe0);             /* xor edi, edi; jmp *rax */
    CHECK(63, 0x74, 0x40, 0xc3);                          /* jz out */
    CHECK(63 & ~RCX, 0x0f, 0x05, 0xc3);                   /* syscall; ret */
    assert_int_equal(arguments_read(NULL, 0), ARGUMENTS_ALL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(straight),
        cmocka_unit_test(branches),
        cmocka_unit_test(elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
