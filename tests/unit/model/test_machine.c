/* Machine files: those that are shipped, and every key wrong in turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/machine_file.h"
#include "model/core.h"

static void shipped_ones_are_right(void **state)
{
    (void)state;
    static const char *const names[] = {"hps2005", "golden-cove", "zen4"};
    for (unsigned i = 0; i < 3; i++) {
        struct machine m;
        struct err e = {0};
        char path[PATH_MAX];
        snprintf(path, sizeof path, MACHINES "/%s.conf", names[i]);
        if (!machine_file_load(path, NULL, &m, &e))
            fail_msg("%s", e.message);
    }
}

static void the_paper_s_is_the_paper_s(void **state)
{
    (void)state;
    struct machine m;
    assert_true(machine_file_load(MACHINES "/hps2005.conf", NULL, &m, NULL));
    assert_int_equal(m.dispatch_width, 4);
    assert_int_equal(m.rob_size, 128);
    assert_int_equal(m.scheduler_size, 80);
    assert_int_equal(m.l1d_size, 32 << 10);
    assert_int_equal(m.l1i_size, 32 << 10);
    assert_int_equal(m.l2_size, 1 << 20);
}

static struct machine zen(void)
{
    static struct machine m;
    if (!m.rob_size)
        assert_true(machine_file_load(MACHINES "/zen4.conf", NULL, &m, NULL));
    return m;
}

/* The error for key=value; fails if there is none. */
static const char *wrong(const char *key, const char *value)
{
    static struct err e;
    struct machine m = zen();
    e = (struct err){0};
    if (machine_set(&m, key, value, true, &e))
        fail_msg("%s = %s was taken", key, value);
    assert_int_equal(e.code, ERR_USAGE);
    return e.message;
}

static void every_key_is_checked(void **state)
{
    (void)state;
    const struct machine_key *key;
    for (unsigned i = 0; (key = machine_key_at(i)); i++) {
        char most[64];
        assert_non_null(strstr(wrong(key->name, "x"), key->name));
        assert_non_null(strstr(wrong(key->name, "-1"), key->name));
        assert_non_null(strstr(wrong(key->name, ""), key->name));
        if (key->kind == MACHINE_WORD || key->kind == MACHINE_PORT_LIST)
            continue;
        snprintf(most, sizeof most, "%.0f", key->most * 2 + 2);
        assert_non_null(strstr(wrong(key->name, most), key->name));
        assert_non_null(strstr(wrong(key->name, "2.5"), key->name));
    }
    assert_non_null(strstr(wrong("alu_ports", "0 99"), "alu_ports"));
    assert_non_null(strstr(wrong("alu_ports", "0,1"), "alu_ports"));
    assert_non_null(strstr(wrong("predictor_size", "1000"), "power of two"));
    assert_non_null(strstr(wrong("branch_predictor", "oracle"), "tage"));
}

static void every_key_is_asked_for(void **state)
{
    (void)state;
    const struct machine_key *key;
    for (unsigned i = 0; (key = machine_key_at(i)); i++) {
        struct machine m = zen();
        struct err e = {0};
        m.given[i] = 0;
        assert_int_equal(machine_check(&m, &e), key->optional);
        if (!key->optional)
            assert_non_null(strstr(e.message, key->name));
    }
}

static void a_mistyped_key_is_guessed(void **state)
{
    (void)state;
    assert_non_null(strstr(wrong("rob_sise", "12"), "did you mean rob_size?"));
    assert_non_null(strstr(wrong("reorder", "12"), "there is no key reorder"));
}

static void sizes_go_together(void **state)
{
    (void)state;
    static const char *const pairs[] = {"l1d_size=100", "l1d_ways=7",    "l2_latency=4",
                                        "l3_latency=14", "memory_latency=50", "retire_width=11",
                                        "rob_size=4", "l2_prefetcher=stride", "dtlb_ways=5",
                                        "btb_ways=5", "btb_l1_size=7", "uop_cache_size=5",
                                        "vector_bytes=24", "vector_bytes=8", "rob_sise=3",
                                         "rob_size", "=3"};
    for (unsigned i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const char *const sets[] = {pairs[i], NULL};
        struct machine m;
        struct err e = {0};
        if (machine_file_load(MACHINES "/zen4.conf", sets, &m, &e))
            fail_msg("--set %s was taken", pairs[i]);
    }
}

/* Loads, additions and stores, each line of code once. */
static void run_some(const struct machine *m)
{
    const struct uop_insn insn = {
        .length = 4, .count = 4,
        .uops = {{.class = UOP_LOAD, .size = 8, .result_count = 1, .results = {UOP_TEMP}},
                 {.class = UOP_ALU, .flags = UOP_FUSED, .source_count = 1, .sources = {UOP_TEMP}},
                 {.class = UOP_STORE_ADDRESS, .size = 8},
                 {.class = UOP_STORE_DATA, .flags = UOP_FUSED, .size = 8}}};
    struct model_core *core = model_core_new(m);
    struct model_cost cost = {0};
    assert_non_null(core);
    for (uint64_t i = 0; i < 200; i++) {
        struct uop_executed x = {.pc = 0x1000 + 64 * i, .next = 0x1040 + 64 * i,
                                 .address = {0x100000 + 72 * i}, .known = {true}, .repeat = 1};
        model_step(core, &insn, &x, &cost);
    }
    assert_true(model_cycles(core) > 0);
    model_core_free(core);
}

static const char *read_text(const char *text)
{
    static struct err e;
    char path[] = "/tmp/penumbra-machine.XXXXXX";
    struct machine m;
    int fd = mkstemp(path);
    e = (struct err){0};
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    bool ok = machine_file_read(path, &m, &e);
    unlink(path);
    return ok ? NULL : e.message;
}

static void errors_name_the_line(void **state)
{
    (void)state;
    assert_null(read_text("# nothing\n\nrob_size = 128 ; entries\n"));
    assert_non_null(strstr(read_text("rob_size = 128\nrob_size = 64\n"), ":2: rob_size"));
    assert_non_null(strstr(read_text("rob_size = 128\n\n\nlq_siez = 64\n"), ":4: there is no key"));
    assert_non_null(strstr(read_text("rob_size\n"), ":1: "));
    assert_non_null(strstr(read_text("[core]\nrob_size = 1\n"), ":2: a machine file has no"));
    assert_non_null(strstr(read_text("rob_size = many\n"), ":1: "));
}

static void a_missing_file_is_said_so(void **state)
{
    (void)state;
    struct machine m;
    struct err e = {0};
    assert_false(machine_file_load("/nowhere/at.conf", NULL, &m, &e));
    assert_int_equal(e.code, ERR_NOT_FOUND);
    assert_non_null(strstr(e.message, "/nowhere/at.conf"));
}

static void what_is_no_file_is_refused(void **state)
{
    (void)state;
    static const char *const paths[] = {"/dev/zero", "/dev/urandom", "/"};
    for (unsigned i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct machine m;
        struct err e = {0};
        assert_false(machine_file_load(paths[i], NULL, &m, &e));
        assert_non_null(strstr(e.message, paths[i]));
    }
}

/* Whatever is taken is a machine that can be made. */
static void extremes_can_be_made(void **state)
{
    (void)state;
    const struct machine_key *key;
    for (unsigned i = 0; (key = machine_key_at(i)); i++)
        for (unsigned most = 0; most < 2; most++) {
            struct machine m = zen();
            char value[64];
            if (key->kind == MACHINE_WORD || key->kind == MACHINE_PORT_LIST)
                continue;
            snprintf(value, sizeof value, "%.0f", most ? key->most : key->least);
            assert_true(machine_set(&m, key->name, value, true, NULL));
            if (machine_check(&m, NULL))
                run_some(&m);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped_ones_are_right),
        cmocka_unit_test(the_paper_s_is_the_paper_s),
        cmocka_unit_test(every_key_is_checked),
        cmocka_unit_test(every_key_is_asked_for),
        cmocka_unit_test(a_mistyped_key_is_guessed),
        cmocka_unit_test(sizes_go_together),
        cmocka_unit_test(errors_name_the_line),
        cmocka_unit_test(a_missing_file_is_said_so),
        cmocka_unit_test(what_is_no_file_is_refused),
        cmocka_unit_test(extremes_can_be_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
