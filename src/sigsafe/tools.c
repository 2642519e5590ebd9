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

static uint64_t least(uint64_t a, uint64_t b)
{
    return !a || (b && b < a) ? b : a;
}

struct tool_about tools_about(uint64_t set)
{
    struct tool_about all = {0};
    uint32_t first = tools_next(set, 0);
    if (first == TOOL_KIND_COUNT)
        return all;
    all = tools[first];
    for (uint32_t i = tools_next(set, first + 1); i < TOOL_KIND_COUNT; i = tools_next(set, i + 1)) {
        const struct tool_about *t = &tools[i];
        all.name = all.sentence = all.instead = NULL;
        all.carriers &= t->carriers;
        all.measuring = all.measuring && t->measuring;
        all.silent = all.silent && t->silent;
        all.blocks |= t->blocks;
        all.contexts |= t->contexts;
        all.in_context |= t->in_context;
        all.transfers |= t->transfers;
        all.hotlists |= t->hotlists;
        all.module |= t->module;
        all.watches |= t->watches;
        all.productions |= t->productions;
        all.hierarchy |= t->hierarchy;
        all.sample = least(tool_sample(&all), tool_sample(t));
        all.stretch = least(tool_stretch(&all), tool_stretch(t));
    }
    return all;
}

void tools_names(uint64_t set, char names[TOOLS_NAMES_MAX])
{
    uint32_t used = 0;
    for (uint32_t i = tools_next(set, 0); i < TOOL_KIND_COUNT; i = tools_next(set, i + 1)) {
        if (used && used + 1 < TOOLS_NAMES_MAX)
            names[used++] = ',';
        for (const char *c = tools[i].name; *c && used + 1 < TOOLS_NAMES_MAX; c++)
            names[used++] = *c;
    }
    names[used] = 0;
}

/* Its bit, and *name behind it and its comma; 0: there is no such tool. */
static uint64_t take_name(const char **name)
{
    for (uint32_t i = 0; i < TOOL_KIND_COUNT; i++) {
        const char *at = *name, *c = tools[i].name;
        while (*c && *at == *c) {
            at++;
            c++;
        }
        if (!*c && (!*at || *at == ',')) {
            *name = *at ? at + 1 : at;
            return tools_one(i);
        }
    }
    return 0;
}

uint64_t tools_of_names(const char *names)
{
    uint64_t set = 0, one;
    do {
        one = take_name(&names);
        set |= one;
    } while (one && *names);
    return one ? set : 0;
}

uint32_t tools_module(uint64_t set)
{
    uint32_t kind = tools_next(set, 0);
    while (kind < TOOL_KIND_COUNT && !tools[kind].module)
        kind = tools_next(set, kind + 1);
    return kind;
}

uint32_t tools_block_counter(uint64_t set)
{
    uint32_t kind = tools_next(set, 0);
    while (tools_several(set) && kind < TOOL_KIND_COUNT && !tools[kind].blocks)
        kind = tools_next(set, kind + 1);
    return tools_several(set) ? kind : TOOL_KIND_COUNT;
}
