/* Plain numbers, which name themselves. */
#include <stdlib.h>

#include "profile/kind/kind.h"

enum { FIGURES_MAX = 8192 };

static bool needed(const struct profile *p)
{
    for (const struct figure_family *const *f = figure_families; *f; f++)
        if ((*f)->of(p))
            return true;
    return p->figure_count != 0;
}

static void put_figure(struct buf *b, const struct figure *f)
{
    buf_put_string(b, f->name);
    buf_put_string(b, f->unit);
    buf_put_uleb(b, f->how);
    buf_put_uleb(b, f->value);
}

/* A number of a row; one of many is NAME.MEMBER. */
static void put_number(struct buf *b, const struct figure_row *row, uint32_t k, uint64_t value)
{
    struct buf name = {0};
    buf_puts(&name, row->name);
    if (row->count && row->name_of)
        buf_printf(&name, ".%s", row->name_of(k));
    else if (row->count)
        buf_printf(&name, ".%u", k);
    buf_put_u8(&name, 0);
    if (buf_ok(&name))
        put_figure(b, &(struct figure){.name = (char *)name.data,
                                       .unit = (char *)(uintptr_t)row->unit,
                                       .how = row->how,
                                       .value = value});
    b->failed |= !buf_ok(&name);
    buf_free(&name);
}

/* Those that are not 0, and the first, so that there is one of each family. Returns how many. */
static uint32_t put_family(struct buf *b, const struct figure_family *family, void *record)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < family->count; i++) {
        const struct figure_row *row = &family->rows[i];
        const uint64_t *numbers = figure_numbers(row, record);
        for (uint32_t k = 0; k < figure_count(row); k++) {
            if (!numbers[k] && (i || k))
                continue;
            put_number(b, row, k, numbers[k]);
            count++;
        }
    }
    return count;
}

static void put(struct buf *b, const struct encoder *x)
{
    const struct profile *p = x->p;
    struct buf all = {0};
    uint32_t count = p->figure_count;
    for (const struct figure_family *const *f = figure_families; *f; f++)
        if ((*f)->of(p))
            count += put_family(&all, *f, (*f)->of(p));
    for (uint32_t i = 0; i < p->figure_count; i++)
        put_figure(&all, &p->figures[i]);
    buf_put_uleb(b, count);
    buf_put(b, all.data, all.size);
    b->failed |= !buf_ok(&all);
    buf_free(&all);
}

/* Into the family that knows it, or as it is. */
static void take(struct decoder *d, struct cursor *c, const struct figure *f)
{
    for (const struct figure_family *const *family = figure_families; *family; family++) {
        uint32_t member;
        const struct figure_row *row = figure_find(*family, f->name, &member);
        void *record = row ? (*family)->of(d->p) : NULL;
        if (row && !record && (*family)->make && !(record = (*family)->make(d->p))) {
            read_no_memory(c);
            return;
        }
        if (!record)
            continue;
        uint64_t *number = figure_numbers(row, record) + member;
        *number = figure_merged(row->how, *number, f->value);
        return;
    }
    if (!figures_keep(d->p, f))
        read_no_memory(c);
}

static void get(struct decoder *d, struct cursor *c)
{
    uint32_t n = cursor_count(c, 4, "a number of figures that fits the section");
    if (n > FIGURES_MAX)
        cursor_fail(c, "at most 8192 figures");
    for (uint32_t i = 0; i < n && !c->failed; i++) {
        struct figure f = {.name = cursor_string(c, "the name of a figure")};
        f.unit = c->failed ? NULL : cursor_string(c, "the unit of a figure");
        f.how = read_u32(c, "how a figure is merged");
        f.value = read_u64(c, "a figure");
        if (!c->failed)
            take(d, c, &f);
        free(f.name);
        free(f.unit);
    }
}

static bool merge(struct merger *m)
{
    for (const struct figure_family *const *f = figure_families; *f; f++) {
        const void *from = (*f)->of(m->from);
        void *into = (*f)->of(m->into);
        if (from && !into && (*f)->make && !(into = (*f)->make(m->into)))
            return false;
        if (from && into)
            figures_add(*f, into, from);
    }
    for (uint32_t i = 0; i < m->from->figure_count; i++)
        if (!figures_keep(m->into, &m->from->figures[i]))
            return false;
    return true;
}

const struct section_kind kind_figures = {
    .type = {61, "figures", 0},
    .about = "optional: plain numbers, which name themselves",
    .needed = needed,
    .put = put,
    .get = get,
    .merge = merge,
};
