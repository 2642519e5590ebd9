#include "production/lexer.h"

#include <stdbool.h>
#include <string.h>

void lexer_init(struct lexer *l, const char *text, size_t size)
{
    *l = (struct lexer){.at = text, .end = text + size, .line = 1, .column = 1};
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Over `size` bytes of one line. */
static void advance(struct lexer *l, size_t size)
{
    for (const char *end = l->at + size; l->at < end; l->at++)
        l->column += ((unsigned char)*l->at & 0xc0) != 0x80;
}

static void skip_blank(struct lexer *l)
{
    while (l->at < l->end) {
        const char *line_end = memchr(l->at, '\n', (size_t)(l->end - l->at));
        if (*l->at == '\n') {
            l->at++;
            l->line++;
            l->column = 1;
        } else if (*l->at == ' ' || *l->at == '\t' || *l->at == '\r') {
            advance(l, 1);
        } else if (*l->at == '#') {
            advance(l, (size_t)((line_end ? line_end : l->end) - l->at));
        } else {
            return;
        }
    }
}

/* Decimal, or hexadecimal with 0x. False: it is no number, or above 2^64. */
static bool number_read(const char *text, size_t size, uint64_t *value)
{
    bool hex = size > 2 && text[0] == '0' && (text[1] | 32) == 'x';
    uint64_t base = hex ? 16 : 10;
    *value = 0;
    for (size_t i = hex ? 2 : 0; i < size; i++) {
        char low = (char)(text[i] | 32);
        uint64_t digit = is_digit(text[i])              ? (uint64_t)(text[i] - '0')
                         : low >= 'a' && low <= 'f' ? (uint64_t)(low - 'a') + 10
                                                        : base;
        if (digit >= base || *value > (UINT64_MAX - digit) / base)
            return false;
        *value = *value * base + digit;
    }
    return true;
}

static bool starts(const struct lexer *l, const char *text)
{
    size_t size = strlen(text);
    return (size_t)(l->end - l->at) >= size && !memcmp(l->at, text, size);
}

static struct token take_word(struct lexer *l, struct token t)
{
    while (t.text + t.size < l->end && is_word(t.text[t.size]))
        t.size++;
    t.kind = TOKEN_WORD;
    if (is_digit(*t.text))
        t.kind = number_read(t.text, t.size, &t.number) ? TOKEN_NUMBER : TOKEN_WRONG;
    advance(l, t.size);
    return t;
}

/* A string ends in its line. */
static struct token take_string(struct lexer *l, struct token t)
{
    advance(l, 1);
    t.text = l->at;
    while (t.text + t.size < l->end && t.text[t.size] != '"' && t.text[t.size] != '\n')
        t.size++;
    bool closed = t.text + t.size < l->end && t.text[t.size] == '"';
    t.kind = closed ? TOKEN_STRING : TOKEN_WRONG;
    advance(l, t.size + closed);
    return t;
}

struct token lexer_next(struct lexer *l)
{
    static const struct {
        const char *text;
        enum token_kind kind;
    } signs[] = { /* those that begin alike: the longer one first */
        {"=>", TOKEN_ARROW}, {"\xe2\x87\x92", TOKEN_ARROW}, {"&&", TOKEN_AND}, {"||", TOKEN_OR},
        {"==", TOKEN_EQ}, {"!=", TOKEN_NE}, {"<=", TOKEN_LE}, {">=", TOKEN_GE}, {"!", TOKEN_NOT},
        {"<", TOKEN_LT}, {">", TOKEN_GT}, {"=", TOKEN_ASSIGN}, {"(", TOKEN_OPEN},
        {")", TOKEN_CLOSE}, {":", TOKEN_COLON}, {";", TOKEN_SEMICOLON}, {",", TOKEN_COMMA},
        {".", TOKEN_DOT}, {"-", TOKEN_MINUS},
    };
    skip_blank(l);
    struct token t = {.kind = TOKEN_END, .line = l->line, .column = l->column, .text = l->at};
    if (l->at >= l->end)
        return t;
    if (is_word(*l->at))
        return take_word(l, t);
    if (*l->at == '"')
        return take_string(l, t);
    t.kind = TOKEN_WRONG;
    t.size = 1;
    for (unsigned i = 0; i < sizeof signs / sizeof *signs; i++)
        if (starts(l, signs[i].text)) {
            t.kind = signs[i].kind;
            t.size = strlen(signs[i].text);
            break;
        }
    while (t.kind == TOKEN_WRONG && t.text + t.size < l->end &&
           ((unsigned char)t.text[t.size] & 0xc0) == 0x80)
        t.size++; /* all of a character */
    advance(l, t.size);
    return t;
}
