#include "inst/inst.h"

#include <sys/mman.h>

#include "sigsafe/own_memory.h"
#include "sigsafe/sys.h"
#include "sigsafe/tools.h"

static uint32_t blocks_of(const struct penumbra_inst_module *m)
{
    return (uint32_t)(m->blocks_end - m->blocks);
}

static uint64_t *array_map(uint32_t blocks)
{
    long at = own_map_as(0, blocks * sizeof(uint64_t), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1);
    return sys_failed(at) ? NULL : (uint64_t *)at;
}

/* The rows of a chunk belong to one module: each begins with a chunk of its own. */
static void chunk_sum(const struct rows_chunk *chunk, uint32_t first, uint32_t blocks,
                      uint64_t *sums)
{
    const uint8_t *rows = spool_at(&guest.spool, chunk->rows, rows_chunk_size(INST_LAYOUT));
    uint32_t block = chunk->first - first;
    for (uint32_t i = 0; rows && i < ROWS_CHUNK && block + i < blocks; i++) {
        const struct spool_inst_row *row = (const void *)(rows + rows_offset(INST_LAYOUT, i));
        sums[block + i] += __atomic_load_n(&row->weight, __ATOMIC_RELAXED);
    }
}

/* How often all threads of this process have counted each block of the module. False: all that they
 * count is exact. */
static bool blocks_sum(uint32_t first, uint32_t blocks, uint64_t *sums)
{
    enum { MOST = 1 << 20 };
    bool sampled = false;
    spool_ref ref = __atomic_load_n(&inst.counts->tables[TABLE_FIELDS], __ATOMIC_ACQUIRE);
    const struct spool_inst_thread *t;
    for (unsigned n = 0; n < MOST && (t = spool_at(&guest.spool, ref, sizeof *t)); n++) {
        spool_ref at = __atomic_load_n(&t->rows.chunks, __ATOMIC_ACQUIRE);
        const struct rows_chunk *chunk;
        sampled |= t->most > 1;
        for (unsigned k = 0; k < ROWS_CHUNKS; k++) {
            if (!(chunk = spool_at(&guest.spool, at, sizeof *chunk)))
                break;
            if (chunk->first >= first && chunk->first - first < blocks)
                chunk_sum(chunk, first, blocks, sums);
            at = chunk->next;
        }
        ref = t->rows.next;
    }
    return sampled;
}

static int64_t *counter_of(const struct penumbra_inst_event *event)
{
    return (int64_t *)(uintptr_t)penumbra_inst_at(&event->what);
}

static void block_add(const struct penumbra_inst_block *block, uint64_t count)
{
    const struct penumbra_inst_event *events = penumbra_inst_at(&block->events);
    for (uint32_t i = 0; events && i < block->n; i++)
        if (events[i].kind == PENUMBRA_INST_COUNTER)
            __atomic_fetch_add(counter_of(&events[i]), (int64_t)count, __ATOMIC_RELAXED);
}

/* Of a block that is a way through a function: what it begins with. Else NULL. */
static const struct penumbra_inst_event *way_of(const struct penumbra_inst_block *block)
{
    const struct penumbra_inst_event *first = penumbra_inst_at(&block->events);
    return first && first->kind == PENUMBRA_INST_WAY ? first : NULL;
}

static bool has_counted(const struct penumbra_inst_event *way)
{
    for (uint32_t i = 0; i < way->aux; i++)
        if (__atomic_load_n(&counter_of(way)[i], __ATOMIC_RELAXED))
            return true;
    return false;
}

/* Brings what has been added for the block to a sum. */
static void block_settle(const struct penumbra_inst_module *m, uint32_t block, uint64_t sum)
{
    const struct inst_module *own = m->data;
    uint64_t former = __atomic_exchange_n(&own->flushed[block], sum, __ATOMIC_RELAXED);
    if (sum != former)
        block_add(&m->blocks[block], sum - former);
}

/* Threads may do this at the same time: what one takes for the former sum is what another has made
 * the last one, so that all that they add is the last sum. */
static void module_flush(struct penumbra_inst_module *m)
{
    const struct inst_module *own = m->data;
    uint32_t blocks = blocks_of(m);
    uint64_t *sums = inst.armed ? array_map(blocks) : NULL;
    if (!inst.armed)
        return; /* a fork child that is not followed */
    if (!sums) {
        inst_drop_as(DROP_SPOOL_FULL);
        return;
    }
    bool sampled = blocks_sum(own->first, blocks, sums);
    for (uint32_t b = 0; b < blocks; b++)
        if (!way_of(&m->blocks[b]))
            block_settle(m, b, sums[b]);
    for (uint32_t b = 0; sampled && b < blocks; b++)
        if (way_of(&m->blocks[b]) && has_counted(way_of(&m->blocks[b])))
            block_settle(m, b, 1);
    own_unmap_as(sums, blocks * sizeof *sums);
}

bool inst_counters_begin(struct penumbra_inst_module *m, struct inst_module *own)
{
    uint32_t blocks = blocks_of(m);
    if (m->bytes < offsetof(struct penumbra_inst_module, places) ||
        !inst_has_events(m, 1u << PENUMBRA_INST_COUNTER))
        return true;
    own->flushed = array_map(blocks);
    if (!own->flushed)
        return false;
    /* a library that is loaded again goes on in the same rows */
    blocks_sum(own->first, blocks, own->flushed);
    own->blocks = blocks;
    m->flush = module_flush;
    return true;
}

void inst_counters_fork_child(struct inst_module *own)
{
    for (uint32_t b = 0; own->flushed && b < own->blocks; b++)
        own->flushed[b] = 0;
}
