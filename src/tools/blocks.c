/* How often each block is executed; with it what its instructions are. */
#include "tools/classify.h"
#include "tools/tools.h"

const struct tool tool_blocks = { .flags = TOOL_SHARED | TOOL_LOOSE, .block = classify_count_as };
