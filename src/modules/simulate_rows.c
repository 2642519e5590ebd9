#include "modules/simulate_rows.h"

enum kind { INSTRUCTIONS, CONTEXTS, KINDS };
static const uint32_t most[KINDS] = {SPOOL_COSTS_MOST, SPOOL_CONTEXTS_MOST};

_Static_assert((int)KINDS == (int)HOST_COSTS, "those that a process has");

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
static struct spool_costs *chunk_of(struct penumbra_host *host, enum kind kind)
{
    struct host_process *p = host->current;
    struct spool_costs *chunk = p->costs[kind];
    if (chunk && chunk->count < most[kind])
        return chunk;
    return p->costs[kind] = chunk_new(host, kind == CONTEXTS ? p->contexts + 1 : 0);
}

struct spool_cost *simulate_row_new(struct penumbra_host *host, uint64_t pc)
{
    struct spool_costs *chunk = chunk_of(host, INSTRUCTIONS);
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
    struct spool_costs *chunk = chunk_of(host, CONTEXTS);
    if (!chunk)
        return (struct simulate_node){0};
    struct spool_context_cost *to = &spool_costs_contexts(chunk)[chunk->count];
    *to = (struct spool_context_cost){
        .key = row->key, .parent = row->parent, .thread = row->thread};
    __atomic_store_n(&chunk->count, chunk->count + 1, __ATOMIC_RELEASE);
    return (struct simulate_node){to, ++host->current->contexts};
}
