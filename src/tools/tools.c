#include "tools/tools.h"

#include <stddef.h>

#include "penumbra/module.h"
#include "sigsafe/settings.h"
#include "tools/list.h"
#include "tools/productions_plan.h"

#define OF_ENGINE(id, name, ...) [TOOL_##id] = &tool_##name,
#define OF_MODULE(id, name, ...) [TOOL_##id] = &tool_values,
static const struct tool *const tools[TOOL_KIND_COUNT] = { TOOLS_OF_ENGINE(OF_ENGINE)
                                                            TOOLS_MODULE(OF_MODULE)
                                                            TOOLS_MODEL(OF_MODULE) };

#define ONE(id, name, ...) +1
_Static_assert((unsigned)TOOL_KIND_COUNT <= (unsigned)TOOL_KINDS_MOST, "each has its own state");
_Static_assert((0u TOOLS_OF_ENGINE(ONE) TOOLS_MODULE(ONE) TOOLS_MODEL(ONE)) <=
                   (unsigned)TOOL_SET_MOST,
               "a set may have them all");
#undef ONE

const struct tool *tool_of_kind(uint32_t kind)
{
    return kind < TOOL_KIND_COUNT ? tools[kind] : NULL;
}

static void add(struct tool_set *to, uint64_t kinds, uint32_t flags)
{
    for (uint32_t i = tools_next(kinds, 0); i < TOOL_KIND_COUNT; i = tools_next(kinds, i + 1))
        if (tools[i] && (tools[i]->flags & (TOOL_WATCHES | TOOL_LEADS)) == flags) {
            to->of[to->count].tool = tools[i];
            to->of[to->count++].kind = i;
        }
}

void tools_set(uint64_t kinds, struct tool_set *out)
{
    out->count = 0;
    add(out, kinds, 0);
    add(out, kinds, TOOL_WATCHES);
    add(out, kinds, TOOL_LEADS);
}

/* In line, unless the callers of single instructions are asked for. */
void tools_set_whole(const struct spool *s, uint64_t kinds, struct tool_set *out)
{
    const struct value_settings *values = settings_values_as(s);
    bool callers = values && values->context & PENUMBRA_RETURN_ADDRESS;
    tools_set(kinds, out);
    for (uint32_t i = 0; i < out->count; i++)
        if (out->of[i].tool == &tool_values && !callers)
            out->of[i].tool =
                values && values->sample.period ? &tool_values_sampled : &tool_values_whole;
}

void tools_begin(const struct spool *s, uint64_t stack)
{
    productions_begin(s, stack);
}

uint32_t tools_flags_any(uint64_t kinds)
{
    struct tool_set set;
    tools_set(kinds, &set);
    return tool_set_any(&set);
}

uint32_t tools_flags_all(uint64_t kinds)
{
    struct tool_set set;
    tools_set(kinds, &set);
    return tool_set_all(&set);
}

bool tools_late(uint64_t kinds)
{
    struct tool_set set;
    tools_set(kinds, &set);
    return tool_set_late(&set);
}
