#include "cli/diff_rules.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "base/suggest.h"
#include "report/chance.h"
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

static bool fail_unknown(const struct diff_rule *rule, const struct diff *d, struct err *e)
{
    struct suggest s = {0};
    for (uint32_t i = 0; i < d->functions.count; i++)
        suggest_offer(&s, rule->pattern,
                      d->names.functions[d->functions.list[i].function].name);
    return err_set(e, ERR_USAGE,
                   "--fail-on: no function of either side is named or matches \"%s\"%s%s%s",
                   rule->pattern, s.best ? "; did you mean \"" : "", s.best ? s.best : "",
                   s.best ? "\"?" : "");
}

/* By row, under either of its names; to free(). */
static bool *match_rows(const struct diff_rule *rule, const struct diff *d, struct err *e)
{
    uint32_t count = d->functions.count, matched;
    const char **names = calloc(2 * (size_t)count + 1, sizeof *names);
    if (!names) {
        err_set(e, ERR_INTERNAL, "out of memory");
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct diff_function *f = &d->names.functions[d->functions.list[i].function];
        names[i] = f->name;
        names[count + i] = f->was;
    }
    bool *matches = names_match(names, 2 * count, rule->pattern, &matched, e);
    free(names);
    for (uint32_t i = 0; matches && i < count; i++)
        matches[i] |= matches[count + i];
    if (matches && !matched) {
        free(matches);
        fail_unknown(rule, d, e);
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

bool diff_rule_check(FILE *out, const struct diff_rule *rule, const struct diff *d,
                     unsigned *broken, struct err *e)
{
    const struct diff_rows *rows = &d->functions;
    bool *matches = match_rows(rule, d, e);
    double *p = matches ? calloc(2 * (size_t)rows->count + 1, sizeof *p) : NULL;
    double *q = p ? p + rows->count : NULL;
    for (uint32_t i = 0; p && i < rows->count; i++)
        p[i] = matches[i] ? rows->list[i].change[rule->weight].p : NAN;
    bool ok = p && chance_adjust(p, q, rows->count);
    for (uint32_t i = 0; ok && i < rows->count; i++) {
        const struct diff_change *c = &rows->list[i].change[rule->weight];
        if (!(q[i] <= DIFF_RATE) || !is_broken(rule, c))
            continue;
        say(out, rule, d->names.functions[rows->list[i].function].name, c);
        ++*broken;
    }
    free(p);
    free(matches);
    return ok || err_set(e, ERR_INTERNAL, "out of memory");
}
