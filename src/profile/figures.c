#include "profile/figures.h"

#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "profile/counts.h"
#include "profile/profile.h"
#include "profile/shadows.h"
#include "profile/values.h"

static const struct figure_row begun_rows[] = {
    FIGURE_ROW("processes", struct profile_begun, executed, SUM, "programs",
               "executed in the recording"),
    FIGURE_ROW("processes", struct profile_begun, forked, SUM, "processes", "forked in it"),
    FIGURE_ROW("processes", struct profile_begun, ns, SUM, "ns",
               "what their beginnings and ends cost besides what is known of their threads"),
};

static void *begun_of(const struct profile *p)
{
    const struct profile_begun *b = &p->begun;
    return b->executed || b->forked || b->ns ? (void *)(uintptr_t)b : NULL;
}

static void *begun_make(struct profile *p)
{
    return &p->begun;
}

static const struct figure_family begun_figures = {.rows = begun_rows,
                                                   .count = sizeof begun_rows / sizeof *begun_rows,
                                                   .of = begun_of,
                                                   .make = begun_make};

static const struct figure_row left_rows[] = {
    FIGURE_ROW_MANY("sandbox", struct profile_left, left_out, LEFT_COUNT, profile_left_name,
                    "threads and processes", "made in sandboxes and not observed, by reason"),
};

static void *left_of(const struct profile *p)
{
    for (unsigned i = 0; i < LEFT_COUNT; i++)
        if (p->left.left_out[i])
            return (void *)(uintptr_t)&p->left;
    return NULL;
}

static void *left_make(struct profile *p)
{
    return &p->left;
}

static const struct figure_family left_figures = {.rows = left_rows,
                                                  .count = sizeof left_rows / sizeof *left_rows,
                                                  .of = left_of,
                                                  .make = left_make};

const struct figure_family *const figure_families[] = {&engine_figures, &value_figures,
                                                       &shadow_figures, &begun_figures,
                                                       &left_figures,   NULL};

uint64_t figure_merged(enum figure_how how, uint64_t a, uint64_t b)
{
    return how == FIGURE_SUM ? add_saturated(a, b) : a > b ? a : b;
}

void figures_add(const struct figure_family *family, void *into, const void *from)
{
    for (uint32_t i = 0; i < family->count; i++) {
        const struct figure_row *row = &family->rows[i];
        uint64_t *to = figure_numbers(row, into);
        const uint64_t *add = (const uint64_t *)(const void *)((const char *)from + row->offset);
        for (uint32_t k = 0; k < figure_count(row); k++)
            to[k] = figure_merged(row->how, to[k], add[k]);
    }
}

static bool find_member(const struct figure_row *row, const char *name, uint32_t *member)
{
    char *end;
    if (row->name_of) {
        for (uint32_t k = 0; k < row->count; k++)
            if (strcmp(row->name_of(k), name) == 0) {
                *member = k;
                return true;
            }
        return false;
    }
    unsigned long index = strtoul(name, &end, 10);
    *member = (uint32_t)index;
    return *name >= '0' && *name <= '9' && !*end && (*name != '0' || !name[1]) &&
           index < row->count;
}

const struct figure_row *figure_find(const struct figure_family *family, const char *name,
                                     uint32_t *member)
{
    for (uint32_t i = 0; i < family->count; i++) {
        const struct figure_row *row = &family->rows[i];
        size_t length = strlen(row->name);
        *member = 0;
        if (strncmp(row->name, name, length) != 0)
            continue;
        if (row->count ? name[length] == '.' && find_member(row, name + length + 1, member)
                       : !name[length])
            return row;
    }
    return NULL;
}

bool figures_keep(struct profile *p, const struct figure *f)
{
    uint32_t at = 0;
    int order = 1;
    while (at < p->figure_count && (order = strcmp(p->figures[at].name, f->name)) < 0)
        at++;
    if (at < p->figure_count && order == 0) {
        struct figure *known = &p->figures[at];
        if (known->how < FIGURE_HOWS)
            known->value = figure_merged((enum figure_how)known->how, known->value, f->value);
        return true;
    }
    struct figure copy = *f;
    copy.name = strdup(f->name);
    copy.unit = strdup(f->unit);
    struct figure *grown = reallocarray(p->figures, (size_t)p->figure_count + 1, sizeof *grown);
    if (grown)
        p->figures = grown;
    if (!grown || !copy.name || !copy.unit) {
        free(copy.name);
        free(copy.unit);
        return false;
    }
    memmove(grown + at + 1, grown + at, (p->figure_count - at) * sizeof *grown);
    grown[at] = copy;
    p->figure_count++;
    return true;
}

void figures_free(struct figure *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        free(list[i].name);
        free(list[i].unit);
    }
    free(list);
}
