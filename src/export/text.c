#include "export/text.h"

#include <stddef.h>
#include <stdint.h>

/* The length of the well-formed sequence at s (table 3-7 of the Unicode standard), or 0. Reads no
 * further than the first byte that does not fit, so never past the string's end. */
static size_t utf8_length(const uint8_t *s)
{
    uint8_t low = 0x80, high = 0xbf;
    size_t more;
    if (s[0] < 0x80)
        return 1;
    if (s[0] >= 0xc2 && s[0] <= 0xdf)
        more = 1;
    else if ((s[0] & 0xf0) == 0xe0)
        more = 2;
    else if (s[0] >= 0xf0 && s[0] <= 0xf4)
        more = 3;
    else
        return 0;
    if (s[0] == 0xe0)
        low = 0xa0;
    else if (s[0] == 0xed)
        high = 0x9f;
    else if (s[0] == 0xf0)
        low = 0x90;
    else if (s[0] == 0xf4)
        high = 0x8f;
    if (s[1] < low || s[1] > high)
        return 0;
    for (size_t i = 2; i <= more; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    return more + 1;
}

void text_clean_buffer(struct buf *text)
{
    buf_put_u8(text, 0);
    if (!buf_ok(text))
        return;
    text_clean_utf8((char *)text->data);
    text->size--;
}

void text_clean_utf8(char *string)
{
    for (uint8_t *s = (uint8_t *)string; *s;) {
        size_t length = utf8_length(s);
        if (!length)
            *s = '?';
        s += length ? length : 1;
    }
}
