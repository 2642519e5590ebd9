/* What code tells (code.h), compared with what CFI says of the same functions: libraries are
 * compiled once as they are, and once with an .eh_frame that holds a terminator only. Where both
 * know the CFA by the same register it must be the same. (Not this program: the assembly of
 * AddressSanitizer's run time pushes, and its CFI does not say so.) rbp may have been restored
 * already, which CFI often does not say. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/compile.h"
#include "unwind/table.h"
#include "unwind/unwind.h"

static unsigned long same, different;

static uint8_t *file_load(const char *path, size_t *size)
{
    FILE *in = fopen(path, "rb");
    if (!in)
        return NULL;
    fseek(in, 0, SEEK_END);
    *size = (size_t)ftell(in);
    rewind(in);
    uint8_t *bytes = malloc(*size);
    if (!bytes || fread(bytes, 1, *size, in) != *size)
        exit(1);
    fclose(in);
    return bytes;
}

/* Leaves 4 zero bytes of .eh_frame. False: there is none. */
static bool frames_empty(uint8_t *file)
{
    Elf64_Ehdr *header = (void *)file;
    Elf64_Shdr *section = (void *)(file + header->e_shoff);
    const char *names = (const char *)file + section[header->e_shstrndx].sh_offset;
    for (unsigned i = 0; i < header->e_shnum; i++) {
        if (strcmp(names + section[i].sh_name, ".eh_frame") != 0 ||
            section[i].sh_type == SHT_NOBITS)
            continue;
        memset(file + section[i].sh_offset, 0, 4);
        section[i].sh_size = 4;
        return true;
    }
    return false;
}

static void compare(const char *path, uint64_t at, uint32_t code, uint32_t cfi)
{
    unsigned reg = rule_code_register(code);
    bool comparable = (reg == UNWIND_RSP && rule_kind(cfi) == RULE_RSP) ||
                      (reg == UNWIND_RBP && rule_kind(cfi) == RULE_RBP);
    if (rule_kind(code) != RULE_CODE || !comparable)
        return;
    bool saved = rule_slot(code) != 0 && rule_slot(code) != RULE_SLOT_LOST && rule_slot(cfi) != 0;
    if (rule_code_offset(code) == rule_offset(cfi) &&
        (!saved || rule_slot(code) == rule_slot(cfi))) {
        same++;
        return;
    }
    if (different++ < 10)
        printf("%s: %#lx: code says register %u + %u, rbp in %u; CFI %u, rbp in %u\n", path,
               (unsigned long)at, reg, 8 * rule_code_offset(code), rule_slot(code),
               8 * rule_offset(cfi), rule_slot(cfi));
}

static void check(const char *path)
{
    size_t size, with_size, without_size;
    void *with, *without;
    struct err e = {0};
    uint8_t *file = file_load(path, &size);
    if (!file)
        return;
    if (!unwind_compile_image(file, size, &with, &with_size, &e) || !frames_empty(file) ||
        !unwind_compile_image(file, size, &without, &without_size, &e)) {
        fprintf(stderr, "%s: %s\n", path, e.message);
        exit(1);
    }
    const struct unwind_table *t = with;
    uint32_t last_code = 0, last_cfi = 0;
    for (uint64_t at = t->text_lo; at < t->text_hi; at++) {
        uint32_t code = unwind_table_find_as(without, without_size, at),
                 cfi = unwind_table_find_as(with, with_size, at);
        if (code != last_code || cfi != last_cfi)
            compare(path, at, code, cfi);
        last_code = code;
        last_cfi = cfi;
    }
    free(with);
    free(without);
    free(file);
}

int main(int argc, char **argv)
{
    static const char *const paths[] = {
        "/lib64/libc.so.6", "/lib64/libm.so.6", "/lib/x86_64-linux-gnu/libc.so.6",
        "/lib/x86_64-linux-gnu/libm.so.6",
        "/lib/x86_64-linux-gnu/libcrypto.so.3", "/lib/x86_64-linux-gnu/libstdc++.so.6"};
    for (size_t i = 0; argc == 1 && i < sizeof paths / sizeof paths[0]; i++)
        check(paths[i]);
    for (int i = 1; i < argc; i++)
        check(argv[i]);
    printf("%lu rows are the same by code and by CFI, %lu differ\n", same, different);
    return different != 0 || same < 100;
}
