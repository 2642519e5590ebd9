/* The kernel's code by a file like /proc/kcore: what it has is read, and nothing else. */
#include "collector/machine/machine_code.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <string.h>

#include "../folder.h"
#include "collector/machine/bpf/capture.h"

#define TEXT UINT64_C(0xffffffff81000000)
#define MODULE UINT64_C(0xffffffffc0200000)
#define DIRECT UINT64_C(0xffff888000000000)

enum { FIRST = 4096, SIZE = 600 };

/* Those of BPF are not asked here. */
struct capture *capture_open_text(void)
{
    return NULL;
}

bool capture_text(struct capture *c, uint64_t address, uint8_t to[CAPTURE_TEXT])
{
    (void)c, (void)address, (void)to;
    return false;
}

void capture_close(struct capture *c)
{
    assert_null(c);
}

static uint8_t byte_at(uint64_t address)
{
    return (uint8_t)(address * 31 + (address >> 8));
}

struct kcore {
    Elf64_Ehdr h;
    Elf64_Phdr segments[3];
};

static struct kcore kcore_new(void)
{
    static const uint64_t at[3] = {DIRECT, TEXT, MODULE};
    struct kcore k = {.h = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64},
                            .e_phoff = sizeof k.h, .e_phentsize = sizeof *k.segments,
                            .e_phnum = 3}};
    for (unsigned i = 0; i < 3; i++)
        k.segments[i] = (Elf64_Phdr){.p_type = PT_LOAD, .p_vaddr = at[i], .p_filesz = SIZE,
                                     .p_offset = FIRST + i * SIZE};
    return k;
}

static struct machine_code *opened(const struct kcore *k, size_t head)
{
    char path[96];
    snprintf(path, sizeof path, "%s/kcore", folder);
    FILE *out = fopen(path, "we");
    assert_non_null(out);
    fwrite(k, 1, head, out);
    for (unsigned i = 0; head == sizeof *k && i < 3; i++) {
        fseek(out, FIRST + i * SIZE, SEEK_SET);
        for (unsigned n = 0; n < SIZE; n++)
            fputc(byte_at(kcore_new().segments[i].p_vaddr + n), out);
    }
    assert_int_equal(fclose(out), 0);
    struct machine_code *c = machine_code_open(path, false);
    assert_non_null(c);
    folder_clear();
    return c;
}

static void reads(struct machine_code *c, uint64_t address, size_t most, size_t count)
{
    uint8_t bytes[2 * SIZE];
    memset(bytes, 0, sizeof bytes);
    assert_int_equal(machine_code_read(c, address, bytes, most), count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(bytes[i], byte_at(address + i));
}

static void test_reads(void **state)
{
    (void)state;
    const struct kcore k = kcore_new();
    struct machine_code *c = opened(&k, sizeof k);
    reads(c, TEXT, SIZE, SIZE);
    reads(c, TEXT + 17, 100, 100);
    reads(c, TEXT + SIZE - 5, 100, 5);
    reads(c, MODULE + 1, 10, 10);
    reads(c, TEXT + SIZE, 10, 0);
    reads(c, TEXT - 1, 10, 0);
    reads(c, DIRECT, 10, 0); /* no code */
    reads(c, UINT64_MAX - 3, 10, 0);
    reads(c, 0x401000, 10, 0);
    machine_code_close(c);
}

static void test_others(void **state)
{
    (void)state;
    struct kcore k = kcore_new();
    struct machine_code *c = machine_code_open("/nonexistent", false);
    reads(c, TEXT, 10, 0);
    machine_code_close(c);
    for (size_t head = 0; head < sizeof k; head += 8) {
        c = opened(&k, head);
        reads(c, TEXT, 10, 0);
        machine_code_close(c);
    }
    k.segments[1].p_offset = UINT64_MAX - 10;
    k.segments[2].p_filesz = UINT64_MAX;
    c = opened(&k, sizeof k);
    reads(c, TEXT, 10, 0);
    reads(c, MODULE, 10, 0);
    machine_code_close(c);
    k = kcore_new();
    k.h.e_phoff = UINT64_MAX - 7;
    c = opened(&k, sizeof k);
    reads(c, TEXT, 10, 0);
    machine_code_close(c);
    k = kcore_new();
    k.h.e_ident[EI_CLASS] = ELFCLASS32;
    c = opened(&k, sizeof k);
    reads(c, TEXT, 10, 0);
    machine_code_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads),
        cmocka_unit_test(test_others),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
