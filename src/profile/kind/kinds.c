#include "profile/kind/kind.h"

#include <stdlib.h>

#include "sigsafe/tools.h"

#define TABLE_DECLARED(id, name, ...) extern const struct section_kind kind_##name;
TOOLS_TABLE(TABLE_DECLARED) TOOLS_COMPILED(TABLE_DECLARED) TOOLS_MODEL(TABLE_DECLARED)
#undef TABLE_DECLARED

#define SECTION_KIND(name) &kind_##name,
#define SECTION_TABLE(id, name, ...) SECTION_KIND(name)
const struct section_kind *const section_kinds[] = {
    SECTION_KINDS(SECTION_KIND) TOOLS_TABLE(SECTION_TABLE) TOOLS_COMPILED(SECTION_TABLE)
    TOOLS_MODEL(SECTION_TABLE)     SECTION_KINDS_WITHIN(SECTION_KIND) NULL};

const struct section_type section_live = {8, "live", SECTION_REQUIRED};

const struct section_type *section_kind_lookup(uint32_t number)
{
    for (const struct section_kind *const *k = section_kinds; *k; k++)
        if ((*k)->type.number == number)
            return &(*k)->type;
    return number == section_live.number ? &section_live : NULL;
}

void *extend_array(void *array, uint32_t count, uint32_t more, size_t each)
{
    size_t n = (size_t)count + more, room = 1;
    while (room < n)
        room *= 2;
    return more > UINT32_MAX - 2 - count ? NULL : reallocarray(array, room, each);
}
