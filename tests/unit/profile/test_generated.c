/* Generated code with a name becomes an entity, the same in all processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "profile/decode.h"
#include "profile/generated.h"
#include "profile/merge.h"
#include "profile/timeline.h"

enum { RUN = 0x100, AGAIN = 0x200, OTHER = 0x300, BYTES = 0x40 };

static void add_symbol(struct profile_process *r, uint64_t address, const char *name)
{
    r->jit = reallocarray(r->jit, r->jit_count + 1u, sizeof *r->jit);
    r->jit[r->jit_count++] = (struct profile_jit_symbol){address, BYTES, strdup(name)};
}

/* Code of one process, at `base`. "run" was generated twice; what lies at base has no name.
 *
 *      [root] ── run+4 ── other+8
 *         ├───── run+4, generated anew ── other+8
 *         └───── base */
static struct profile *generated(uint64_t base, uint64_t weight)
{
    struct profile *p = profile_new();
    p->processes = calloc(1, sizeof *p->processes);
    p->process_count = 1;
    struct profile_process *r = p->processes;
    r->name = strdup("js");
    r->command = strdup("");
    add_symbol(r, base + RUN, "run");
    add_symbol(r, base + AGAIN, "run");
    add_symbol(r, base + OTHER, "_Z5otherv");
    p->threads = calloc(1, sizeof *p->threads);
    p->thread_count = 1;
    struct profile_thread *t = p->threads;
    t->name = strdup("main");
    t->node_count = 6;
    t->nodes = calloc(t->node_count, sizeof *t->nodes);
    const uint64_t at[] = {KEY_ROOT, base + RUN + 4, base + OTHER + 8, base + AGAIN + 4,
                           base + OTHER + 8, base};
    const uint32_t parents[] = {UINT32_MAX, 0, 1, 0, 3, 0}, subtrees[] = {6, 2, 1, 2, 1, 1};
    for (uint32_t i = 0; i < t->node_count; i++)
        t->nodes[i] = (struct profile_node){
            .parent = parents[i], .subtree = subtrees[i],
            .image = i ? PROFILE_IMAGE_NONE : PROFILE_IMAGE_PSEUDO, .offset = at[i],
            .self = i ? weight << i : 0};
    for (uint32_t i = 1; i < t->node_count; i++)
        assert_true(profile_timeline_add(&t->timeline,
                                         &(struct profile_moment){i, 0, i, 0, weight << i}));
    return p;
}

static uint64_t id_of(const char *name, uint64_t at)
{
    return entity_id(&(struct profile_entity){
        .kind = ENTITY_GENERATED, .name = (char *)name, .scope = (char[]){""}, .at = at});
}

static const struct profile_node *child(const struct profile_thread *t, uint32_t parent,
                                        uint64_t offset)
{
    const struct profile_node *found = NULL;
    for (uint32_t i = 0; i < t->node_count; i++)
        if (t->nodes[i].parent == parent && t->nodes[i].offset == offset) {
            assert_null(found);
            found = &t->nodes[i];
        }
    return found;
}

static void code_is_one_by_its_name(void **state)
{
    (void)state;
    struct profile *p = generated(0x5000, 1);
    struct profile_thread *t = p->threads;
    assert_true(profile_generated_name(p));
    assert_int_equal(p->entity_count, 2);
    assert_int_equal(t->node_count, 4);
    const struct profile_node *run = child(t, 0, id_of("run", 4));
    assert_int_equal(run->self, 2 + 8);
    uint32_t at = (uint32_t)(run - t->nodes);
    const struct profile_node *other = child(t, at, id_of("_Z5otherv", 8));
    assert_int_equal(other->self, 4 + 16);
    assert_int_equal(child(t, 0, 0x5000)->self, 32);
    /* When it was is still known: bins 1 and 3. */
    uint64_t moments = 0;
    for (uint32_t i = 0; i < t->timeline->count; i++)
        if (t->timeline->list[i].node == at)
            moments += t->timeline->list[i].bin * 100 + t->timeline->list[i].weight;
    assert_int_equal(moments, 100 + 2 + 300 + 8);
    assert_true(profile_generated_name(p)); /* there is nothing left to name */
    assert_int_equal(p->entity_count, 2);
    profile_free(p);
}

/* Where it lay does not matter, and trees of both processes are added up while they are read; code
 * without a name keeps them apart. */
static void processes_add_up(void **state)
{
    (void)state;
    for (uint32_t nameless = 0; nameless < 2; nameless++) {
        struct err e = {0};
        size_t size;
        struct profile *a = generated(0x5000, 1), *b = generated(0x9000, 100);
        for (unsigned i = 0; i < 2 && !nameless; i++)
            (i ? a : b)->threads->nodes[5].offset = (i ? 0x5000 : 0x9000) + OTHER;
        assert_true(profile_generated_name(a) && profile_generated_name(b));
        assert_true(profile_merge(a, b, &e));
        assert_int_equal(a->entity_count, nameless ? 2 : 3);
        uint8_t *data = profile_encode(a, &size, &e);
        struct profile *sum =
            profile_decode_summed(data, size, "sum", PROFILE_SUMMED_BY_NAME, &e);
        assert_non_null(sum);
        const struct profile_node *run = child(&sum->threads[0], 0, id_of("run", 4));
        assert_int_equal(run->self, nameless ? 10 : 1010);
        free(data);
        profile_free(sum);
        profile_free(a);
        profile_free(b);
    }
}

/* Far more nodes than entities. */
static void many_are_one(void **state)
{
    (void)state;
    enum { MANY = 5000 };
    struct profile *p = generated(0x5000, 1);
    struct profile_thread *t = p->threads;
    t->nodes = reallocarray(t->nodes, MANY, sizeof *t->nodes);
    t->node_count = MANY;
    t->nodes[0].subtree = MANY;
    for (uint32_t i = 6; i < MANY; i++) {
        t->nodes[i] = t->nodes[1];
        t->nodes[i].subtree = 1;
        t->nodes[i].offset = 0x5000 + RUN + i % BYTES;
    }
    assert_true(profile_generated_name(p));
    assert_int_equal(p->entity_count, BYTES + 1);
    assert_int_equal(t->node_count, 1 + BYTES + 2);
    for (uint32_t i = 1; i < p->entity_count; i++)
        assert_true(p->entities[i].id > p->entities[i - 1].id);
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_is_one_by_its_name),
        cmocka_unit_test(processes_add_up),
        cmocka_unit_test(many_are_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
