/* Conflicts of stores and later loads: one window by construction for each kind, and for each
 * reason that there is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "modules/conflict.h"

/* Instructions, as GNU as has them. */
#define STORE_RDI "\x48\x89\x07"       /* mov %rax, (%rdi) */
#define STORE_RDI4 "\x89\x07"          /* mov %eax, (%rdi) */
#define STORE_RDI16 "\x0f\x11\x07"     /* movups %xmm0, (%rdi) */
#define LOAD_RSI "\x48\x8b\x1e"        /* mov (%rsi), %rbx */
#define LOAD_RSI4 "\x8b\x1e"           /* mov (%rsi), %ebx */
#define LOAD_RSI16 "\x0f\x10\x0e"      /* movups (%rsi), %xmm1 */
#define LOAD_INTO_RDI "\x48\x8b\x3a"   /* mov (%rdx), %rdi */
#define ADD_TO_RDI "\x48\x01\x07"      /* add %rax, (%rdi) */
#define XADD_RSI "\x48\x0f\xc1\x37"    /* xadd %rsi, (%rdi) */
#define MOVE_RSI_RAX "\x48\x89\xf0"    /* mov %rsi, %rax */
#define TO_VECTOR "\x66\x48\x0f\x6e\xd0" /* movq %rax, %xmm2 */
#define TO_RSI "\x66\x48\x0f\x7e\xd6"  /* movq %xmm2, %rsi */
#define ZERO_RSI "\x31\xf6"            /* xor %esi, %esi */
#define DIVIDE "\x48\xf7\xf9"          /* idiv %rcx: rax, rdx */
#define RAX_TO_RDI "\x48\x89\xc7"      /* mov %rax, %rdi */
#define PUSH "\x50"                    /* push %rax */
#define POP "\x5b"                     /* pop %rbx */
#define LOAD_STACK16 "\x0f\x10\x0c\x24" /* movups (%rsp), %xmm1 */
#define NOP "\x90"

static struct conflict_insn insns[CONFLICT_WINDOW];
static struct conflict_step steps[CONFLICT_WINDOW];
static struct conflict found[64];
static uint32_t count, found_count;

static void begin(void)
{
    memset(steps, 0, sizeof steps);
    count = 0;
}

static void step2(const char *code, uint64_t address, uint64_t second)
{
    assert_true(conflict_describe((const uint8_t *)code, (uint32_t)strlen(code), &insns[count]));
    steps[count] = (struct conflict_step){
        .insn = &insns[count], .address = { address, second }, .known = { address, second },
    };
    count++;
}

static void step(const char *code, uint64_t address)
{
    step2(code, address, 0);
}

static void end(uint32_t expected)
{
    found_count = conflicts_find(steps, count, found, 64);
    assert_int_equal(found_count, expected);
}

static void is(uint32_t number, enum conflict_kind kind, uint32_t store, uint32_t load)
{
    assert_string_equal(conflict_names[found[number].kind], conflict_names[kind]);
    assert_int_equal(found[number].store, store);
    assert_int_equal(found[number].load, load);
}

static void one(enum conflict_kind kind, uint32_t store, uint32_t load)
{
    end(1);
    is(0, kind, store, load);
}

static void order(void **state)
{
    (void)state;
    begin();
    step(LOAD_INTO_RDI, 0x9100);
    step(STORE_RDI, 0x5008);
    step(LOAD_RSI, 0x5008);
    one(CONFLICT_ORDER, 1, 2);

    begin(); /* a division makes the address */
    step(DIVIDE, 0);
    step(RAX_TO_RDI, 0);
    step(STORE_RDI, 0x5008);
    step(LOAD_RSI4, 0x500c);
    one(CONFLICT_ORDER, 2, 3);
}

static void no_order(void **state)
{
    (void)state;
    begin(); /* the address is known */
    step(STORE_RDI, 0x5008);
    step(LOAD_RSI, 0x5008);
    end(0);

    begin(); /* it is late, but the load is later */
    step(LOAD_INTO_RDI, 0x9100);
    step(STORE_RDI, 0x5008);
    for (int i = 0; i < 60; i++)
        step(NOP, 0);
    step(LOAD_RSI, 0x5008);
    end(0);

    begin(); /* other bytes */
    step(LOAD_INTO_RDI, 0x9100);
    step(STORE_RDI, 0x5008);
    step(LOAD_RSI, 0x5010);
    end(0);

    begin(); /* the load comes first */
    step(LOAD_INTO_RDI, 0x9100);
    step(LOAD_RSI, 0x5008);
    step(STORE_RDI, 0x5008);
    end(0);
}

static void size(void **state)
{
    (void)state;
    begin(); /* narrower */
    step(STORE_RDI4, 0x5008);
    step(LOAD_RSI, 0x5008);
    one(CONFLICT_SIZE, 0, 1);

    begin(); /* two halves */
    step(STORE_RDI, 0x5000);
    step(STORE_RDI, 0x5008);
    step(LOAD_RSI16, 0x5000);
    end(2);
    is(0, CONFLICT_SIZE, 1, 2);
    is(1, CONFLICT_SIZE, 0, 2);

    begin(); /* the last byte */
    step(STORE_RDI, 0x5000);
    step(LOAD_RSI, 0x5007);
    one(CONFLICT_SIZE, 0, 1);

    begin(); /* a part that is overwritten is not from there */
    step(STORE_RDI4, 0x5000);
    step(STORE_RDI, 0x5000);
    step(LOAD_RSI, 0x5000);
    end(0);

    begin(); /* reads and writes: the reading conflicts with what was before */
    step(STORE_RDI4, 0x5000);
    step(ADD_TO_RDI, 0x5000);
    one(CONFLICT_SIZE, 0, 1);
}

static void no_size(void **state)
{
    (void)state;
    begin();
    step(STORE_RDI16, 0x5000);
    step(LOAD_RSI, 0x5008);
    step(LOAD_RSI4, 0x500c);
    step(LOAD_RSI16, 0x5000);
    end(0);
}

static void split(void **state)
{
    (void)state;
    begin();
    step(STORE_RDI, 0x503c);
    step(LOAD_RSI, 0x503c);
    one(CONFLICT_SPLIT, 0, 1);

    begin(); /* a page; the store alone crosses */
    step(STORE_RDI16, 0x5ff8);
    step(LOAD_RSI, 0x5ff8);
    one(CONFLICT_SPLIT, 0, 1);

    begin(); /* both cross, but are not the same */
    step(STORE_RDI, 0x503c);
    step(LOAD_RSI, 0x507c);
    end(0);
}

static void synonym(void **state)
{
    (void)state;
    begin();
    step(STORE_RDI, 0x5008);
    step(LOAD_RSI, 0x9008);
    one(CONFLICT_SYNONYM, 0, 1);

    begin(); /* in part, over the end of a page */
    step(STORE_RDI, 0x5ffc);
    step(LOAD_RSI, 0xa000);
    one(CONFLICT_SYNONYM, 0, 1);

    begin(); /* the youngest */
    step(STORE_RDI, 0x5008);
    step(STORE_RDI, 0x6008);
    step(LOAD_RSI, 0x9008);
    one(CONFLICT_SYNONYM, 1, 2);

    begin(); /* satisfied by a younger store */
    step(STORE_RDI, 0x5008);
    step(STORE_RDI, 0x9008);
    step(LOAD_RSI, 0x9008);
    end(0);

    begin(); /* 13 bits do not agree, nor the bytes next to it */
    step(STORE_RDI, 0x5008);
    step(LOAD_RSI, 0x9010);
    step(LOAD_RSI, 0x9000);
    end(0);
}

static void dependent(void **state)
{
    (void)state;
    begin();
    step(XADD_RSI, 0x5008);
    step(LOAD_RSI, 0x9008);
    end(0);

    begin(); /* through other registers, vectors too */
    step(XADD_RSI, 0x5008);
    step(MOVE_RSI_RAX, 0);
    step(TO_VECTOR, 0);
    step(TO_RSI, 0);
    step(LOAD_RSI, 0x9008);
    end(0);

    begin(); /* no more */
    step(XADD_RSI, 0x5008);
    step(ZERO_RSI, 0);
    step(LOAD_RSI, 0x9008);
    one(CONFLICT_SYNONYM, 0, 2);

    begin(); /* only on what the store wrote, not on another one's register */
    step(XADD_RSI, 0x7100);
    step(STORE_RDI, 0x5008);
    step(LOAD_RSI, 0x9008);
    one(CONFLICT_SYNONYM, 1, 2);
}

static void stack(void **state)
{
    (void)state;
    begin();
    step(PUSH, 0x7ff8);
    step(POP, 0x7ff8);
    end(0);

    begin(); /* a moved stack pointer is no dependence */
    step(PUSH, 0x7ff8);
    step(PUSH, 0x7ff0);
    step(LOAD_STACK16, 0x7ff0);
    end(2);
    is(0, CONFLICT_SIZE, 1, 2);
    is(1, CONFLICT_SIZE, 0, 2);
}

static void limits(void **state)
{
    (void)state;
    begin(); /* the whole window */
    step(STORE_RDI4, 0x5008);
    while (count < CONFLICT_WINDOW - 1)
        step(NOP, 0);
    step(LOAD_RSI, 0x5008);
    one(CONFLICT_SIZE, 0, CONFLICT_WINDOW - 1);

    begin(); /* addresses that were not observed */
    step(STORE_RDI4, 0x5008);
    step(LOAD_RSI, 0x5008);
    steps[1].known[0] = false;
    end(0);

    begin(); /* at the end of all addresses */
    step(STORE_RDI, UINT64_MAX - 7);
    step(LOAD_RSI, UINT64_MAX - 3);
    one(CONFLICT_SIZE, 0, 1);

    begin(); /* an instruction that could not be decoded */
    step(STORE_RDI4, 0x5008);
    steps[count++].insn = NULL;
    step(LOAD_RSI, 0x5008);
    one(CONFLICT_SIZE, 0, 2);

    begin(); /* no room */
    step(STORE_RDI4, 0x5008);
    step(LOAD_RSI, 0x5008);
    assert_int_equal(conflicts_find(steps, count, found, 0), 0);
    assert_false(conflict_describe((const uint8_t *)"\x06", 1, &insns[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order),  cmocka_unit_test(no_order),  cmocka_unit_test(size),
        cmocka_unit_test(no_size), cmocka_unit_test(split),    cmocka_unit_test(synonym),
        cmocka_unit_test(dependent), cmocka_unit_test(stack),  cmocka_unit_test(limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
