/* Intervals, JSON and text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../sanitized.h"
#include "make_profile.h"
#include "report/ci.h"
#include "report/json.h"
#include "report/report.h"
#include "report/text.h"

static void near(double value, double expected)
{
    if (value < expected - 5e-5 || value > expected + 5e-5)
        fail_msg("%.6f is not %.6f", value, expected);
}

/* Values: Newcombe 1998, table I, method 3 (Wilson without continuity correction). */
static void wilson_known_values(void **state)
{
    (void)state;
    const struct {
        double hits, n, low, high;
    } cases[] = {
        { 81, 263, 0.2553, 0.3662 },
        { 15, 148, 0.0624, 0.1605 },
        { 0, 20, 0.0000, 0.1611 },
        { 1, 29, 0.0061, 0.1718 },
        { 29, 29, 0.8830, 1.0000 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct interval got = ci_wilson(cases[i].hits / cases[i].n, cases[i].n);
        near(got.low, cases[i].low);
        near(got.high, cases[i].high);
    }
    struct interval unknown = ci_wilson(0.5, 0);
    near(unknown.low, 0);
    near(unknown.high, 1);
}

static void check_string(const char *string, const char *expected)
{
    struct buf out = { 0 };
    struct json j = { .out = &out };
    json_string(&j, string);
    buf_put_u8(&out, 0);
    assert_string_equal((char *)out.data, expected);
    buf_free(&out);
}

static void json_escapes(void **state)
{
    (void)state;
    check_string("a\"b\\c", "\"a\\\"b\\\\c\"");
    check_string("\x1b[2J\n\x7f", "\"\\u001b[2J\\u000a\\u007f\"");
    check_string("gr\xc3\xbc\xc3\x9f", "\"gr\xc3\xbc\xc3\x9f\"");
    /* Stray continuation, overlong, surrogate, cut short, beyond Unicode. */
    check_string("\x80", "\"\\ufffd\"");
    check_string("\xc0\xaf", "\"\\ufffd\\ufffd\"");
    check_string("\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"");
    check_string("x\xe2\x82", "\"x\\ufffd\\ufffd\"");
    check_string("\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
    check_string("\xf0\x9f\x90\xa7", "\"\xf0\x9f\x90\xa7\"");
}

struct fixture {
    struct profile *profile;
    struct symbols *symbols;
    struct view *view;
};

static struct fixture open_profile(struct profile *p)
{
    struct err e = { 0 };
    struct fixture f = { .profile = p, .symbols = symbols_load(p, true, &e) };
    assert_non_null(f.symbols);
    f.view = view_build(p, f.symbols, &(struct view_options){ 0 }, &e);
    assert_non_null(f.view);
    return f;
}

static void close_all(struct fixture *f)
{
    view_free(f->view);
    symbols_free(f->symbols);
    profile_free(f->profile);
}

static void rename_function(struct profile *p, char letter, const char *name)
{
    char **old = &p->processes[0].jit[letter - 'a'].name;
    free(*old);
    *old = strdup(name);
}

/* Python's parser reads the report as J; the script must not fail. */
static void check_json(const struct view *v, const struct report_json_options *options,
                       const char *script)
{
    struct buf out = { 0 };
    struct err e = { 0 };
    assert_true(report_json(&out, v, options, &e));
    char path[] = "/tmp/penumbra-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, out.data, out.size), out.size);
    close(fd);
    buf_free(&out);
    char command[4096];
    snprintf(command, sizeof command, "python3 -c 'import json; J = json.load(open(\"%s\"))\n%s'",
             path, script);
    int status = system(command);
    unlink(path);
    assert_int_equal(status, 0);
}

static void json_is_what_is_documented(void **state)
{
    (void)state;
    struct profile *p = make_profile();
    rename_function(p, 'c', "quo\"te\\ \xff \x1b");
    make_thread(p, 101, "main", "abc 3; ab 2; a 1");
    p->threads[0].drops[DROP_LATE] = 7;
    p->threads[0].truncated[TRUNC_NO_CFI] = 2;
    p->threads[0].guessed = 1;
    struct fixture f = open_profile(p);
    struct report_json_options options = { .ci = true, .depth = UINT32_MAX };
    check_json(f.view, &options,
               "assert J[\"trigger\"] == \"cpu\" and J[\"period\"] == 1000000\n"
               "assert J[\"samples\"] == 6 and J[\"taken\"] == 6\n"
               "assert J[\"dropped\"][\"late\"] == 7 and sum(J[\"dropped\"].values()) == 7\n"
               "assert J[\"truncated\"] == 2 and J[\"truncated_by_reason\"][\"no-cfi\"] == 2\n"
               "assert J[\"guessed\"] == 1\n"
               "F = {f[\"name\"]: f for f in J[\"functions\"]}\n"
               "assert (F[\"a\"][\"self\"], F[\"a\"][\"total\"]) == (1, 6)\n"
               "assert F[\"quo\\\"te\\\\ \\ufffd \\u001b\"][\"self\"] == 3\n"
               "assert [f[\"self\"] for f in J[\"functions\"]] == [3, 2, 1]\n"
               "low, high = F[\"b\"][\"ci\"][\"total\"]\n"
               "assert 0 < low < 5 / 6 < high < 1\n"
               "T = J[\"tree\"]\n"
               "assert T[\"total\"] == 6 and T[\"self\"] == 0\n"
               "A = T[\"children\"][0]\n"
               "assert A[\"name\"] == \"a\" and A[\"offset\"] == \"0x1000\"\n"
               "B = A[\"children\"][0]\n"
               "assert B[\"total\"] == 5 and B[\"children\"][0][\"children\"] == []\n"
               "assert J[\"threads\"][0][\"tid\"] == 101\n"
               "assert J[\"processes\"][0][\"pid\"] == 100\n"
               "assert abs(J[\"overhead\"][\"percent_of_cpu\"] - 9e-4) < 1e-6\n");
    close_all(&f);
}

static void json_prunes_when_asked(void **state)
{
    (void)state;
    struct profile *p = make_profile();
    make_thread(p, 101, "main", "abc 3; ab 2; ad 95; e 0");
    struct fixture f = open_profile(p);
    struct report_json_options options = { .min = 4, .depth = UINT32_MAX };
    check_json(f.view, &options,
               "T = J[\"tree\"]\n"
               "A = T[\"children\"][0]\n"
               "assert [c[\"name\"] for c in A[\"children\"]] == [\"d\", \"b\"]\n"
               "assert A[\"children\"][1][\"children\"] == []\n"
               "assert len(T[\"children\"]) == 1\n"
               "assert len(J[\"functions\"]) == 3\n");
    options = (struct report_json_options){ .depth = 1, .limit = 1 };
    check_json(f.view, &options,
               "assert J[\"tree\"][\"children\"][0][\"children\"] == []\n"
               "assert len(J[\"functions\"]) == 1\n");
    close_all(&f);
}

static void json_nests_without_limit(void **state)
{
    (void)state;
    enum { LEVELS = SANITIZED ? 100000 : 1000000 };
    struct profile *p = make_profile();
    make_deep_thread(p, 101, LEVELS, 1);
    struct fixture f = open_profile(p);
    struct buf out = { 0 };
    struct err e = { 0 };
    struct report_json_options options = { .depth = UINT32_MAX };
    assert_true(report_json(&out, f.view, &options, &e));
    int64_t depth = 0, deepest = 0;
    for (size_t i = 0; i < out.size; i++) {
        depth += (out.data[i] == '{') - (out.data[i] == '}');
        deepest = depth > deepest ? depth : deepest;
    }
    assert_int_equal(depth, 0);
    assert_int_equal(deepest, LEVELS + 2);
    buf_free(&out);
    close_all(&f);
}

/* The output of a text report, to free(). */
static char *text_of(const struct view *v, const struct report_style *style, bool tree)
{
    char *text = NULL;
    size_t size;
    struct err e = { 0 };
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    report_header(out, v, style);
    if (tree)
        assert_true(report_tree(out, v, &v->tree, "call path", style, &e));
    else
        assert_true(report_flat(out, v, style, &e));
    report_threads(out, v, style);
    report_processes(out, v, style);
    assert_true(report_images(out, v, style, &e));
    fclose(out);
    return text;
}

static void contains(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in:\n%s", part, text);
}

/* The next larger unit begins where rounding would show a thousand of the smaller one. */
static void numbers_have_no_exponents(void **state)
{
    (void)state;
    const struct {
        double value;
        const char *expected;
    } durations[] = {
        { 999.4, "999 ns" }, { 999.6, "1 us" },     { 999.4e3, "999 us" }, { 999.6e3, "1 ms" },
          { 1e6, "1 ms" },
        { 12.34e6, "12.3 ms" }, { 999.4e6, "999 ms" }, { 999.5e6, "1.00 s" },
        { 999.99e6, "1.00 s" },
    }, sizes[] = {
        { 1023, "1023 B" }, { 1023.7, "1.00 KiB" }, { 1023.4 * 1024, "1023 KiB" },
        { 1023.7 * 1024, "1.00 MiB" },
    }, digits[] = {
        { 0.5, "0.5" }, { 12.34, "12.3" }, { 999.4, "999" }, { 999.6, "1000" },
        { 123456, "123456" },
    };
    char out[TEXT_NUMBER_SIZE];
    for (size_t i = 0; i < sizeof durations / sizeof *durations; i++)
        assert_string_equal(text_duration(out, durations[i].value), durations[i].expected);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        assert_string_equal(text_bytes(out, sizes[i].value), sizes[i].expected);
    for (size_t i = 0; i < sizeof digits / sizeof *digits; i++)
        assert_string_equal(text_digits(out, 3, digits[i].value), digits[i].expected);
}

static void text_cannot_drive_the_terminal(void **state)
{
    (void)state;
    struct profile *p = make_profile();
    rename_function(p, 'a', "evil\x1b]0;title\x07\xe2\x80\xae\xc2\x9b\xff");
    make_thread(p, 101, "thread\x1b[2J", "ab 3");
    free(p->notes);
    p->notes = strdup("note \x1b[31m\n");
    free(p->command);
    p->command = strdup("run\r\x1b[A");
    free(p->processes[0].command);
    p->processes[0].command = strdup("run\r\x1b[A");
    struct fixture f = open_profile(p);
    for (int tree = 0; tree < 2; tree++) {
        struct report_style style = { .depth = 100, .unicode = true };
        char *text = text_of(f.view, &style, tree);
        for (const char *c = text; *c; c++)
            assert_true((unsigned char)*c >= 0x20 || *c == '\n');
        contains(text, "evil\\x1b]0;title\\x07\\u202e\\x9b\\xff");
        assert_null(strstr(text, "\xe2\x80\xae"));
        free(text);
    }
    close_all(&f);
}

static void text_shows_losses(void **state)
{
    (void)state;
    struct profile *p = make_profile();
    make_thread(p, 101, "main", "ab 90; ac 10");
    p->threads[0].drops[DROP_NESTED] = 100;
    p->threads[0].truncated[TRUNC_DEPTH] = 5;
    p->threads[0].guessed = 2;
    struct fixture f = open_profile(p);
    struct report_style style = { .depth = 100, .verbose = true };
    char *text = text_of(f.view, &style, false);
    contains(text, "dropped   100 (50.00% of all)");
    contains(text, "100  nested: the handler was already running in this thread");
    contains(text, "truncated 5 (5.00% of the stacks are incomplete); 2 with a guessed frame");
    contains(text, "0.01% of CPU time");
    contains(text, " 90.00%   90.00%            90  b");
    contains(text, "  0.00%  100.00%             0  a");
    free(text);
    /* Bursts may be as many as the samples, fewer (where every second one begins one), or there are
     * no samples. */
    profile_observe(p, OBSERVED_CODE, profile_counts_new("burst", "values"));
    observed_code(p)->bursts = 50;
    text = text_of(f.view, &style, false);
    contains(text, "dropped   100 (50.00% of all)");
    free(text);
    observed_code(p)->bursts = 300;
    text = text_of(f.view, &style, false);
    contains(text, "dropped   100 (25.00% of all)");
    free(text);
    observed_code(p)->bursts = 0;
    /* Triggers for shadows are no samples: those that were taken made one, or were declined. */
    profile_observe(p, OBSERVED_SHADOWS, calloc(1, sizeof(struct profile_shadows)));
    observed_shadows(p)->started = 100;
    observed_shadows(p)->declined[DECLINE_LOAD] = 200;
    text = text_of(f.view, &style, false);
    contains(text, "dropped   100 (25.00% of all)");
    free(text);
    close_all(&f);
}

/* To free(). */
static char *header_of(const struct view *v, const struct report_style *style)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    report_header(out, v, style);
    fclose(out);
    return text;
}

static unsigned count_of(const char *text, const char *part)
{
    unsigned count = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        count++;
    return count;
}

/* Two lines above the views, and what is wrong; the rest only where it is asked for. */
static void header_is_two_lines(void **state)
{
    (void)state;
    struct profile *p = make_profile();
    make_thread(p, 101, "main", "ab 900; ac 100");
    p->threads[0].drops[DROP_NESTED] = 5;
    p->threads[0].truncated[TRUNC_DEPTH] = 5;
    p->budget_ppm = 10000;
    p->kernel_cpu_ns = 1000000000;
    struct fixture f = open_profile(p);
    struct report_style style = { .depth = 100 };
    char *text = header_of(f.view, &style);
    assert_int_equal(count_of(text, "\n"), 2);
    contains(text, "2.00 s, 1 process, 1 thread");
    contains(text, "1,000 samples of cpu, every 1 ms: 1.00 s");
    free(text);
    style.verbose = true;
    text = header_of(f.view, &style);
    contains(text, "dropped   5 (0.50% of all)");
    contains(text, "trigger   cpu");
    contains(text, "covered   100.0%");
    contains(text, "(budget 1%)");
    free(text);
    style.verbose = false;
    p->threads[0].drops[DROP_NESTED] = 50;
    p->threads[0].truncated[TRUNC_DEPTH] = 50;
    p->threads[0].cost_ns = 100000000;
    p->kernel_cpu_ns = 10000000000;
    p->processes[0].early_cpu_ns = 9000000000;
    text = header_of(f.view, &style);
    contains(text, "dropped   50 (4.76% of all)");
    contains(text, "truncated 50 (5.00% of the stacks are incomplete)");
    contains(text, "covered   10.0%");
    contains(text, "and the budget is 1%");
    free(text);
    close_all(&f);
}

/* Where the time went that samples do not cover is said, whatever the reason. */
static void what_is_not_covered_is_explained(void **state)
{
    (void)state;
    struct profile *p = make_profile();
    make_thread(p, 101, "main", "ab 1000");
    p->kernel_cpu_ns = p->threads[0].cpu_ns = 10000000000;
    struct fixture f = open_profile(p);
    struct report_style style = { .depth = 100 };
    char *text = header_of(f.view, &style);
    contains(text, "covered   10.0% of 10.00 s");
    contains(text, "9.00 s were used by threads that were sampled late");
    free(text);
    p->processes[0].sandboxed = true;
    text = header_of(f.view, &style);
    contains(text, "9.00 s were used by processes in a sandbox");
    free(text);
    p->threads[0].drops[DROP_LATE] = 9000;
    text = header_of(f.view, &style);
    contains(text, "9.00 s are samples that were dropped");
    assert_null(strstr(text, "were used by"));
    free(text);
    close_all(&f);
}

/* Merged profiles bring the same note many times. Views that are chosen only count them. */
static void notes_are_said_once(void **state)
{
    (void)state;
    struct profile *p = make_profile();
    make_thread(p, 101, "main", "ab 900");
    free(p->notes);
    p->notes = strdup("a note\nanother\na note\na note\n");
    struct fixture f = open_profile(p);
    struct report_style style = { .depth = 100 };
    char *text = header_of(f.view, &style);
    assert_int_equal(count_of(text, "a note"), 1);
    assert_int_equal(count_of(text, "another"), 1);
    free(text);
    style.chosen = true;
    text = header_of(f.view, &style);
    assert_int_equal(count_of(text, "\n"), 2);
    contains(text, "; 2 notes (--verbose)");
    free(text);
    style.verbose = true;
    text = header_of(f.view, &style);
    assert_int_equal(count_of(text, "a note"), 1);
    free(text);
    close_all(&f);
}

static void check_function_name(const char *name, size_t columns, const char *expected)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    struct report_style style = { .depth = 1 };
    size_t used = text_function(out, &style, name, columns);
    fclose(out);
    assert_string_equal(text, expected);
    assert_int_equal(used, strlen(expected));
    assert_int_equal(text_function_width(&style, name, columns), used);
    free(text);
    out = open_memstream(&text, &size);
    style.full_names = true;
    text_function(out, &style, name, 0);
    fclose(out);
    assert_string_equal(text, name);
    free(text);
}

/* Template arguments go first, then parameters; what is as wide as there is room stays. */
static void long_names_are_shortened(void **state)
{
    (void)state;
    const char *map = "std::map<std::string, std::vector<int> >::find(std::string const&)";
    check_function_name(map, 0, "std::map<..>::find(std::string const&)");
    check_function_name("std::vector<int>::push_back(int const&)", 0,
                        "std::vector<int>::push_back(int const&)");
    check_function_name(map, 70, map);
    check_function_name(map, 50, "std::map<..>::find(std::string const&)");
    check_function_name(map, 30, "std::map<..>::find(..)");
    check_function_name(map, 15, "std::map<..>:..");
    check_function_name("f()", 3, "f()");
    check_function_name("bool a::operator<(a::b<int, int> const&) const", 45,
                        "bool a::operator<(a::b<..> const&) const");
    check_function_name("<alloc::vec::Vec<T> as core::ops::Deref>::deref", 40,
                        "<alloc::vec::Vec<T> as core::ops::Dere..");
}

/* A function that calls itself is one line, and so is a cycle that has gone round. */
static void recursion_is_folded(void **state)
{
    (void)state;
    struct profile *p = make_profile();
    make_thread(p, 101, "main", "abbbbc 60; abbd 30; abb 10");
    struct fixture f = open_profile(p);
    struct report_style style = { .depth = 100 };
    char *text = text_of(f.view, &style, true);
    contains(text, "100.00%    0.00%           100  a  [jit]\n"
                   "100.00%   10.00%           100  b (recursion, 4 levels deep)\n"
                   " 60.00%   60.00%            60  |- c\n"
                   " 30.00%   30.00%            30  `- d\n");
    contains(text, "--no-fold");
    free(text);
    style.no_fold = true;
    text = text_of(f.view, &style, true);
    assert_int_equal(count_of(text, " b\n"), 4);
    assert_null(strstr(text, "recursion"));
    free(text);
    close_all(&f);

    p = make_profile();
    make_thread(p, 101, "main", "abcbcbcbcd 40; abcd 60");
    f = open_profile(p);
    style.no_fold = false;
    text = text_of(f.view, &style, true);
    contains(text, "  b");
    contains(text, "100.00%    0.00%           100  c (recursion, 4 levels deep)\n");
    contains(text, "100.00%  100.00%           100  d\n");
    assert_int_equal(count_of(text, "recursion, "), 1);
    free(text);
    close_all(&f);
}

/* Calls that samples have met are not all calls; how many there were is said where it can be
 * told. */
static void calls_seen_are_not_all(void **state)
{
    (void)state;
    struct profile *p = make_profile();
    make_thread(p, 101, "main", "ab 77; ac 1000; ad 1000");
    struct profile_node *nodes = p->threads[0].nodes;
    for (uint32_t i = 1; i < p->threads[0].node_count; i++) {
        uint64_t self = nodes[i].self;
        nodes[i].calls = self == 77 ? 77 : !self ? 0 : nodes[i].offset >= 0x4000 ? 100 : 1;
    }
    struct fixture f = open_profile(p);
    struct report_style style = { .depth = 100 };
    char *text = text_of(f.view, &style, true);
    contains(text, "b (77 seen to return, each < 1 ms)");
    contains(text, "c (1 call, each 1.00 s)");
    contains(text, "d (100 to 106 calls, each 10 ms)");
    free(text);
    struct report_json_options options = { .depth = UINT32_MAX };
    check_json(f.view, &options,
               "F = {f[\"name\"]: f for f in J[\"functions\"]}\n"
               "assert \"all_calls\" not in F[\"b\"][\"cost_per_call\"]\n"
               "assert F[\"c\"][\"cost_per_call\"][\"all_calls\"] == [1, 1]\n"
               "assert F[\"d\"][\"cost_per_call\"][\"all_calls\"] == [100, 106]\n");
    close_all(&f);
}

/* Samples that stand for several periods miss calls that take longer than one: what counts is how
 * long a sample stands for. */
static void calls_are_cheap_by_what_samples_stand_for(void **state)
{
    (void)state;
    struct profile *p = make_profile();
    make_thread(p, 101, "main", "ab 1000; ac 10000");
    struct profile_thread *t = &p->threads[0];
    t->taken = t->weight / 10;
    t->weight_squares = t->weight * 10;
    t->nodes[2].calls = 90;
    t->nodes[4].calls = 100;
    struct fixture f = open_profile(p);
    struct report_style style = { .depth = 100 };
    char *text = text_of(f.view, &style, true);
    contains(text, "b (90 seen to return, each < 10 ms)");
    contains(text, "c (100 to 106 calls, each 100 ms)");
    free(text);
    struct report_json_options options = { .depth = UINT32_MAX };
    check_json(f.view, &options,
               "F = {f[\"name\"]: f[\"cost_per_call\"] for f in J[\"functions\"]}\n"
               "assert \"all_calls\" not in F[\"b\"]\n"
               "assert F[\"c\"][\"all_calls\"] == [100, 106]\n");
    close_all(&f);
}

/* Of a whole run nothing is counted by thread: rows are shares of CPU time, not of nothing. */
static void rows_without_samples_are_of_cpu_time(void **state)
{
    (void)state;
    struct profile *p = make_profile();
    make_thread(p, 101, "main", "ab 0");
    make_thread(p, 102, "worker", "ab 0");
    p->threads[1].cpu_ns = 3000000000;
    struct fixture f = open_profile(p);
    struct report_style style = { .depth = 100 };
    char *text = text_of(f.view, &style, false);
    contains(text, " 75.00%             -      3.00 s       100       102  worker\n"
                   " 25.00%             -      1.00 s       100       101  main\n");
    contains(text, "100.00%             -      4.00 s       100         0  program argument\n");
    free(text);
    close_all(&f);
}

static void tree_branches(void **state)
{
    (void)state;
    struct profile *p = make_profile();
    make_thread(p, 101, "main", "abcd 60; abce 10; abf 30; g 0");
    struct fixture f = open_profile(p);
    struct report_style style = { .depth = 100 };
    char *text = text_of(f.view, &style, true);
    contains(text, "  a  [jit]\n"
                   "100.00%    0.00%           100  b\n"
                   " 70.00%    0.00%            70  |- c\n"
                   " 60.00%   60.00%            60  |  |- d\n"
                   " 10.00%   10.00%            10  |  `- e\n"
                   " 30.00%   30.00%            30  `- f\n");
    free(text);
    style.depth = 2;
    text = text_of(f.view, &style, true);
    contains(text, "levels below 2 are not shown");
    assert_null(strstr(text, "|- c"));
    free(text);
    close_all(&f);
}

static void empty_profiles_are_reported(void **state)
{
    (void)state;
    struct profile *p = make_profile();
    struct fixture f = open_profile(p);
    for (int tree = 0; tree < 2; tree++) {
        struct report_style style = { .depth = 100, .ci = true };
        char *text = text_of(f.view, &style, tree);
        contains(text, "no samples");
        free(text);
    }
    struct report_json_options options = { .ci = true, .depth = UINT32_MAX };
    check_json(f.view, &options, "assert J[\"samples\"] == 0 and J[\"functions\"] == []\n");
    close_all(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wilson_known_values),
        cmocka_unit_test(json_escapes),
        cmocka_unit_test(json_is_what_is_documented),
        cmocka_unit_test(json_prunes_when_asked),
        cmocka_unit_test(json_nests_without_limit),
        cmocka_unit_test(numbers_have_no_exponents),
        cmocka_unit_test(text_cannot_drive_the_terminal),
        cmocka_unit_test(text_shows_losses),
        cmocka_unit_test(header_is_two_lines),
        cmocka_unit_test(what_is_not_covered_is_explained),
        cmocka_unit_test(notes_are_said_once),
        cmocka_unit_test(long_names_are_shortened),
        cmocka_unit_test(recursion_is_folded),
        cmocka_unit_test(calls_seen_are_not_all),
        cmocka_unit_test(calls_are_cheap_by_what_samples_stand_for),
        cmocka_unit_test(rows_without_samples_are_of_cpu_time),
        cmocka_unit_test(tree_branches),
        cmocka_unit_test(empty_profiles_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
