/* libFuzzer: what built-in modules read that others have written. The first byte chooses: the file
 * that remembers a memory hierarchy, or a window of instructions with addresses.
 *
 *     fuzz_modules CORPUS_DIRECTORY
 */
#include <stdlib.h>
#include <string.h>

#include "modules/conflict.h"
#include "modules/hierarchy_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_text(const uint8_t *data, size_t size)
{
    struct hierarchy h;
    char *text = malloc(size + 1);
    if (!text)
        return;
    memcpy(text, data, size);
    text[size] = 0;
    if (hierarchy_parse(text, &h))
        for (uint64_t ticks = 0; ticks < 3000; ticks += 7)
            if (hierarchy_place(&h, ticks) >= HIERARCHY_NAMES ||
                hierarchy_place(&h, ticks) > hierarchy_place(&h, ticks + 7))
                abort();
    free(text);
}

/* An instruction: length, that many bytes, two bytes of an address for each operand. */
static void find_in_window(const uint8_t *data, size_t size)
{
    static struct conflict_insn insns[CONFLICT_WINDOW];
    struct conflict_step steps[CONFLICT_WINDOW];
    struct conflict found[64];
    uint32_t count = 0;
    memset(steps, 0, sizeof steps);
    while (size > 1 && count < CONFLICT_WINDOW) {
        uint32_t length = 1 + data[0] % 15;
        const uint8_t *addresses = data + 1 + length;
        if (size < 1 + length + 2 * X86_MEMORY_MAX)
            break;
        struct conflict_step *s = &steps[count];
        s->insn = conflict_describe(data + 1, length, &insns[count]) ? &insns[count] : NULL;
        for (unsigned i = 0; i < X86_MEMORY_MAX; i++) {
            s->address[i] = (uint64_t)(int64_t)(int8_t)addresses[2 * i + 1] << 8 | addresses[2 * i];
            s->known[i] = addresses[2 * i] % 4;
        }
        count++;
        data += 1 + length + 2 * X86_MEMORY_MAX;
        size -= 1 + length + 2 * X86_MEMORY_MAX;
    }
    uint32_t pairs = conflicts_find(steps, count, found, 64);
    for (uint32_t i = 0; i < pairs; i++)
        if (found[i].store >= found[i].load || found[i].load >= count ||
            found[i].kind >= CONFLICT_KINDS)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size && data[0] % 2)
        read_text(data + 1, size - 1);
    else if (size)
        find_in_window(data + 1, size - 1);
    return 0;
}
