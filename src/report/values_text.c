#include <inttypes.h>

#include "base/saturate.h"
#include "penumbra/module.h"
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
    bool spread = hotlist_is_spread(list), one = list->count == 1;
    fprintf(out, ": %s observed, p %.3g, ", text_count(number, list->observed),
            hotlist_probability(list));
    value_invariance(number, sizeof number, list);
    if (spread)
        fputs("no value kept twice:", out);
    else
        fprintf(out, "%s%s", number, one ? " the same:" : " invariant:");
    for (uint32_t i = 0; i < list->count && i < VALUES_SHOWN; i++) {
        value_text(r, h->kind, &list->entries[i], text, sizeof text);
        fputs(i ? ", " : " ", out);
        text_name(out, text, 0);
        if (!spread && !one)
            fprintf(out, " %.1f%%", hotlist_share(list, &list->entries[i]) * 100);
    }
    if (list->count > VALUES_SHOWN)
        fprintf(out, ", and %" PRIu32 " more", list->count - VALUES_SHOWN);
    fputc('\n', out);
}

struct value_kept value_kept(const struct hotlist *list)
{
    struct value_kept kept = { 0 };
    for (uint32_t i = 0; i < list->count; i++) {
        kept.all = add_saturated(kept.all, list->entries[i].count);
        kept.most = list->entries[i].count > kept.most ? list->entries[i].count : kept.most;
    }
    if (!list->steps)
        kept.all = list->observed;
    return kept;
}

void value_invariance(char *out, size_t size, const struct hotlist *list)
{
    enum { PICTURED = 1000 };
    struct value_kept kept = value_kept(list);
    if (kept.all < PICTURED)
        snprintf(out, size, "%" PRIu64 " of %" PRIu64, kept.most, kept.all);
    else
        snprintf(out, size, "%.1f%%", hotlist_invariance(list) * 100);
}

void value_lines(FILE *out, struct value_reader *r, uint32_t image, uint64_t offset, int indent)
{
    struct values_range range = profile_values_at(r->values, image, offset);
    for (uint32_t i = 0; i < range.count; i++) {
        const struct profile_hotlist *h = &r->values->hotlists[range.first + i];
        if (value_is_unread(r, h))
            continue;
        fprintf(out, "%*s", indent, "");
        value_hotlist(out, r, h);
    }
}

/* What is wrong. name: of the first line's field. */
static void losses(FILE *out, const struct profile_values *v, const char *name)
{
    if (v->lost) {
        fprintf(out, "%-10s%" PRIu64 " sequences were lost on their way to the module\n", name,
                v->lost);
        name = "";
    }
    if (v->refused) {
        fprintf(out, "%-10s%" PRIu64 " observations could not be kept\n", name, v->refused);
        name = "";
    }
    if (v->module_end != MODULE_ENDED)
        fprintf(out, "%-10s%s%s\n", name, profile_module_end_sentence(v->module_end),
                v->module_end == MODULE_CRASHED ? "; what it had counted is here" : "");
}

static bool has_results(const struct profile_values *v)
{
    for (uint32_t i = 0; i < v->kind_count; i++)
        if (v->kinds[i].role == PENUMBRA_ROLE_RESULT)
            return true;
    return false;
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
        fprintf(out, "%s %s", text_count(tuples, v->tuples),
                has_results(v) ? "results" : "values with names");
    }
    if (v->every > 1)
        fprintf(out, ", at one of %" PRIu64 " samples at most", v->every);
    fprintf(out, "; %" PRIu32 " hotlists%s%s\n", v->hotlist_count,
            v->summary == HOTLIST_TNV ? " (top-N-value tables)" : "",
            v->redacted ? ", redacted" : "");
    for (unsigned i = 0; i < UNOBSERVED_COUNT; i++)
        if (v->unobserved[i])
            fprintf(out, "%-10snot observed: registers of %s instructions: %s\n", "",
                    text_count(tuples, v->unobserved[i]), profile_unobserved_sentence(i));
    losses(out, v, "");
    report_values_facts(out, v, "");
}

void report_values_facts(FILE *out, const struct profile_values *v, const char *name)
{
    if (v->fact_count)
        fprintf(out, "%-10s", name);
    for (uint32_t i = 0; i < v->fact_count; i++) {
        fputs(i ? ", " : "", out);
        text_name(out, v->facts[i].name, 0);
        fprintf(out, " %" PRIu64 "%s", v->facts[i].value, i + 1 == v->fact_count ? "\n" : "");
    }
}

void report_values_losses(FILE *out, const struct profile_values *v)
{
    losses(out, v, "values");
}
