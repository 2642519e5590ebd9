#include "tools/rows.h"

#include <stddef.h>

#include "engine/hook_run.h"
#include "tools/memory.h"

bool rows_thread_begin_as(struct engine_thread *t, uint64_t size, enum tool_kind kind,
                          enum tool_table table, struct rows_layout layout)
{
    struct rows_store *s = t->tools[kind] ? t->tools[kind] : memory_map_as(size);
    struct spool_counts *counts = hook_counts(t);
    if (!s)
        return false;
    t->tools[kind] = s;
    if (!counts || (s->record && s->counts == counts))
        return true;
    struct spool_window *window = t->window.record;
    while (!rows_begin_as(s, hook_spool(t), counts, &counts->tables[table],
                          window ? window->tables[table] : 0, layout, window ? window->tid : 0))
        if (!hook_wait_as(t))
            return false;
    hook_waited(t);
    if (window)
        window->tables[table] = spool_ref_of(hook_spool(t), s->record);
    return true;
}

void *rows_wait_as(struct engine_thread *t, struct rows_store *s, uint32_t id)
{
    void *row = NULL;
    while (!row && id / ROWS_CHUNK < ROWS_CHUNKS && hook_wait_as(t))
        row = rows_at_as(s, id);
    if (row)
        hook_waited(t);
    return row;
}
