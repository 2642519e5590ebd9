#include "report/text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/ci.h"
#include "report/json.h"
#include "report/simulated.h"

const char *text_count(char *out, uint64_t value)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, value);
    char *to = out;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = 0;
    return out;
}

const char *text_digits(char *out, int digits, double value)
{
    double limit = 1;
    for (int i = 0; i < digits; i++)
        limit *= 10;
    if (value < limit - 0.5)
        snprintf(out, TEXT_NUMBER_SIZE, "%.*g", digits, value);
    else /* %g would show an exponent */
        snprintf(out, TEXT_NUMBER_SIZE, "%.0f", value);
    return out;
}

/* A unit ends where rounding would show a thousand of it. */
const char *text_duration(char *out, double nanoseconds)
{
    const double ns = nanoseconds;
    if (ns < 999.5)
        snprintf(out, TEXT_NUMBER_SIZE, "%.0f ns", ns);
    else if (ns < 999.5e3)
        snprintf(out, TEXT_NUMBER_SIZE, "%.3g us", ns / 1e3);
    else if (ns < 999.5e6)
        snprintf(out, TEXT_NUMBER_SIZE, "%.3g ms", ns / 1e6);
    else
        snprintf(out, TEXT_NUMBER_SIZE, "%.2f s", ns / 1e9);
    return out;
}

const char *text_bytes(char *out, double bytes)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
    unsigned unit = 0;
    while (bytes >= 1023.5 && unit < 5) {
        bytes /= 1024;
        unit++;
    }
    snprintf(out, TEXT_NUMBER_SIZE, unit && bytes < 100 ? "%.2f %s" : "%.0f %s", bytes,
             units[unit]);
    return out;
}

void text_colour(FILE *out, const struct report_style *style, enum text_colour colour)
{
    static const char *const codes[] = { "0", "1", "2", "31", "33", "32" };
    if (style->colour)
        fprintf(out, "\033[%sm", codes[colour]);
}

void text_colour_share(FILE *out, const struct report_style *style, double percent)
{
    if (percent >= 10)
        text_colour(out, style, TEXT_RED);
    else if (percent >= 2)
        text_colour(out, style, TEXT_YELLOW);
}

/* Could the code point move the cursor, change what is shown, or hide? */
static bool is_harmful(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200b && code <= 0x200f)
        || (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f)
        || code == 0xfeff || code == 0xad;
}

/* One character of a name as it is shown; returns the columns, *used the bytes consumed. */
static size_t shown(const unsigned char *s, char out[16], unsigned *used)
{
    uint32_t code;
    *used = utf8_sequence(s, &code);
    if (!*used) {
        *used = 1;
        return (size_t)snprintf(out, 16, "\\x%02x", s[0]);
    }
    if (is_harmful(code))
        return (size_t)snprintf(out, 16, code < 0x100 ? "\\x%02x" : "\\u%04x", (unsigned)code);
    memcpy(out, s, *used);
    out[*used] = 0;
    return 1;
}

size_t text_name_width(const char *name, size_t columns)
{
    size_t width = 0;
    char one[16];
    unsigned used;
    for (const unsigned char *s = (const unsigned char *)name; *s; s += used) {
        width += shown(s, one, &used);
        if (columns && width > columns)
            return columns;
    }
    return width;
}

size_t text_name(FILE *out, const char *name, size_t columns)
{
    bool cut = columns && text_name_width(name, columns + 1) > columns;
    size_t room = cut && columns > 2 ? columns - 2 : columns;
    size_t width = 0;
    char one[16];
    unsigned used;
    for (const unsigned char *s = (const unsigned char *)name; *s; s += used) {
        size_t next = shown(s, one, &used);
        if (columns && width + next > room)
            break;
        fputs(one, out);
        width += next;
    }
    if (!cut || columns <= 2)
        return width;
    fputs("..", out);
    return width + 2;
}

/* Whether the name ends with "operator", and up to `more` characters of one whose symbol has "<" or
 * ">" in it. */
static bool is_operator(const char *name, size_t length)
{
    static const char word[] = "operator";
    while (length && strchr("<>-= ", name[length - 1]))
        length--;
    return length >= sizeof word - 1 &&
           memcmp(name + length - (sizeof word - 1), word, sizeof word - 1) == 0;
}

/* What is between the outermost `open` and `close` becomes "..". False, with nothing said of `out`,
 * if they do not match. out has the room of name. */
static bool elide(const char *name, char open, char close, char *out)
{
    size_t depth = 0, used = 0;
    for (size_t i = 0; name[i]; i++) {
        bool symbol = open == '<' && strchr("<>", name[i]) && is_operator(name, i);
        bool opens = name[i] == open && !symbol;
        bool closes = name[i] == close && depth && !symbol && !(open == '<' && name[i - 1] == '-');
        if (opens && depth++ == 0 && name[i + 1] != close) {
            out[used++] = open;
            out[used++] = '.';
            out[used++] = '.';
        } else if (opens && depth == 1) {
            out[used++] = open;
        } else if (depth == 0) {
            out[used++] = name[i];
        }
        if (closes && --depth == 0)
            out[used++] = close;
    }
    out[used] = 0;
    return depth == 0;
}

/* NULL: the name is shown as it is; else to free(). Rust's "<Type as Trait>::method" keeps what is
 * in these brackets. */
static char *function_shorten(const struct report_style *style, const char *name, size_t columns)
{
    size_t room = columns ? columns : TEXT_FUNCTION_WIDE, size = strlen(name) + 3;
    if (style->full_names || text_name_width(name, room + 1) <= room)
        return NULL;
    char *shorter = strdup(name), *other = malloc(size);
    static const char brackets[2][2] = { "<>", "()" };
    for (unsigned i = 0; shorter && other && i < 2 && text_name_width(shorter, room + 1) > room;
         i++) {
        bool is_name = i == 0 && name[0] == '<';
        if (is_name || !elide(shorter, brackets[i][0], brackets[i][1], other) ||
            strlen(other) >= strlen(shorter))
            continue;
        char *longer = shorter;
        shorter = other;
        other = longer;
    }
    free(other);
    return shorter;
}

size_t text_function(FILE *out, const struct report_style *style, const char *name, size_t columns)
{
    char *shorter = function_shorten(style, name, columns);
    size_t used = text_name(out, shorter ? shorter : name, columns);
    free(shorter);
    return used;
}

size_t text_function_width(const struct report_style *style, const char *name, size_t columns)
{
    char *shorter = function_shorten(style, name, columns);
    size_t used = text_name_width(shorter ? shorter : name, columns);
    free(shorter);
    return used;
}

void text_place(FILE *out, const struct report_style *style, const struct view_function *f,
                size_t columns)
{
    text_colour(out, style, TEXT_DIM);
    text_name(out, f->image_name, columns);
    if (f->line) {
        fputs("  ", out);
        text_name(out, f->file, 0);
        fprintf(out, ":%u", f->line);
    }
    text_colour(out, style, TEXT_PLAIN);
    fputc('\n', out);
}

void text_heap(FILE *out, const struct view *v, const uint64_t *heap)
{
    static const char *const titles[] = { "allocated", "live", "at peak" };
    enum { COLUMNS = 11 };
    char number[TEXT_NUMBER_SIZE];
    if (!view_has_heap(v))
        return;
    for (unsigned i = 0; i < 3; i++)
        fprintf(out, "%*s", COLUMNS,
                heap ? text_bytes(number, (double)heap[i] * (double)v->profile->metrics[0].period)
                     : titles[i]);
    fputs("  ", out);
}

const char *text_unit(const struct view *v)
{
    const char *simulated = simulated_unit(v);
    return simulated             ? simulated
           : v->of_blocks        ? "instructions"
           : view_is_of_calls(v) ? "calls"
                                 : "samples";
}

double text_share(uint64_t part, uint64_t whole)
{
    return whole ? 100 * (double)part / (double)whole : 0;
}

int text_percent_width(const struct report_style *style)
{
    return style->ci ? 7 + 16 : 7;
}

void text_percent(FILE *out, const struct view *v, const struct report_style *style,
                  uint64_t part, uint64_t whole)
{
    double percent = text_share(part, whole);
    text_colour_share(out, style, percent);
    fprintf(out, "%6.2f%%", percent);
    if (style->colour && percent >= 2)
        text_colour(out, style, TEXT_PLAIN);
    if (!style->ci)
        return;
    double n = v->samples_all ? v->effective * (double)whole / (double)v->samples_all : 0;
    struct interval i = ci_wilson(percent / 100, n);
    char text[40];
    snprintf(text, sizeof text, "[%.2f, %.2f]", 100 * i.low, 100 * i.high);
    fprintf(out, "%16s", text);
}
