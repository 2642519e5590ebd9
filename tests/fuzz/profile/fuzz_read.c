/* libFuzzer target: the profile reader, on the bytes as they are and with their checksums made
 * right, so that mutations get past them. What is read must be writable, and read back. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "profile/encode.h"

enum { HEADER = 24, ENTRY = 40, AT_COUNT = 16, AT_CHECKSUM = 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t get_u32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, 4);
    return value;
}

static void put_u32(uint8_t *at, uint32_t value)
{
    memcpy(at, &value, 4);
}

/* Also moves the sections to where they must be, so that inputs can change their lengths. */
static void repair(uint8_t *data, size_t size)
{
    uint32_t count = get_u32(data + AT_COUNT);
    if (count > 64 || HEADER + (size_t)count * ENTRY > size)
        return;
    uint64_t offset = HEADER + (uint64_t)count * ENTRY;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *entry = data + HEADER + i * ENTRY;
        uint64_t stored = get_u32(entry + 16);
        if (i + 1 == count || stored > size - offset)
            stored = size - offset;
        memcpy(entry + 8, &offset, 8);
        memcpy(entry + 16, &stored, 8);
        if (!(get_u32(entry + 4) & 2))
            memcpy(entry + 24, &stored, 8);
        put_u32(entry + 32, (uint32_t)crc32(0, data + offset, (uInt)stored));
        offset += stored;
    }
    uLong sum = crc32(0, data, 20);
    put_u32(data + AT_CHECKSUM, (uint32_t)crc32(sum, data + HEADER, count * ENTRY));
}

static void check(const uint8_t *data, size_t size)
{
    struct err e = {0};
    size_t written;
    struct profile *p = profile_read_memory(data, size, "fuzz", &e);
    if (!p) {
        if (e.code == ERR_NONE || !*e.message)
            abort();
        return;
    }
    uint8_t *again = profile_encode_with(p, false, &written, &e);
    struct profile *q = again ? profile_read_memory(again, written, "again", &e) : NULL;
    if (!q || q->thread_count != p->thread_count)
        abort();
    free(again);
    profile_free(p);
    profile_free(q);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check(data, size);
    if (size < HEADER)
        return 0;
    uint8_t *copy = malloc(size);
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    repair(copy, size);
    check(copy, size);
    free(copy);
    return 0;
}
