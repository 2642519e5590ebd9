/* Parsing one .dise file into the program that all files share: what parse.c, expression.c and
 * merge.c have in common.
 *
 * Context: ordinary code.
 * Ownership: as in production.h; tokens point into the file's text. */
#ifndef PENUMBRA_PRODUCTION_PARSER_H
#define PENUMBRA_PRODUCTION_PARSER_H

#include <stdbool.h>

#include "production/lexer.h"
#include "production/production.h"

enum { PARSER_NAMES = 256, PARSER_LIST = 32 };

/* A label's meaning: Rn or CCn. */
struct parser_definition {
    struct token label;
    bool control; /* else a replacement */
    struct production_run run; /* of the program's actions or micro-operations */
};

/* What a production refers to. */
struct parser_rule {
    struct token label;
    struct production made; /* with what stands in place */
    struct token replacement;  /* of kind TOKEN_END: none */
    struct token controls[PARSER_LIST];
    unsigned control_count;
};

struct parser_register {
    char name[PRODUCTION_NAME];
    uint64_t value;
};

/* What outlives one file. */
struct parser_all {
    const struct production_settings *settings;
    struct production_program *program;
    struct parser_register registers[PARSER_NAMES];
    unsigned register_count;
    bool begun; /* a file has said what counters begin with */
};

struct parser {
    struct parser_all *all;
    const char *file;              /* as errors call it */
    char stem[PRODUCTION_NAME];    /* as names begin */
    struct lexer lexer;
    struct token token, next;
    struct parser_definition definitions[PARSER_NAMES];
    unsigned definition_count;
    struct parser_rule rules[PRODUCTIONS_MOST];
    unsigned rule_count;
    bool (*include)(void *context, const char *name, size_t size, struct err *e);
    void *context;
    bool failed;
    struct err *e;
};

/* False, once and for all: at the token, `expected` was. */
bool parser_expected(struct parser *p, const struct token *at, const char *expected);
/* False: another sentence. */
bool parser_fail(struct parser *p, const struct token *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void parser_take(struct parser *p);
/* Takes the token if it is of that kind. */
bool parser_accept(struct parser *p, enum token_kind kind);
/* Takes it, or fails. */
bool parser_expect(struct parser *p, enum token_kind kind, const char *what);
bool token_is(const struct token *t, const char *word);

/* Pattern && conditional, up to the arrow (expression.c). */
bool parser_expression(struct parser *p, struct production *to);
/* A decimal or hexadecimal number, or a register that the files declare. */
bool parser_number(struct parser *p, uint64_t most, const char *what, uint64_t *value);

/* One more of the program's, behind the last; false: there is no room. */
bool parser_term(struct parser *p, struct production_run *run, struct production_term term);
bool parser_action(struct parser *p, struct production_run *run, uint8_t group);
bool parser_micro(struct parser *p, struct production_run *run, struct production_micro micro);

/* The group of these results, made if there is none; UINT8_MAX: it has failed (merge.c). */
uint8_t parser_group(struct parser *p, const struct token *at, const struct production_group *g);
/* The production becomes one of the program's: where another one has the same pattern and
 * conditional, what that one lacks is added to it. */
bool parser_merge(struct parser *p, const struct token *at, const struct production *made);

/* All of a file whose text the lexer has. */
bool parser_run(struct parser *p);

#endif
