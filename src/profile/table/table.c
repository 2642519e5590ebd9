#include "profile/table/table.h"

#include <stddef.h>

#include "sigsafe/tools.h"

#define TABLE_DECLARED(id, name, ...) extern const struct profile_table table_##name;
TOOLS_TABLE(TABLE_DECLARED) TOOLS_COMPILED(TABLE_DECLARED) TOOLS_MODEL(TABLE_DECLARED)
TOOLS_HOTLIST(TABLE_DECLARED)
#undef TABLE_DECLARED

#define TABLE(id, name, ...) [TABLE_##id] = &table_##name,
const struct profile_table *const profile_tables[TABLE_COUNT + 1] = {
    TOOLS_TABLE(TABLE) TOOLS_COMPILED(TABLE) TOOLS_MODEL(TABLE) TOOLS_HOTLIST(TABLE)};

#define KEEPER(id, name, ...) [TABLE_##id] = TOOL_##id,
uint32_t table_tool(uint32_t table)
{
    static const uint32_t tools[TABLE_COUNT] = {
        TOOLS_TABLE(KEEPER) TOOLS_COMPILED(KEEPER) TOOLS_MODEL(KEEPER) TOOLS_HOTLIST(KEEPER)};
    return tools[table];
}
