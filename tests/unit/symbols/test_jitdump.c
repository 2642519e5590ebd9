/* Symbols of a jitdump file: what it says, and that nothing in it does harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "collector/jitdump.h"

bool jit_add(struct jit_symbols *m, uint64_t address, uint64_t size, const char *name)
{
    m->symbols = reallocarray(m->symbols, m->count + 1, sizeof *m->symbols);
    m->symbols[m->count++] = (struct profile_jit_symbol){address, size, strdup(name)};
    return true;
}

static void put_header(struct buf *b, uint32_t size)
{
    const uint32_t fields[] = {0x4a695444, 1, size, 62, 0, 4711};
    for (unsigned i = 0; i < 6; i++)
        buf_put_u32(b, fields[i]);
    for (uint32_t at = 24; at < size; at += 8)
        buf_put_u64(b, 0);
}

static void put_record(struct buf *b, uint32_t kind, uint32_t bytes)
{
    buf_put_u32(b, kind);
    buf_put_u32(b, bytes);
    buf_put_u64(b, 99);
}

static void put_load(struct buf *b, uint64_t address, const char *name)
{
    uint32_t length = (uint32_t)strlen(name) + 1;
    put_record(b, 0, 56 + length + 4);
    buf_put_u64(b, 0);
    const uint64_t numbers[] = {address, address, 4, 0};
    for (unsigned i = 0; i < 4; i++)
        buf_put_u64(b, numbers[i]);
    buf_put(b, name, length);
    buf_put(b, "code", 4);
}

static void put_move(struct buf *b, uint64_t from, uint64_t to)
{
    put_record(b, 1, 64);
    buf_put_u64(b, 0);
    const uint64_t numbers[] = {from, from, to, 4, 0};
    for (unsigned i = 0; i < 5; i++)
        buf_put_u64(b, numbers[i]);
}

static struct buf sample(uint32_t header)
{
    struct buf b = {0};
    put_header(&b, header);
    put_load(&b, 0x1000, "first");
    put_record(&b, 2, 24); /* lines: passed over */
    buf_put_u64(&b, 0x1000);
    put_load(&b, 0x2000, "second");
    put_move(&b, 0x1000, 0x3000);
    put_move(&b, 0x7777, 0x4000); /* of what nobody has loaded */
    return b;
}

static struct jit_symbols read_all(const uint8_t *data, size_t size)
{
    struct jit_symbols m = {0};
    int fd = memfd_create("dump", 0);
    assert_int_equal(write(fd, data, size), size);
    jitdump_read(fd, size, &m);
    close(fd);
    return m;
}

static void release(struct jit_symbols *m)
{
    for (size_t i = 0; i < m->count; i++)
        free(m->symbols[i].name);
    free(m->symbols);
}

static void says_what_is_there(void **state)
{
    (void)state;
    static const struct { uint64_t address; const char *name; } expected[] = {
        {0x1000, "first"}, {0x2000, "second"}, {0x3000, "first"}};
    for (uint32_t header = 40; header <= 64; header += 24) {
        struct buf b = sample(header);
        struct jit_symbols m = read_all(b.data, b.size);
        assert_int_equal(m.count, 3);
        for (unsigned i = 0; i < 3; i++) {
            assert_int_equal(m.symbols[i].address, expected[i].address);
            assert_int_equal(m.symbols[i].size, 4);
            assert_string_equal(m.symbols[i].name, expected[i].name);
        }
        release(&m);
        buf_free(&b);
    }
}

/* Cut anywhere: what is whole is read. With any byte changed: no harm. */
static void damage_does_no_harm(void **state)
{
    (void)state;
    struct buf b = sample(40);
    size_t last = 0;
    for (size_t size = 0; size <= b.size; size++) {
        struct jit_symbols m = read_all(b.data, size);
        assert_true(m.count >= last);
        last = m.count;
        release(&m);
    }
    assert_int_equal(last, 3);
    for (size_t at = 0; at < b.size; at++)
        for (unsigned value = 0; value < 256; value += 51) {
            uint8_t old = b.data[at];
            b.data[at] = (uint8_t)value;
            struct jit_symbols m = read_all(b.data, b.size);
            assert_true(m.count <= 4);
            release(&m);
            b.data[at] = old;
        }
    buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_is_there),
        cmocka_unit_test(damage_does_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
