#include "cli/options.h"

#include <getopt.h>
#include <string.h>

#include "base/buf.h"
#include "base/suggest.h"
#include "cli/command.h"

enum { ROWS_MOST = 100, OPTION_BASE = 256, OPTION_HELP, OPTION_HELP_ALL, OPTION_LIST, OPTION_ROW };
enum { HELP_WIDTH = 96, HELP_LEFT = 27, LEFT_SIZE = 64 };

/* ---- parsing ---- */

static bool is_optional(const struct option_row *row)
{
    return row->value && row->value[0] == '[';
}

/* What getopt wants to be told. '+': stop at the first argument; ':': tell a missing value from an
 * unknown option. */
static void make_getopt_tables(const struct options *o, struct option *longs, char *shorts)
{
    if (o->before_program)
        *shorts++ = '+';
    *shorts++ = ':';
    *shorts++ = 'h';
    for (unsigned i = 0; i < o->count; i++) {
        const struct option_row *row = &o->rows[i];
        if (!row->name)
            continue;
        int takes = is_optional(row) ? optional_argument
                    : row->value     ? required_argument
                                     : no_argument;
        *longs++ = (struct option){row->name, takes, NULL, OPTION_ROW + (int)i};
        if (row->letter)
            *shorts++ = row->letter;
        if (row->letter && row->value)
            *shorts++ = ':';
    }
    *shorts = '\0';
    *longs++ = (struct option){"help", no_argument, NULL, OPTION_HELP};
    if (o->has_help_all)
        *longs++ = (struct option){"help-all", no_argument, NULL, OPTION_HELP_ALL};
    *longs++ = (struct option){"list-options", no_argument, NULL, OPTION_LIST};
    *longs = (struct option){0};
}

/* Whether "no-" before the name makes an option. */
static bool is_default(const struct options *o, const char *name)
{
    for (unsigned i = 0; i < o->count; i++)
        if (o->rows[i].name && !strncmp(o->rows[i].name, "no-", 3) &&
            !strcmp(o->rows[i].name + 3, name))
            return true;
    return false;
}

static bool unknown_option(const struct options *o, const char *typed, struct err *e)
{
    struct suggest s = {0};
    char name[64];
    const char *bare = typed + strspn(typed, "-");
    snprintf(name, sizeof name, "%.*s", (int)strcspn(bare, "="), bare);
    if (strncmp(typed, "--", 2) != 0)
        return err_set(e, ERR_USAGE, "there is no option %s; see penumbra %s --help", typed,
                       o->command);
    if (is_default(o, name))
        return err_set(e, ERR_USAGE,
                       "there is no option --%s: it is the default, and --no-%s turns it off", name,
                       name);
    for (unsigned i = 0; i < o->count; i++)
        if (o->rows[i].name)
            suggest_offer(&s, name, o->rows[i].name);
    suggest_offer(&s, name, "help");
    if (s.best)
        return err_set(e, ERR_USAGE, "there is no option --%s; did you mean --%s?", name, s.best);
    return err_set(e, ERR_USAGE, "there is no option --%s; see penumbra %s --help", name,
                   o->command);
}

/* getopt's two answers to a bad option: ':' for a missing value, '?' for all else. */
static bool bad_option(const struct options *o, int answer, char **argv, struct err *e)
{
    const char *typed = argv[optind - 1];
    char letter[3] = {'-', 0, 0};
    if (optopt > 0 && optopt < OPTION_BASE) {
        letter[1] = (char)optopt;
        typed = letter;
    }
    if (answer == ':')
        return err_set(e, ERR_USAGE, "%s needs a value; see penumbra %s --help", typed, o->command);
    if (optopt >= OPTION_BASE)
        return err_set(e, ERR_USAGE, "%s: this option takes no value; see penumbra %s --help",
                       typed, o->command);
    return unknown_option(o, typed, e);
}

static void store(const struct option_row *row, void *field, double value)
{
    double number = row->number.per > 0 ? value / row->number.per : value;
    double rounded = row->number.per > 0 ? number + 0.5 : number;
    switch (row->type) {
    case FIELD_U32:
        *(uint32_t *)field = (uint32_t)rounded;
        break;
    case FIELD_INT:
        *(int *)field = (int)rounded;
        break;
    case FIELD_U64:
        *(uint64_t *)field = (uint64_t)rounded;
        break;
    case FIELD_I64:
        *(int64_t *)field = (int64_t)rounded;
        break;
    default:
        *(double *)field = number;
        break;
    }
}

static bool take_value(const struct option_row *row, void *field, const char *value, struct err *e)
{
    char what[64];
    double number;
    snprintf(what, sizeof what, "--%s", row->name);
    if (row->type == FIELD_TEXT) {
        *(const char **)field = value;
        return *value || !row->filled ||
               err_set(e, ERR_USAGE, "%s needs a value, not an empty one", what);
    }
    if (row->word) {
        snprintf(what, sizeof what, "%s (--%s)", row->number.what ? row->number.what : row->name,
                 row->name);
        return suggest_word(what, value, row->word, field, e);
    }
    if (!number_parse(value, row->number.units, row->number.low, row->number.high,
                      row->number.what ? row->number.what : what, &number, e))
        return false;
    store(row, field, number);
    return true;
}

static bool take(const struct option_row *row, void *arguments, const char *value, struct err *e)
{
    char *base = arguments;
    void *field = base + row->field;
    if (row->given)
        *(bool *)(void *)(base + row->given - 1) = true;
    if (row->take)
        return row->take(arguments, value, e);
    if (row->value)
        return take_value(row, field, value, e);
    if (row->bits)
        *(uint32_t *)field |= row->bits;
    else
        *(bool *)field = !row->clears;
    return true;
}

static const struct option_row *row_of(const struct options *o, int option)
{
    if (option >= OPTION_ROW)
        return &o->rows[option - OPTION_ROW];
    for (unsigned i = 0; i < o->count; i++)
        if (o->rows[i].name && o->rows[i].letter == option)
            return &o->rows[i];
    return NULL;
}

enum options_outcome options_parse(const struct options *o, int argc, char **argv, void *arguments,
                                   int *first, struct err *e)
{
    struct option longs[ROWS_MOST + 4];
    char shorts[2 * ROWS_MOST + 4];
    if (o->count > ROWS_MOST) {
        err_set(e, ERR_INTERNAL, "penumbra %s has more than %d options", o->command, ROWS_MOST);
        return OPTIONS_WRONG;
    }
    make_getopt_tables(o, longs, shorts);
    opterr = 0;
    optind = 0; /* glibc: begin anew, whatever was parsed before */
    for (int option; (option = getopt_long(argc, argv, shorts, longs, NULL)) != -1;) {
        if (option == 'h' || option == OPTION_HELP)
            return OPTIONS_HELP;
        if (option == OPTION_HELP_ALL)
            return OPTIONS_HELP_ALL;
        if (option == OPTION_LIST)
            return OPTIONS_LIST;
        const struct option_row *row = option == '?' || option == ':' ? NULL : row_of(o, option);
        if (!(row ? take(row, arguments, optarg, e) : bad_option(o, option, argv, e)))
            return OPTIONS_WRONG;
    }
    *first = optind;
    return OPTIONS_PARSED;
}

/* ---- help ---- */

/* The text in lines, the first of which has its left part already. */
static void print_wrapped(FILE *to, const char *text)
{
    unsigned column = HELP_LEFT;
    while (*text) {
        size_t length = strcspn(text, " \n");
        if (column > HELP_LEFT && column + 1 + length > HELP_WIDTH) {
            fprintf(to, "\n%*s", HELP_LEFT, "");
            column = HELP_LEFT;
        } else if (column > HELP_LEFT) {
            fputc(' ', to);
            column++;
        }
        fprintf(to, "%.*s", (int)length, text);
        column += (unsigned)length;
        text += length;
        text += strspn(text, " \n");
    }
    fputc('\n', to);
}

static void print_row(FILE *to, char letter, const char *name, const char *value, const char *text)
{
    char left[LEFT_SIZE];
    const char *between = !value ? "" : value[0] == '[' ? "[=" : " ";
    snprintf(left, sizeof left, "%c%c%c --%s%s%s", letter ? '-' : ' ', letter ? letter : ' ',
             letter ? ',' : ' ', name, between, value ? value + (value[0] == '[') : "");
    if (strlen(left) > HELP_LEFT - 3)
        fprintf(to, "  %s\n%*s", left, HELP_LEFT, "");
    else
        fprintf(to, "  %-*s ", HELP_LEFT - 3, left);
    print_wrapped(to, text);
}

/* Its text, with its values in place of %s, and its default. */
static void put_text(struct buf *b, const struct option_row *row, const char *text)
{
    const char *place = row->word ? strstr(text, "%s") : NULL;
    buf_printf(b, "%.*s", (int)(place ? place - text : (ptrdiff_t)strlen(text)), text);
    for (unsigned i = 0; place && row->word(i); i++)
        buf_printf(b, "%s%s", i == 0 ? "" : row->word(i + 1) ? ", " : " or ", row->word(i));
    buf_puts(b, place ? place + 2 : "");
    if (row->fallback)
        buf_printf(b, " (default %s)", row->fallback);
    buf_put_u8(b, '\0');
}

static void print_help(const struct options *o, bool all, FILE *to)
{
    fputs(o->usage, to);
    for (unsigned i = 0; i < o->count; i++) {
        const struct option_row *row = &o->rows[i];
        const char *text = o->has_help_all && !all ? row->brief : row->help;
        struct buf whole = {0};
        if (!text)
            continue;
        put_text(&whole, row, text);
        if (row->name && buf_ok(&whole))
            print_row(to, row->letter, row->name, row->value, (const char *)whole.data);
        else
            fprintf(to, "%s\n", text);
        buf_free(&whole);
    }
    print_row(to, 'h', "help", NULL,
              o->has_help_all && all ? "the options that are used most" : "this text");
    if (o->has_help_all)
        print_row(to, 0, "help-all", NULL,
                  all ? "this text" : "all options, and what each event and tool is");
    if (o->tail)
        o->tail(to, all);
}

/* For completion, a line an option, its parts divided by tabs: letter or nothing, name, value or
 * nothing, words divided by blanks, help. */
static void print_list(const struct options *o)
{
    for (unsigned i = 0; i < o->count; i++) {
        const struct option_row *row = &o->rows[i];
        if (!row->name)
            continue;
        printf("%s%c\t--%s\t%s\t", row->letter ? "-" : "", row->letter ? row->letter : ' ',
               row->name, row->value ? row->value : "");
        for (unsigned k = 0; row->word && row->word(k); k++)
            printf("%s%s", k ? " " : "", row->word(k));
        struct buf whole = {0};
        put_text(&whole, row, row->help);
        printf("\t%s\n", buf_ok(&whole) ? (const char *)whole.data : "");
        buf_free(&whole);
    }
    printf("-h\t--help\t\t\tthe options\n");
    if (o->has_help_all)
        printf(" \t--help-all\t\t\tall options\n");
}

bool options_take(const struct options *o, int argc, char **argv, void *arguments, int *first,
                  int *status)
{
    struct err e = {0};
    *status = 0;
    switch (options_parse(o, argc, argv, arguments, first, &e)) {
    case OPTIONS_PARSED:
        return true;
    case OPTIONS_WRONG:
        *status = command_fail(o->command, &e);
        return false;
    case OPTIONS_LIST:
        print_list(o);
        return false;
    case OPTIONS_HELP:
        print_help(o, false, stdout);
        return false;
    default:
        print_help(o, true, stdout);
        return false;
    }
}
