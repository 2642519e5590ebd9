/* Disassembly text and operand lists. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "x86/format.h"
#include "x86/operands.h"

static bool name(void *arg, uint64_t address, char *out, size_t size)
{
    if (address != *(const uint64_t *)arg)
        return false;
    snprintf(out, size, "place+0x4");
    return true;
}

static void test_format(void **unused)
{
    static const struct {
        const char *bytes;
        unsigned size;
        uint64_t named;
        const char *text;
    } cases[] = {
        {"\x48\x8b\x43\x08", 4, 0, "mov rax, [rbx+0x8]"},
        {"\xe8\x10\0\0\0", 5, 0x1015, "call place+0x4"},
        {"\xe8\x10\0\0\0", 5, 0, "call 0x1015"},
        {"\x75\xfe", 2, 0x1000, "jnz place+0x4"},
        {"\x48\x8b\x05\x10\0\0\0", 7, 0x1017, "mov rax, [place+0x4]"},
        {"\x48\x8b\x05\x10\0\0\0", 7, 0, "mov rax, [0x1017]"},
        {"\xc3", 1, 0, "ret"},
        {"\x06", 1, 0, ".byte 0x06"},
        {"\x0f", 1, 0, ".byte 0x0f"},
    };
    char text[X86_TEXT_SIZE];
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t named = cases[i].named;
        const uint8_t *code = (const uint8_t *)cases[i].bytes;
        assert_int_equal(x86_format(code, cases[i].size, 0x1000, name, &named, text, sizeof text),
            cases[i].size);
        assert_string_equal(text, cases[i].text);
    }
    assert_int_equal(x86_format((const uint8_t *)"\xc3", 0, 0, NULL, NULL, text, sizeof text), 0);
    assert_string_equal(text, "");
}

static bool long_name(void *arg, uint64_t address, char *out, size_t size)
{
    (void)arg;
    (void)address;
    memset(out, 'n', size - 1);
    out[size - 1] = '\0';
    return true;
}

/* A name longer than the room is cut, and nothing is written behind it. */
static void test_room(void **unused)
{
    (void)unused;
    for (size_t size = 1; size < X86_TEXT_SIZE; size++) {
        char text[X86_TEXT_SIZE + 1];
        memset(text, '#', sizeof text);
        x86_format((const uint8_t *)"\xe8\x10\0\0", 4 + 1, 0, long_name, NULL, text, size);
        assert_non_null(memchr(text, '\0', size));
        assert_int_equal(text[size], '#');
    }
}

static void test_operands(void **unused)
{
    struct x86_operand o[X86_OPERANDS_MAX];
    /* add gs:[rbx+r12*4-16], eax */
    const uint8_t *code = (const uint8_t *)"\x65\x42\x01\x44\xa3\xf0";
    (void)unused;
    assert_int_equal(x86_operands(code, 6, o), 3);
    assert_true(o[0].kind == X86_OPERAND_MEMORY && o[0].read && o[0].write && o[0].bits == 32);
    assert_string_equal(o[0].name, "gs");
    assert_string_equal(o[0].base, "rbx");
    assert_string_equal(o[0].index, "r12");
    assert_true(o[0].scale == 4 && o[0].value == -16);
    assert_string_equal(o[1].name, "eax");
    assert_true(o[1].read && !o[1].write && !o[2].visible);
    assert_string_equal(x86_mnemonic(code, 6), "add");
    assert_int_equal(x86_operands(code, 5, o), -1);
    assert_null(x86_mnemonic((const uint8_t *)"\x06", 1));
    assert_int_equal(x86_operands((const uint8_t *)"\xeb\xfe", 2, o), 2);
    assert_true(o[0].kind == X86_OPERAND_IMMEDIATE && o[0].relative && o[0].value == -2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_format),
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_operands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
