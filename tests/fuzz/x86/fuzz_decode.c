/* libFuzzer: arbitrary bytes as an instruction, at the very end of what may be read, against Zydis;
 * and as code from which registers are renamed.
 *
 *     fuzz_decode CORPUS_DIRECTORY
 */
#include <stdlib.h>
#include <string.h>

#include "against.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use_all(const struct x86_insn *insn, const uint8_t *code)
{
    struct x86_memory memory[X86_MEMORY_MAX];
    struct x86_definition definitions[X86_DEFINITIONS_MAX];
    if (x86_memory_as(insn, code, memory) > X86_MEMORY_MAX ||
            x86_definitions_as(insn, definitions) > X86_DEFINITIONS_MAX)
        abort();
    (void)x86_relative_as(insn, code);
    for (unsigned i = 0; i < 256; i++) {
        uint8_t copy[15];
        struct x86_insn after;
        memcpy(copy, code, insn->length);
        if (x86_rename_as(insn, copy, X86_FIELD_ALL, i & 15, i >> 4) &&
                x86_decode_as(copy, insn->length, &after) != insn->length)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct against against;
    static bool ready;
    struct x86_insn insn;
    if (!ready)
        against_init(&against);
    ready = true;
    if (size == 0 || size > 32)
        return 0;
    uint8_t *copy = malloc(size); /* the sanitizer sees a read past the end */
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    if (x86_decode_as(copy, size, &insn))
        use_all(&insn, copy);
    against_zydis(&against, copy, size);
    free(copy);
    if (against.mismatches)
        abort();
    return 0;
}
