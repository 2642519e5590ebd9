/* No-operations between two functions. Hand-written code falls through them into the next function
 * (glibc: __memmove_chk into memmove), and no FDE covers them: what is true at the next one's
 * beginning is true in them.
 *
 * Context: any, signal handlers included. Ownership: none. */
#ifndef PENUMBRA_UNWIND_PADDING_H
#define PENUMBRA_UNWIND_PADDING_H

#include <stdbool.h>
#include <stdint.h>

enum { PADDING_MAX = 64 }; /* assemblers align to no more */

/* The length of the no-operation that code[0 .. size) begins with; 0: it begins with none, or is
 * cut off.
 *
 *     {66, 2e}*  90                     nop
 *     {66, 2e}*  0f 1f /0 modrm ...     nopw, nopl (Intel's manual, volume 2: NOP) */
static inline uint32_t padding_one_as(const uint8_t *code, uint32_t size)
{
    uint32_t at = 0;
    while (at < size && (code[at] == 0x66 || code[at] == 0x2e))
        at++;
    if (at < size && code[at] == 0x90)
        return at + 1;
    if (size - at < 3 || code[at] != 0x0f || code[at + 1] != 0x1f || (code[at + 2] & 0x38) != 0)
        return 0;
    uint32_t mode = code[at + 2] >> 6, base = code[at + 2] & 7;
    at += 3;
    if (mode != 3 && base == 4) {
        if (at == size)
            return 0;
        base = code[at++] & 7;
    }
    if (mode == 1)
        at += 1;
    else if (mode == 2 || (mode == 0 && base == 5))
        at += 4;
    return at <= size ? at : 0;
}

/* Bytes of no-operations that code[0 .. size) begins with. */
static inline uint32_t padding_length_as(const uint8_t *code, uint32_t size)
{
    uint32_t length = 0, one;
    while (length < size && (one = padding_one_as(code + length, size - length)) != 0)
        length += one;
    return length;
}

#endif
