/* The decoder against Zydis: over all opcodes, random bytes and whole libraries.
 *
 *     test_x86_sweep [FILE]...      ELF files whose code is compared, beside the tests' own
 */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "against.h"

enum { FILE_LIMIT = 6 << 20 }; /* bytes of each file's code */

static char **files;

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static void randomize(uint64_t *state, uint8_t code[32])
{
    for (unsigned i = 0; i < 32; i += 8) {
        uint64_t r = next(state);
        memcpy(code + i, &r, 8);
    }
}

/* Every (map, opcode, modrm) of the legacy maps under sets of prefixes; the rest is random. */
static void test_legacy(void **unused)
{
    static const char *const prefixes[] = {
        "",         "\x66",     "\xf3",         "\xf2",     "\x66\xf3", "\xf2\x66", "\x67",
        "\xf0",     "\x64",     "\x48",         "\x66\x48", "\xf3\x4d", "\xf2\x46", "\x67\x41",
        "\x48\x66", "\xf0\x48", "\x65\x64\x2e", "\xf3\xf2", "\x44"};
    static const char *const escapes[] = {"", "\x0f", "\x0f\x38", "\x0f\x3a"};
    struct against a;
    uint64_t state = 0x9e3779b97f4a7c15;
    (void)unused;
    against_init(&a);
    for (unsigned p = 0; p < sizeof prefixes / sizeof *prefixes; p++)
        for (unsigned i = 0; i < 4 * 256 * 256; i++) {
            uint8_t code[32];
            size_t lead = strlen(prefixes[p]), escape = strlen(escapes[i >> 16]);
            randomize(&state, code);
            memcpy(code, prefixes[p], lead);
            memcpy(code + lead, escapes[i >> 16], escape);
            code[lead + escape] = (uint8_t)(i >> 8);
            code[lead + escape + 1] = (uint8_t)i;
            against_zydis(&a, code, sizeof code);
        }
    print_message("%lu compared, %lu refused\n", a.compared, a.refused);
    assert_int_equal(a.mismatches, 0);
    assert_true(a.compared > 1000000);
}

/* VEX, EVEX and XOP: every (first payload byte, opcode) with the rest random. */
static void test_vector(void **unused)
{
    static const uint8_t leads[] = {0x62, 0xc4, 0xc5, 0x8f, 0x62};
    struct against a;
    uint64_t state = 0x2545f4914f6cdd1d;
    (void)unused;
    against_init(&a);
    for (unsigned lead = 0; lead < 5; lead++)
        for (unsigned i = 0; i < 6 * 256 * 256; i++) {
            uint8_t code[32];
            unsigned at = 0;
            randomize(&state, code);
            if ((i & 0x1f0000) == 0x50000 && (code[31] & 3) == 0)
                code[at++] = 0x67;
            code[at] = leads[lead];
            code[at + 1] = (uint8_t)(i >> 8);
            if (leads[lead] == 0x62) {
                code[at + 1] &= 0xf7;
                code[at + 2] |= 4;
            }
            /* Zydis allows few combinations of the inverted bits: half without extensions */
            if (lead == 4)
                code[at + 2] |= 0x78, code[at + 3] |= 8;
            code[at + (leads[lead] == 0x62 ? 4 : leads[lead] == 0xc5 ? 2 : 3)] = (uint8_t)i;
            against_zydis(&a, code, sizeof code);
        }
    print_message("%lu compared, %lu refused, %lu excused\n", a.compared, a.refused, a.excused);
    assert_int_equal(a.mismatches, 0);
    assert_true(a.compared > 50000);
}

static void test_random(void **unused)
{
    struct against a;
    uint64_t state = 0x123456789abcdef;
    (void)unused;
    against_init(&a);
    for (unsigned i = 0; i < 3000000; i++) {
        uint8_t code[32];
        randomize(&state, code);
        if (i % 16 == 1) /* runs of prefixes */
            for (unsigned k = 0; k < (code[31] & 15); k++)
                code[k] =
                    (uint8_t) "\x66\x67\xf0\xf2\xf3\x2e\x64\x65\x40\x4f\x48\x66\x36\x3e\x26\xf3"
                        [code[k] & 15];
        against_zydis(&a, code, sizeof code);
    }
    print_message("%lu compared, %lu refused, %lu excused\n", a.compared, a.refused, a.excused);
    assert_int_equal(a.mismatches, 0);
    assert_true(a.compared > 500000);
}

static void compare_segment(struct against *a, const uint8_t *code, size_t size)
{
    if (size > FILE_LIMIT)
        size = FILE_LIMIT;
    for (size_t at = 0; at + 32 <= size;) {
        unsigned length = against_zydis(a, code + at, 32);
        at += length ? length : 1;
    }
}

static void compare_file(const char *path)
{
    struct against a;
    FILE *f = fopen(path, "rb");
    if (!f)
        return; /* not on this machine */
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    size_t size = (size_t)ftell(f);
    uint8_t *image = malloc(size);
    assert_non_null(image);
    rewind(f);
    assert_int_equal(fread(image, 1, size, f), size);
    fclose(f);
    against_init(&a);
    const Elf64_Ehdr *elf = (const void *)image;
    assert_true(size > sizeof *elf && memcmp(elf->e_ident, ELFMAG, SELFMAG) == 0);
    for (unsigned i = 0; i < elf->e_phnum; i++) {
        const Elf64_Phdr *p = (const Elf64_Phdr *)(const void *)(image + elf->e_phoff) + i;
        if (p->p_type == PT_LOAD && (p->p_flags & PF_X) && p->p_offset + p->p_filesz <= size)
            compare_segment(&a, image + p->p_offset, p->p_filesz);
    }
    print_message("%s: %lu compared, %lu refused, %lu excused\n", path, a.compared, a.refused,
        a.excused);
    free(image);
    assert_int_equal(a.mismatches, 0);
    assert_true(a.compared > 0);
}

static void test_files(void **unused)
{
    (void)unused;
    compare_file("/proc/self/exe");
    for (; *files; files++)
        compare_file(*files);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_legacy),
        cmocka_unit_test(test_vector),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_files),
    };
    (void)argc;
    files = argv + 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
