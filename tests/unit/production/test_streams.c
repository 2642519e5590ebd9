/* Hot streams (sigsafe/hot_streams.h), and the store of productions in the spool. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sigsafe/hot_streams.h"
#include "sigsafe/spool_productions.h"

/* ---- streams ---- */

struct found {
    const struct hot_item *items;
    char text[4096];
};

/* "LETTERS xTIMES " */
static void note(void *data, const uint32_t *indices, uint32_t length, uint32_t frequency)
{
    struct found *f = data;
    size_t used = strlen(f->text);
    for (uint32_t i = 0; i < length && used + 32 < sizeof f->text; i++)
        f->text[used++] = (char)f->items[indices[i]].a;
    snprintf(f->text + used, sizeof f->text - used, " x%u ", frequency);
}

/* '|' is a break. */
static uint64_t find(const char *text, struct found *f)
{
    uint32_t n = (uint32_t)strlen(text);
    struct hot_item *items = malloc(n * sizeof *items);
    void *memory = calloc(1, hot_streams_bytes(n));
    for (uint32_t i = 0; i < n; i++)
        items[i] = text[i] == '|' ? HOT_BREAK : (struct hot_item){(uint64_t)text[i], 7};
    f->items = items;
    f->text[0] = '\0';
    uint64_t heat = hot_streams_find(memory, items, n, note, f);
    free(memory);
    free(items);
    return heat;
}

static void test_one_stream(void **state)
{
    struct found f;
    (void)state;
    assert_int_equal(find("abcd|abcd|abcd|abcd|", &f), 16);
    assert_string_equal(f.text, "abcd x4 ");
}

static void test_two_streams(void **state)
{
    struct found f;
    (void)state;
    assert_int_equal(find("abc|xy|abc|xy|abc|xy|abc|xy|", &f), 20);
    assert_true(strstr(f.text, "abc x4 ") && strstr(f.text, "xy x4 "));
}

/* No stream over a break, though "ba" comes as often as "ab". */
static void test_breaks(void **state)
{
    struct found f;
    (void)state;
    find("ab|ab|ab|ab|ab|ab", &f);
    assert_string_equal(f.text, "ab x6 ");
    assert_int_equal(find("||||", &f), 0);
    assert_int_equal(find("abcdefgh", &f), 0);
    assert_string_equal(f.text, "");
}

/* No stream has more than 100 items, and together they have no more than there are. */
static void test_long(void **state)
{
    enum { PERIOD = 26, TIMES = 400 };
    char text[PERIOD * TIMES + 1];
    struct found f;
    (void)state;
    for (unsigned i = 0; i < PERIOD * TIMES; i++)
        text[i] = (char)('a' + i % PERIOD);
    text[PERIOD * TIMES] = '\0';
    uint64_t heat = find(text, &f);
    assert_true(heat <= PERIOD * TIMES && heat >= PERIOD * TIMES * 9 / 10);
    for (const char *word = f.text; *word; word = strchr(strchr(word, ' ') + 1, ' ') + 1)
        assert_true(strchr(word, ' ') - word <= HOT_STREAM_MOST);
}

/* ---- the store ---- */

static struct spool spool_make(uint64_t size)
{
    struct spool s = {.base = aligned_alloc(4096, size), .mapped = size};
    memset(s.base, 0, size);
    struct spool_header *h = spool_header(&s);
    h->magic = SPOOL_MAGIC;
    h->version = SPOOL_VERSION;
    h->layout = SPOOL_LAYOUT;
    h->size = h->limit = size;
    h->next = SPOOL_HEADER_SIZE;
    return s;
}

static uint64_t count_of(const struct production_store *p, uint32_t group, uint64_t a, uint64_t b)
{
    for (uint32_t i = 0; i < p->counts->capacity; i++) {
        const struct spool_production_count *e = &p->counts->entries[i];
        if (e->count && e->group == group && e->a == a && e->b == b)
            return e->count;
    }
    return 0;
}

static void test_counts(void **state)
{
    enum { VALUES = 5000 };
    struct spool s = spool_make(4 << 20);
    struct production_store p;
    uint32_t list = 0;
    (void)state;
    assert_true(production_store_begin_as(&p, &s, &list, 1));
    for (unsigned round = 0; round < 3; round++)
        for (uint32_t i = 0; i < VALUES; i++)
            assert_int_equal(production_count_as(&p, i % 3, i, ~i), PRODUCTION_PUT);
    for (uint32_t i = 0; i < VALUES; i++)
        assert_int_equal(count_of(&p, i % 3, i, ~i), 3);
    assert_int_equal(p.record->counts_used, VALUES);
    assert_int_equal(count_of(&p, 0, 1, ~UINT32_C(1)), 0);
    free(s.base);
}

/* Without room nothing is lost that was there. */
static void test_no_room(void **state)
{
    struct spool s = spool_make(64 << 10);
    struct production_store p;
    uint32_t list = 0, put = 0;
    (void)state;
    assert_true(production_store_begin_as(&p, &s, &list, 1));
    while (production_count_as(&p, 0, put, 0) == PRODUCTION_PUT)
        put++;
    assert_true(put >= PRODUCTION_COUNTS_FIRST / 4 * 3);
    for (uint32_t i = 0; i < put; i++)
        assert_int_equal(count_of(&p, 0, i, 0), 1);
    free(s.base);
}

/* A buffer that is full is searched: its streams are counted, and it begins anew. */
static void test_buffer(void **state)
{
    enum { LETTERS = 8 };
    struct spool s = spool_make(32 << 20);
    struct production_store p;
    uint32_t list = 0, appended = 0;
    uint64_t heat = 0;
    (void)state;
    assert_true(production_store_begin_as(&p, &s, &list, 1));
    for (unsigned searches = 0; searches < 2; searches++) {
        while (production_append_as(&p, 2, (struct hot_item){appended % LETTERS, 1}) ==
               PRODUCTION_PUT)
            appended++;
        assert_int_equal(p.record->buffers[2].count, PRODUCTION_BUFFER_MOST);
        void *memory = calloc(1, hot_streams_bytes(PRODUCTION_BUFFER_MOST));
        production_search_as(&p, 2, memory);
        free(memory);
        assert_int_equal(p.record->buffers[2].count, 0);
    }
    for (uint32_t i = 0; i < PRODUCTION_CHAINS; i++)
        for (const struct spool_production_stream *t =
                 spool_at(&s, p.record->streams[i], sizeof *t);
             t; t = spool_at(&s, t->next, sizeof *t)) {
            assert_int_equal(t->group, 2);
            heat += t->frequency * t->length;
        }
    assert_int_equal(appended, 2 * PRODUCTION_BUFFER_MOST);
    assert_true(heat <= appended && heat >= appended / 10 * 9);
    free(s.base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_stream), cmocka_unit_test(test_two_streams),
        cmocka_unit_test(test_breaks),     cmocka_unit_test(test_long),
        cmocka_unit_test(test_counts),     cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
