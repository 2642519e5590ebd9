/* Samples of the kernel's instructions, of a kernel that is known: which functions are kept, with
 * which instructions, texts and samples. */
#include "collector/machine/machine_hits.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <string.h>

#include "../folder.h"
#include "profile/profile.h"

#define READ UINT64_C(0xffffffff81000000)
#define FLUSH UINT64_C(0xffffffffc0200000)

static const char names[] = "ffffffff81000000 T vfs_read\n"
                            "ffffffff81000010 t rarely\n"
                            "ffffffff81000020 T _etext\n"
                            "ffffffffc0200000 t flush\t[disk]\n"
                            "ffffffffc0200040 t behind\t[disk]\n";

/* push rbp; call rarely; nop; ret; int3 ... */
static const uint8_t code[] = {0x55, 0xe8, 0x0a, 0, 0, 0, 0x90, 0xc3, 0xcc, 0xcc, 0xcc, 0xcc};

static const char *in_folder(const char *name)
{
    static char path[96];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const void *data, size_t size, const void *more,
                       size_t more_size)
{
    FILE *out = fopen(in_folder(name), "we");
    assert_non_null(out);
    fwrite(data, 1, size, out);
    fwrite(more, 1, more_size, out);
    assert_int_equal(fclose(out), 0);
}

static struct machine_code *kcore_make(void)
{
    struct {
        Elf64_Ehdr h;
        Elf64_Phdr segment;
    } k = {.h = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64},
                 .e_phoff = sizeof k.h, .e_phentsize = sizeof k.segment, .e_phnum = 1},
           .segment = {.p_type = PT_LOAD, .p_vaddr = READ, .p_filesz = sizeof code,
                       .p_offset = sizeof k}};
    write_file("kcore", &k, sizeof k, code, sizeof code);
    return machine_code_open(in_folder("kcore"), false);
}

struct sample {
    uint64_t address, self;
};

/* A root, and below it a node for each sample. */
static struct profile *profile_of(const struct sample *list, uint32_t count)
{
    struct profile *p = profile_new();
    assert_non_null(p);
    p->threads = calloc(1, sizeof *p->threads);
    p->thread_count = 1;
    struct profile_thread *t = p->threads;
    t->name = strdup("");
    t->nodes = calloc(count + 1, sizeof *t->nodes);
    t->node_count = count + 1;
    t->nodes[0] = (struct profile_node){.parent = UINT32_MAX, .image = PROFILE_IMAGE_PSEUDO,
                                        .offset = KEY_ROOT, .self = 7};
    for (uint32_t i = 0; i < count; i++)
        t->nodes[i + 1] = (struct profile_node){.image = PROFILE_IMAGE_NONE,
                                                .offset = list[i].address & KEY_OFFSET_MASK,
                                                .self = list[i].self};
    return p;
}

static struct profile *kept(const struct sample *list, uint32_t count, struct machine_code *of)
{
    struct machine_hits hits = {0};
    struct profile *p = profile_of(list, count);
    write_file("kallsyms", names, sizeof names - 1, "", 0);
    struct machine_symbols *symbols = machine_symbols_read_file(in_folder("kallsyms"));
    assert_non_null(symbols);
    assert_true(machine_hits_take(&hits, p));
    assert_true(machine_hits_keep(&hits, p, symbols, of));
    machine_hits_free(&hits);
    machine_symbols_free(symbols);
    return p;
}

/* text NULL: there is no such hit. */
static void hit_is(const struct profile *p, const char *function, uint64_t at, const char *text,
                   uint64_t weight)
{
    unsigned found = 0;
    for (uint32_t i = 0; i < p->hit_count; i++) {
        const struct profile_entity *of = profile_entity_find(p, p->hits[i].entity);
        assert_true(of && of->kind == ENTITY_INSTRUCTION);
        if (strcmp(of->name, function) != 0 || of->at != at)
            continue;
        found++;
        assert_non_null(text);
        assert_string_equal(of->scope, text);
        assert_int_equal(p->hits[i].weight, weight);
    }
    assert_int_equal(found, text != NULL);
}

static const struct sample samples[] = {
    {READ + 1, 500}, {FLUSH + 5, 300}, {READ + 1, 100}, {READ + 3, 40}, {READ + 7, 60},
    {READ + 0x10, 4}, {0x401000, 1000}, {READ + 0x20, 50},
};

static void test_kept(void **state)
{
    (void)state;
    struct machine_code *of = kcore_make();
    struct profile *p = kept(samples, sizeof samples / sizeof *samples, of);
    hit_is(p, "vfs_read", 0, "push rbp", 0);
    hit_is(p, "vfs_read", 1, "call rarely", 600);
    hit_is(p, "vfs_read", 3, "", 40); /* at no instruction's begin */
    hit_is(p, "vfs_read", 6, "nop", 0);
    hit_is(p, "vfs_read", 7, "ret", 60);
    hit_is(p, "vfs_read", 8, NULL, 0);
    hit_is(p, "flush [disk]", 5, "", 300); /* its code is not in the file */
    hit_is(p, "rarely", 0, NULL, 0);       /* 4 of 1054 */
    assert_int_equal(p->threads[0].nodes[1].offset, (READ + 1) & KEY_OFFSET_MASK);
    for (uint32_t i = 1; i < p->hit_count; i++)
        assert_true(p->hits[i].entity > p->hits[i - 1].entity);
    profile_free(p);
    machine_code_close(of);
}

static void test_unread(void **state)
{
    (void)state;
    struct profile *p = kept(samples, sizeof samples / sizeof *samples, NULL);
    hit_is(p, "vfs_read", 0, NULL, 0);
    hit_is(p, "vfs_read", 1, "", 600);
    hit_is(p, "vfs_read", 7, "", 60);
    profile_free(p);
}

static void test_none(void **state)
{
    (void)state;
    static const struct sample other[] = {{0x401000, 1000}, {READ + 1, 0}};
    struct profile *p = kept(other, 2, NULL);
    assert_int_equal(p->hit_count, 0);
    assert_int_equal(p->entity_count, 0);
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_unread),
        cmocka_unit_test(test_none),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
