/* What is kept of an access: nothing that is noted is lost, whatever the number of its pairs, and
 * where there is no room nothing changes. */
#include "sigsafe/spool_waste.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

enum { SPOOL_BYTES = 1 << 16 };

static struct {
    struct spool spool;
    struct waste_totals totals;
    struct spool_waste row;
} at;

static void begin(uint64_t bytes)
{
    if (at.spool.base)
        munmap(at.spool.base, SPOOL_BYTES);
    memset(&at, 0, sizeof at);
    at.spool = (struct spool){.mapped = SPOOL_BYTES};
    at.spool.base =
        mmap(NULL, SPOOL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(at.spool.base != MAP_FAILED);
    struct spool_header *h = spool_header(&at.spool);
    h->size = SPOOL_BYTES;
    h->limit = SPOOL_HEADER_SIZE + bytes;
    h->next = SPOOL_HEADER_SIZE;
}

static bool note(uint32_t kind, uint32_t with, uint64_t count)
{
    struct waste_cell more = {.kind = kind, .with = with, .count = count, .bytes = 8 * count};
    return waste_note_as(&at.spool, &at.totals, &at.row, more);
}

/* Of a kind, and the pair (0: its others); WITH_ANY: all. */
enum { WITH_ANY = UINT32_MAX };
static uint64_t kept(uint32_t kind, uint32_t with)
{
    uint64_t count = 0;
    const struct waste_cell *c = waste_cell_at(&at.spool, at.row.first);
    for (; c; c = waste_cell_at(&at.spool, c->next))
        if (c->kind == kind && (with == WITH_ANY || c->with == with)) {
            assert_int_equal(c->bytes, 8 * c->count);
            count += c->count;
        }
    return count;
}

static unsigned pairs(void)
{
    unsigned count = 0;
    const struct waste_cell *c = waste_cell_at(&at.spool, at.row.first);
    assert_true(c && c->kind == WASTE_STORES);
    for (; c; c = waste_cell_at(&at.spool, c->next))
        count += c->with != 0;
    return count;
}

static void nothing_is_lost(void **state)
{
    enum { NOTES = 20000, PARTNERS = 9, HEAVY = 3 };
    uint64_t sums[WASTE_CELL_KINDS] = {0}, heavy = 0;
    (void)state;
    begin(SPOOL_BYTES - SPOOL_HEADER_SIZE);
    srandom(1);
    assert_true(note(WASTE_STORES, 0, 1));
    for (unsigned i = 0; i < NOTES; i++) {
        uint32_t kind = (uint32_t)random() % WASTE_CELL_KINDS, with = 0;
        if (kind < WASTE_KIND_COUNT)
            with = (uint32_t)random() % PARTNERS;
        uint64_t count = kind == WASTE_DEAD && with == HEAVY ? 100 : 1;
        assert_true(note(kind, with, count));
        sums[kind] += count;
        heavy += kind == WASTE_DEAD && with == HEAVY ? count : 0;
        assert_true(pairs() <= WASTE_PAIRS);
    }
    sums[WASTE_STORES]++;
    for (uint32_t kind = 0; kind < WASTE_CELL_KINDS; kind++)
        assert_int_equal(kept(kind, WITH_ANY), sums[kind]);
    assert_int_equal(pairs(), WASTE_PAIRS);
    assert_true(kept(WASTE_SILENT, 0) > 0);
    assert_int_equal(kept(WASTE_DEAD, HEAVY), heavy);
    /* It has moved up, to the first of all pairs. */
    const struct waste_cell *c = waste_cell_at(&at.spool, at.row.first);
    while (c && !c->with)
        c = waste_cell_at(&at.spool, c->next);
    assert_true(c && c->kind == WASTE_DEAD && c->with == HEAVY);
}

static void no_room(void **state)
{
    (void)state;
    begin(WASTE_CELLS * sizeof(struct waste_cell));
    for (uint32_t i = 0; i < WASTE_CELLS; i++) {
        at.row.first = 0;
        assert_true(note(WASTE_STORES, 0, 1));
    }
    assert_false(note(WASTE_DEAD, 1, 1));
    assert_int_equal(kept(WASTE_STORES, WITH_ANY), 1);
    assert_int_equal(kept(WASTE_DEAD, WITH_ANY), 0);
    assert_true(note(WASTE_STORES, 0, 1));
    assert_int_equal(kept(WASTE_STORES, WITH_ANY), 2);
    at.row.first = 0;
    assert_false(note(WASTE_STORES, 0, 1));
    assert_int_equal(at.row.first, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_lost),
                                       cmocka_unit_test(no_room)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
