#include "fleet/tsv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing ---- */

static void put_escaped(struct buf *b, const char *text, const char *special, const char *letters)
{
    for (; *text; text++) {
        const char *at = strchr(special, *text);
        if (at)
            buf_put_u8(b, '\\');
        buf_put_u8(b, (uint8_t)(at ? letters[at - special] : *text));
    }
}

void tsv_put_text(struct buf *b, const char *text)
{
    put_escaped(b, text, "\t\n\r\\", "tnr\\");
}

void tsv_put_literal(struct buf *b, const char *text)
{
    buf_put_u8(b, '\'');
    put_escaped(b, text, "'\t\n\r\\", "'tnr\\");
    buf_put_u8(b, '\'');
}

/* ---- reading ---- */

void tsv_fail(struct tsv *t, const char *wanted)
{
    if (!t->failed)
        err_set(t->e, ERR_FORMAT, "the server's answer is not understood: %s is wanted in row %llu",
                wanted, t->line);
    t->failed = true;
}

static char unescaped(char letter)
{
    static const char letters[] = "bfnrt0", bytes[] = "\b\f\n\r\t\0";
    const char *at = letter ? strchr(letters, letter) : NULL;
    return at ? bytes[at - letters] : letter;
}

/* From t->at to a tab or the end of the line, which becomes its end. *last: it was the latter. */
static char *field_take(struct tsv *t, bool *last)
{
    char *field = t->data + t->at, *to = field;
    *last = true;
    for (; t->at < t->size; t->at++) {
        char c = t->data[t->at];
        if (c == '\t' || c == '\n') {
            *last = c == '\n';
            break;
        }
        if (c == '\\') {
            if (++t->at == t->size)
                break;
            c = unescaped(t->data[t->at]);
        }
        if (!c)
            tsv_fail(t, "text without a byte 0");
        *to++ = c;
    }
    t->at += t->at < t->size;
    *to = '\0';
    return field;
}

bool tsv_row(struct tsv *t, char **fields, unsigned count)
{
    bool last = false;
    if (t->failed || t->at == t->size)
        return false;
    t->line++;
    for (unsigned i = 0; i < count; i++) {
        fields[i] = field_take(t, &last);
        if (last != (i + 1 == count))
            tsv_fail(t, "another number of columns");
        if (t->failed)
            return false;
    }
    return true;
}

/* Digits alone: strtoull would take signs and blanks. */
static const char *digits_take(struct tsv *t, const char *at, uint64_t *value)
{
    char *end = (char *)at;
    errno = 0;
    *value = *at >= '0' && *at <= '9' ? strtoull(at, &end, 10) : 0;
    if (end == at || errno) {
        tsv_fail(t, "a number");
        *value = 0;
    }
    return end;
}

uint64_t tsv_u64(struct tsv *t, const char *field)
{
    uint64_t value;
    if (*digits_take(t, field, &value))
        tsv_fail(t, "a number");
    return t->failed ? 0 : value;
}

int64_t tsv_i64(struct tsv *t, const char *field)
{
    bool minus = *field == '-';
    uint64_t value = tsv_u64(t, field + minus);
    if (value > INT64_MAX)
        tsv_fail(t, "a number of 63 bits");
    return t->failed ? 0 : minus ? -(int64_t)value : (int64_t)value;
}

bool tsv_list(struct tsv *t, const char **at, uint64_t *value)
{
    const char *from = *at;
    bool first = *from == '[';
    if (!strcmp(from, "[]") || (!first && !strcmp(from, "]")))
        return false;
    if (!first && *from != ',')
        tsv_fail(t, "a list of numbers");
    else
        *at = digits_take(t, from + 1, value);
    return !t->failed;
}
