/* A streaming JSON writer (RFC 8259). It keeps no stack, so nesting has no limit; that objects and
 * arrays are closed in order is the caller's part.
 *
 * Context: ordinary code.
 * Ownership: writes to the caller's buffer, whose sticky failure is checked once at the end. */
#ifndef PENUMBRA_REPORT_JSON_H
#define PENUMBRA_REPORT_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/utf8.h"

struct json {
    struct buf *out;
    bool after_value; /* the next value or key needs a comma before it */
};

void json_open(struct json *j, char bracket); /* '{' or '[' */
void json_close(struct json *j, char bracket);
void json_key(struct json *j, const char *key);
/* Bytes that are not UTF-8 become U+FFFD. */
void json_string(struct json *j, const char *string);
void json_u64(struct json *j, uint64_t value);
void json_i64(struct json *j, int64_t value);
void json_bool(struct json *j, bool value);
void json_null(struct json *j);
/* value / 10^6, all of its digits: milliseconds of nanoseconds. */
void json_millionths(struct json *j, uint64_t value);
/* Six significant digits; null if not finite. */
void json_double(struct json *j, double value);

/* A key and its value. */
void json_key_string(struct json *j, const char *key, const char *value);
void json_key_u64(struct json *j, const char *key, uint64_t value);
void json_key_double(struct json *j, const char *key, double value);
/* As a string: "0x" and lower-case hexadecimal digits. */
void json_key_address(struct json *j, const char *key, uint64_t value);

#endif
