/* libFuzzer target: a spool that the profiled program has written over. The input is a list of
 * scribbles (3 bytes where, 8 bytes what) on a spool with real trees in it. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profile/spool_read.h"
#include "sample.h"
#include "sigsafe/settings.h"
#include "sigsafe/tools.h"

enum { SIZE = 512 * 1024, SCRIBBLE = 11 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct spool original, s;
    if (!original.base) {
        original = sample_spool(SIZE, 40, 3);
        s = sample_spool_new(SIZE);
    }
    memcpy(s.base, original.base, SIZE);
    if (size % 2)
        settings_sampling_as(&s)->tools |= tools_one(TOOL_CALLS) | tools_one(TOOL_WASTE);
    for (; size >= SCRIBBLE; data += SCRIBBLE, size -= SCRIBBLE) {
        uint32_t at = (uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16;
        /* Magic and version stay, or nothing else would be read. */
        memcpy(s.base + 12 + at % (SIZE - 12 - 8), data + 3, 8);
    }
    struct err e = {0};
    struct profile_totals totals;
    uint32_t processes, threads;
    size_t written;
    struct profile *p = profile_from_spool(&s, NULL, &e);
    uint8_t *file = p ? profile_encode(p, &written, &e) : NULL;
    struct profile *q = file ? profile_read_memory(file, written, "spool", &e) : NULL;
    if (!q || *sample_difference(p, q))
        abort();
    spool_totals(&s, &totals, &processes, &threads);
    free(file);
    profile_free(p);
    profile_free(q);
    return 0;
}
