#include "report/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static void json_before(struct json *j)
{
    if (j->after_value)
        buf_put_u8(j->out, ',');
    j->after_value = true;
}

void json_open(struct json *j, char bracket)
{
    json_before(j);
    buf_put_u8(j->out, (uint8_t)bracket);
    j->after_value = false;
}

void json_close(struct json *j, char bracket)
{
    buf_put_u8(j->out, (uint8_t)bracket);
    j->after_value = true;
}

void json_key(struct json *j, const char *key)
{
    json_string(j, key);
    buf_put_u8(j->out, ':');
    j->after_value = false;
}

/* Of the bytes that are written as they are, most of all. */
static size_t plain_length(const unsigned char *s)
{
    size_t length = 0;
    while (s[length] >= 0x20 && s[length] < 0x7f && s[length] != '"' && s[length] != '\\')
        length++;
    return length;
}

void json_string(struct json *j, const char *string)
{
    json_before(j);
    buf_put_u8(j->out, '"');
    for (const unsigned char *s = (const unsigned char *)string; *s;) {
        uint32_t code;
        size_t plain = plain_length(s);
        buf_put(j->out, s, plain);
        s += plain;
        if (!*s)
            break;
        unsigned length = utf8_sequence(s, &code);
        if (!length) {
            buf_puts(j->out, "\\ufffd");
            s++;
            continue;
        }
        if (code == '"' || code == '\\')
            buf_printf(j->out, "\\%c", (char)code);
        else if (code < 0x20 || code == 0x7f)
            buf_printf(j->out, "\\u%04x", (unsigned)code);
        else
            buf_put(j->out, s, length);
        s += length;
    }
    buf_put_u8(j->out, '"');
}

void json_u64(struct json *j, uint64_t value)
{
    json_before(j);
    buf_put_decimal(j->out, value);
}

void json_i64(struct json *j, int64_t value)
{
    json_before(j);
    buf_printf(j->out, "%" PRId64, value);
}

void json_bool(struct json *j, bool value)
{
    json_before(j);
    buf_puts(j->out, value ? "true" : "false");
}

void json_null(struct json *j)
{
    json_before(j);
    buf_puts(j->out, "null");
}

void json_millionths(struct json *j, uint64_t value)
{
    enum { PLACES = 6 };
    uint64_t rest = value % 1000000;
    uint8_t digits[PLACES];
    size_t used = 0;
    json_u64(j, value / 1000000);
    for (size_t i = PLACES; i-- > 0; rest /= 10) {
        digits[i] = (uint8_t)('0' + rest % 10);
        if (rest % 10 && !used)
            used = i + 1;
    }
    if (used) {
        buf_put_u8(j->out, '.');
        buf_put(j->out, digits, used);
    }
}

void json_double(struct json *j, double value)
{
    json_before(j);
    if (isfinite(value))
        buf_printf(j->out, "%.6g", value);
    else
        buf_puts(j->out, "null");
}

void json_key_string(struct json *j, const char *key, const char *value)
{
    json_key(j, key);
    json_string(j, value);
}

void json_key_u64(struct json *j, const char *key, uint64_t value)
{
    json_key(j, key);
    json_u64(j, value);
}

void json_key_double(struct json *j, const char *key, double value)
{
    json_key(j, key);
    json_double(j, value);
}

void json_key_address(struct json *j, const char *key, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "0x%" PRIx64, value);
    json_key_string(j, key, text);
}
