/* The file format: what is written is what is read, and nothing else is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "profile/encode.h"
#include "sample.h"

/* Where the format keeps what (docs/format.md), independently of the product's headers. */
enum { HEADER = 24, ENTRY = 40, AT_VERSION = 8, AT_KIND = 12, AT_COUNT = 16, AT_CHECKSUM = 20 };

struct bytes {
    uint8_t *data;
    size_t size;
};

static struct bytes encode(uint32_t threads, uint32_t nodes, bool compress)
{
    struct err e = {0};
    struct bytes b = {0};
    struct profile *p = sample_profile(threads, nodes, threads * 1000 + nodes);
    b.data = profile_encode_with(p, compress, &b.size, &e);
    assert_string_equal(e.message, "");
    assert_non_null(b.data);
    profile_free(p);
    return b;
}

static void put_u32(uint8_t *at, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static uint32_t get_u32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static void put_u64(uint8_t *at, uint64_t value)
{
    put_u32(at, (uint32_t)value);
    put_u32(at + 4, (uint32_t)(value >> 32));
}

/* Makes all checksums right again, as an attacker would. */
static void repair(struct bytes b)
{
    uint32_t count = get_u32(b.data + AT_COUNT);
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *entry = b.data + HEADER + i * ENTRY;
        uint32_t offset = get_u32(entry + 8), stored = get_u32(entry + 16);
        if (offset <= b.size && stored <= b.size - offset)
            put_u32(entry + 32, (uint32_t)crc32(0, b.data + offset, stored));
    }
    uLong sum = crc32(0, b.data, 20);
    put_u32(b.data + AT_CHECKSUM, (uint32_t)crc32(sum, b.data + HEADER, count * ENTRY));
}

/* The file must be refused, with an error that says all of what the format's promises say. */
static void assert_refused(const uint8_t *data, size_t size, const char *expected)
{
    struct err e = {0};
    /* A copy that is exactly as long, so that a sanitizer sees every byte too many. */
    uint8_t *copy = malloc(size ? size : 1);
    memcpy(copy, data, size);
    struct profile *p = profile_read_memory(copy, size, "some.pnb", &e);
    free(copy);
    if (p)
        fail_msg("read a damaged file (expected: %s)", expected);
    assert_int_equal(e.code, ERR_FORMAT);
    if (!strstr(e.message, "some.pnb") || !strstr(e.message, expected))
        fail_msg("'%s' does not mention '%s'", e.message, expected);
}

static void check_round_trip(uint32_t threads, uint32_t nodes, bool compress)
{
    struct err e = {0};
    struct profile *p = sample_profile(threads, nodes, threads * 1000 + nodes);
    struct bytes b = encode(threads, nodes, compress);
    struct profile *q = profile_read_memory(b.data, b.size, "x", &e);
    assert_string_equal(e.message, "");
    assert_non_null(q);
    assert_string_equal(sample_difference(p, q), "");
    free(b.data);
    profile_free(p);
    profile_free(q);
}

static void test_round_trip(void **state)
{
    (void)state;
    for (int compress = 0; compress < 2; compress++) {
        check_round_trip(0, 0, compress);
        check_round_trip(1, 0, compress);
        check_round_trip(1, 1, compress);
        check_round_trip(3, 50, compress);
        check_round_trip(7, 3000, compress);
        check_round_trip(1, 200000, compress);
    }
}

/* A profile of the trigger malloc has what is live; each damage to those sections is seen. */
static void test_heap(void **state)
{
    (void)state;
    struct err e = {0};
    uint64_t seed = 5;
    size_t size;
    struct profile *p = sample_profile(3, 100, 1);
    char **trigger = &p->metrics[p->metric_count - 1].trigger;
    free(*trigger);
    *trigger = strdup("malloc");
    assert_true(profile_metrics_of_heap(p)); /* beside the two before */
    assert_int_equal(p->metric_count, 2 + HEAP_METRICS);
    assert_int_equal(profile_metric_of_heap(p), 2);
    assert_int_equal(profile_triggers(p), 3);
    for (uint32_t i = 0; i < p->thread_count; i++)
        for (uint32_t k = 0; k < p->threads[i].node_count; k++) {
            p->threads[i].nodes[k].more[0] += sample_random(&seed, 1000);
            p->threads[i].nodes[k].more[3] = sample_random(&seed, UINT64_C(1) << 40);
        }
    p->processes[1].heap_peak_ns = 123456789;
    p->processes[2].heap_missed = 3;
    uint8_t *data = profile_encode(p, &size, &e);
    struct profile *q = profile_read_memory(data, size, "x", &e);
    assert_string_equal(e.message, "");
    assert_string_equal(sample_difference(p, q), "");
    profile_free(q);
    for (size_t cut = size - 200; cut < size; cut++)
        assert_refused(data, cut, "");
    free(data);
    profile_free(p);
}

static void test_empty_profile(void **state)
{
    (void)state;
    struct err e = {0};
    size_t size;
    struct profile *p = profile_new();
    uint8_t *data = profile_encode(p, &size, &e);
    struct profile *q = profile_read_memory(data, size, "x", &e);
    assert_non_null(q);
    assert_string_equal(sample_difference(p, q), "");
    free(data);
    profile_free(p);
    profile_free(q);
}

static void test_file(void **state)
{
    (void)state;
    struct err e = {0};
    char path[] = "/tmp/pnb-test-XXXXXX";
    struct stat st;
    struct profile *p = sample_profile(2, 40, 1);
    close(mkstemp(path));
    assert_true(profile_write(p, path, &e));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    struct profile *q = profile_read(path, &e);
    assert_non_null(q);
    assert_string_equal(sample_difference(p, q), "");
    profile_free(q);
    unlink(path);
    assert_null(profile_read(path, &e));
    assert_int_equal(e.code, ERR_NOT_FOUND);
    assert_non_null(strstr(e.message, path));
    e = (struct err){0};
    assert_false(profile_write(p, "/nonexistent-directory/x.pnb", &e));
    assert_int_equal(e.code, ERR_OUTPUT);
    e = (struct err){0};
    assert_false(profile_write(p, "/tmp", &e));
    assert_non_null(strstr(e.message, "directory"));
    e = (struct err){0};
    assert_null(profile_read("/tmp", &e));
    assert_non_null(strstr(e.message, "directory"));
    profile_free(p);
}

/* A device is written to, not replaced; a symbolic link stays one. */
static void test_special_files(void **state)
{
    (void)state;
    struct err e = {0};
    struct stat st;
    char directory[] = "/tmp/pnb-test-XXXXXX", link[64], file[64];
    struct profile *p = sample_profile(1, 5, 1);
    assert_true(profile_write(p, "/dev/null", &e));
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    assert_non_null(mkdtemp(directory));
    snprintf(link, sizeof link, "%s/link", directory);
    snprintf(file, sizeof file, "%s/file", directory);
    close(open(file, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(symlink(file, link), 0);
    assert_true(profile_write(p, link, &e));
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    struct profile *q = profile_read(file, &e);
    assert_non_null(q);
    profile_free(p);
    profile_free(q);
    unlink(link);
    unlink(file);
    assert_int_equal(rmdir(directory), 0); /* nothing else was left in it */
}

static void test_every_flip_is_seen(void **state)
{
    (void)state;
    static const uint8_t flips[] = {0x01, 0x80, 0xff};
    for (int compress = 0; compress < 2; compress++) {
        struct bytes b = encode(2, 30, compress);
        for (size_t i = 0; i < b.size; i += SAMPLE_SPARSE) {
            uint8_t flip = flips[i % sizeof flips];
            b.data[i] ^= flip;
            assert_refused(b.data, b.size, "offset");
            b.data[i] ^= flip;
        }
        free(b.data);
    }
}

static void test_every_truncation_is_seen(void **state)
{
    (void)state;
    struct bytes b = encode(2, 30, true);
    for (size_t size = 0; size < b.size; size += SAMPLE_SPARSE)
        assert_refused(b.data, size, "offset");
    uint8_t *longer = calloc(1, b.size + 1);
    memcpy(longer, b.data, b.size);
    assert_refused(longer, b.size + 1, "appended");
    free(longer);
    free(b.data);
}

static void test_large_sampled_damage(void **state)
{
    (void)state;
    uint64_t seed = 5;
    struct bytes b = encode(4, 20000, true);
    for (unsigned i = 0; i < 300 / SAMPLE_SPARSE; i++) {
        size_t at = (size_t)sample_random(&seed, b.size);
        b.data[at] ^= 0x10;
        assert_refused(b.data, b.size, "offset");
        b.data[at] ^= 0x10;
        assert_refused(b.data, at, "offset");
    }
    free(b.data);
}

/* Either refused with an error, or a profile that can be written again. */
static void assert_safe(struct bytes b)
{
    struct err e = {0};
    size_t size;
    uint8_t *copy = malloc(b.size);
    memcpy(copy, b.data, b.size);
    struct profile *p = profile_read_memory(copy, b.size, "some.pnb", &e);
    free(copy);
    if (!p) {
        bool live = get_u32(b.data + AT_KIND) == 1;
        if (!strstr(e.message, live ? "has not ended" : "offset"))
            fail_msg("'%s' does not say where", e.message);
        return;
    }
    uint8_t *again = profile_encode_with(p, false, &size, &e);
    if (!again)
        fail_msg("was read but cannot be written: %s", e.message);
    free(again);
    profile_free(p);
}

/* Damage whose checksums are right: what a hostile file would hold. */
static void test_hostile_contents(void **state)
{
    (void)state;
    struct bytes b = encode(2, 30, false);
    struct bytes work = {malloc(b.size), b.size};
    static const uint8_t values[] = {0x00, 0x01, 0x40, 0x7f, 0x80, 0xff, 0xff};
    for (size_t i = AT_VERSION; i < b.size; i += i < HEADER + 8 * ENTRY ? 1 : 3 * SAMPLE_SPARSE) {
        memcpy(work.data, b.data, b.size);
        work.data[i] = values[i % sizeof values];
        if (get_u32(work.data + AT_COUNT) == get_u32(b.data + AT_COUNT))
            repair(work);
        assert_safe(work);
    }
    uint64_t seed = 9;
    for (unsigned i = 0; i < 800 / SAMPLE_SPARSE; i++) {
        memcpy(work.data, b.data, b.size);
        for (unsigned k = 0; k <= i % 4; k++)
            work.data[HEADER + 7 * ENTRY + sample_random(&seed, b.size - HEADER - 7 * ENTRY)] =
                (uint8_t)sample_random(&seed, 256);
        repair(work);
        assert_safe(work);
    }
    free(work.data);
    free(b.data);
}

/* A file of 100 bytes cannot make the reader allocate what it claims to hold. */
static void test_impossible_size(void **state)
{
    (void)state;
    struct bytes b = encode(1, 10, true);
    for (uint32_t i = 0; i < get_u32(b.data + AT_COUNT); i++) {
        uint8_t *entry = b.data + HEADER + i * ENTRY;
        uint64_t old = get_u32(entry + 24);
        put_u64(entry + 24, UINT64_C(1) << 32);
        repair(b);
        assert_refused(b.data, b.size, "bytes");
        put_u64(entry + 24, old);
    }
    free(b.data);
}

/* The same file with one more section at its end. */
static struct bytes with_section(struct bytes b, uint32_t type, uint32_t flags)
{
    uint32_t count = get_u32(b.data + AT_COUNT);
    size_t table_end = HEADER + count * ENTRY;
    struct bytes r = {calloc(1, b.size + ENTRY + 3), b.size + ENTRY + 3};
    memcpy(r.data, b.data, table_end);
    memcpy(r.data + table_end + ENTRY, b.data + table_end, b.size - table_end);
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *entry = r.data + HEADER + i * ENTRY;
        put_u64(entry + 8, get_u32(entry + 8) + ENTRY);
    }
    put_u32(r.data + table_end, type);
    put_u32(r.data + table_end + 4, flags);
    put_u64(r.data + table_end + 8, b.size + ENTRY);
    put_u64(r.data + table_end + 16, 3);
    put_u64(r.data + table_end + 24, 3);
    memcpy(r.data + b.size + ENTRY, "new", 3);
    put_u32(r.data + AT_COUNT, count + 1);
    repair(r);
    return r;
}

static void test_newer_sections(void **state)
{
    (void)state;
    struct err e = {0};
    struct bytes b = encode(2, 30, true);
    struct bytes optional = with_section(b, 4000, 4), required = with_section(b, 4000, 1);
    struct profile *p = profile_read_memory(optional.data, optional.size, "x", &e);
    assert_string_equal(e.message, "");
    assert_non_null(p);
    /* What is not understood is passed on, with what it says of itself. */
    size_t size;
    uint8_t *again = profile_encode_with(p, true, &size, &e);
    assert_int_equal(get_u32(again + AT_COUNT), get_u32(optional.data + AT_COUNT));
    const uint8_t *entry = again + HEADER + (get_u32(again + AT_COUNT) - 1) * ENTRY;
    assert_int_equal(get_u32(entry), 4000);
    assert_int_equal(get_u32(entry + 4), 4);
    assert_memory_equal(again + get_u32(entry + 8), "new", 3);
    assert_int_equal(get_u32(entry + 8) + 3, size);
    free(again);
    profile_free(p);
    assert_refused(required.data, required.size, "newer penumbra");
    free(required.data);
    required = with_section(b, 1, 1);
    assert_refused(required.data, required.size, "second section");
    free(optional.data);
    free(required.data);
    free(b.data);
}

static void test_newer_reason(void **state)
{
    (void)state;
    struct err e = {0};
    struct bytes b = encode(1, 4, false);
    /* The first reason's name, of the same length, is one that does not exist. */
    uint8_t *name = memmem(b.data, b.size, "\006nested", 7);
    assert_non_null(name);
    memcpy(name, "\006tested", 7);
    repair(b);
    struct profile *p = profile_read_memory(b.data, b.size, "x", &e);
    assert_non_null(p);
    struct profile *original = sample_profile(1, 4, 1004);
    struct profile_totals before, after;
    profile_totals(original, &before);
    profile_totals(p, &after);
    assert_int_not_equal(before.drops[DROP_NESTED], 0);
    assert_int_equal(after.drops[DROP_NESTED], 0);
    char expected[128];
    snprintf(expected, sizeof expected, "%llu samples were dropped for the reason 'tested'",
             (unsigned long long)before.drops[DROP_NESTED]);
    assert_non_null(strstr(p->notes, expected));
    profile_free(p);
    profile_free(original);
    free(b.data);
}

static void test_messages(void **state)
{
    (void)state;
    struct bytes b = encode(1, 4, true);
    uint8_t text[64];
    assert_refused(b.data, 0, "empty");
    assert_refused((const uint8_t *)"\x7f" "ELF\2\1\1", 7, "not a profile");
    memcpy(text, "\x89PNB\n\x1a\n", 7);
    memcpy(text + 7, b.data + 8, 50);
    assert_refused(text, 57, "text");
    memcpy(text, b.data, 60);
    text[0] = 0x09;
    assert_refused(text, 60, "7-bit");
    put_u32(b.data + AT_VERSION, 2);
    repair(b);
    assert_refused(b.data, b.size, "version 2");
    put_u32(b.data + AT_VERSION, 1);
    put_u32(b.data + AT_KIND, 9);
    repair(b);
    assert_refused(b.data, b.size, "kind 9");
    free(b.data);
}

/* Whatever a file says, reports may rely on an exact profile's counts. */
static void test_exact(void **state)
{
    (void)state;
    struct err e = {0};
    size_t size;
    for (unsigned i = 0; i < 2; i++) {
        struct profile *p = sample_profile(1, 4, 1);
        if (i) {
            profile_counts_free(profile_observation_take(p, OBSERVED_CODE));
        }
        uint8_t *data = profile_encode(p, &size, &e);
        struct profile *q = profile_read_memory(data, size, "x", &e);
        assert_non_null(q);
        assert_int_equal(q->metrics[0].how, METRIC_EXACT);
        assert_int_equal(profile_is_exact(q), !i);
        free(data);
        profile_free(p);
        profile_free(q);
    }
}

/* What could not be read back is not written. */
static void test_writer_refuses(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 6; i++) {
        struct err e = {0};
        size_t size;
        struct profile *p = sample_profile(2, 30, 3);
        struct profile_productions *t = observed_table(p, TABLE_PRODUCTIONS);
        if (i == 0)
            p->threads[1].process = 3;
        else if (i == 1)
            p->threads[1].nodes[7].image = 77;
        else if (i == 2)
            p->threads[1].nodes[7].parent = 9;
        else if (i == 3)
            p->processes[0].maps[0].image = 5;
        else if (i == 4)
            p->processes[2].jit[1].address = 0;
        else /* of no code, in a field that is code */
            t->counts[0].values.of[0] = (struct production_value){PROFILE_IMAGE_NONE, 0, 1,
                                                                  VALUE_NUMBER};
        assert_null(profile_encode(p, &size, &e));
        assert_int_equal(e.code, ERR_INTERNAL);
        profile_free(p);
    }
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(profile_drop_name(DROP_SPOOL_FULL), "spool-full");
    assert_string_equal(profile_drop_name(DROP_COUNT), "?");
    assert_string_equal(profile_truncation_name(TRUNC_NO_CFI), "no-cfi");
    assert_string_equal(profile_truncation_sentence(TRUNC_COUNT), "?");
    for (unsigned i = 0; i < DROP_COUNT; i++)
        assert_true(*profile_drop_sentence(i));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_heap),
        cmocka_unit_test(test_empty_profile),
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_special_files),
        cmocka_unit_test(test_every_flip_is_seen),
        cmocka_unit_test(test_every_truncation_is_seen),
        cmocka_unit_test(test_large_sampled_damage),
        cmocka_unit_test(test_hostile_contents),
        cmocka_unit_test(test_impossible_size),
        cmocka_unit_test(test_newer_sections),
        cmocka_unit_test(test_newer_reason),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_exact),
        cmocka_unit_test(test_writer_refuses),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
