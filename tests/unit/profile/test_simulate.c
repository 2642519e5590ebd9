/* What a processor model has found: from a spool, in a file, merged. */
#include "profile/simulate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile/merge.h"
#include "profile/spool_counts.h"
#include "profile/table/table.h"
#include "sample.h"

enum { ROWS = 200 };

static struct profile_cost cost_of(uint64_t *state, uint32_t image, uint64_t offset)
{
    struct profile_cost c = {.image = image, .offset = offset,
                             .count = sample_random(state, 100000)};
    for (unsigned k = 0; k < COST_CAUSE_COUNT; k++)
        c.cost.parts[k] = sample_random(state, UINT64_C(1) << 40);
    for (unsigned k = 0; k < COST_EVENT_COUNT; k++)
        c.cost.events[k] = sample_random(state, 1000);
    return c;
}

/* A profile with a table besides the sample's. */
static struct profile *simulated(const char *machine, uint64_t seed)
{
    struct profile *p = sample_profile(1, 20, seed);
    struct profile_simulated *s = profile_simulated_new();
    for (uint32_t i = 0; i < ROWS; i++) {
        struct profile_cost c = cost_of(&seed, i % 3, 0x1000 + sample_random(&seed, 60));
        if (i % 7 == 0) {
            c.image = PROFILE_IMAGE_NONE;
            c.process = i % 3;
        }
        assert_true(profile_simulated_add(s, &c));
    }
    s->machine = strdup(machine);
    profile_observe(p, OBSERVED_TABLES + TABLE_SIMULATE, s);
    profile_counts_settle(p);
    return p;
}

static const struct profile_simulated *table_in(const struct profile *p)
{
    return observed_table(p, TABLE_SIMULATE);
}

static struct profile_cost sum(const struct profile *p)
{
    struct profile_cost all = {0};
    for (uint32_t i = 0; i < table_in(p)->count; i++)
        profile_cost_sum(&all, &table_in(p)->list[i]);
    return all;
}

static void equal_instructions_are_one(void **state)
{
    (void)state;
    struct profile *p = simulated("zen4", 1);
    const struct profile_simulated *s = table_in(p);
    assert_in_range(s->count, 50, ROWS - 10);
    for (uint32_t i = 1; i < s->count; i++)
        assert_false(s->list[i].image == s->list[i - 1].image &&
                     s->list[i].process == s->list[i - 1].process &&
                     s->list[i].offset == s->list[i - 1].offset);
    profile_free(p);
}

static void files_keep_everything(void **state)
{
    (void)state;
    struct err e = {0};
    size_t size;
    struct profile *p = simulated("zen4 l2_size=2M", 2);
    uint8_t *data = profile_encode(p, &size, &e);
    assert_string_equal(e.message, "");
    struct profile *q = profile_read_memory(data, size, "x", &e);
    assert_string_equal(e.message, "");
    assert_string_equal(table_in(q)->machine, "zen4 l2_size=2M");
    assert_int_equal(table_in(q)->count, table_in(p)->count);
    assert_memory_equal(table_in(q)->list, table_in(p)->list,
                        table_in(p)->count * sizeof *table_in(p)->list);
    /* Whatever is damaged is refused, or read as something. */
    for (size_t at = 0; at < size; at += 37 * SAMPLE_SPARSE) {
        data[at] ^= 0x55;
        profile_free(profile_read_memory(data, size, "x", NULL));
        data[at] ^= 0x55;
    }
    free(data);
    profile_free(q);
    profile_free(p);
}

static void merging_adds_up(void **state)
{
    (void)state;
    struct err e = {0};
    struct profile *a = simulated("zen4", 3), *b = simulated("zen4", 4),
                   *c = simulated("golden-cove", 5);
    struct profile_cost right = sum(a), one = sum(b);
    profile_cost_sum(&right, &one);
    assert_true(profile_merge(a, b, &e));
    one = sum(a);
    assert_memory_equal(&one.cost, &right.cost, sizeof one.cost);
    assert_int_equal(one.count, right.count);
    assert_string_equal(table_in(a)->machine, "zen4");
    assert_true(profile_merge(a, c, &e));
    assert_string_equal(table_in(a)->machine, "several machines");
    profile_free(a);
    profile_free(b);
    profile_free(c);
}

static struct spool_costs *chunk_in(const struct spool *s, struct spool_counts *counts,
                                    uint32_t rows)
{
    uint64_t seed = 6;
    struct spool_costs *chunk = spool_alloc_pages_as(s, SPOOL_COSTS_SIZE);
    for (uint32_t i = 0; i < rows && i < SPOOL_COSTS_MOST; i++) {
        struct profile_cost c = cost_of(&seed, 0, 0);
        chunk->rows[i] = (struct spool_cost){.key = key_make(1, 0x1000 + i), .count = c.count,
                                             .cost = c.cost};
    }
    chunk->count = rows;
    spool_push_as(s, &counts->tables[TABLE_SIMULATE], chunk);
    return chunk;
}

/* The rows of a spool's process that are taken, and the damage. */
static uint32_t taken(const struct spool *s, const struct spool_counts *counts, uint64_t *damage)
{
    struct spool_view view;
    assert_true(spool_view_open(&view, s, NULL));
    struct spool_counts_reader r = spool_counts_reader(&view, tools_one(TOOL_SIMULATE));
    struct profile *p = profile_new();
    struct counts_process q = {.r = &r, .record = counts, .profile = p};
    assert_true(profile_tables[TABLE_SIMULATE]->read(&q));
    uint32_t count = table_in(p) ? table_in(p)->count : 0;
    *damage = view.damage;
    profile_free(p);
    spool_view_close(&view);
    return count;
}

static void spools_are_not_trusted(void **state)
{
    (void)state;
    uint64_t damage;
    struct spool s = sample_spool_new(8 << 20);
    struct spool_counts *counts = spool_alloc_pages_as(&s, sizeof *counts);
    assert_int_equal(taken(&s, counts, &damage), 0);
    struct spool_costs *chunk = chunk_in(&s, counts, 10);
    chunk_in(&s, counts, SPOOL_COSTS_MOST);
    assert_int_equal(taken(&s, counts, &damage), 10 + SPOOL_COSTS_MOST);
    assert_int_equal(damage, 0);
    chunk->rows[3].cost.parts[COST_L2] = UINT64_MAX;
    assert_int_equal(taken(&s, counts, &damage), 9 + SPOOL_COSTS_MOST);
    assert_int_equal(damage, 1);
    chunk->count = SPOOL_COSTS_MOST + 1;
    assert_int_equal(taken(&s, counts, &damage), SPOOL_COSTS_MOST);
    chunk->next = spool_ref_of(&s, chunk);
    taken(&s, counts, &damage);
    assert_true(damage > 0);
    sample_spool_free(&s);
}

/* ---- calling contexts ---- */

enum { CONTEXTS = SPOOL_CONTEXTS_MOST + 10, TID = 77 };

/* A chain: each is called by the one before it. The first chunk is pushed last. */
static void contexts_in(const struct spool *s, struct spool_counts *counts,
                        struct spool_context_cost *rows[CONTEXTS + 1])
{
    const uint32_t sizes[] = {SPOOL_CONTEXTS_MOST, CONTEXTS - SPOOL_CONTEXTS_MOST};
    uint32_t number = CONTEXTS;
    for (unsigned c = 2; c-- > 0;) {
        struct spool_costs *chunk = spool_alloc_pages_as(s, SPOOL_COSTS_SIZE);
        chunk->first = number + 1 - sizes[c];
        chunk->count = sizes[c];
        for (uint32_t i = sizes[c]; i-- > 0; number--) {
            rows[number] = &spool_costs_contexts(chunk)[i];
            *rows[number] = (struct spool_context_cost){.key = key_make(1, 0x1000 + number),
                                                        .parent = number - 1,
                                                        .thread = TID,
                                                        .count = number};
            rows[number]->parts[COST_L2] = COST_CYCLE / 2;
            rows[number]->parts[COST_BASE] = COST_CYCLE * 3;
        }
        spool_push_as(s, &counts->tables[TABLE_SIMULATE], chunk);
    }
}

/* The only thread's tree, and the damage. */
static struct profile *contexts_of(const struct spool *s, const struct spool_counts *counts,
                                   uint64_t *damage)
{
    struct spool_view view;
    assert_true(spool_view_open(&view, s, NULL));
    struct spool_counts_reader r = spool_counts_reader(&view, tools_one(TOOL_SIMULATE));
    struct profile *p = profile_new();
    p->threads = calloc(1, sizeof *p->threads);
    p->threads[0].tid = TID;
    p->thread_count = 1;
    struct counts_process q = {.r = &r, .record = counts, .profile = p};
    assert_true(profile_tables[TABLE_SIMULATE]->read(&q));
    *damage = view.damage;
    spool_view_close(&view);
    return p;
}

static uint64_t sum_of(const struct profile_thread *t, enum simulated_metric m)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < t->node_count; i++)
        all += m ? t->nodes[i].more[m - 1] : t->nodes[i].self;
    return all;
}

static void contexts_become_trees(void **state)
{
    (void)state;
    uint64_t damage;
    struct spool_context_cost *rows[CONTEXTS + 1];
    struct spool s = sample_spool_new(8 << 20);
    struct spool_counts *counts = spool_alloc_pages_as(&s, sizeof *counts);
    contexts_in(&s, counts, rows);
    struct profile *p = contexts_of(&s, counts, &damage);
    const struct profile_thread *t = &p->threads[0];
    assert_int_equal(damage, 0);
    assert_int_equal(t->node_count, CONTEXTS + 1);
    for (uint32_t i = 1; i <= CONTEXTS; i++) {
        assert_int_equal(t->nodes[i].parent, i - 1);
        assert_int_equal(t->nodes[i].offset, 0x1000 + i);
        assert_int_equal(t->nodes[i].more[SIMULATED_INSTRUCTIONS - 1], i);
    }
    /* halves of cycles are not lost */
    assert_int_equal(sum_of(t, SIMULATED_CAUSES + COST_L2), CONTEXTS / 2);
    assert_int_equal(sum_of(t, SIMULATED_CYCLES), CONTEXTS * 3 + CONTEXTS / 2);
    assert_int_equal(t->weight, CONTEXTS * 3 + CONTEXTS / 2);
    profile_free(p);
    sample_spool_free(&s);
}

/* Contexts that are left out take those below them with them. */
static void contexts_are_not_trusted(void **state)
{
    (void)state;
    enum { AT = 100 };
    uint64_t damage;
    struct spool_context_cost *rows[CONTEXTS + 1];
    struct spool s = sample_spool_new(8 << 20);
    struct spool_counts *counts = spool_alloc_pages_as(&s, sizeof *counts);
    contexts_in(&s, counts, rows);
    const struct spool_context_cost was = *rows[AT];
    for (unsigned fault = 0; fault < 5; fault++) {
        *rows[AT] = was;
        switch (fault) {
        case 0: rows[AT]->parent = AT; break;
        case 1: rows[AT]->parent = UINT32_MAX; break;
        case 2: rows[AT]->thread = TID + 1; break;
        case 3: rows[AT]->count = UINT64_MAX; break;
        default: rows[AT]->parts[COST_L2] = UINT64_MAX; break;
        }
        struct profile *p = contexts_of(&s, counts, &damage);
        assert_int_equal(p->threads[0].node_count, AT);
        assert_int_equal(damage, CONTEXTS + 1 - AT);
        profile_free(p);
    }
    *rows[AT] = was;
    struct spool_costs *chunk = spool_at(&s, counts->tables[TABLE_SIMULATE], sizeof *chunk);
    chunk->first = UINT32_MAX;
    profile_free(contexts_of(&s, counts, &damage));
    assert_true(damage > 0);
    chunk->first = 3; /* so are those of the other one */
    profile_free(contexts_of(&s, counts, &damage));
    assert_true(damage > 0);
    sample_spool_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_instructions_are_one),
        cmocka_unit_test(files_keep_everything),
        cmocka_unit_test(merging_adds_up),
        cmocka_unit_test(spools_are_not_trusted),
        cmocka_unit_test(contexts_become_trees),
        cmocka_unit_test(contexts_are_not_trusted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
