#include "profile/container.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool cursor_fail(struct cursor *c, const char *expected)
{
    if (!c->failed)
        err_set(c->e, ERR_FORMAT,
                "%s: offset %" PRIu64 ", section %s, byte %zu of its %zu: expected %s", c->file,
                c->offset, c->section, c->at, c->size, expected);
    c->failed = true;
    return false;
}

static void watched(const struct cursor *c, const struct cursor_field *f)
{
    if (c->watch)
        c->watch->field(c->watch->watcher, f);
}

/* The LEB128 bytes at the cursor, sign-extended by the caller. *bits: how many were given. */
static bool leb(struct cursor *c, uint64_t *value, unsigned *bits, bool *negative)
{
    uint64_t result = 0;
    size_t at = c->at;
    for (unsigned shift = 0; shift < 70 && at < c->size; shift += 7) {
        uint8_t byte = c->data[at++];
        uint64_t low = byte & 0x7f;
        /* The tenth byte holds bit 63 and, in signed numbers, six copies of it. */
        if (shift == 63 && low != 0 && low != 1 && low != 0x7f)
            return false;
        result |= low << shift;
        if (byte & 0x80)
            continue;
        c->at = at;
        *value = result;
        *bits = shift + 7;
        *negative = byte & 0x40;
        return true;
    }
    return false;
}

/* A number of at most 63 bits that nobody watches, well before the section's end. */
static bool uleb_plain(struct cursor *c, uint64_t max, uint64_t *value)
{
    enum { BYTES_MOST = 9 };
    if (c->failed || c->watch || c->size - c->at < BYTES_MOST)
        return false;
    const uint8_t *at = c->data + c->at;
    uint64_t result = *at & 0x7f;
    for (unsigned shift = 7; *at & 0x80; shift += 7) {
        if (shift == 7 * BYTES_MOST)
            return false;
        result |= (uint64_t)(*++at & 0x7f) << shift;
    }
    if (result > max)
        return false;
    c->at = (size_t)(at + 1 - c->data);
    *value = result;
    return true;
}

uint64_t cursor_uleb_any(struct cursor *c, uint64_t max, const char *what)
{
    uint64_t value;
    unsigned bits;
    bool negative;
    size_t start = c->at;
    if (uleb_plain(c, max, &value))
        return value;
    if (c->failed)
        return 0;
    if (!leb(c, &value, &bits, &negative) || (bits > 64 && c->data[c->at - 1] > 1) || value > max) {
        c->at = start;
        cursor_fail(c, what);
        return 0;
    }
    watched(c, &(struct cursor_field){.at = start, .what = what, .value = (int64_t)value});
    return value;
}

int64_t cursor_sleb_any(struct cursor *c, const char *what)
{
    uint64_t value;
    unsigned bits;
    bool negative;
    size_t start = c->at;
    if (c->failed)
        return 0;
    if (!leb(c, &value, &bits, &negative) || (bits > 64 && c->data[c->at - 1] == 1)) {
        c->at = start;
        cursor_fail(c, what);
        return 0;
    }
    if (negative && bits < 64)
        value |= UINT64_MAX << bits;
    watched(c, &(struct cursor_field){.at = start, .what = what, .value = (int64_t)value,
                                      .is_signed = true});
    return (int64_t)value;
}

/* Of the next `count` numbers, how many at the beginning are short. */
static uint32_t shorts(const struct cursor *c, uint32_t count)
{
    const uint8_t *at = c->data + c->at;
    size_t left = c->size - c->at, n = 0, most = left < count ? left : count;
    if (c->failed || c->watch)
        return 0;
    while (n < most && at[n] < 0x80)
        n++;
    return (uint32_t)n;
}

void cursor_ulebs(struct cursor *c, uint64_t *out, uint32_t count, const char *what)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *at = c->data + c->at;
        uint32_t n = shorts(c, count - i);
        for (uint32_t k = 0; k < n; k++)
            out[i + k] = at[k];
        c->at += n;
        i += n;
        if (i < count)
            out[i] = cursor_uleb_any(c, UINT64_MAX, what);
    }
}

void cursor_slebs(struct cursor *c, int64_t *out, uint32_t count, const char *what)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *at = c->data + c->at;
        uint32_t n = shorts(c, count - i);
        for (uint32_t k = 0; k < n; k++)
            out[i + k] = (int64_t)(at[k] ^ 0x40) - 0x40;
        c->at += n;
        i += n;
        if (i < count)
            out[i] = cursor_sleb_any(c, what);
    }
}

uint32_t cursor_count(struct cursor *c, size_t each, const char *what)
{
    uint64_t left = (c->size - c->at) / (each ? each : 1);
    return (uint32_t)cursor_uleb(c, left < UINT32_MAX - 2 ? left : UINT32_MAX - 2, what);
}

const uint8_t *cursor_bytes(struct cursor *c, size_t size, const char *what)
{
    if (c->failed)
        return NULL;
    if (size > c->size - c->at) {
        cursor_fail(c, what);
        return NULL;
    }
    const uint8_t *bytes = c->data + c->at;
    watched(c, &(struct cursor_field){.at = c->at, .what = what, .bytes = bytes, .size = size});
    c->at += size;
    return bytes;
}

const char *cursor_text(struct cursor *c, uint32_t *length, const char *what)
{
    const struct cursor_watch *watch = c->watch;
    size_t start = c->at;
    c->watch = NULL; /* the length and the bytes are one field */
    *length = cursor_count(c, 1, what);
    const uint8_t *bytes = cursor_bytes(c, *length, what);
    c->watch = watch;
    if (!bytes)
        return NULL;
    if (memchr(bytes, 0, *length)) {
        cursor_fail(c, what);
        return NULL;
    }
    watched(c, &(struct cursor_field){.at = start, .what = what, .bytes = bytes, .size = *length});
    return (const char *)bytes;
}

char *cursor_string(struct cursor *c, const char *what)
{
    uint32_t length;
    const char *text = cursor_text(c, &length, what);
    char *string = text ? malloc((size_t)length + 1) : NULL;
    if (!string) {
        if (text)
            err_set(c->e, ERR_INTERNAL, "%s: out of memory", c->file);
        c->failed = true;
        return NULL;
    }
    memcpy(string, text, length);
    string[length] = 0;
    return string;
}

bool cursor_end(struct cursor *c)
{
    if (!c->failed && c->at != c->size)
        cursor_fail(c, "the end of the section");
    return !c->failed;
}
