#include <math.h>
#include <string.h>

#include "profile/values.h"
#include "report/diff_values.h"
#include "report/text.h"
#include "report/values_internal.h"

struct row_text {
    char place[VALUE_TEXT_SIZE], value[VALUE_TEXT_SIZE], assembly[VALUE_TEXT_SIZE];
    const char *image, *kind;
};

static void describe(const struct diff_values *d, const struct diff_value *v, struct row_text *t)
{
    struct value_reader *r = d->readers[v->run];
    const struct profile_hotlist *h = &r->values->hotlists[v->hotlist];
    value_place(r, h->image, h->offset, t->place, sizeof t->place);
    value_assembly(r, h->image, h->offset, t->assembly, sizeof t->assembly);
    diff_value_text(r, h->kind, &h->list->entries[v->entry], t->value, sizeof t->value);
    t->image = h->image < r->view->profile->image_count
                   ? symbols_image_name(r->view->symbols, h->image)
                   : "";
    t->kind = r->values->kinds[h->kind].name;
}

bool diff_value_name(const struct diff_values *d, const struct diff_value *v, struct buf *to)
{
    struct row_text t;
    describe(d, v, &t);
    const char *const parts[] = {t.place, " ", t.assembly, " ", t.kind, " = ", t.value};
    for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++)
        buf_put(to, parts[i], strlen(parts[i]));
    buf_put_u8(to, 0);
    return buf_ok(to);
}

static void write_side(FILE *out, const struct diff_values *d, unsigned side)
{
    char number[TEXT_NUMBER_SIZE];
    uint32_t count = 0, last = 0;
    double observed = 0;
    for (uint32_t r = 0; r < d->run_count; r++) {
        const struct profile_values *v = d->readers[r]->values;
        if (d->runs[r].side != side)
            continue;
        for (uint32_t i = 0; i < v->hotlist_count; i++)
            observed += (double)v->hotlists[i].list->observed;
        count++;
        last = r;
    }
    fprintf(out, "%-7s ", side == DIFF_BEFORE ? "before" : "after");
    text_name(out, d->runs[last].view->profile->command, 60);
    if (count > 1)
        fprintf(out, ", %u recordings", count);
    fprintf(out, ", %s values observed\n", text_count(number, (uint64_t)observed));
}

static void write_row(FILE *out, const struct diff_values *d, const struct diff_value *v,
                      const struct report_style *style)
{
    struct row_text t;
    const struct diff_change *c = &v->change;
    bool significant = diff_is_significant(c);
    describe(d, v, &t);
    text_colour(out, style, significant ? TEXT_PLAIN : TEXT_DIM);
    fprintf(out, "%7.2f%%  %7.2f%%  %+9.2f%%  %+7.2f .. %+7.2f %c %6.2f%%  ",
            100 * c->value[DIFF_BEFORE], 100 * c->value[DIFF_AFTER], 100 * diff_difference(c),
            100 * c->low, 100 * c->high, significant ? '*' : ' ', 100 * v->weight);
    text_function(out, style, t.place, 0);
    fputs("  ", out);
    text_name(out, t.image, 0);
    fputs("  ", out);
    text_name(out, t.assembly, 40);
    fputs("  ", out);
    text_name(out, t.kind, 0);
    fputs(" = ", out);
    text_name(out, t.value, 0);
    text_colour(out, style, TEXT_PLAIN);
    fputc('\n', out);
}

bool diff_values_text(FILE *out, const struct diff_values *d, const struct report_style *style)
{
    uint32_t significant = 0, compared = 0, shown = 0;
    for (uint32_t i = 0; i < d->count; i++) {
        compared += isnan(d->list[i].change.p) ? 0 : 1;
        significant += diff_is_significant(&d->list[i].change) ? 1 : 0;
    }
    write_side(out, d, DIFF_BEFORE);
    write_side(out, d, DIFF_AFTER);
    fprintf(out, "places  %u, of which only one side observed %u before, %u after\n", d->places,
            d->alone[DIFF_BEFORE], d->alone[DIFF_AFTER]);
    fprintf(out, "\n%u of %u values changed beyond chance, by their share of what was observed at "
            "their instruction\n", significant, compared);
    text_colour(out, style, TEXT_DIM);
    fputs("  before     after  difference  95% interval         of all  place\n", out);
    text_colour(out, style, TEXT_PLAIN);
    for (uint32_t i = 0; i < d->count && (!style->limit || shown < style->limit); i++) {
        const struct diff_change *c = &d->list[i].change;
        double greatest = fmax(c->value[DIFF_BEFORE], c->value[DIFF_AFTER]);
        if (!diff_is_significant(c) &&
            (isnan(c->p) || 100 * greatest * d->list[i].weight < style->min))
            continue;
        write_row(out, d, &d->list[i], style);
        shown++;
    }
    if (shown < d->count)
        fprintf(out, "%u more not shown (--min 0 --limit 0 shows all that were compared)\n",
                d->count - shown);
    return true;
}

/* ---- JSON ---- */

static void put_files(struct json *j, const struct diff_values *d, unsigned side,
                      const char *const *files)
{
    json_key(j, side == DIFF_BEFORE ? "before" : "after");
    json_open(j, '[');
    for (uint32_t r = 0; r < d->run_count; r++)
        if (d->runs[r].side == side) {
            json_open(j, '{');
            json_key_string(j, "file", files[r]);
            json_key_string(j, "command", d->runs[r].view->profile->command);
            json_close(j, '}');
        }
    json_close(j, ']');
}

static void put_value(struct json *j, const struct diff_values *d, const struct diff_value *v)
{
    struct row_text t;
    describe(d, v, &t);
    json_open(j, '{');
    json_key_string(j, "place", t.place);
    json_key_string(j, "image", t.image);
    json_key_string(j, "asm", t.assembly);
    json_key_string(j, "kind", t.kind);
    json_key_string(j, "value", t.value);
    json_key_double(j, "weight", 100 * v->weight);
    json_key(j, "observed");
    json_open(j, '[');
    json_double(j, v->observed[DIFF_BEFORE]);
    json_double(j, v->observed[DIFF_AFTER]);
    json_close(j, ']');
    diff_json_change(j, "share", &v->change);
    json_close(j, '}');
}

bool diff_values_json(struct buf *out, const struct diff_values *d, const char *const *files,
                      struct err *e)
{
    struct json j = {.out = out};
    json_open(&j, '{');
    json_key_string(&j, "module", d->readers[0]->values->module);
    json_key_double(&j, "rate", DIFF_RATE);
    put_files(&j, d, DIFF_BEFORE, files);
    put_files(&j, d, DIFF_AFTER, files);
    json_key_u64(&j, "places", d->places);
    json_key_u64(&j, "only_before", d->alone[DIFF_BEFORE]);
    json_key_u64(&j, "only_after", d->alone[DIFF_AFTER]);
    json_key(&j, "values");
    json_open(&j, '[');
    for (uint32_t i = 0; i < d->count; i++)
        put_value(&j, d, &d->list[i]);
    json_close(&j, ']');
    json_close(&j, '}');
    buf_put_u8(out, '\n');
    return buf_ok(out) || err_set(e, ERR_INTERNAL, "cannot write JSON: out of memory");
}
