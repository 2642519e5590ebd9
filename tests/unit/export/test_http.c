/* Addresses of collectors, and their answers. What is sent is in check_push.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "export/http.h"

static void test_addresses(void **state)
{
    (void)state;
    static const char *const good[][4] = {
        { "http://localhost:4318", "localhost", "4318", "/default" },
        { "http://localhost", "localhost", "80", "/default" },
        { "http://a.example:1/", "a.example", "1", "/default" },
        { "http://127.0.0.1:4318/v1/x?y=:z", "127.0.0.1", "4318", "/v1/x?y=:z" },
        { "http://[::1]:4318/p", "::1", "4318", "/p" },
        { "http://[fe80::2]", "fe80::2", "80", "/default" },
    };
    static const char *const bad[] = {
        "", "localhost:4318", "http://", "http://:80", "http:///x", "https://host", "http://h:",
        "http://h:x", "http://h:123456789", "http://[::1", "http://[]:1", "http://[::1]x:1",
        "http://u@h/", "http://h/a b", "http://h/\r\nX: y", "http://h\n/",
    };
    struct http_url u;
    struct err e;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(http_url_parse(&u, good[i][0], "/default", &(struct err){ 0 }));
        assert_string_equal(u.host, good[i][1]);
        assert_string_equal(u.port, good[i][2]);
        assert_string_equal(u.path, good[i][3]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        e = (struct err){ 0 };
        assert_false(http_url_parse(&u, bad[i], "/default", &e));
        assert_int_equal(e.code, ERR_USAGE);
    }
    char *longer = calloc(1, 4000);
    memset(longer, 'h', 3999);
    memcpy(longer, "http://", 7);
    assert_false(http_url_parse(&u, longer, "/", &(struct err){ 0 }));
    longer[9] = '/';
    assert_false(http_url_parse(&u, longer, "/", &(struct err){ 0 }));
    free(longer);
}

/* Of a copy without anything behind it, for the sanitizer. */
static bool parse(struct http_answer *a, const char *text, size_t size, bool *all)
{
    char *copy = malloc(size + 1);
    memcpy(copy, text, size);
    copy[size] = 0;
    http_answer_fini(a);
    bool ok = http_answer_parse(a, copy, size, all);
    free(copy);
    return ok;
}

static void test_answers(void **state)
{
    (void)state;
    static const char whole[] = "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\nRetry-After:  17\r\n"
                                "\r\nabcdrest";
    struct http_answer a = { 0 };
    bool all;
    assert_true(parse(&a, whole, strlen(whole), &all));
    assert_true(all);
    assert_int_equal(a.status, 503);
    assert_int_equal(a.retry_after, 17);
    assert_int_equal(a.body.size, 4);
    for (size_t size = 0; size < strlen(whole) - 4; size++) {
        bool ok = parse(&a, whole, size, &all);
        assert_int_equal(ok, size >= 12);
        assert_false(all);
    }
    static const char chunks[] = "HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n";
    assert_true(parse(&a, chunks, strlen(chunks), &all));
    assert_false(all);
    assert_int_equal(a.body.size, 0);
    static const char odd[] = "HTTP/1.1 200 OK\r\nRetry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\n"
                              "Content-Length: 99999999999999999999\r\n\r\n";
    assert_true(parse(&a, odd, strlen(odd), &all));
    assert_int_equal(a.retry_after, 0);
    assert_false(all);
    static const char *const none[] = { "HTTP/2 200 OK, and more\r\n", "HTTP/1.1 2x0 OK\r\n\r\n",
                                        "SSH-2.0-OpenSSH_9.2p1\r\n", "HTTP/1.1_200 OK\r\n" };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(parse(&a, none[i], strlen(none[i]), &all));
    http_answer_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
