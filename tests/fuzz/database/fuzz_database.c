/* libFuzzer target: the blobs of a profile database. The first byte chooses which; the rest is the
 * content of its last section, in a container whose checksums are right, or the blob as it is. What
 * is read of samples must be written and read back the same. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "database/counts.h"
#include "database/dictionary.h"
#include "profile/container.h"
#include "profile/kind/kind.h"

enum { NODES = 1000, SECTIONS = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct section_type samples = {1, "samples", SECTION_REQUIRED};
static const struct section_type nodes = {1, "nodes", SECTION_REQUIRED};

static void check_counts(const uint8_t *data, size_t size)
{
    struct err e = {0};
    struct counts c, again;
    size_t length;
    if (counts_decode(&c, data, size, NODES, &e)) {
        uint8_t *bytes = counts_encode(&c, &length, &e);
        if (!bytes || !counts_decode(&again, bytes, length, NODES, &e) || again.count != c.count)
            abort();
        counts_fini(&again);
        free(bytes);
    } else if (!e.code) {
        abort();
    }
    counts_fini(&c);
}

static void check_dictionary(const uint8_t *data, size_t size)
{
    struct err e = {0};
    struct dictionary d;
    if (!dictionary_init(&d))
        abort();
    bool ok = dictionary_read(&d, data, size, &e);
    if (!ok && !e.code)
        abort();
    for (uint32_t i = 1; ok && i < d.count; i++)
        if (d.nodes[i].parent >= i)
            abort();
    for (uint32_t i = 0; ok && i < d.p->image_count; i++)
        dictionary_name(d.p->names, i, size);
    /* A second segment goes on from there. */
    if (ok)
        dictionary_read(&d, data, size, &e);
    dictionary_fini(&d);
}

/* One part of the input a section: each begins with its length. */
static uint8_t *wrap(const uint8_t *data, size_t size, unsigned count,
                     const struct section_type *const types[], enum container_kind kind,
                     size_t *length)
{
    struct section_out out[SECTIONS] = {0};
    struct err e = {0};
    for (unsigned i = 0; i < count; i++) {
        size_t part = size && i + 1 < count ? data[0] : size;
        size_t head = size && i + 1 < count ? 1 : 0;
        part = part > size - head ? size - head : part;
        out[i].type = types[i];
        buf_put(&out[i].raw, data + head, part);
        data += head + part;
        size -= head + part;
    }
    uint8_t *bytes = container_finish(kind, out, count, false, length, &e);
    for (unsigned i = 0; i < count; i++)
        buf_free(&out[i].raw);
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct section_type *const of_counts[] = {&samples};
    const struct section_type *const of_words[] = {&kind_images.type, &kind_entities.type,
                                                   &kind_names.type, &nodes};
    size_t length;
    uint8_t *bytes;
    if (!size)
        return 0;
    switch (data[0] % 4) {
    case 0: check_counts(data + 1, size - 1); break;
    case 1: check_dictionary(data + 1, size - 1); break;
    case 2:
        bytes = wrap(data + 1, size - 1, 1, of_counts, CONTAINER_COUNTS, &length);
        if (bytes)
            check_counts(bytes, length);
        free(bytes);
        break;
    default:
        bytes = wrap(data + 1, size - 1, SECTIONS, of_words, CONTAINER_DICTIONARY, &length);
        if (bytes)
            check_dictionary(bytes, length);
        free(bytes);
    }
    return 0;
}
