#include "profile/table/table.h"

#include <stddef.h>

#include "sigsafe/tools.h"

#define TABLE_DECLARED(id, name, ...) extern const struct profile_table table_##name;
TOOLS_TABLE(TABLE_DECLARED) TOOLS_HOTLIST(TABLE_DECLARED)
#undef TABLE_DECLARED

#define TABLE(id, name, ...) [TABLE_##id] = &table_##name,
const struct profile_table *const profile_tables[TABLE_COUNT + 1] = {TOOLS_TABLE(TABLE)
                                                                         TOOLS_HOTLIST(TABLE)};

bool table_places(const struct profile_counts *c, table_visitor *visit, void *data)
{
    for (unsigned i = 0; profile_tables[i]; i++) {
        const struct profile_table *t = profile_tables[i];
        struct table_place place;
        for (uint32_t at = 0; c->tables[i] && t->place && t->place(c->tables[i], at, &place); at++)
            if (!visit(data, &place))
                return false;
    }
    return true;
}
