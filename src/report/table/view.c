#include "report/table/view.h"

#include <stddef.h>

#include "profile/table/table.h"

#define VIEW_DECLARED(id, name, ...) extern const struct table_view view_##name;
TOOLS_TABLE(VIEW_DECLARED) TOOLS_COMPILED(VIEW_DECLARED) TOOLS_MODEL(VIEW_DECLARED)
#undef VIEW_DECLARED

#define VIEW(id, name, ...) [TABLE_##id] = &view_##name,
const struct table_view *const table_views[TABLE_COUNT] = {
    TOOLS_TABLE(VIEW) TOOLS_COMPILED(VIEW) TOOLS_MODEL(VIEW)};

const struct tool_about *table_keeper(unsigned table)
{
    return tool_about(table_tool(table));
}

const void *table_of(const struct view *v, unsigned table)
{
    return observed_table(v->profile, table);
}

void tables_header(FILE *out, const struct view *v, const struct report_style *style)
{
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        if (table_of(v, i) && table_views[i] && table_views[i]->header)
            table_views[i]->header(out, v, table_of(v, i), style);
}

void tables_json(struct json *j, const struct view *v, uint32_t limit)
{
    const struct profile_counts *c = observed_code(v->profile);
    for (unsigned i = 0; c && i < TABLE_COUNT; i++)
        if (table_views[i] && (table_of(v, i) || c->tools >> table_tool(i) & 1))
            table_views[i]->json(j, v, table_of(v, i), limit);
}

void tables_over(FILE *out, const struct view *v, uint32_t image, uint64_t start, uint64_t end)
{
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        if (table_of(v, i) && table_views[i] && table_views[i]->over)
            table_views[i]->over(out, v, table_of(v, i), image, start, end);
}

void tables_json_over(struct json *j, const struct view *v, uint32_t image, uint64_t start,
                      uint64_t end)
{
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        if (table_of(v, i) && table_views[i] && table_views[i]->json_over)
            table_views[i]->json_over(j, v, table_of(v, i), image, start, end);
}

void tables_at(FILE *out, const struct view *v, uint32_t image, uint64_t offset, int indent)
{
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        if (table_of(v, i) && table_views[i] && table_views[i]->at)
            table_views[i]->at(out, v, table_of(v, i), image, offset, indent);
}

void tables_json_at(struct json *j, const struct view *v, uint32_t image, uint64_t offset)
{
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        if (table_of(v, i) && table_views[i] && table_views[i]->json_at)
            table_views[i]->json_at(j, v, table_of(v, i), image, offset);
}
