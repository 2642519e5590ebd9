/* For tools that keep rows (sigsafe/spool_rows.h) of what each thread does: the thread's store is
 * t->tools[kind].
 *
 * Context: as engine/hook.h says.
 * Ownership: stores are memory of the tool's own, and stay. */
#ifndef PENUMBRA_TOOLS_ROWS_H
#define PENUMBRA_TOOLS_ROWS_H

#include "engine/hook.h"
#include "sigsafe/spool_rows.h"
#include "sigsafe/tools.h"

/* What a thread has appended, taken in the same order. */
struct records {
    const uint8_t *at;
};

typedef struct { uint32_t v; } __attribute__((packed, may_alias)) record_word32;
typedef struct { uint64_t v; } __attribute__((packed, may_alias)) record_word64;

static inline uint32_t take32(struct records *r)
{
    uint32_t value = ((const record_word32 *)(const void *)r->at)->v;
    r->at += sizeof value;
    return value;
}

static inline uint64_t take64(struct records *r)
{
    uint64_t value = ((const record_word64 *)(const void *)r->at)->v;
    r->at += sizeof value;
    return value;
}

/* struct tool.thread_begin, for rows of these sizes. t->tools[kind] becomes a structure of `size`
 * bytes that begins with the struct rows_store, zeroed at first. */
bool rows_thread_begin_as(struct engine_thread *t, uint64_t size, enum tool_kind kind,
                          enum tool_table table, struct rows_layout layout);

/* Makes the row of an id that has none. A whole run waits until the collector has made room; NULL:
 * there is none. */
void *rows_wait_as(struct engine_thread *t, struct rows_store *s, uint32_t id);

static inline void *rows_find_as(struct engine_thread *t, struct rows_store *s, uint32_t id)
{
    void *row = rows_at_as(s, id);
    return row ? row : rows_wait_as(t, s, id);
}

#endif
