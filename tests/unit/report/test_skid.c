/* Samples that a division delays are its own. The code is this program's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "make_profile.h"
#include "report/values_internal.h"

/* What is where, in bytes from its start:
 *   0  mov rax, rdi     3  xor edx, edx     5  div rsi     8  add rax, 1
 *   12 idiv ecx         14 div rsi          17 nop         18 ret */
__asm__(".text\n.globl skid_code\n.type skid_code, @function\nskid_code:\n"
        ".byte 0x48, 0x89, 0xf8, 0x31, 0xd2, 0x48, 0xf7, 0xf6, 0x48, 0x83, 0xc0, 0x01\n"
        ".byte 0xf7, 0xf9, 0x48, 0xf7, 0xf6, 0x90, 0xc3\n"
        ".size skid_code, . - skid_code\n.previous\n");
extern const char skid_code[];
extern const char __executable_start[];

static void sample(struct profile *p, unsigned at, uint64_t self)
{
    struct profile_thread *t = &p->threads[0];
    t->nodes[t->node_count] = (struct profile_node){ .subtree = 1, .image = 0, .self = self,
        .offset = (uint64_t)(skid_code - __executable_start) + at };
    t->node_count++;
    t->nodes[0].subtree++;
    t->weight += self;
}

static struct profile *make(void)
{
    struct profile *p = make_profile();
    make_thread(p, 1, "main", "");
    p->images = calloc(1, sizeof *p->images);
    p->image_count = 1;
    p->images[0].path = realpath("/proc/self/exe", NULL);
    p->images[0].flags = PROFILE_IMAGE_MAIN;
    assert_non_null(p->images[0].path);
    sample(p, 3, 1);
    sample(p, 5, 10);
    sample(p, 8, 900);
    sample(p, 12, 3);
    sample(p, 14, 50);
    sample(p, 17, 70);
    sample(p, 18, 2);
    profile_observe(p, OBSERVED_VALUES, profile_values_new("values"));
    return p;
}

static void divisions_have_what_they_delay(void **state)
{
    (void)state;
    static const struct { unsigned at; uint64_t samples; } expected[] = {
        { 0, 0 }, { 3, 1 }, { 5, 910 }, { 8, 0 }, { 12, 53 }, { 14, 70 }, { 17, 0 }, { 18, 2 },
    };
    struct err e = { 0 };
    struct profile *p = make();
    struct symbols *s = symbols_load(p, true, &e);
    struct view *v = view_build(p, s, &(struct view_options){ 0 }, &e);
    assert_non_null(v);
    struct value_reader *r =
        value_reader_new(v, &(struct symbols_options){.detail = SYMBOLS_QUICK});
    assert_non_null(r);
    assert_true(value_samples(r));
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        if (value_samples_of(r, 0, (uint64_t)(skid_code - __executable_start) + expected[i].at) !=
            expected[i].samples)
            fail_msg("at %u", expected[i].at);
    value_reader_free(r);
    view_free(v);
    symbols_free(s);
    profile_free(p);
}

/* Few are told one by one. */
static void invariance_is_counted(void **state)
{
    (void)state;
    union {
        struct hotlist list;
        uint64_t room[(sizeof(struct hotlist) + sizeof(struct hotlist_entry)) / sizeof(uint64_t)];
    } h = { .list = { .observed = 19, .count = 1 } };
    char text[32];
    h.list.entries[0].count = 19;
    value_invariance(text, sizeof text, &h.list);
    assert_string_equal(text, "19 of 19");
    h.list.observed = 20;
    value_invariance(text, sizeof text, &h.list);
    assert_string_equal(text, "19 of 20");
    h.list.observed = 10000;
    h.list.entries[0].count = 9700;
    value_invariance(text, sizeof text, &h.list);
    assert_string_equal(text, "97.0%");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(divisions_have_what_they_delay),
        cmocka_unit_test(invariance_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
