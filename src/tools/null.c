/* Nothing is observed: what translation itself costs. */
#include "tools/tools.h"

const struct tool tool_null = { .flags = TOOL_SHARED | TOOL_LOOSE };
