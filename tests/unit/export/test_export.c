/* The exporters' parts through their headers. What other tools read in the whole output is checked
 * by check_exports.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "export/export.h"
#include "export/intern.h"
#include "export/pprof_maps.h"
#include "export/stack.h"
#include "export/text.h"
#include "sample.h"

static void test_intern_numbers(void **state)
{
    (void)state;
    struct intern t = {0};
    for (uint64_t round = 0; round < 2; round++)
        for (uint64_t i = 0; i < 5000; i++)
            assert_int_equal(intern_add(&t, &(uint64_t){i * 4096}, sizeof i), i);
    assert_int_equal(t.count, 5000);
    assert_int_equal(intern_add_string(&t, ""), 5000);
    assert_int_equal(intern_add(&t, "\0", 1), 5001); /* the length is part of the key */
    assert_string_equal(intern_key(&t, 5000), "");
    assert_true(intern_ok(&t));
    intern_fini(&t);
}

static void test_stack_cut(void **state)
{
    (void)state;
    struct stack_cut whole = stack_cut_make(10, 0), fits = stack_cut_make(10, 10);
    assert_int_equal(whole.head, 10);
    assert_int_equal(fits.head + fits.tail, 10);
    assert_false(whole.cut || fits.cut);
    struct stack_cut cut = stack_cut_make(11, 5);
    assert_true(cut.cut);
    assert_int_equal(cut.head, 2);
    assert_int_equal(cut.tail, 3);
}

static void test_stack_walk_paths_are_parents(void **state)
{
    (void)state;
    struct profile *p = sample_build("random");
    const struct profile_thread *t = &p->threads[0];
    struct stack_walk w;
    uint32_t visited = 0;
    assert_true(stack_walk_init(&w, t));
    while (stack_walk_next(&w)) {
        uint32_t node = w.node;
        for (uint32_t i = w.length; i-- > 0; node = t->nodes[node].parent)
            assert_int_equal(w.path[i], node);
        assert_int_equal(node, 0);
        visited++;
    }
    assert_int_equal(visited, t->node_count);
    stack_walk_fini(&w);
    sample_free(p);
}

static void test_text_clean_utf8(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"plain", "plain"},
        {"caf\xc3\xa9", "caf\xc3\xa9"},
        {"\xe2\x82\xac \xf0\x9f\x98\x80", "\xe2\x82\xac \xf0\x9f\x98\x80"},
        {"\xff|\x80|\xc3", "?|?|?"},
        {"\xc0\xaf", "??"},             /* overlong '/' */
        {"\xed\xa0\x80", "???"},        /* a surrogate */
        {"\xf4\x90\x80\x80", "????"},   /* above U+10FFFF */
        {"\xe2\x82", "??"},             /* cut off */
        {"\xe2(\xa1", "?(?"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char text[32];
        strcpy(text, pairs[i][0]);
        text_clean_utf8(text);
        assert_string_equal(text, pairs[i][1]);
    }
}

static void test_maps_real_with_one_process(void **state)
{
    (void)state;
    struct profile *p = sample_build("hand");
    struct pprof_map *maps = pprof_maps_build(p);
    assert_non_null(maps);
    assert_int_equal(maps[1].start, 0x7f1000000000);
    assert_int_equal(maps[1].limit, 0x7f1000020000);
    assert_int_equal(maps[1].bias, 0x7f1000000000);
    free(maps);
    sample_free(p);
}

static void assert_disjoint(const struct profile *p)
{
    struct pprof_map *maps = pprof_maps_build(p);
    assert_non_null(maps);
    for (uint32_t i = 0; i < p->image_count; i++) {
        assert_true(maps[i].start < maps[i].limit);
        assert_int_equal(maps[i].start % 4096, 0);
        for (uint32_t k = 0; k < i; k++)
            assert_true(maps[i].limit <= maps[k].start || maps[k].limit <= maps[i].start);
    }
    free(maps);
}

static void test_maps_made_up_when_ambiguous(void **state)
{
    (void)state;
    struct profile *p = sample_build("processes");
    assert_disjoint(p);
    sample_free(p);
    /* dlclose, then another library at the same place. */
    p = sample_build("hand");
    p->processes[0].maps[2].bias = p->processes[0].maps[1].bias;
    assert_disjoint(p);
    sample_free(p);
    /* An image whose place is not known. */
    p = sample_build("hand");
    p->processes[0].map_count = 2;
    assert_disjoint(p);
    sample_free(p);
}

static void test_maps_widen_to_addresses(void **state)
{
    (void)state;
    struct profile *p = sample_build("hand");
    p->images[1].first_vaddr = p->images[1].last_vaddr = 0; /* no headers were known */
    struct pprof_map *maps = pprof_maps_build(p);
    assert_non_null(maps);
    assert_true(maps[1].start <= maps[1].bias + 0x9104 && maps[1].bias + 0x9204 < maps[1].limit);
    free(maps);
    sample_free(p);
}

static char *export_string(export_function *run, const struct profile *p,
                           const struct export_options *options, struct export_result *result)
{
    struct buf out = {0};
    struct err e = {0};
    assert_true(run(p, sample_symbols(), options, &out, result, &e));
    buf_put_u8(&out, 0);
    assert_true(buf_ok(&out));
    return (char *)out.data;
}

static void test_folded_threads(void **state)
{
    (void)state;
    struct profile *p = sample_build("hand");
    struct export_result result;
    char *text =
        export_string(export_folded, p, &(struct export_options){.threads = true}, &result);
    assert_non_null(strstr(text, "demo-100/100;main;even 8\n"));
    assert_non_null(strstr(text, "worker:1-100/150;start_thread;outer;middle;innermost 11\n"));
    assert_int_equal(result.samples, 8218);
    assert_int_equal(result.shortened, 0);
    free(text);
    sample_free(p);
}

static void test_shortened_is_counted(void **state)
{
    (void)state;
    struct profile *p = sample_build("deep");
    struct export_result result;
    struct export_options options = {.max_depth = 5};
    char *text = export_string(export_folded, p, &options, &result);
    assert_string_equal(text, "demo;main;odd;[frames left out];even;odd;even 2\n"
                              "demo;main;odd;[frames left out];odd;even;odd 7\n");
    assert_int_equal(result.shortened, 2);
    free(text);
    free(export_string(export_pprof, p, &options, &result));
    assert_int_equal(result.shortened, 2);
    free(export_string(export_callgrind, p, &options, &result));
    assert_int_equal(result.shortened, 0);
    sample_free(p);
}

/* even -> odd -> even -> odd -> memcpy: even's 115 samples through odd count once. */
static void test_callgrind_recursion(void **state)
{
    (void)state;
    struct profile *p = sample_build("hand");
    struct export_result result;
    char *text = export_string(export_callgrind, p, &(struct export_options){0}, &result);
    assert_non_null(strstr(text, "fn=(5)\n20 40 40120360\ncob=(3)\ncfi=(2)\ncfn=(6) odd\n"
                                 "calls=5 0\n20 115 115346035\n"));
    assert_non_null(strstr(text, "cfn=(5)\ncalls=1 0\n30 0 0\n"));
    free(text);
    sample_free(p);
}

static void test_callgrind_header_is_one_line_each(void **state)
{
    (void)state;
    struct profile *p = sample_build("hand");
    free(p->command);
    p->command = strdup("sh -c 'a\nfn=(1) evil\n'");
    struct export_result result;
    char *text = export_string(export_callgrind, p, &(struct export_options){0}, &result);
    assert_null(strstr(text, "\nfn=(1) evil"));
    assert_non_null(strstr(text, "cmd: sh -c 'a fn=(1) evil '\n"));
    free(text);
    sample_free(p);
}

static void test_empty_profile(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    static export_function *const formats[] = {export_pprof, export_folded, export_callgrind};
    struct export_result result;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        free(export_string(formats[i], p, &(struct export_options){0}, &result));
        assert_int_equal(result.samples, 0);
    }
    profile_free(p);
}

static void test_pprof_is_gzip(void **state)
{
    (void)state;
    struct profile *p = sample_build("random");
    struct buf out = {0};
    struct export_result result;
    assert_true(
        export_pprof(p, sample_symbols(), &(struct export_options){0}, &out, &result, NULL));
    enum { ROOM = 1 << 24 };
    uint8_t *plain = malloc(ROOM);
    assert_non_null(plain);
    z_stream z = {.next_in = out.data, .avail_in = (uInt)out.size, .next_out = plain,
                  .avail_out = ROOM};
    assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END); /* checks length and CRC */
    assert_int_equal(z.avail_in, 0);
    inflateEnd(&z);
    free(plain);
    buf_free(&out);
    sample_free(p);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_intern_numbers),
        cmocka_unit_test(test_stack_cut),
        cmocka_unit_test(test_stack_walk_paths_are_parents),
        cmocka_unit_test(test_text_clean_utf8),
        cmocka_unit_test(test_maps_real_with_one_process),
        cmocka_unit_test(test_maps_made_up_when_ambiguous),
        cmocka_unit_test(test_maps_widen_to_addresses),
        cmocka_unit_test(test_folded_threads),
        cmocka_unit_test(test_shortened_is_counted),
        cmocka_unit_test(test_callgrind_recursion),
        cmocka_unit_test(test_callgrind_header_is_one_line_each),
        cmocka_unit_test(test_empty_profile),
        cmocka_unit_test(test_pprof_is_gzip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
