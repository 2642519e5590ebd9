#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_free(struct buf *b)
{
    free(b->data);
    *b = (struct buf){0};
}

uint8_t *buf_detach(struct buf *b, size_t *size)
{
    uint8_t *data = b->failed ? NULL : b->data;
    if (!data)
        free(b->data);
    *size = data ? b->size : 0;
    *b = (struct buf){0};
    return data;
}

uint8_t *buf_reserve(struct buf *b, size_t n)
{
    if (b->failed)
        return NULL;
    if (b->data && n <= b->capacity - b->size)
        return b->data + b->size;
    size_t capacity = b->capacity ? b->capacity : 256;
    while (capacity - b->size < n) {
        if (capacity > SIZE_MAX / 2) {
            b->failed = true;
            return NULL;
        }
        capacity *= 2;
    }
    uint8_t *data = realloc(b->data, capacity);
    if (!data) {
        b->failed = true;
        return NULL;
    }
    b->data = data;
    b->capacity = capacity;
    return b->data + b->size;
}

void buf_put(struct buf *b, const void *bytes, size_t n)
{
    uint8_t *at = buf_reserve(b, n);
    if (!at || !n)
        return;
    memcpy(at, bytes, n);
    b->size += n;
}

void buf_put_u8(struct buf *b, uint8_t value)
{
    buf_put(b, &value, 1);
}

void buf_put_u32(struct buf *b, uint32_t value)
{
    uint8_t bytes[4];
    for (unsigned i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    buf_put(b, bytes, sizeof bytes);
}

void buf_put_u64(struct buf *b, uint64_t value)
{
    buf_put_u32(b, (uint32_t)value);
    buf_put_u32(b, (uint32_t)(value >> 32));
}

enum { LEB_MOST = 10 }; /* bytes of a number */

void buf_put_uleb(struct buf *b, uint64_t value)
{
    uint8_t *at = buf_reserve(b, LEB_MOST);
    if (!at)
        return;
    for (; value >= 0x80; value >>= 7)
        *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    b->size = (size_t)(at - b->data);
}

void buf_put_sleb(struct buf *b, int64_t value)
{
    uint8_t *at = buf_reserve(b, LEB_MOST);
    if (!at)
        return;
    for (; value < -0x40 || value >= 0x40; value >>= 7) /* arithmetic: gcc and clang */
        *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)(value & 0x7f);
    b->size = (size_t)(at - b->data);
}

void buf_put_decimal(struct buf *b, uint64_t value)
{
    uint8_t digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (uint8_t)('0' + value % 10);
        value /= 10;
    } while (value);
    buf_put(b, digits + at, sizeof digits - at);
}

void buf_puts(struct buf *b, const char *string)
{
    buf_put(b, string, strlen(string));
}

void buf_put_string(struct buf *b, const char *string)
{
    size_t length = string ? strlen(string) : 0;
    buf_put_uleb(b, length);
    buf_put(b, string, length);
}

void buf_printf(struct buf *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    uint8_t *at = n < 0 ? NULL : buf_reserve(b, (size_t)n + 1);
    if (!at)
        return;
    va_start(args, format);
    vsnprintf((char *)at, (size_t)n + 1, format, args);
    va_end(args);
    b->size += (size_t)n;
}

void buf_put_count(struct buf *b, uint64_t n, const char *one, const char *many)
{
    buf_printf(b, "%llu %s", (unsigned long long)n, n == 1 ? one : many);
}
