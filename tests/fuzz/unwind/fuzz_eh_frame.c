/* libFuzzer: arbitrary bytes as a segment with .eh_frame_hdr at its beginning, and as an .eh_frame.
 *
 *     fuzz_eh_frame CORPUS_DIRECTORY
 */
#include <string.h>

#include "hostile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { PARAMETERS = 16, TEXT = 0x400000, TEXT_SIZE = 0x10000 };
    uint64_t pc, seed;
    if (size < PARAMETERS)
        return 0;
    memcpy(&pc, data, 8);
    memcpy(&seed, data + 8, 8);
    data += PARAMETERS;
    size -= PARAMETERS;
    hostile_walk(data, size, TEXT, 0, size, TEXT + pc % TEXT_SIZE, seed);
    hostile_compile(data, size, TEXT, TEXT, TEXT + TEXT_SIZE);
    return 0;
}
