#include "report/view.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

/* Whether name is pattern followed by a parameter or template argument list. */
static bool is_base_name(const char *name, const char *pattern)
{
    size_t length = strlen(pattern);
    return !strncmp(name, pattern, length) && (name[length] == '(' || name[length] == '<');
}

bool view_is_whole_name(const char *name, const char *pattern)
{
    size_t depth = 0, length = strlen(pattern);
    if (strncmp(name, pattern, length) != 0 || (name[length] && name[length] != '('))
        return false;
    for (name += length; *name; name++) {
        depth += *name == '(';
        if (*name == ')' && --depth == 0)
            return !name[1] || (name[1] == ' ' && name[2] != '[');
    }
    return !depth;
}

enum match_kind { MATCH_EXACT, MATCH_BASE, MATCH_REGEX, MATCH_TEXT };

static uint32_t match_all(const char *const *names, uint32_t count, const char *pattern,
                          enum match_kind kind, const regex_t *regex, bool *matches)
{
    uint32_t matched = 0;
    for (uint32_t i = 0; i < count; i++) {
        const char *name = names[i];
        switch (kind) {
        case MATCH_EXACT: matches[i] = name && !strcmp(name, pattern); break;
        case MATCH_BASE: matches[i] = name && is_base_name(name, pattern); break;
        case MATCH_REGEX: matches[i] = name && regexec(regex, name, 0, NULL, 0) == 0; break;
        case MATCH_TEXT: matches[i] = name && strstr(name, pattern); break;
        }
        matched += matches[i];
    }
    return matched;
}

bool *names_match(const char *const *names, uint32_t count, const char *pattern, uint32_t *matched,
                  struct err *e)
{
    bool *matches = calloc((size_t)count + 1, sizeof *matches);
    *matched = 0;
    if (!matches) {
        err_set(e, ERR_INTERNAL, "cannot match functions: out of memory");
        return NULL;
    }
    *matched = match_all(names, count, pattern, MATCH_EXACT, NULL, matches);
    if (!*matched)
        *matched = match_all(names, count, pattern, MATCH_BASE, NULL, matches);
    regex_t regex;
    if (*matched)
        return matches;
    if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0) {
        *matched = match_all(names, count, pattern, MATCH_TEXT, NULL, matches);
        return matches;
    }
    *matched = match_all(names, count, pattern, MATCH_REGEX, &regex, matches);
    regfree(&regex);
    return matches;
}

bool *view_match(const struct view *v, const char *pattern, uint32_t *count, struct err *e)
{
    const char **names = calloc((size_t)v->function_count + 1, sizeof *names);
    *count = 0;
    if (!names) {
        err_set(e, ERR_INTERNAL, "cannot match functions: out of memory");
        return NULL;
    }
    /* A function whose paths were all refined away is not there, and the root is none. */
    for (uint32_t i = 0; i < v->function_count; i++)
        if (v->functions[i].total && i != v->tree.nodes[0].function)
            names[i] = v->functions[i].name;
    bool *matches = names_match(names, v->function_count, pattern, count, e);
    free(names);
    return matches;
}
