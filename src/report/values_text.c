#include <inttypes.h>

#include "report/text.h"
#include "report/values_internal.h"

enum { VALUES_SHOWN = 6, PLACE_SIZE = 256 };

void value_hotlist(FILE *out, struct value_reader *r, const struct profile_hotlist *h)
{
    const struct hotlist *list = h->list;
    char number[TEXT_NUMBER_SIZE], text[VALUE_TEXT_SIZE], site[PLACE_SIZE];
    text_name(out, r->values->kinds[h->kind].name, 0);
    if (h->site_image != PROFILE_IMAGE_PSEUDO) {
        value_place(r, h->site_image, h->site, site, sizeof site);
        fputs(" from ", out);
        text_name(out, site, 0);
    }
    bool spread = hotlist_is_spread(list);
    fprintf(out, ": %s observed, p %.3g, ", text_count(number, list->observed), hotlist_probability(list));
    if (spread)
        fputs("no value kept twice:", out);
    else
        fprintf(out, "%.1f%% invariant:", hotlist_invariance(list) * 100);
    for (uint32_t i = 0; i < list->count && i < VALUES_SHOWN; i++) {
        value_text(r, h->kind, &list->entries[i], text, sizeof text);
        fputs(i ? ", " : " ", out);
        text_name(out, text, 0);
        if (!spread)
            fprintf(out, " %.1f%%", hotlist_share(list, &list->entries[i]) * 100);
    }
    if (list->count > VALUES_SHOWN)
        fprintf(out, ", and %" PRIu32 " more", list->count - VALUES_SHOWN);
    fputc('\n', out);
}

void value_lines(FILE *out, struct value_reader *r, uint32_t image, uint64_t offset, int indent)
{
    struct values_range range = profile_values_at(r->values, image, offset);
    for (uint32_t i = 0; i < range.count; i++) {
        fprintf(out, "%*s", indent, "");
        value_hotlist(out, r, &r->values->hotlists[range.first + i]);
    }
}

/* Begins a line; returns the name of the next one. */
static const char *line(FILE *out, const char *name)
{
    fprintf(out, "%-10s", name);
    return "";
}

/* name: of the first line's field. */
static void losses(FILE *out, const struct profile_values *v, const char *name)
{
    char number[TEXT_NUMBER_SIZE];
    if (v->lost)
        name = line(out, name), fprintf(out, "%" PRIu64 " sequences were lost on their way to the module\n", v->lost);
    if (v->refused)
        name = line(out, name), fprintf(out, "%" PRIu64 " observations could not be kept\n", v->refused);
    for (unsigned i = 0; i < UNOBSERVED_COUNT; i++)
        if (v->unobserved[i])
            name = line(out, name), fprintf(out, "not observed: registers of %s instructions: %s\n",
                                            text_count(number, v->unobserved[i]), profile_unobserved_sentence(i));
    if (v->module_end != MODULE_ENDED)
        name = line(out, name), fprintf(out, "%s%s\n", profile_module_end_sentence(v->module_end),
                                        v->module_end == MODULE_CRASHED ? "; what it had counted is here" : "");
    (void)name;
}

void report_values_header(FILE *out, const struct profile_values *v)
{
    char sequences[TEXT_NUMBER_SIZE], tuples[TEXT_NUMBER_SIZE];
    if (*v->module) {
        fputs("by module ", out);
        text_name(out, v->module, 0);
        fprintf(out, ": %s instructions observed in %s sequences", text_count(tuples, v->tuples),
                text_count(sequences, v->sequences));
    } else {
        fprintf(out, "%s results", text_count(tuples, v->tuples));
    }
    if (v->every > 1)
        fprintf(out, ", at one of %" PRIu64 " samples at most", v->every);
    fprintf(out, "; %" PRIu32 " hotlists%s%s\n", v->hotlist_count,
            v->summary == HOTLIST_TNV ? " (top-N-value tables)" : "", v->redacted ? ", redacted" : "");
    losses(out, v, "");
    for (uint32_t i = 0; i < v->fact_count; i++) {
        fputs(i ? ", " : "          ", out);
        text_name(out, v->facts[i].name, 0);
        fprintf(out, " %" PRIu64 "%s", v->facts[i].value, i + 1 == v->fact_count ? "\n" : "");
    }
}

void report_values_losses(FILE *out, const struct profile_values *v, const struct report_style *style)
{
    (void)style;
    losses(out, v, "values");
}
