/* A growable byte buffer that overflows stickily: after an allocation fails, every further put is a
 * no-op and buf_ok() is false. Check once, before the bytes are used.
 *
 * Context: any thread, never a signal handler.
 * Ownership: the buffer owns its bytes until buf_free or buf_detach. A zeroed struct is empty. */
#ifndef PENUMBRA_BASE_BUF_H
#define PENUMBRA_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
    uint8_t *data;
    size_t size;     /* bytes in use */
    size_t capacity; /* bytes allocated */
    bool failed;     /* an allocation failed; the contents are incomplete */
};

static inline bool buf_ok(const struct buf *b)
{
    return !b->failed;
}

void buf_free(struct buf *b);
/* Hands the bytes to the caller (to free()) and empties the buffer; NULL if it failed. */
uint8_t *buf_detach(struct buf *b, size_t *size);
/* Room for n more bytes at data + size; NULL on failure. Does not move size. */
uint8_t *buf_reserve(struct buf *b, size_t n);
void buf_put(struct buf *b, const void *bytes, size_t n);
void buf_put_u8(struct buf *b, uint8_t value);
/* Little-endian fixed width. */
void buf_put_u32(struct buf *b, uint32_t value);
void buf_put_u64(struct buf *b, uint64_t value);
/* LEB128 (DWARF 5, section 7.6). */
void buf_put_uleb(struct buf *b, uint64_t value);
void buf_put_sleb(struct buf *b, int64_t value);
void buf_puts(struct buf *b, const char *string);
void buf_put_decimal(struct buf *b, uint64_t value);
/* Its length as ULEB128, and its bytes; NULL as "". */
void buf_put_string(struct buf *b, const char *string);
/* "1 process", "3 processes". */
void buf_put_count(struct buf *b, uint64_t n, const char *one, const char *many);
void buf_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
