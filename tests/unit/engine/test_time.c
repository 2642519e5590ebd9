/* Hooks that time instructions: one time for each execution, and a long one takes longer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "callbacks.h"
#include "run.h"

/* Reads memory n times, once a round. */
__attribute__((noinline, used)) static uint64_t reads(uint64_t n, const uint64_t *from)
{
    uint64_t sum = 0;
    __asm__ volatile("1:  movq (%2), %%rax\n"
                     "    leaq (%0,%%rax), %0\n"
                     "    subq $1, %1\n"
                     "    jnz 1b\n"
                     : "+r"(sum), "+r"(n)
                     : "r"(from)
                     : "rax", "cc", "memory");
    return sum;
}

/* The same with a load that a repeated string instruction stands for: it reads `bytes` bytes. */
__attribute__((noinline, used)) static uint64_t long_read(const char *from, char *to,
                                                          uint64_t bytes)
{
    uint64_t left = bytes;
    __asm__ volatile("rep movsb\n    nop" : "+S"(from), "+D"(to), "+c"(left) : : "memory");
    return left;
}

static void each_execution_is_timed(void **state)
{
    (void)state;
    struct rig r;
    uint64_t value = 3, rounds = 1000;
    memset(&asked, 0, sizeof asked);
    rig_make(&r, &(struct engine_config){ .tools = tool_set_of(&tool_times) });
    uint64_t got =
        rig_call(&r, (const void *)(uintptr_t)reads, rounds, (uint64_t)(uintptr_t)&value, 0, 0);
    assert_int_equal(got, 3 * rounds);
    assert_in_range(asked.timed, rounds, rounds + 64); /* compilers put loads around the loop */
    assert_true(asked.time > 0);
    rig_free(&r);
}

static uint64_t least_time(uint64_t bytes)
{
    static char from[1 << 20], to[1 << 20];
    struct rig r;
    uint64_t least = UINT64_MAX;
    rig_make(&r, &(struct engine_config){ .tools = tool_set_of(&tool_times) });
    for (int i = 0; i < 20; i++) {
        memset(&asked, 0, sizeof asked);
        rig_call(&r, (const void *)(uintptr_t)long_read, (uint64_t)(uintptr_t)from,
                 (uint64_t)(uintptr_t)to, bytes, 0);
        assert_true(asked.timed > 0);
        least = asked.time < least ? asked.time : least;
    }
    rig_free(&r);
    return least;
}

/* A megabyte is copied at no less than some ten thousand ticks, sixteen bytes in some hundred. */
static void a_long_instruction_takes_longer(void **state)
{
    (void)state;
    assert_true(least_time(1 << 20) > 4 * least_time(16));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_execution_is_timed),
        cmocka_unit_test(a_long_instruction_takes_longer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
