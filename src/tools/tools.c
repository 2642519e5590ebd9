#include "tools/tools.h"

#include <stddef.h>

#include "sigsafe/spool.h"

static const struct tool *const tools[] = { &tool_null,  &tool_count, &tool_blocks, &tool_edges,
                                            &tool_calls, &tool_path,  &tool_written, &tool_results,
                                            &tool_paths, &tool_streams };

static bool equal(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

const struct tool *tool_find(const char *name)
{
    for (unsigned i = 0; i < sizeof tools / sizeof *tools; i++)
        if (equal(tools[i]->name, name))
            return tools[i];
    return NULL;
}

const struct tool *tool_of_kind(uint32_t kind)
{
    static const struct tool *const kinds[TOOL_KIND_COUNT] = {
        [TOOL_NULL] = &tool_null,     [TOOL_COUNT] = &tool_count, [TOOL_BLOCKS] = &tool_blocks,
        [TOOL_EDGES] = &tool_edges,   [TOOL_CALLS] = &tool_calls, [TOOL_PATHS] = &tool_paths,
        [TOOL_VALUES] = &tool_values,
        [TOOL_STREAMS] = &tool_streams,
        [TOOL_RESULTS] = &tool_results,
        [TOOL_PATH] = &tool_path,     [TOOL_WRITTEN] = &tool_written,
    };
    return kind < TOOL_KIND_COUNT ? kinds[kind] : NULL;
}
