/* The function around an address, in whatever order it is asked for, in this program's own file. */
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "symbols/code.h"

/* A function in a function, as in assembly with several entries. */
__asm__(".pushsection .text\n"
        "    .type around, @function\n"
        "    .type within, @function\n"
        "    .globl around, within\n"
        "around:\n"
        "    nop\n"
        "within:\n"
        "    nop\n"
        "    nop\n"
        "    .size within, . - within\n"
        "    nop\n"
        "    ret\n"
        "    .size around, . - around\n"
        ".popsection");

extern const char around[], within[];

static void expect_name(struct code *c, const char *at, const char *name, size_t size)
{
    struct code_function f;
    assert_true(code_function(c, (uint64_t)at - _r_debug.r_map->l_addr, &f));
    assert_string_equal(f.name, name);
    assert_int_equal(f.end - f.start, size);
}

static void the_innermost_function_whatever_was_found_before(void **state)
{
    (void)state;
    struct profile_image image = { .path = (char[]){ "/proc/self/exe" } };
    struct err e = { 0 };
    struct code *c = code_open(&image, &(struct symbols_options){ 0 }, &e);
    if (!c)
        fail_msg("%s", e.message);
    expect_name(c, around, "around", 5);
    expect_name(c, within, "within", 2);
    expect_name(c, within + 1, "within", 2);
    expect_name(c, around + 4, "around", 5);
    expect_name(c, within + 1, "within", 2);
    code_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_innermost_function_whatever_was_found_before)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
