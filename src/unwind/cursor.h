/* Reading foreign bytes, with bounds: a read past the end gives 0 and makes the cursor bad for
 * ever, so a parser checks once at its end.
 *
 * Context: any, signal handlers included.
 * Ownership: a cursor borrows the bytes. */
#ifndef PENUMBRA_UNWIND_CURSOR_H
#define PENUMBRA_UNWIND_CURSOR_H

#include <stdbool.h>
#include <stdint.h>

struct cursor {
    const uint8_t *at;
    const uint8_t *end;
    bool bad;
};

static inline uint64_t cursor_left(const struct cursor *c)
{
    return (uint64_t)(c->end - c->at);
}

static inline void cursor_skip(struct cursor *c, uint64_t bytes)
{
    if (bytes > cursor_left(c)) {
        c->bad = true;
        c->at = c->end;
        return;
    }
    c->at += bytes;
}

/* A little-endian integer of 1, 2, 4 or 8 bytes, which need not be aligned. */
static inline uint64_t cursor_fixed(struct cursor *c, unsigned bytes)
{
    if (bytes > cursor_left(c)) {
        c->bad = true;
        c->at = c->end;
        return 0;
    }
    uint64_t value = 0;
    switch (bytes) {
    case 1: value = *c->at; break;
    case 2:
        value = ((const struct { uint16_t v; } __attribute__((packed, may_alias)) *)c->at)->v;
        break;
    case 4:
        value = ((const struct { uint32_t v; } __attribute__((packed, may_alias)) *)c->at)->v;
        break;
    default:
        value = ((const struct { uint64_t v; } __attribute__((packed, may_alias)) *)c->at)->v;
        break;
    }
    c->at += bytes;
    return value;
}

static inline uint8_t cursor_u8(struct cursor *c)
{
    return (uint8_t)cursor_fixed(c, 1);
}

static inline uint64_t cursor_uleb(struct cursor *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t byte = cursor_u8(c);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    c->bad = true;
    return 0;
}

static inline int64_t cursor_sleb(struct cursor *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t byte = cursor_u8(c);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            if ((byte & 0x40) && shift + 7 < 64)
                value |= ~UINT64_C(0) << (shift + 7);
            return (int64_t)value;
        }
    }
    c->bad = true;
    return 0;
}

#endif
