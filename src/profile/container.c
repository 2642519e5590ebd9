#include "profile/container.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

static const uint8_t magic[8] = {0x89, 'P', 'N', 'B', '\r', '\n', 0x1a, '\n'};

/* A zstd block makes at most 128 KiB of at least 4 bytes (RFC 8878, 3.1.1.2), so a section cannot
 * honestly claim to grow by more than this: what a small file can make us allocate is bounded. */
#define ZSTD_RATIO_MAX UINT64_C(32768)
#define ZSTD_LEVEL 9
/* Below this, compression is not worth its frame header. */
#define ZSTD_WORTH 64

static uint32_t load_u32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint64_t load_u64(const uint8_t *at)
{
    return load_u32(at) | (uint64_t)load_u32(at + 4) << 32;
}

static uint32_t checksum(uint32_t start, const uint8_t *data, size_t size)
{
    return (uint32_t)crc32_z(start, data, size);
}

/* ---- writing ---- */

/* Appends the section to `body`, compressed if that helps. Returns its flags. */
static uint32_t put_section(struct buf *body, const struct buf *raw, bool compress)
{
    if (compress && raw->size >= ZSTD_WORTH) {
        size_t bound = ZSTD_compressBound(raw->size);
        uint8_t *at = buf_reserve(body, bound);
        size_t n = at ? ZSTD_compress(at, bound, raw->data, raw->size, ZSTD_LEVEL) : 0;
        if (at && !ZSTD_isError(n) && n < raw->size) {
            body->size += n;
            return SECTION_ZSTD;
        }
    }
    buf_put(body, raw->data, raw->size);
    return 0;
}

uint8_t *container_finish(enum container_kind kind, const struct section_out *sections,
                          uint32_t count, bool compress, size_t *size, struct err *e)
{
    struct buf body = {0}, table = {0}, file = {0};
    uint8_t *result = NULL;
    uint64_t start = CONTAINER_HEADER_SIZE + (uint64_t)count * CONTAINER_ENTRY_SIZE;
    for (uint32_t i = 0; i < count; i++) {
        const struct buf *raw = &sections[i].raw;
        size_t before = body.size;
        if (!buf_ok(raw) || raw->size > CONTAINER_RAW_MAX) {
            err_set(e, ERR_INTERNAL, "section '%s' of the profile cannot be made: %s",
                    sections[i].type->name, buf_ok(raw) ? "too large" : "out of memory");
            goto out;
        }
        uint32_t flags = put_section(&body, raw, compress);
        flags |= sections[i].type->flags;
        if (!buf_ok(&body))
            break;
        buf_put_u32(&table, sections[i].type->number);
        buf_put_u32(&table, flags);
        buf_put_u64(&table, start + before);
        buf_put_u64(&table, body.size - before);
        buf_put_u64(&table, raw->size);
        buf_put_u32(&table, checksum(0, body.data + before, body.size - before));
        buf_put_u32(&table, 0);
    }
    buf_put(&file, magic, sizeof magic);
    buf_put_u32(&file, CONTAINER_VERSION);
    buf_put_u32(&file, (uint32_t)kind);
    buf_put_u32(&file, count);
    if (buf_ok(&file) && buf_ok(&table))
        buf_put_u32(&file, checksum(checksum(0, file.data, file.size), table.data, table.size));
    buf_put(&file, table.data, table.size);
    buf_put(&file, body.data, body.size);
    if (buf_ok(&table) && buf_ok(&body))
        result = buf_detach(&file, size);
    if (!result)
        err_set(e, ERR_INTERNAL, "out of memory while the profile's file was put together");
out:
    buf_free(&body);
    buf_free(&table);
    buf_free(&file);
    return result;
}

/* ---- reading ---- */

static bool check_magic(const uint8_t *data, size_t size, const char *name, struct err *e)
{
    size_t n = size < sizeof magic ? size : sizeof magic;
    if (n >= 4 && memcmp(data, magic, 4) == 0 && memcmp(data, magic, n) != 0)
        return err_set(e, ERR_FORMAT,
                       "%s: offset 4: the line ends in its first bytes were changed, "
                       "so it was copied as text; copy it again as a binary file",
                       name);
    if (n && (data[0] & 0x7f) == (magic[0] & 0x7f) && data[0] != magic[0] && n >= 4 &&
        memcmp(data + 1, magic + 1, 3) == 0)
        return err_set(e, ERR_FORMAT,
                       "%s: offset 0: expected byte 0x89, found 0x%02x: it was "
                       "copied over a 7-bit channel; copy it again as a binary file",
                       name, data[0]);
    if (size == 0)
        return err_set(e, ERR_FORMAT, "%s: offset 0: the file is empty, not a profile", name);
    if (memcmp(data, magic, n) != 0)
        return err_set(e, ERR_FORMAT, "%s: offset 0: not a profile (a .pnb file begins with the "
                       "bytes 89 50 4e 42 0d 0a 1a 0a)", name);
    if (size < CONTAINER_HEADER_SIZE)
        return err_set(e, ERR_FORMAT,
                       "%s: offset %zu: the file ends inside its header, which is %u "
                       "bytes: it was truncated",
                       name, size, CONTAINER_HEADER_SIZE);
    return true;
}

struct section_in container_section(const struct container *c, uint32_t i)
{
    const uint8_t *at = c->data + CONTAINER_HEADER_SIZE + (size_t)i * CONTAINER_ENTRY_SIZE;
    return (struct section_in){.type = load_u32(at), .flags = load_u32(at + 4),
                               .offset = load_u64(at + 8), .stored = load_u64(at + 16),
                               .raw = load_u64(at + 24), .checksum = load_u32(at + 32)};
}

/* Among the first `count` sections. */
static bool find(const struct container *c, uint32_t count, uint32_t type, struct section_in *out)
{
    for (uint32_t i = 0; i < count; i++) {
        *out = container_section(c, i);
        if (out->type == type)
            return true;
    }
    return false;
}

bool container_find(const struct container *c, uint32_t type, struct section_in *out)
{
    return find(c, c->count, type, out);
}

static const char *name_of(const struct container *c, uint32_t number)
{
    const struct section_type *type = c->lookup(number);
    return type ? type->name : "unknown";
}

/* What it says of itself must be possible. */
static bool check_size(const struct container *c, const struct section_in *s, uint64_t where,
                       struct err *e)
{
    const uint32_t all = SECTION_REQUIRED | SECTION_ZSTD | SECTION_ALONE;
    bool zstd = s->flags & SECTION_ZSTD;
    if (s->flags & ~all)
        return err_set(e, ERR_FORMAT,
                       "%s: offset %" PRIu64 ": section %s has unknown flags 0x%" PRIx32, c->name,
                       where + 4, name_of(c, s->type), s->flags);
    if (s->raw > CONTAINER_RAW_MAX ||
        (zstd ? s->raw / ZSTD_RATIO_MAX > s->stored : s->raw != s->stored))
        return err_set(e, ERR_FORMAT, "%s: offset %" PRIu64 ": section %s cannot be %" PRIu64
                       " bytes when it is stored in %" PRIu64, c->name, where + 24,
                       name_of(c, s->type), s->raw, s->stored);
    return true;
}

/* Checks entry i of the table, whose section must begin at `expected`. */
static bool check_entry(struct container *c, uint32_t i, uint64_t expected, uint64_t *end,
                        struct err *e)
{
    uint64_t where = CONTAINER_HEADER_SIZE + (uint64_t)i * CONTAINER_ENTRY_SIZE;
    struct section_in s = container_section(c, i), other;
    const char *known = name_of(c, s.type);
    if (s.offset != expected)
        return err_set(e, ERR_FORMAT,
                       "%s: offset %" PRIu64 ": section %" PRIu32 " (%s) should begin "
                       "at %" PRIu64 ", not at %" PRIu64,
                       c->name, where + 8, s.type, known, expected, s.offset);
    if (s.stored > c->size - s.offset)
        return err_set(e, ERR_FORMAT, "%s: offset %zu: the file ends inside section %" PRIu32
                       " (%s), which is %" PRIu64 " bytes from %" PRIu64 ": it was truncated",
                       c->name, c->size, s.type, known, s.stored, s.offset);
    if (checksum(0, c->data + s.offset, (size_t)s.stored) != s.checksum)
        return err_set(e, ERR_FORMAT,
                       "%s: offset %" PRIu64 ": section %" PRIu32 " (%s, %" PRIu64
                       " bytes) does not have its checksum: the file was damaged",
                       c->name, s.offset, s.type, known, s.stored);
    *end = s.offset + s.stored;
    if (!c->lookup(s.type) && s.flags & SECTION_REQUIRED)
        return err_set(e, ERR_FORMAT, "%s: offset %" PRIu64 ": section of type %" PRIu32 " must be "
                       "understood to read this profile; it was written by a newer penumbra, "
                       "which is needed to read it", c->name, where, s.type);
    if (c->lookup(s.type) && find(c, i, s.type, &other))
        return err_set(e, ERR_FORMAT, "%s: offset %" PRIu64 ": a second section of type %" PRIu32
                       " (%s)", c->name, where, s.type, known);
    return check_size(c, &s, where, e);
}

bool container_open(struct container *c, const uint8_t *data, size_t size, const char *name,
                    struct err *e)
{
    c->name = name;
    c->data = data;
    c->size = size;
    if (!check_magic(data, size, name, e))
        return false;
    uint32_t version = load_u32(data + 8);
    uint32_t count = load_u32(data + 16);
    c->kind = load_u32(data + 12);
    if (version != CONTAINER_VERSION)
        return err_set(e, ERR_FORMAT,
                       "%s: offset 8: the file's format is version %" PRIu32 "; this "
                       "penumbra reads version %u%s",
                       name, version, CONTAINER_VERSION,
                       version > CONTAINER_VERSION ? " (a newer penumbra is needed, or the file is "
                                                     "damaged)"
                                                   : "");
    uint64_t table = (uint64_t)count * CONTAINER_ENTRY_SIZE;
    if (count > CONTAINER_SECTIONS_MAX)
        return err_set(e, ERR_FORMAT, "%s: offset 16: %" PRIu32 " sections, of which there are at "
                       "most %u", name, count, CONTAINER_SECTIONS_MAX);
    if (table > size - CONTAINER_HEADER_SIZE)
        return err_set(e, ERR_FORMAT, "%s: offset %zu: the file ends inside its table of %" PRIu32
                       " sections: it was truncated", name, size, count);
    uint32_t sum = checksum(checksum(0, data, 20), data + CONTAINER_HEADER_SIZE, (size_t)table);
    if (sum != load_u32(data + 20))
        return err_set(e, ERR_FORMAT, "%s: offset 20: the header and the section table do not have "
                       "their checksum: the file was damaged", name);
    uint64_t end = CONTAINER_HEADER_SIZE + table;
    for (uint32_t i = 0; i < count; i++)
        if (!check_entry(c, i, end, &end, e))
            return false;
    c->count = count;
    if (end != size)
        return err_set(e, ERR_FORMAT, "%s: offset %" PRIu64 ": %" PRIu64 " bytes follow the last "
                       "section: something was appended", name, end, (uint64_t)size - end);
    if (c->kind > CONTAINER_BATCH)
        return err_set(e, ERR_FORMAT, "%s: offset 12: kind %" PRIu32 " of file is unknown; a newer "
                       "penumbra is needed to read it", name, c->kind);
    return true;
}

uint8_t *container_load(const struct container *c, const struct section_in *s, size_t *size,
                        struct err *e)
{
    const char *section = name_of(c, s->type);
    const uint8_t *stored = c->data + s->offset;
    bool zstd = s->flags & SECTION_ZSTD;
    if (zstd && ZSTD_getFrameContentSize(stored, (size_t)s->stored) != s->raw) {
        err_set(e, ERR_FORMAT, "%s: offset %" PRIu64 ": expected a zstd frame of %" PRIu64 " bytes "
                "(section %s)", c->name, s->offset, s->raw, section);
        return NULL;
    }
    uint8_t *raw = malloc(s->raw ? (size_t)s->raw : 1);
    if (!raw) {
        err_set(e, ERR_INTERNAL, "%s: no memory for %" PRIu64 " bytes of section %s", c->name,
                s->raw, section);
        return NULL;
    }
    if (!zstd) {
        memcpy(raw, stored, (size_t)s->raw);
    } else {
        size_t n = ZSTD_decompress(raw, (size_t)s->raw, stored, (size_t)s->stored);
        if (ZSTD_isError(n) || n != s->raw) {
            err_set(e, ERR_FORMAT, "%s: offset %" PRIu64 ": section %s cannot be decompressed: %s",
                    c->name, s->offset, section,
                    ZSTD_isError(n) ? ZSTD_getErrorName(n) : "it is shorter than it says");
            free(raw);
            return NULL;
        }
    }
    *size = (size_t)s->raw;
    return raw;
}
