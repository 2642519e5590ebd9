/* The built-in modules: sequences in, emitted values out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "modules/builtin.h"
#include "modules/conflict.h"
#include "sigsafe/tools.h"

static struct emitted {
    uint64_t pc, site, value;
    uint32_t kind;
} emitted[16];
static uint32_t emitted_count, fact_count;

/* The host's half. */
void penumbra_emit(struct penumbra_host *host, uint64_t pc, uint32_t kind, uint64_t site,
                   uint64_t value)
{
    (void)host;
    assert_true(emitted_count < 16);
    emitted[emitted_count++] = (struct emitted){ pc, site, value, kind };
}

void penumbra_fact(struct penumbra_host *host, const char *name, uint64_t value)
{
    (void)host;
    (void)value;
    assert_true(*name);
    fact_count++;
}

static struct penumbra_tuple tuples[200];
static struct penumbra_item items[200];

static void tuple(uint32_t i, const char *code, uint32_t what, uint64_t value)
{
    items[i] = (struct penumbra_item){ .what = what, .value = value, .bytes = 8 };
    tuples[i] = (struct penumbra_tuple){ .pc = 0x400000 + 16 * i, .code = (const uint8_t *)code,
                                         .length = (uint8_t)strlen(code), .count = value != 0,
                                         .items = &items[i], .return_address = 0x500000 + i };
}

static void take(const struct penumbra_module *m, uint32_t count)
{
    emitted_count = 0;
    m->sequence(NULL, &(struct penumbra_sequence){ .count = count, .tuples = tuples });
}

static void conflicts(void **state)
{
    (void)state;
    const struct penumbra_opcode any = { 0, 0x89, 0 };
    assert_int_equal(module_builtin("conflicts")->capture(&any), PENUMBRA_ADDRESS);
    assert_int_equal(module_builtin("conflicts")->length, 128);
    assert_int_equal(module_builtin("conflicts")->every, 128);
    tuple(0, "\x89\x07", PENUMBRA_ADDRESS, 0x7008);     /* mov %eax, (%rdi) */
    tuple(1, "\x90", PENUMBRA_ADDRESS, 0);
    tuple(2, "\x48\x8b\x1e", PENUMBRA_ADDRESS, 0x7008); /* mov (%rsi), %rbx */
    tuple(3, "\x48\x8b\x1e", PENUMBRA_ADDRESS, 0);      /* not observed */
    for (int twice = 0; twice < 2; twice++) {
        take(module_builtin("conflicts"), 4);
        assert_int_equal(emitted_count, 1);
        assert_string_equal(module_builtin("conflicts")->kinds[emitted[0].kind].name, "size");
        assert_int_equal(emitted[0].pc, tuples[2].pc);
        assert_int_equal(emitted[0].value, tuples[0].pc);
        assert_int_equal(emitted[0].site, tuples[2].return_address);
    }
    tuple(0, "\x48\x89\x07", PENUMBRA_ADDRESS, 0x7008); /* other code at the same address */
    take(module_builtin("conflicts"), 4);
    assert_int_equal(emitted_count, 0);
}

static void kinds_have_their_names(void **state)
{
    (void)state;
    for (unsigned i = 0; i < CONFLICT_KINDS; i++)
        assert_string_equal(module_builtin("conflicts")->kinds[i].name, conflict_names[i]);
    assert_int_equal(module_builtin("conflicts")->kind_count, CONFLICT_KINDS);
}

/* A sequence that is longer than the window is cut. */
static void a_long_sequence(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 200; i++)
        tuple(i, "\x90", PENUMBRA_ADDRESS, 0);
    tuple(0, "\x89\x07", PENUMBRA_ADDRESS, 0x7008);
    tuple(127, "\x48\x8b\x1e", PENUMBRA_ADDRESS, 0x7008);
    tuple(128, "\x48\x8b\x1e", PENUMBRA_ADDRESS, 0x7008);
    take(module_builtin("conflicts"), 200);
    assert_int_equal(emitted_count, 1);
}

static void latency(void **state)
{
    (void)state;
    bool measured;
    const struct penumbra_opcode any = { 0, 0x8b, 0 };
    assert_int_equal(module_builtin("latency")->capture(&any), PENUMBRA_LATENCY);
    fact_count = 0;
    assert_int_equal(module_builtin("latency")->begin(NULL), 0);
    assert_true(fact_count > 4);
    const struct hierarchy *h = module_hierarchy(&measured, NULL);
    assert_false(measured);
    tuple(0, "\x48\x8b\x1e", PENUMBRA_LATENCY, 1);
    tuple(1, "\x90", PENUMBRA_LATENCY, 0);
    tuple(2, "\x48\x8b\x1e", PENUMBRA_LATENCY, 1000000000);
    take(module_builtin("latency"), 3);
    assert_int_equal(emitted_count, 2);
    assert_int_equal(emitted[0].pc, tuples[0].pc);
    assert_int_equal(emitted[0].value, hierarchy_place(h, 1));
    assert_int_equal(emitted[1].value, hierarchy_place(h, 1000000000));
    assert_int_equal(emitted[1].site, tuples[2].return_address);
    for (uint32_t i = 0; i < HIERARCHY_NAMES; i++)
        assert_string_equal(module_builtin("latency")->kinds[0].names[i], hierarchy_names[i]);
}

/* The list of tools names those that there are, and as they name themselves. */
static void tools_are_modules(void **state)
{
    unsigned count = 0;
    (void)state;
    for (uint32_t i = 0; i < TOOL_KIND_COUNT; i++) {
        const struct penumbra_module *module = module_builtin(tool_about(i)->name);
        assert_int_equal(module != NULL, tool_about(i)->module);
        count += module != NULL;
    }
    assert_non_null(module_builtin_at(count - 1));
    assert_null(module_builtin_at(count));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tools_are_modules),
        cmocka_unit_test(conflicts),
        cmocka_unit_test(kinds_have_their_names),
        cmocka_unit_test(a_long_sequence),
        cmocka_unit_test(latency),
    };
    setenv("XDG_CACHE_HOME", "/dev/null", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
