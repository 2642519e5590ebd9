/* libFuzzer: arbitrary bytes as code that no FDE covers. The first 8 say where functions begin.
 *
 *     fuzz_code CORPUS_DIRECTORY
 */
#include <string.h>

#include "hostile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t seed;
    if (size <= sizeof seed)
        return 0;
    memcpy(&seed, data, sizeof seed);
    hostile_code(data + sizeof seed, size - sizeof seed, seed);
    return 0;
}
