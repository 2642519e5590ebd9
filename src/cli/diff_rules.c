#include "cli/diff_rules.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "base/suggest.h"
#include "report/chance.h"
#include "report/diff_values.h"
#include "report/text.h"

static bool fail(const char *text, struct err *e)
{
    return err_set(e, ERR_USAGE,
                   "--fail-on \"%s\": it is \"FUNC > PERCENT\" or \"FUNC < -PERCENT\", \"FUNC "
                   "self > PERCENT\" for its own samples",
                   text);
}

/* Takes " word" from the end, if it is there. */
static bool take_word(const char *text, size_t *size, const char *word)
{
    size_t length = strlen(word);
    if (*size <= length || memcmp(text + *size - length, word, length) != 0 ||
        !isspace((unsigned char)text[*size - length - 1]))
        return false;
    *size -= length;
    return true;
}

static size_t trimmed(const char *text, size_t size)
{
    while (size && isspace((unsigned char)text[size - 1]))
        size--;
    return size;
}

bool diff_rule_parse(struct diff_rule *rule, const char *text, struct err *e)
{
    const char *above = strrchr(text, '>'), *below = strrchr(text, '<');
    const char *sign = !above || (below && below > above) ? below : above;
    *rule = (struct diff_rule){.text = text, .weight = DIFF_TOTAL};
    if (!sign)
        return fail(text, e);
    const char *number = sign + 1 + strspn(sign + 1, " \t");
    text += strspn(text, " \t");
    size_t size = sign > text ? trimmed(text, (size_t)(sign - text)) : 0;
    if (take_word(text, &size, "self"))
        rule->weight = DIFF_SELF;
    else
        take_word(text, &size, "total");
    size = trimmed(text, size);
    rule->below = *sign == '<';
    if (!size || !*number)
        return fail(rule->text, e);
    bool negative = *number == '-';
    number += negative || *number == '+';
    if (!number_parse(number, number_percent, 0, 1e9, "the change of --fail-on", &rule->limit, e))
        return false;
    rule->limit /= negative ? -100 : 100;
    rule->pattern = strndup(text, size);
    return rule->pattern || err_set(e, ERR_INTERNAL, "out of memory");
}

void diff_rule_fini(struct diff_rule *rule)
{
    free(rule->pattern);
    rule->pattern = NULL;
}

/* ---- the check ---- */

/* What a rule may be of. */
struct candidates {
    const char **names;                 /* count of them, and as many other names or NULL */
    const struct diff_change **changes; /* by name */
    uint32_t count;
};

static bool candidates_init(struct candidates *c, uint32_t count, struct err *e)
{
    *c = (struct candidates){.names = calloc(2 * (size_t)count + 1, sizeof *c->names),
                             .changes = calloc((size_t)count + 1, sizeof *c->changes),
                             .count = count};
    return (c->names && c->changes) || err_set(e, ERR_INTERNAL, "out of memory");
}

static void candidates_fini(struct candidates *c)
{
    free(c->names);
    free(c->changes);
}

static bool fail_unknown(const struct diff_rule *rule, const struct candidates *c, const char *what,
                         struct err *e)
{
    struct suggest s = {0};
    for (uint32_t i = 0; i < c->count; i++)
        suggest_offer(&s, rule->pattern, c->names[i]);
    return err_set(e, ERR_USAGE, "--fail-on: no %s of either side is named or matches \"%s\"%s%s%s",
                   what, rule->pattern, s.best ? "; did you mean \"" : "", s.best ? s.best : "",
                   s.best ? "\"?" : "");
}

/* By candidate, under either of its names; to free(). */
static bool *match_names(const struct diff_rule *rule, const struct candidates *c, const char *what,
                         struct err *e)
{
    uint32_t matched;
    bool *matches = names_match(c->names, 2 * c->count, rule->pattern, &matched, e);
    for (uint32_t i = 0; matches && i < c->count; i++)
        matches[i] |= matches[c->count + i];
    if (matches && !matched) {
        free(matches);
        fail_unknown(rule, c, what, e);
        return NULL;
    }
    return matches;
}

static bool is_broken(const struct diff_rule *rule, const struct diff_change *c)
{
    double before = c->value[DIFF_BEFORE], difference = diff_difference(c);
    double change = before > 0 ? difference / before : difference > 0 ? INFINITY : 0;
    return rule->below ? change < rule->limit : change > rule->limit;
}

static void say(FILE *out, const struct diff_rule *rule, const char *name,
                const struct diff_change *c)
{
    double before = c->value[DIFF_BEFORE];
    fprintf(out, "penumbra diff: %s: ", rule->text);
    text_name(out, name, 0);
    if (before > 0)
        fprintf(out, " changed by %+.1f%% (95%%: %+.1f%% to %+.1f%%)\n",
                100 * diff_difference(c) / before, 100 * c->low / before, 100 * c->high / before);
    else
        fprintf(out, " appeared, with %.2f%%\n", 100 * c->value[DIFF_AFTER]);
}

static bool check(FILE *out, const struct diff_rule *rule, const struct candidates *c,
                  const char *what, unsigned *broken, struct err *e)
{
    bool *matches = match_names(rule, c, what, e);
    double *p = matches ? calloc(2 * (size_t)c->count + 1, sizeof *p) : NULL;
    double *q = p ? p + c->count : NULL;
    for (uint32_t i = 0; p && i < c->count; i++)
        p[i] = matches[i] ? c->changes[i]->p : NAN;
    bool ok = p && chance_adjust(p, q, c->count);
    for (uint32_t i = 0; ok && i < c->count; i++) {
        if (!(q[i] <= DIFF_RATE) || !is_broken(rule, c->changes[i]))
            continue;
        say(out, rule, c->names[i], c->changes[i]);
        ++*broken;
    }
    free(p);
    free(matches);
    return ok || err_set(e, ERR_INTERNAL, "out of memory");
}

bool diff_rule_check(FILE *out, const struct diff_rule *rule, const struct diff *d,
                     unsigned *broken, struct err *e)
{
    struct candidates c;
    bool ok = candidates_init(&c, d->functions.count, e);
    for (uint32_t i = 0; ok && i < c.count; i++) {
        const struct diff_row *row = &d->functions.list[i];
        c.names[i] = d->names.functions[row->function].name;
        c.names[c.count + i] = d->names.functions[row->function].was;
        c.changes[i] = &row->change[rule->weight];
    }
    ok = ok && check(out, rule, &c, "function", broken, e);
    candidates_fini(&c);
    return ok;
}

bool diff_rule_check_values(FILE *out, const struct diff_rule *rule, const struct diff_values *d,
                            unsigned *broken, struct err *e)
{
    struct candidates c;
    struct buf texts = {0};
    if (rule->weight == DIFF_SELF)
        return err_set(e, ERR_USAGE,
                       "--fail-on \"%s\": a value has only its share of its instruction, with "
                       "--values: leave \"self\" out",
                       rule->text);
    bool ok = candidates_init(&c, d->count, e);
    for (uint32_t i = 0; ok && i < c.count; i++)
        ok = diff_value_name(d, &d->list[i], &texts) ||
             err_set(e, ERR_INTERNAL, "out of memory");
    const char *at = (const char *)texts.data;
    for (uint32_t i = 0; ok && i < c.count; i++, at += strlen(at) + 1) {
        c.names[i] = at;
        c.changes[i] = &d->list[i].change;
    }
    ok = ok && check(out, rule, &c, "value", broken, e);
    candidates_fini(&c);
    buf_free(&texts);
    return ok;
}
