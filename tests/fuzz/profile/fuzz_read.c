/* libFuzzer target: the profile reader, on the bytes as they are and with their checksums made
 * right, so that mutations get past them. What is read must be writable, and read back; so must be
 * what it is merged with itself, and what is read of it with its threads summed. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "profile/decode.h"
#include "profile/encode.h"
#include "profile/merge.h"
#include "profile/parts.h"
#include "profile/shares.h"
#include "profile/timeline.h"

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

static struct profile *read_back(const struct profile *p, uint32_t threads)
{
    struct err e = {0};
    size_t size;
    uint8_t *data = p ? profile_encode_with(p, false, &size, &e) : NULL;
    struct profile *q = data ? profile_read_memory(data, size, "again", &e) : NULL;
    if (!q || q->thread_count != threads)
        abort();
    free(data);
    return q;
}

/* Shares and moments are of nodes and metrics that there are. */
static void check_shared(const uint8_t *data, size_t size)
{
    struct err e = {0};
    struct profile *p = profile_decode_summed(data, size, "shared", PROFILE_SHARED, &e);
    if (!p)
        abort();
    for (uint32_t i = 0; i < p->thread_count; i++) {
        const struct profile_shares *s = p->threads[i].shares;
        if (s && (s->tree >= p->thread_count || !p->threads[s->tree].shares))
            abort();
        for (uint32_t k = 0; s && k < s->count; k++)
            if (s->list[k].node >= p->threads[s->tree].node_count ||
                s->list[k].metric >= p->metric_count || !s->list[k].weight ||
                (k && s->list[k].node < s->list[k - 1].node))
                abort();
        const struct profile_timeline *line = p->threads[i].timeline;
        uint32_t nodes = p->threads[s ? s->tree : i].node_count;
        for (uint32_t k = 0; line && k < line->count; k++)
            if ((line->list[k].node >= nodes && line->list[k].node != PROFILE_REST) ||
                line->list[k].metric >= p->metric_count)
                abort();
    }
    profile_free(p);
}

static void check(const uint8_t *data, size_t size)
{
    struct err e = {0};
    struct profile *p = profile_read_memory(data, size, "fuzz", &e);
    if (!p) {
        if (e.code == ERR_NONE || !*e.message)
            abort();
        return;
    }
    struct profile *summed = profile_decode_summed(data, size, "sum", PROFILE_SUMMED_BY_NAME, &e);
    check_shared(data, size);
    struct profile *q = read_back(p, p->thread_count);
    profile_free(read_back(summed, p->thread_count));
    if (profile_merge(p, q, &e))
        profile_free(read_back(p, 2 * q->thread_count));
    for (uint32_t i = 0; i < q->part_count; i++)
        profile_free(profile_part_read(&q->parts[i], PROFILE_APART, &e));
    profile_free(p);
    profile_free(q);
    profile_free(summed);
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
