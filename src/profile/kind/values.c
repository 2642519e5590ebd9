/* Where sampled values come from; the numbers of what was observed are figures. */
#include <stdlib.h>

#include "penumbra/module.h"
#include "profile/kind/kind.h"

enum { NAMES_MAX = 4096, FACTS_MAX = 64 };

static bool needed(const struct profile *p)
{
    return observed_values(p) != NULL;
}

static bool check(const struct profile *p, struct err *e)
{
    return observed_values(p)->summary < HOTLIST_KINDS ||
           err_set(e, ERR_INTERNAL,
                   "the profile cannot be written: there is no such summary of values");
}

static void put(struct buf *b, const struct encoder *x)
{
    const struct profile_values *v = observed_values(x->p);
    buf_put_string(b, v->module);
    buf_put_uleb(b, v->summary);
    buf_put_uleb(b, v->redacted);
    buf_put_uleb(b, v->module_end);
    buf_put_uleb(b, v->module_detail);
    buf_put_uleb(b, v->every);
    buf_put_uleb(b, v->kind_count);
    for (uint32_t i = 0; i < v->kind_count; i++) {
        const struct profile_value_kind *kind = &v->kinds[i];
        buf_put_string(b, kind->name);
        buf_put_uleb(b, kind->format);
        buf_put_uleb(b, kind->role);
        buf_put_uleb(b, kind->name_count);
        for (uint32_t k = 0; k < kind->name_count; k++)
            buf_put_string(b, kind->names[k]);
    }
    buf_put_uleb(b, v->fact_count);
    for (uint32_t i = 0; i < v->fact_count; i++) {
        buf_put_string(b, v->facts[i].name);
        buf_put_uleb(b, v->facts[i].value);
    }
}

static void get_kind(struct decoder *d, struct cursor *c)
{
    char *name = cursor_string(c, "the name of a kind of value");
    struct profile_values *values = observed_values(d->p);
    struct profile_value_kind *kind = name ? profile_values_add_kind(values, name) : NULL;
    free(name);
    if (!kind) {
        read_no_memory(c);
        return;
    }
    kind->format = read_u32(c, "how values are shown");
    kind->role = read_u32(c, "what values are good for");
    uint32_t names = cursor_count(c, 1, "a number of names that fits the section");
    if (names > NAMES_MAX)
        cursor_fail(c, "at most 4096 names of values");
    kind->names = c->failed ? NULL : read_array(c, names, sizeof *kind->names);
    for (uint32_t i = 0; i < names && !c->failed; i++) {
        kind->names[i] = cursor_string(c, "the name of a value");
        kind->name_count += kind->names[i] != NULL;
    }
}

static void get_fact(struct decoder *d, struct cursor *c)
{
    char *name = cursor_string(c, "the name of a number");
    struct profile_fact *fact = name ? profile_values_add_fact(observed_values(d->p), name) : NULL;
    if (fact)
        fact->value = read_u64(c, "a number");
    else
        read_no_memory(c);
    free(name);
}

static void get(struct decoder *d, struct cursor *c)
{
    char *module = cursor_string(c, "the name of a module");
    struct profile_values *v = module ? profile_values_new(module) : NULL;
    free(module);
    if (!v) {
        read_no_memory(c);
        return;
    }
    profile_observe(d->p, OBSERVED_VALUES, v);
    v->summary = (uint32_t)cursor_uleb(c, HOTLIST_KINDS - 1, "0 or 1: how values are summarized");
    v->redacted = cursor_uleb(c, 1, "0 or 1: whether values are redacted");
    v->module_end = read_u32(c, "what became of the module");
    v->module_detail = read_u32(c, "a signal or a result");
    v->every = read_u64(c, "a share of triggers");
    uint32_t kinds = (uint32_t)cursor_uleb(c, PENUMBRA_KINDS_MAX, "a number of kinds up to 64");
    for (uint32_t i = 0; i < kinds && !c->failed; i++)
        get_kind(d, c);
    uint32_t facts = (uint32_t)cursor_uleb(c, FACTS_MAX, "a number of numbers up to 64");
    for (uint32_t i = 0; i < facts && !c->failed; i++)
        get_fact(d, c);
}

static bool resolve(struct decoder *d)
{
    struct profile_values *values = observed_values(d->p);
    return !values || profile_values_settle(values) ||
           err_set(d->e, ERR_INTERNAL, "%s: out of memory", d->file.name);
}

static bool alike(const struct profile *a, const struct profile *b, struct err *e)
{
    const struct profile_values *x = observed_values(a), *y = observed_values(b);
    const char *differ = x && y ? profile_values_differ(x, y) : NULL;
    if (!x != !y)
        differ = "only one of them has values";
    return !differ || err_set(e, ERR_USAGE, "the profiles cannot be merged: %s", differ);
}

/* With hotlists and texts. */
static bool merge(struct merger *m)
{
    struct profile_values *into = observed_values(m->into);
    return !into || profile_values_merge(into, observed_values(m->from), m->image_of,
                                         m->first_process);
}

const struct section_kind kind_values = {
    .type = {32, "values", 0},
    .about = "optional: where sampled values come from",
    .needed = needed,
    .check = check,
    .put = put,
    .get = get,
    .resolve = resolve,
    .alike = alike,
    .merge = merge,
};
