#include "engine/tool_set.h"

#include "engine/hook.h"
#include "engine/ring.h"
#include "engine/state.h"

static const struct tool_set *set_of(const struct engine_thread *t)
{
    return &t->engine->config.tools;
}

uint32_t tool_set_any(const struct tool_set *s)
{
    uint32_t flags = 0;
    for (uint32_t i = 0; i < s->count; i++)
        flags |= s->of[i].tool->flags;
    return flags;
}

uint32_t tool_set_all(const struct tool_set *s)
{
    uint32_t flags = s->count ? UINT32_MAX : 0;
    for (uint32_t i = 0; i < s->count; i++)
        flags &= s->of[i].tool->flags;
    return flags;
}

bool tool_set_hooks(const struct tool_set *s)
{
    bool hooks = false;
    for (uint32_t i = 0; i < s->count; i++)
        hooks |= s->of[i].tool->block != NULL;
    return hooks;
}

bool tool_set_late(const struct tool_set *s)
{
    bool late = false;
    for (uint32_t i = 0; i < s->count; i++)
        late |= s->of[i].tool->burst_begin != NULL;
    return late;
}

bool tool_set_fits(const struct tool_set *s)
{
    uint32_t watchers = 0;
    for (uint32_t i = 0; i < s->count; i++)
        watchers += (s->of[i].tool->flags & TOOL_WATCHES) != 0;
    return watchers < 2 && s->count <= TOOL_SET_MOST;
}

uint32_t tool_set_appenders(const struct tool_set *s, uint32_t *first)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->count; i++)
        if (s->of[i].tool->flags & TOOL_STEALS_R15 && !count++)
            *first = i;
    return count;
}

bool tool_set_begin_as(struct engine_thread *t)
{
    const struct tool_set *s = set_of(t);
    for (uint32_t i = 0; i < s->count; i++)
        if (s->of[i].tool->thread_begin && !s->of[i].tool->thread_begin(t))
            return false;
    return true;
}

void tool_set_end_as(struct engine_thread *t)
{
    const struct tool_set *s = set_of(t);
    for (uint32_t i = 0; i < s->count; i++)
        if (s->of[i].tool->thread_end)
            s->of[i].tool->thread_end(t);
}

void tool_set_interrupted_as(struct engine_thread *t, uint64_t pc)
{
    const struct tool_set *s = set_of(t);
    for (uint32_t i = 0; i < s->count; i++)
        if (s->of[i].tool->interrupted)
            s->of[i].tool->interrupted(t, pc);
}

void tool_set_burst_begin_as(struct engine_thread *t, uint32_t skip, uint64_t length)
{
    const struct tool_set *s = set_of(t);
    for (uint32_t i = 0; i < s->count; i++)
        if (s->of[i].tool->burst_begin)
            s->of[i].tool->burst_begin(t, skip, length);
}

void tool_set_burst_end_as(struct engine_thread *t)
{
    const struct tool_set *s = set_of(t);
    for (uint32_t i = 0; i < s->count; i++)
        if (s->of[i].tool->burst_end)
            s->of[i].tool->burst_end(t);
}

/* ---- the ring ---- */

static void flush_one_as(struct engine_thread *t, uint32_t member, const uint8_t *records,
                         uint64_t size, bool ends)
{
    const struct tool *tool = set_of(t)->of[member].tool;
    t->flushing = member;
    if (tool->flush && (size || ends))
        tool->flush(t, records, size, ends);
}

/* Copies the member's records out from between those of the others. */
static uint64_t sort_out(uint8_t *to, uint32_t member, const uint8_t *records, uint64_t size)
{
    typedef struct { uint32_t v; } __attribute__((packed, may_alias)) word;
    uint8_t *at = to;
    for (const uint8_t *from = records, *end = records + size; from < end;) {
        struct ring_head head = ring_head_of(((const word *)(const void *)from)->v);
        from += sizeof(word);
        if (head.member == member)
            for (uint32_t i = 0; i < head.size; i += sizeof(word))
                ((word *)(void *)(at + i))->v = ((const word *)(const void *)(from + i))->v;
        at += head.member == member ? head.size : 0;
        from += head.size;
    }
    return (uint64_t)(at - to);
}

void tool_set_flush_as(struct engine_thread *t, const uint8_t *records, uint64_t size, bool ends)
{
    const struct engine *e = t->engine;
    const struct tool_set *s = &e->config.tools;
    if (e->appenders < 2) {
        flush_one_as(t, e->first_appender, records, size, ends);
        return;
    }
    for (uint32_t i = 0; i < s->count; i++)
        if (s->of[i].tool->flags & TOOL_STEALS_R15 && s->of[i].tool->flush)
            flush_one_as(t, i, t->sorted, sort_out(t->sorted, i, records, size), ends);
}
