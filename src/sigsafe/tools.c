#include "sigsafe/tools.h"

#define ABOUT(id, name_of, sentence_of, ...)                                                       \
    [TOOL_##id] = {.name = #name_of, .sentence = sentence_of, __VA_ARGS__},
static const struct tool_about tools[TOOL_KIND_COUNT] = {TOOLS(ABOUT)};

const struct tool_about *tool_about(uint32_t kind)
{
    return kind < TOOL_KIND_COUNT ? &tools[kind] : NULL;
}

uint32_t tool_default(uint32_t carriers)
{
    uint32_t kind = 0;
    while (kind < TOOL_KIND_COUNT && (tools[kind].carriers & carriers) != carriers)
        kind++;
    return kind;
}

uint32_t tool_of_modules(void)
{
    uint32_t kind = 0;
    while (kind < TOOL_KIND_COUNT && !tools[kind].module)
        kind++;
    return kind;
}
