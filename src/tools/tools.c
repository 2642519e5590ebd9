#include "tools/tools.h"

#include <stddef.h>

#include "tools/list.h"

#define OF_ENGINE(id, name, ...) [TOOL_##id] = &tool_##name,
#define OF_MODULE(id, name, ...) [TOOL_##id] = &tool_values,
static const struct tool *const tools[TOOL_KIND_COUNT] = { TOOLS_OF_ENGINE(OF_ENGINE)
                                                            TOOLS_MODULE(OF_MODULE) };

const struct tool *tool_of_kind(uint32_t kind)
{
    return kind < TOOL_KIND_COUNT ? tools[kind] : NULL;
}
