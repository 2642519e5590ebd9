#include "report/refine.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "report/totals.h"

enum { REFINE_STEPS_MAX = 64 };

static bool number_or_name(const char *filter, int32_t number, const char *name)
{
    char *end;
    long value = strtol(filter, &end, 10);
    return (end != filter && !*end && value == number) || !strcmp(filter, name);
}

static bool thread_is_chosen(const struct profile *p, const struct profile_thread *t,
                             const struct view_options *options)
{
    if (options->thread && !number_or_name(options->thread, t->tid, t->name))
        return false;
    if (!options->process && !options->rank)
        return true;
    if (t->process >= p->process_count)
        return false;
    const struct profile_process *process = &p->processes[t->process];
    if (options->rank && process->rank != options->rank)
        return false;
    if (!options->process)
        return true;
    return number_or_name(options->process, process->pid, process->name);
}

bool refine_threads(struct view *v, const struct view_options *options, struct err *e)
{
    const struct profile *p = v->profile;
    v->threads_chosen = calloc((size_t)p->thread_count + 1, sizeof *v->threads_chosen);
    if (!v->threads_chosen)
        return err_set(e, ERR_INTERNAL, "cannot choose threads: out of memory");
    bool any = false;
    for (uint32_t t = 0; t < p->thread_count; t++)
        any |= v->threads_chosen[t] = thread_is_chosen(p, &p->threads[t], options);
    if (any || (!options->thread && !options->process))
        return true;
    bool by_thread = options->thread != NULL;
    return err_set(e, ERR_USAGE, "the profile has no %s \"%s\"%s%s; --by-%s lists what it has",
                   by_thread ? "thread" : "process",
                   by_thread ? options->thread : options->process,
                   by_thread && options->process ? " in process " : "",
                   by_thread && options->process ? options->process : "",
                   by_thread ? "thread" : "process");
}

static bool image_is(const struct view *v, const struct view_function *f, const char *filter)
{
    if (!strcmp(f->image_name, filter))
        return true;
    return f->image < v->profile->image_count
        && !strcmp(v->profile->images[f->image].path, filter);
}

static void drop_own(struct view_tree *t, uint32_t node)
{
    t->nodes[node].self = 0;
    for (uint32_t m = 0; m < t->metrics; m++)
        view_tree_weights(t, node)[m] = 0;
}

static bool keep_image(struct view *v, const char *filter, struct err *e)
{
    bool any = false;
    for (uint32_t i = 0; i < v->function_count; i++)
        any |= image_is(v, &v->functions[i], filter);
    if (!any)
        return err_set(e, ERR_USAGE,
                       "the profile has no image \"%s\"; --by-image lists what it has", filter);
    for (uint32_t i = 0; i < v->tree.count; i++) {
        const struct view_node *n = &v->tree.nodes[i];
        if (!image_is(v, &v->functions[n->function], filter))
            drop_own(&v->tree, i);
    }
    return true;
}

/* One refinement: which of its expressions each function matches, as a bit set. */
struct refinement {
    uint64_t *matches;
    unsigned steps;
};
_Static_assert(REFINE_STEPS_MAX <= 64, "one bit a step");

static bool step_match(struct view *v, struct refinement *r, const char *pattern, struct err *e)
{
    regex_t regex;
    int error = regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB);
    if (error) {
        char why[128];
        regerror(error, &regex, why, sizeof why);
        return err_set(e, ERR_USAGE, "--through: \"%s\" is not a regular expression: %s", pattern,
                       why);
    }
    bool any = false;
    for (uint32_t i = 0; i < v->function_count; i++) {
        bool match = regexec(&regex, v->functions[i].name, 0, NULL, 0) == 0;
        any |= match;
        r->matches[i] |= (uint64_t)match << r->steps;
    }
    regfree(&regex);
    r->steps++;
    return any || err_set(e, ERR_USAGE, "--through: no function in this profile matches \"%s\"",
                          pattern);
}

/* The end of the expression that begins at `text`: a comma that is not in brackets, braces or
 * parentheses and not escaped, or the end. C++ argument lists and intervals contain commas. */
static const char *step_end(const char *text)
{
    int open = 0;
    for (; *text && (*text != ',' || open > 0); text++) {
        if (*text == '\\' && text[1])
            text++;
        else if (strchr("([{", *text))
            open++;
        else if (strchr(")]}", *text))
            open--;
    }
    return text;
}

static bool refinement_parse(struct view *v, struct refinement *r, const char *list,
                             struct err *e)
{
    r->matches = calloc(v->function_count, sizeof *r->matches);
    if (!r->matches)
        return err_set(e, ERR_INTERNAL, "cannot refine: out of memory");
    for (const char *at = list;; at++) {
        const char *end = step_end(at);
        if (end == at)
            return err_set(e, ERR_USAGE, "--through: \"%s\" has an empty expression", list);
        if (r->steps == REFINE_STEPS_MAX)
            return err_set(e, ERR_USAGE, "--through: more than %d expressions", REFINE_STEPS_MAX);
        char *pattern = strndup(at, (size_t)(end - at));
        bool ok = pattern ? step_match(v, r, pattern, e)
                          : err_set(e, ERR_INTERNAL, "cannot refine: out of memory");
        free(pattern);
        if (!ok || !*end)
            return ok;
        at = end;
    }
}

static bool refinement_apply(struct view *v, const struct refinement *r, struct err *e)
{
    /* By node: how many expressions its path has matched. */
    uint8_t *matched = calloc((size_t)v->tree.count + 1, 1);
    if (!matched)
        return err_set(e, ERR_INTERNAL, "cannot refine: out of memory");
    drop_own(&v->tree, 0);
    /* The earliest frame that matches is always a right choice, so one pass decides. */
    for (uint32_t i = 1; i < v->tree.count; i++) {
        const struct view_node *n = &v->tree.nodes[i];
        unsigned step = matched[n->parent];
        if (step < r->steps && r->matches[n->function] >> step & 1)
            step++;
        matched[i] = (uint8_t)step;
        if (step < r->steps)
            drop_own(&v->tree, i);
    }
    free(matched);
    return true;
}

static bool keep_through(struct view *v, const char *list, struct err *e)
{
    struct refinement r = { 0 };
    bool ok = refinement_parse(v, &r, list, e) && refinement_apply(v, &r, e);
    free(r.matches);
    return ok;
}

/* Drops nodes that no kept call path passes through. */
static bool tree_compact(struct view *v, struct err *e)
{
    struct view_tree *t = &v->tree;
    totals_of_nodes(t);
    uint32_t *map = calloc(t->count, sizeof *map);
    if (!map)
        return err_set(e, ERR_INTERNAL, "cannot refine: out of memory");
    uint32_t kept = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        if (i > 0 && !t->nodes[i].total)
            continue;
        map[i] = kept;
        t->nodes[kept] = t->nodes[i];
        if (i > 0)
            t->nodes[kept].parent = map[t->nodes[i].parent];
        kept++;
    }
    t->count = kept;
    free(map);
    return true;
}

bool refine_paths(struct view *v, const struct view_options *options, struct err *e)
{
    for (uint32_t i = 0; i < v->tree.count; i++)
        v->samples_all = add_saturated(v->samples_all, v->tree.nodes[i].self);
    if (options->image && !keep_image(v, options->image, e))
        return false;
    for (uint32_t i = 0; i < options->through_count; i++)
        if (!keep_through(v, options->through[i], e))
            return false;
    return (!options->image && !options->through_count) || tree_compact(v, e);
}
