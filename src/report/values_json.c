#include <stdlib.h>

#include "penumbra/module.h"
#include "report/values_internal.h"

enum { PLACE_SIZE = 256 };

void value_json_place(struct json *j, struct value_reader *r, uint32_t image, uint64_t offset)
{
    char function[PLACE_SIZE], assembly[PLACE_SIZE];
    bool known = image < r->view->profile->image_count;
    value_function(r, image, offset, function, sizeof function);
    value_assembly(r, image, offset, assembly, sizeof assembly);
    const struct profile_entity *entity = value_entity(r, image, offset);
    bool kernel = entity && entity->kind == ENTITY_INSTRUCTION;
    json_key_string(j, "image", known    ? symbols_image_name(r->view->symbols, image)
                                : kernel ? entity_kind_place(entity->kind)
                                         : "");
    json_key_address(j, "offset", kernel ? entity->at : offset);
    json_key_string(j, "function", function);
    json_key_string(j, "asm", assembly);
    if (!entity || kernel)
        return;
    json_key_string(j, "name", value_entity_name(entity));
    json_key_string(j, "file", entity->scope);
    json_key_u64(j, "line", entity->at);
}

static void write_site(struct json *j, struct value_reader *r, const struct profile_hotlist *h)
{
    char site[PLACE_SIZE];
    if (h->site_image == PROFILE_IMAGE_PSEUDO)
        return;
    value_place(r, h->site_image, h->site, site, sizeof site);
    json_key_string(j, "site", site);
}

void value_json_hotlist(struct json *j, struct value_reader *r, const struct profile_hotlist *h)
{
    char text[VALUE_TEXT_SIZE];
    json_key_string(j, "kind", r->values->kinds[h->kind].name);
    write_site(j, r, h);
    json_key_u64(j, "observed", h->list->observed);
    json_key_double(j, "p", hotlist_probability(h->list));
    struct value_kept kept = value_kept(h->list);
    json_key_u64(j, "kept", kept.all);
    json_key_u64(j, "same", kept.most);
    json_key_double(j, "invariance", hotlist_invariance(h->list));
    if (hotlist_is_spread(h->list)) {
        json_key(j, "spread");
        json_bool(j, true);
    }
    json_key(j, "values");
    json_open(j, '[');
    for (uint32_t i = 0; i < h->list->count; i++) {
        const struct hotlist_entry *entry = &h->list->entries[i];
        value_text(r, h->kind, entry, text, sizeof text);
        json_open(j, '{');
        json_key_address(j, "value", entry->bits);
        json_key_double(j, "share", hotlist_share(h->list, entry));
        json_key_string(j, "text", text);
        if (entry->space >= HOTLIST_IMAGE)
            json_key_string(j, "in",
                            symbols_image_name(r->view->symbols, entry->space - HOTLIST_IMAGE));
        else if (entry->space != HOTLIST_PLAIN)
            json_key_string(j, "in", entry->space == HOTLIST_HASH ? "[hash]" : "[region]");
        json_close(j, '}');
    }
    json_close(j, ']');
}

static bool has_role(const struct value_reader *r, const struct profile_hotlist *h, uint32_t role)
{
    return r->values->kinds[h->kind].role == role;
}

void value_json_at(struct json *j, struct value_reader *r, uint32_t image, uint64_t offset)
{
    struct values_range range = profile_values_at(r->values, image, offset);
    json_open(j, '[');
    for (uint32_t i = 0; i < range.count; i++) {
        const struct profile_hotlist *h = &r->values->hotlists[range.first + i];
        if (value_is_unread(r, h))
            continue;
        json_open(j, '{');
        value_json_hotlist(j, r, h);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void write_summary(struct json *j, const struct profile_values *v)
{
    json_key(j, "values");
    json_open(j, '{');
    json_key_string(j, "module", v->module);
    json_key_string(j, "summary", v->summary == HOTLIST_TNV ? "tnv" : "concise");
    json_key(j, "redacted");
    json_bool(j, v->redacted);
    json_key_string(j, "end", profile_module_end_sentence(v->module_end));
    json_key_u64(j, "every", v->every);
    json_key_u64(j, "sequences", v->sequences);
    json_key_u64(j, "instructions", v->tuples);
    json_key_u64(j, "lost", v->lost);
    json_key_u64(j, "refused", v->refused);
    json_key(j, "not_observed");
    json_open(j, '{');
    for (unsigned i = 0; i < UNOBSERVED_COUNT; i++)
        if (v->unobserved[i])
            json_key_u64(j, profile_unobserved_name(i), v->unobserved[i]);
    json_close(j, '}');
    json_key(j, "numbers");
    json_open(j, '{');
    for (uint32_t i = 0; i < v->fact_count; i++)
        json_key_u64(j, v->facts[i].name, v->facts[i].value);
    json_close(j, '}');
    json_close(j, '}');
}

void value_json(struct json *j, struct value_reader *r, uint32_t limit)
{
    const struct profile_values *v = r->values;
    uint32_t shown = 0;
    write_summary(j, v);
    json_key(j, "instructions");
    json_open(j, '[');
    for (uint32_t i = 0; i < v->hotlist_count && (!limit || shown < limit); i++) {
        if (has_role(r, &v->hotlists[i], PENUMBRA_ROLE_CONFLICT) ||
            has_role(r, &v->hotlists[i], PENUMBRA_ROLE_LATENCY))
            continue;
        shown++;
        json_open(j, '{');
        value_json_place(j, r, v->hotlists[i].image, v->hotlists[i].offset);
        value_json_hotlist(j, r, &v->hotlists[i]);
        json_close(j, '}');
    }
    json_close(j, ']');
    value_json_semi_invariant(j, r);
}
