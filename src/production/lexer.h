/* Words of a .dise file (docs/productions.md).
 *
 * Context: ordinary code.
 * Ownership: the text is the caller's, and tokens point into it. */
#ifndef PENUMBRA_PRODUCTION_LEXER_H
#define PENUMBRA_PRODUCTION_LEXER_H

#include <stddef.h>
#include <stdint.h>

enum token_kind {
    TOKEN_END,
    TOKEN_WORD,
    TOKEN_NUMBER,
    TOKEN_STRING,
    TOKEN_ARROW,   /* => or the character U+21D2 */
    TOKEN_AND, TOKEN_OR, TOKEN_NOT,
    TOKEN_EQ, TOKEN_NE, TOKEN_LT, TOKEN_LE, TOKEN_GT, TOKEN_GE,
    TOKEN_ASSIGN,
    TOKEN_OPEN, TOKEN_CLOSE, TOKEN_COLON, TOKEN_SEMICOLON, TOKEN_COMMA, TOKEN_DOT, TOKEN_MINUS,
    TOKEN_WRONG,   /* no token begins so; of a number or string, it is none */
};

struct token {
    enum token_kind kind;
    uint32_t line, column; /* from 1; columns are characters */
    const char *text;      /* of a string: between its quotes */
    size_t size;
    uint64_t number;
};

struct lexer {
    const char *at, *end;
    uint32_t line, column;
};

void lexer_init(struct lexer *l, const char *text, size_t size);
/* TOKEN_END again and again at the end. */
struct token lexer_next(struct lexer *l);

#endif
