#include "modules/simulate_rows.h"

#include <stdlib.h>

enum kind { INSTRUCTIONS, CONTEXTS, KINDS };
static const uint32_t most[KINDS] = {SPOOL_COSTS_MOST, SPOOL_CONTEXTS_MOST};

/* The newest chunks of a process. */
struct newest {
    const struct host_process *process;
    struct spool_costs *chunks[KINDS];
    uint32_t contexts;
    struct newest *next;
};

static struct newest *all;

static struct newest *newest_of(const struct host_process *p)
{
    struct newest *n = all;
    while (n && n->process != p)
        n = n->next;
    if (n)
        return n;
    n = calloc(1, sizeof *n);
    if (n)
        *n = (struct newest){.process = p, .next = all};
    return n ? all = n : NULL;
}

static struct spool_costs *chunk_new(struct penumbra_host *host, uint32_t first)
{
    spool_ref at = __atomic_load_n(&host->current->record->counts, __ATOMIC_ACQUIRE);
    struct spool_counts *counts = at ? spool_at(host->spool, at, sizeof *counts) : NULL;
    struct spool_costs *chunk =
        counts ? spool_alloc_pages_as(host->spool, SPOOL_COSTS_SIZE) : NULL;
    if (!chunk)
        return NULL;
    uint32_t *head = &counts->tables[TABLE_SIMULATE];
    host_allow(host, chunk, SPOOL_COSTS_SIZE);
    host_allow(host, head, sizeof *head);
    chunk->machine = host_string(host, host->options.machine_name);
    chunk->first = first;
    spool_push_as(host->spool, head, chunk);
    return chunk;
}

/* A chunk of the current process with room. */
static struct spool_costs *chunk_of(struct penumbra_host *host, struct newest *n, enum kind kind)
{
    struct spool_costs *chunk = n->chunks[kind];
    if (chunk && chunk->count < most[kind])
        return chunk;
    return n->chunks[kind] = chunk_new(host, kind == CONTEXTS ? n->contexts + 1 : 0);
}

struct spool_cost *simulate_row_new(struct penumbra_host *host, uint64_t pc)
{
    struct newest *n = newest_of(host->current);
    struct spool_costs *chunk = n ? chunk_of(host, n, INSTRUCTIONS) : NULL;
    if (!chunk)
        return NULL;
    struct spool_cost *row = &chunk->rows[chunk->count];
    row->key = host_place(host, host->current, pc);
    __atomic_store_n(&chunk->count, chunk->count + 1, __ATOMIC_RELEASE);
    return row;
}

struct simulate_node simulate_node_new(struct penumbra_host *host,
                                       const struct spool_context_cost *row)
{
    struct newest *n = newest_of(host->current);
    struct spool_costs *chunk = n ? chunk_of(host, n, CONTEXTS) : NULL;
    if (!chunk)
        return (struct simulate_node){0};
    struct spool_context_cost *to = &spool_costs_contexts(chunk)[chunk->count];
    *to = (struct spool_context_cost){
        .key = row->key, .parent = row->parent, .thread = row->thread};
    __atomic_store_n(&chunk->count, chunk->count + 1, __ATOMIC_RELEASE);
    return (struct simulate_node){to, ++n->contexts};
}
