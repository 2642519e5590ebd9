/* What `penumbra diff --fail-on` says, for continuous integration: "FUNC > 5%" fails if FUNC, with
 * what it calls, surely needs more than before, and by more than 5% of what it needed. "FUNC self >
 * 5%" is of its own samples; "FUNC < -5%" fails if it needs less.
 *
 * Context: the main thread.
 * Ownership: a rule's pattern is its own; diff_rule_fini frees it. */
#ifndef PENUMBRA_CLI_DIFF_RULES_H
#define PENUMBRA_CLI_DIFF_RULES_H

#include "report/diff.h"

struct diff_rule {
    const char *text; /* as typed */
    char *pattern;    /* of functions, as view_match takes it */
    enum diff_weight weight;
    bool below;       /* "<" */
    double limit;     /* 0.05: 5% */
};

bool diff_rule_parse(struct diff_rule *rule, const char *text, struct err *e);
void diff_rule_fini(struct diff_rule *rule);

/* Tells `out` of each function that breaks the rule, and adds their number. ERR_USAGE: no function
 * has that name. */
bool diff_rule_check(FILE *out, const struct diff_rule *rule, const struct diff *d,
                     unsigned *broken, struct err *e);

struct diff_values;
/* The same of values (diff_values.h): the pattern is of "PLACE ASSEMBLY KIND = VALUE", and what
 * grew is a value's share of what was observed at its instruction. */
bool diff_rule_check_values(FILE *out, const struct diff_rule *rule, const struct diff_values *d,
                            unsigned *broken, struct err *e);

#endif
