/* The options of a subcommand: one table, from which its command line is parsed and its --help, its
 * completion and the check of its manual page are made.
 *
 *     struct arguments { const char *output; uint32_t depth; bool json; ... };
 *
 *     {'o', "output", "FILE", .help = "write to FILE", FIELD(struct arguments, output)},
 *     {0, "depth", "N", .fallback = "128", .help = "levels of a tree",
 *      FIELD(struct arguments, depth), NUMBER(number_counts, 0, 4e9)},
 *     {0, "json", .help = "as JSON", FIELD(struct arguments, json)},
 *
 * The field's type says what is done with a value: text is kept; a number is parsed, within its
 * bounds; a word is looked up among `word`, and its index kept. An option without a value sets its
 * field to true (`.clears`: false), or adds `.bits` to it. `.take` does anything else.
 *
 * Context: the main thread.
 * Ownership: tables are constant; texts point into argv. */
#ifndef PENUMBRA_CLI_OPTIONS_H
#define PENUMBRA_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/numbers.h"

enum field_type {
    FIELD_NONE,
    FIELD_BOOL,
    FIELD_U32,
    FIELD_INT,
    FIELD_U64,
    FIELD_I64,
    FIELD_DOUBLE,
    FIELD_TEXT
};

/* Rows begin with the letter, as people write options.
 * NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding) */
struct option_row {
    char letter;          /* 0: none */
    const char *name;     /* of the long form; NULL: a title in the help, which is `help` */
    /* as help calls it; NULL: takes none; "[WORD]": after a =, or not at all */
    const char *value;
    const char *fallback; /* its default, for the help; NULL: `help` has it, or there is none */
    const char *help;     /* "%s": its words; lines are broken where they have to be */
    const char *brief;    /* in a table with --help-all: what --help says; NULL: nothing */
    size_t field;         /* its offset in the struct of arguments */
    size_t given;         /* offset of a bool that is set to true besides, + 1; 0: none */
    unsigned char type;   /* enum field_type */
    bool clears;
    bool filled;          /* a text may not be empty */
    uint32_t bits;
    struct option_number {
        const struct number_unit *units;
        double low, high; /* of the number that is typed, times its unit */
        const char *what; /* for messages; NULL: the option's name */
        double per;       /* the field is the number divided by it, an integer rounded; 0: 1 */
    } number;
    const char *(*word)(unsigned index); /* its values, also for completion; NULL after the last */
    bool (*take)(void *arguments, const char *value, struct err *e);
};

#define FIELD(type_, member)                                                                       \
    .field = offsetof(type_, member),                                                              \
    .type = _Generic(((type_ *)0)->member, bool: FIELD_BOOL, uint32_t: FIELD_U32, int: FIELD_INT,  \
                     uint64_t: FIELD_U64, int64_t: FIELD_I64, double: FIELD_DOUBLE,                \
                     const char *: FIELD_TEXT)
#define GIVEN(type_, member) .given = offsetof(type_, member) + 1
#define NUMBER(units_, low_, high_, ...)                                                           \
    .number = {.units = (units_), .low = (low_), .high = (high_), __VA_ARGS__}

struct options {
    const char *command;
    const char *usage; /* what the help begins with */
    const struct option_row *rows;
    unsigned count;
    bool has_help_all;                /* --help is the brief one */
    bool before_program;              /* options end where the program's name begins */
    void (*tail)(FILE *to, bool all); /* what the help ends with; NULL: nothing */
};

enum options_outcome {
    OPTIONS_PARSED,
    OPTIONS_HELP,
    OPTIONS_HELP_ALL,
    OPTIONS_LIST,
    OPTIONS_WRONG
};

/* Fills the arguments. *first: index of the first word that is no option or value. On OPTIONS_WRONG
 * *e says what is wrong with which option. -h, --help, --help-all and --list-options end it, and
 * are in no table. */
enum options_outcome options_parse(const struct options *o, int argc, char **argv, void *arguments,
                                   int *first, struct err *e);
/* Parses, and prints what was asked for. False: the command is to end with *status. */
bool options_take(const struct options *o, int argc, char **argv, void *arguments, int *first,
                  int *status);

#endif
