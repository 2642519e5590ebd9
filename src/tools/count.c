/* Instructions by class: a matter of multiplication, where it is known how often each block is
 * executed. */
#include "tools/classify.h"
#include "tools/tools.h"

const struct tool tool_count = { .flags = TOOL_SHARED | TOOL_LOOSE, .block = classify_count_as };
