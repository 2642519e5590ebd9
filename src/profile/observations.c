#include "profile/observations.h"

#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"
#include "profile/table/table.h"

/* What the list asks of a kind. */
struct kind_about {
    void (*free)(void *record);
    bool (*sampled)(const void *record);
    bool (*site)(void *record, uint32_t at, struct profile_site *out);
};

static void free_counts(void *record)
{
    profile_counts_free(record);
}

static void free_values(void *record)
{
    profile_values_free(record);
}

static bool values_sampled(const void *record)
{
    return ((const struct profile_values *)record)->every != 0;
}

/* Blocks, then edges. */
static bool code_site(void *record, uint32_t at, struct profile_site *out)
{
    struct profile_counts *c = record;
    if (at < c->block_count) {
        struct profile_block *b = &c->blocks[at];
        *out = (struct profile_site){SITE_BLOCK, 1, {{&b->image, &b->process, b->offset}}};
        return true;
    }
    at -= c->block_count;
    if (at >= c->edge_count)
        return false;
    struct profile_edge *e = &c->edges[at];
    *out = (struct profile_site){
        SITE_EDGE, 2, {{&e->from_image, &e->process, e->from}, {&e->to_image, &e->process, e->to}}};
    return true;
}

static bool value_site(void *record, uint32_t at, struct profile_site *out)
{
    struct profile_values *v = record;
    if (at >= v->hotlist_count)
        return false;
    struct profile_hotlist *h = &v->hotlists[at];
    *out = (struct profile_site){
        SITE_INSTRUCTION, h->site_image == PROFILE_IMAGE_PSEUDO ? 1 : 2,
        {{&h->image, &h->process, h->offset}, {&h->site_image, &h->process, h->site}}};
    return true;
}

static struct kind_about about(uint32_t kind)
{
    static const struct kind_about abouts[OBSERVED_TABLES] = {
        [OBSERVED_CODE] = {free_counts, NULL, code_site},
        [OBSERVED_VALUES] = {free_values, values_sampled, value_site},
        [OBSERVED_SHADOWS] = {free, NULL, NULL},
    };
    if (kind < OBSERVED_TABLES)
        return abouts[kind];
    const struct profile_table *t = profile_tables[kind - OBSERVED_TABLES];
    return (struct kind_about){t->free, t->sampled, t->site};
}

/* ---- the list ---- */

static enum observation_how judge(const struct profile_observation *o)
{
    bool (*sampled)(const void *) = about(o->kind).sampled;
    bool all = o->carrier == CARRIER_EXACT && !(o->record && sampled && sampled(o->record));
    return all ? OBSERVED_EXACT : OBSERVED_SAMPLED;
}

static uint32_t carrier_of_name(const char *name)
{
    uint32_t carrier = 0;
    while (carrier < CARRIER_KIND_COUNT && strcmp(profile_carrier_name(carrier), name) != 0)
        carrier++;
    return carrier;
}

/* Who of all tools observes that. */
static uint64_t observers(uint32_t kind, uint64_t tools)
{
    uint64_t of = 0;
    for (uint32_t k = tools_next(tools, 0); k < TOOL_KIND_COUNT; k = tools_next(tools, k + 1)) {
        const struct tool_about *tool = tool_about(k);
        bool is = kind >= OBSERVED_TABLES    ? k == table_tool(kind - OBSERVED_TABLES)
                  : kind == OBSERVED_CALLS  ? tool->contexts
                  : kind == OBSERVED_VALUES ? tool->hotlists || tool->module
                                            : true;
        of |= is ? tools_one(k) : 0;
    }
    return of;
}

static void insert(struct observations *o, const struct profile_observation *one)
{
    uint32_t at = o->count++;
    for (; at && o->list[at - 1].kind > one->kind; at--)
        o->list[at] = o->list[at - 1];
    o->list[at] = *one;
}

void profile_observe(struct profile *p, uint32_t kind, void *record)
{
    const struct profile_observation *code = observation_of(&p->observations, OBSERVED_CODE);
    const struct profile_counts *counts = record;
    struct profile_observation one = {.kind = kind, .carrier = CARRIER_KIND_COUNT,
                                      .record = record};
    uint64_t tools = kind == OBSERVED_CODE ? counts->tools : code ? code->tools : 0;
    one.tools = observers(kind, tools);
    if (kind == OBSERVED_CODE)
        one.carrier = carrier_of_name(counts->carrier);
    else if (code)
        one.carrier = code->carrier;
    one.how = judge(&one);
    insert(&p->observations, &one);
    if (kind == OBSERVED_CODE && tools_about(tools).contexts)
        profile_observe(p, OBSERVED_CALLS, NULL);
}

void *profile_observation_take(struct profile *p, uint32_t kind)
{
    struct observations *o = &p->observations;
    uint32_t kept = 0;
    void *record = NULL;
    for (uint32_t i = 0; i < o->count; i++) {
        bool is = o->list[i].kind == kind;
        record = is ? o->list[i].record : record;
        if (!is && (kind != OBSERVED_CODE || o->list[i].record))
            o->list[kept++] = o->list[i];
    }
    o->count = kept;
    return record;
}

void profile_observations_judge(struct profile *p)
{
    for (uint32_t i = 0; i < p->observations.count; i++)
        p->observations.list[i].how = judge(&p->observations.list[i]);
}

void profile_observations_free(struct profile *p)
{
    for (uint32_t i = 0; i < p->observations.count; i++) {
        struct profile_observation *o = &p->observations.list[i];
        if (o->record)
            about(o->kind).free(o->record);
    }
    p->observations.count = 0;
}

const char *profile_observation_name(uint32_t kind)
{
#define NAME(id, name) name,
    static const char *const names[] = {OBSERVATION_KINDS(NAME)};
#undef NAME
    return kind < OBSERVED_TABLES           ? names[kind]
           : kind < OBSERVATION_KIND_COUNT ? tool_about(table_tool(kind - OBSERVED_TABLES))->name
                                           : "?";
}

const char *profile_observation_how_name(enum observation_how how)
{
    return how == OBSERVED_EXACT ? "exact" : "sampled";
}

/* ---- sites ---- */

bool profile_sites_of(const struct profile_observation *o, site_visitor *visit, void *data)
{
    const struct kind_about k = about(o->kind);
    struct profile_site site;
    for (uint32_t at = 0; o->record && k.site && k.site(o->record, at, &site); at++)
        if (!visit(data, &site))
            return false;
    return true;
}

bool profile_sites(const struct profile *p, site_visitor *visit, void *data)
{
    for (uint32_t i = 0; i < p->observations.count; i++)
        if (!profile_sites_of(&p->observations.list[i], visit, data))
            return false;
    return true;
}
