/* Records of perf rings, whole and damaged; and maps that cover each other. */
#include "collector/machine/bpf/bpf_tables.h"
#include "collector/machine/machine_process.h"
#include "collector/machine/machine_record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/table.h"

enum { REGISTERS = 17, PAGES = 64, MAPS = 400 };

struct bytes {
    uint8_t data[MACHINE_RECORD_MOST];
    size_t size;
};

static void put(struct bytes *b, const void *from, size_t size)
{
    memcpy(b->data + b->size, from, size);
    b->size += size;
}

static void put_u64(struct bytes *b, uint64_t value)
{
    put(b, &value, sizeof value);
}

static void begin(struct bytes *b, uint32_t type, uint16_t misc)
{
    const struct perf_event_header h = {.type = type, .misc = misc};
    b->size = 0;
    put(b, &h, sizeof h);
}

/* Of process 5, thread 6, at 7: two kernel frames, and `filled` bytes of the stack. */
static void sample(struct bytes *b, uint64_t filled)
{
    begin(b, PERF_RECORD_SAMPLE, 0);
    put_u64(b, UINT64_C(6) << 32 | 5);
    put_u64(b, 7);
    put_u64(b, 2);
    put_u64(b, UINT64_MAX - 127);
    put_u64(b, UINT64_C(0xffffffff81000000));
    put_u64(b, PERF_SAMPLE_REGS_ABI_64);
    for (uint64_t i = 0; i < REGISTERS; i++)
        put_u64(b, 100 + i);
    put_u64(b, MACHINE_STACK);
    memset(b->data + b->size, 0xaa, MACHINE_STACK);
    for (uint64_t i = 0; i < filled; i++)
        b->data[b->size + i] = (uint8_t)i;
    b->size += MACHINE_STACK;
    put_u64(b, filled);
}

static void check_sample(const struct machine_record *r, uint64_t filled)
{
    assert_int_equal(r->kind, MACHINE_SAMPLE);
    assert_int_equal(r->pid, 5);
    assert_int_equal(r->tid, 6);
    assert_int_equal(r->time, 7);
    assert_int_equal(r->kernel_count, 2);
    assert_int_equal(r->regs.r[UNWIND_RSP], 107);
    assert_int_equal(r->regs.r[UNWIND_R15], 116);
    assert_int_equal(r->stack_size, filled);
    assert_int_equal(r->stack_cut, filled == MACHINE_STACK);
    for (uint64_t i = 0; i < filled; i++)
        assert_int_equal(r->stack[i], (uint8_t)i);
}

static void test_pack(void **state)
{
    static const uint64_t filled[] = {0, 8, 4096, MACHINE_STACK - 8, MACHINE_STACK};
    static struct bytes b;
    (void)state;
    for (unsigned i = 0; i < sizeof filled / sizeof filled[0]; i++) {
        struct machine_record r;
        sample(&b, filled[i]);
        assert_true(machine_record_read(b.data, b.size, &r));
        check_sample(&r, filled[i]);
        size_t size = machine_record_pack(b.data, b.size, &r);
        assert_int_equal(size, b.size - MACHINE_STACK + filled[i]);
        assert_true(machine_record_read(b.data, size, &r));
        check_sample(&r, filled[i]);
    }
}

/* Cut anywhere, a record is refused, and no byte behind its end is read. */
static void test_cut(void **state)
{
    static struct bytes b;
    struct machine_record r;
    (void)state;
    sample(&b, 64);
    for (size_t size = 0; size < b.size; size += size < 400 ? 1 : 997) {
        uint8_t *copy = malloc(size + !size);
        memcpy(copy, b.data, size);
        assert_false(machine_record_read(copy, size, &r));
        free(copy);
    }
}

static void test_side(void **state)
{
    static struct bytes b;
    struct machine_record r;
    (void)state;
    begin(&b, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
    put_u64(&b, UINT64_C(6) << 32 | 5);
    put(&b, "a name\0", 8);
    put_u64(&b, UINT64_C(6) << 32 | 5);
    put_u64(&b, 9);
    assert_true(machine_record_read(b.data, b.size, &r));
    assert_int_equal(r.kind, MACHINE_COMM);
    assert_true(r.exec);
    assert_string_equal(r.name, "a name");
    assert_int_equal(r.time, 9);
    memset(b.data + 16, 'x', 8); /* no NUL */
    assert_false(machine_record_read(b.data, b.size, &r));
}

/* Of process 5, thread 6, at 7: `user` frames and two of the kernel. */
static void walk(struct bytes *b, uint32_t reason, uint16_t user)
{
    struct walk_record w = {.h = {.magic = WALK_MAGIC, .reason = (uint16_t)reason, .ns = 11,
                                  .user = user, .kernel = 2, .identity = 12, .at = 13}};
    uint32_t size = (uint32_t)offsetof(struct walk_record, address) + (user + 2u) * 8;
    for (uint32_t i = 0; i < user + 2u; i++)
        w.address[i] = 1000 + i;
    begin(b, PERF_RECORD_SAMPLE, 0);
    put_u64(b, UINT64_C(6) << 32 | 5);
    put_u64(b, 7);
    put(b, &size, sizeof size);
    put(b, &w, size);
}

static void capture(struct bytes *b, const struct capture_record *c)
{
    uint32_t words = c->words <= CAPTURE_STEPS ? c->words : CAPTURE_STEPS;
    uint32_t size =
        (uint32_t)(offsetof(struct capture_record, word) + words * sizeof(struct capture_word));
    begin(b, PERF_RECORD_SAMPLE, 0);
    put_u64(b, UINT64_C(6) << 32 | 5);
    put_u64(b, 7);
    put(b, &size, sizeof size);
    put(b, c, size);
}

/* What an interpreter goes on from: as it was written, and refused where a count cannot be true. */
static void test_capture(void **state)
{
    static struct bytes b;
    static struct capture_record c;
    struct machine_record r;
    (void)state;
    c = (struct capture_record){.magic = CAPTURE_MAGIC, .code = CAPTURE_CODE, .ip = 99, .words = 3};
    capture(&b, &c);
    assert_true(machine_record_read(b.data, b.size, &r));
    assert_int_equal(r.kind, MACHINE_CAPTURE);
    assert_true(r.pid == 5 && r.tid == 6 && r.time == 7);
    assert_int_equal(r.capture_size, offsetof(struct capture_record, word) + 3 * 16);
    assert_memory_equal(r.capture, &c, r.capture_size);
    for (size_t size = 0; size < b.size; size++)
        if (size >= sizeof(struct perf_event_header) + 16 + 8)
            assert_false(machine_record_read(b.data, size, &r));
    for (unsigned i = 0; i < 3; i++) {
        struct capture_record bad = c;
        bad.words = i == 0 ? CAPTURE_STEPS + 1 : 3;
        bad.code = i == 1 ? CAPTURE_CODE + 1 : 0;
        bad.stack = i == 2 ? CAPTURE_STACK + 1 : 0;
        capture(&b, &bad);
        assert_false(machine_record_read(b.data, b.size, &r));
    }
}

/* Cut anywhere, it is refused. */
static void check_cut(const struct bytes *b)
{
    struct machine_record r;
    for (size_t size = 0; size < b->size; size += 4) {
        uint8_t *copy = malloc(size + !size);
        memcpy(copy, b->data, size);
        assert_false(machine_record_read(copy, size, &r));
        free(copy);
    }
}

/* What the BPF program writes of a stack that it has walked. */
static void test_walk(void **state)
{
    static const uint16_t frames[] = {0, 1, 30, WALK_FRAMES};
    static struct bytes b;
    struct machine_record r;
    (void)state;
    for (unsigned i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        walk(&b, WALK_NO_TABLE, frames[i]);
        assert_int_equal(b.size % 8, 0);
        assert_true(machine_record_read(b.data, b.size, &r));
        assert_int_equal(r.kind, MACHINE_WALK);
        assert_true(r.pid == 5 && r.tid == 6 && r.time == 7);
        assert_true(r.reason == WALK_NO_TABLE && r.identity == 12 && r.at == 13 && r.walk_ns == 11);
        assert_true(r.user_count == frames[i] && r.kernel_count == 2);
        assert_int_equal(r.kernel[1], 1000 + frames[i] + 1);
        assert_int_equal(machine_record_pack(b.data, b.size, &r), b.size);
        check_cut(&b);
    }
    walk(&b, WALK_REASONS, 1);
    assert_false(machine_record_read(b.data, b.size, &r));
}

static struct walk_piece piece_of(uint32_t size)
{
    struct walk_piece p = {.h = {.magic = PIECE_MAGIC, .subject = WALK_WAKE, .reason = WALK_RULE,
                                 .kernel = 3, .odds = 20, .identity = 12, .at = 13, .pid = 21,
                                 .tid = 22, .begun = 23},
                           .abi = PERF_SAMPLE_REGS_ABI_64,
                           .size = size};
    for (unsigned i = 0; i < WALK_REGISTERS; i++)
        p.regs[i] = 100 + i;
    for (unsigned i = 0; i < WALK_KERNEL; i++)
        p.kernel[i] = 1000 + i;
    for (uint32_t i = 0; i < size; i++)
        p.bytes[i] = (uint8_t)i;
    return p;
}

/* With the head that the collector writes for its own. */
static void put_piece(struct bytes *b, const struct walk_piece *p)
{
    size_t size = offsetof(struct walk_piece, bytes) + p->size;
    machine_record_head(b->data, 5, 6, 7, size);
    b->size = MACHINE_RAW_HEAD;
    put(b, p, size);
}

static void test_piece(void **state)
{
    static const uint32_t sizes[] = {0, 8, 4000, WALK_PIECE};
    static struct bytes b;
    struct machine_record r;
    (void)state;
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct walk_piece p = piece_of(sizes[i]);
        put_piece(&b, &p);
        assert_true(machine_record_read(b.data, b.size, &r));
        assert_true(r.kind == MACHINE_SAMPLE && r.pid == 5 && r.tid == 6 && r.time == 7);
        assert_true(r.subject == WALK_WAKE && r.reason == WALK_RULE && r.identity == 12);
        assert_true(r.waiter_pid == 21 && r.waiter_tid == 22 && r.begun == 23 && r.odds == 20);
        assert_true(r.regs.r[UNWIND_RSP] == 107 && r.regs.r[UNWIND_RIP] == 108);
        assert_true(r.kernel_count == 3 && r.kernel[2] == 1002);
        assert_true(r.stack_size == sizes[i] && r.stack_cut == (sizes[i] == WALK_PIECE));
        assert_true(!sizes[i] || r.stack[7] == 7);
        assert_int_equal(machine_record_pack(b.data, b.size, &r), b.size);
        check_cut(&b);
    }
}

/* A piece with one field that cannot be. */
static void test_piece_damaged(void **state)
{
    static struct bytes b;
    struct machine_record r;
    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        struct walk_piece p = piece_of(64);
        uint16_t *const half[] = {&p.h.kernel, &p.h.subject, &p.h.subject, &p.h.reason};
        static const uint16_t wrong[] = {WALK_KERNEL + 1, WALK_SUBJECTS, WALK_CPU, WALK_REASONS};
        put_piece(&b, &p);
        assert_true(machine_record_read(b.data, b.size, &r));
        if (i < 4)
            *half[i] = wrong[i];
        else
            p.abi = 3;
        put_piece(&b, &p);
        assert_false(machine_record_read(b.data, b.size, &r));
    }
}

static void test_end(void **state)
{
    static struct bytes b;
    struct machine_record r;
    const struct wait_end end = {.magic = END_MAGIC, .odds = 3, .pid = 21, .tid = 22, .begun = 23,
                                 .blocked_ns = 24, .ready_ns = 25};
    (void)state;
    machine_record_head(b.data, 5, 6, 7, sizeof end);
    b.size = MACHINE_RAW_HEAD;
    put(&b, &end, sizeof end);
    assert_true(machine_record_read(b.data, b.size, &r));
    assert_true(r.kind == MACHINE_END && r.time == 7 && !r.kernel_count);
    assert_true(r.waiter_pid == 21 && r.waiter_tid == 22 && r.begun == 23 && r.odds == 3);
    assert_true(r.blocked_ns == 24 && r.ready_ns == 25);
    check_cut(&b);
}

/* ---- tables, where the kernel finds them ---- */

enum { IMAGES = 40, POOL_WORDS = 500, STEPS = 2000, ROWS = 60 };

static struct machine_image images[IMAGES];

struct machine_image *machine_image_numbered(const struct machine_images *all, uint32_t number)
{
    (void)all;
    return number && number <= IMAGES ? &images[number - 1] : NULL;
}

/* A table of 2 buckets and some rows, all with the image's number in them. */
static void image_make(uint32_t number)
{
    struct machine_image *image = &images[number - 1];
    uint32_t rows = 1 + number % ROWS;
    uint64_t size = unwind_table_size(2, rows);
    image->table = calloc(1, MACHINE_TABLE_UNIT + size);
    image->table_ref = 1;
    image->number = number;
    struct unwind_table *t = (void *)(image->table + MACHINE_TABLE_UNIT);
    *t = (struct unwind_table){.magic = UNWIND_TABLE_MAGIC, .version = UNWIND_TABLE_VERSION,
                               .size = size, .text_lo = number, .buckets = 2, .rows = rows};
    struct unwind_row *row = (void *)((uint8_t *)t + unwind_table_size(2, 0));
    for (uint32_t i = 0; i < rows; i++)
        row[i] = (struct unwind_row){i, number};
}

static void check_tables(const struct bpf_tables *t, uint32_t *there)
{
    *there = 0;
    assert_true(t->words_used <= t->words);
    assert_false((t->control->sequence | t->processes[5].sequence) & 1);
    for (uint32_t n = 1; n <= IMAGES; n++) {
        if (!images[n - 1].walk_table)
            continue;
        const struct walk_table *w = &t->tables[images[n - 1].walk_table];
        ++*there;
        assert_int_equal(w->text_lo, n);
        assert_int_equal(w->rows, 1 + n % ROWS);
        assert_int_equal(w->row_at - w->bucket_at, 2);
        assert_true(w->row_at + w->rows <= t->words_used);
        for (uint32_t i = 0; i < w->rows; i++)
            assert_int_equal(t->pool[w->row_at + i], (uint64_t)n << 32 | i);
    }
}

/* Random images are needed, one of them always: it stays; what is there is what was put there. */
static void test_tables(void **state)
{
    static struct bpf_tables t;
    static struct walk_table tables[WALK_TABLES];
    static struct walk_process processes[WALK_PROCESSES];
    static struct walk_control control;
    static uint64_t pool[POOL_WORDS];
    uint32_t there;
    (void)state;
    t = (struct bpf_tables){.control = &control, .processes = processes, .tables = tables,
                            .pool = pool, .words = POOL_WORDS};
    srand(2);
    for (uint32_t n = 1; n <= IMAGES; n++)
        image_make(n);
    bpf_tables_forget(&t);
    for (unsigned i = 0; i < STEPS; i++) {
        struct machine_image *one = &images[7], *image = &images[rand() % IMAGES];
        bpf_tables_time(&t, (uint64_t)i << BPF_EPOCH_SHIFT);
        assert_true(i == 0 || one->walk_table);
        if (one->walk_table || bpf_tables_add(&t, one))
            tables[one->walk_table].used = control.epoch;
        assert_true(image->walk_table || bpf_tables_add(&t, image));
        check_tables(&t, &there);
    }
    assert_true(t.dropped > 100 && there > 10);
    for (uint32_t n = 0; n < IMAGES; n++)
        free(images[n].table);
}

/* Random maps, each beside a page by page account of which map is uppermost. */
static void test_maps(void **state)
{
    struct machine_process p = {0};
    uint64_t offset_of[PAGES] = {0};
    (void)state;
    srand(1);
    for (unsigned n = 1; n <= MAPS; n++) {
        uint64_t lo = (uint64_t)(rand() % PAGES), size = 1 + (uint64_t)(rand() % 12);
        uint64_t hi = lo + size < PAGES ? lo + size : PAGES;
        const struct machine_map map = {.lo = lo, .hi = hi, .offset = 1000 * n};
        assert_true(machine_process_map_add(&p, &map));
        for (uint64_t page = lo; page < hi; page++)
            offset_of[page] = 1000 * n + (page - lo);
        for (uint64_t page = 0; page < PAGES; page++) {
            const struct machine_map *at = machine_process_map(&p, page);
            assert_int_equal(at ? at->offset + (page - at->lo) : 0, offset_of[page]);
        }
        for (uint32_t i = 1; i < p.map_count; i++)
            assert_true(p.maps[i - 1].hi <= p.maps[i].lo);
    }
    free(p.maps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pack),    cmocka_unit_test(test_cut),
        cmocka_unit_test(test_side),    cmocka_unit_test(test_maps),
        cmocka_unit_test(test_walk),    cmocka_unit_test(test_piece),
        cmocka_unit_test(test_end),     cmocka_unit_test(test_piece_damaged),
        cmocka_unit_test(test_capture), cmocka_unit_test(test_tables)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
