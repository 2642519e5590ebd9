#include "hostile.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/cfi.h"
#include "unwind/compile.h"
#include "unwind/table.h"

enum { WORDS = 1024, FRAMES = 64 };

static uint64_t stack[WORDS];

/* xorshift64* (Vigna, 2016): the same numbers everywhere. */
uint64_t hostile_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

/* Registers that point into the stack, to code, to nothing, or are small. */
static uint64_t value(uint64_t *seed, uint64_t pc)
{
    uint64_t r = hostile_random(seed);
    switch (r >> 60) {
    case 0: return r;
    case 1: return r & 0xffff;
    case 2: return UINT64_MAX - (r & 0xff);
    case 3:
    case 4:
    case 5: return pc + (r & 0xffff) - 0x8000;
    case 6: return (uint64_t)stack + (r & 0x3fff);
    default: return (uint64_t)&stack[r % WORDS];
    }
}

void hostile_walk(const uint8_t *data, size_t size, uint64_t address, uint64_t hdr,
                  uint64_t hdr_size, uint64_t pc, uint64_t seed)
{
    static struct unwind_thread thread;
    struct unwind_memory memory;
    struct cfi_machine m;
    const struct cfi_space space = {data, size, address};
    uint64_t cfa;
    bool root;
    seed |= 1;
    for (int i = 0; i < WORDS; i++)
        stack[i] = value(&seed, pc);
    thread.stack_lo = (uint64_t)stack;
    thread.stack_hi = (uint64_t)(stack + WORDS);
    struct cfi_frame frame = {.known = (uint32_t)hostile_random(&seed)};
    for (int i = 0; i < UNWIND_REGISTERS; i++)
        frame.regs.r[i] = value(&seed, pc);
    frame.regs.r[UNWIND_RIP] = pc;
    for (int i = 0; i < FRAMES; i++) {
        unwind_memory_init_as(&memory, &thread, frame.regs.r[UNWIND_RSP]);
        if (cfi_fde_find_as(&space, hdr, hdr_size, frame.regs.r[UNWIND_RIP], &m.fde) != CFI_OK ||
            !cfi_machine_start_as(&m, &space) ||
            cfi_machine_seek_as(&m, frame.regs.r[UNWIND_RIP]) != CFI_OK)
            return;
        (void)cfi_rule_pack_as(&m);
        if (cfi_apply_as(&m, &frame, &memory, &cfa, &root) != CFI_OK || root)
            return;
    }
}

/* Compiles, looks every row up, and frees the table. */
static void compile_and_look(const struct unwind_section *frames, const struct unwind_code *code,
                             uint64_t text_lo, uint64_t text_hi)
{
    void *block;
    size_t bytes;
    struct err e = {0};
    if (!unwind_compile(frames, code, text_lo, text_hi, &block, &bytes, &e))
        return;
    const struct unwind_table *t = block;
    if (!unwind_table_valid(t, bytes) || t->size != bytes)
        abort();
    const struct unwind_row *row =
        (const void *)((const uint8_t *)block + unwind_table_size(t->buckets, 0));
    for (uint32_t i = 0; i < t->rows; i++) {
        if (i != 0 && row[i].pc <= row[i - 1].pc)
            abort();
        if (unwind_table_find_as(t, bytes, t->text_lo + row[i].pc) != row[i].rule)
            abort();
    }
    free(block);
}

void hostile_compile(const uint8_t *data, size_t size, uint64_t address, uint64_t text_lo,
                     uint64_t text_hi)
{
    const struct unwind_section frames = {data, size, address};
    compile_and_look(&frames, NULL, text_lo, text_hi);
}

struct code_source {
    const uint8_t *data;
    size_t size;
    uint8_t *copy; /* of exactly what was asked for: a read past its end is seen */
};

enum { CODE = 0x400000 };

static bool code_read(void *context, uint64_t vaddr, uint64_t size, const uint8_t **bytes)
{
    struct code_source *source = context;
    if (vaddr < CODE || vaddr - CODE > source->size || size > source->size - (vaddr - CODE))
        abort();
    free(source->copy);
    source->copy = malloc(size);
    *bytes = source->copy;
    return source->copy && memcpy(source->copy, source->data + (vaddr - CODE), size);
}

void hostile_code(const uint8_t *data, size_t size, uint64_t seed)
{
    enum { SYMBOLS = 32 };
    Elf64_Sym symbol[SYMBOLS] = {0};
    struct code_source source = {data, size, NULL};
    const struct unwind_section nothing = {0};
    seed |= 1;
    for (int i = 0; i < SYMBOLS; i++) {
        uint64_t r = hostile_random(&seed);
        symbol[i].st_info = ELF64_ST_INFO(STB_GLOBAL, r & 7 ? STT_FUNC : STT_OBJECT);
        symbol[i].st_shndx = r & 0x38 ? 1 : SHN_UNDEF;
        symbol[i].st_value = r & 0x3c0 ? CODE + (r >> 16) % (size + 64) : r;
        r = hostile_random(&seed);
        symbol[i].st_size = r & 3 ? (r >> 8) % 256 : r & 4 ? 0 : r;
    }
    /* Now and then only one function, so that all paths in it are followed. */
    size_t symbols = hostile_random(&seed) % SYMBOLS + 1;
    const struct unwind_code code = {
        .symbols = {(const uint8_t *)symbol, symbols * sizeof symbol[0], 0}, .read = code_read,
        .context = &source};
    compile_and_look(&nothing, &code, CODE, CODE + size);
    free(source.copy);
}
