#include "runtime/interpose/heap_table.h"

#include <sys/mman.h>

#include "runtime/process.h"
#include "runtime/thread.h"
#include "runtime/trigger/sync.h"
#include "sigsafe/own_memory.h"
#include "sigsafe/sys.h"

enum { SLOT_BITS = 20, SLOTS = 1 << SLOT_BITS, FILTER = 1 << HEAP_FILTER_BITS, STICKY = 255,
       FULL = SLOTS / 8 * 7, SPINS = 1000 };

struct slot {
    uint64_t address; /* 0: free */
    struct heap_sampled sampled;
};
_Static_assert(sizeof(struct slot) == 16, "four a cache line");

uint8_t *heap_filter;
static struct slot *slots;
static uint32_t used, lock, version;

static bool lock_take(void)
{
    for (unsigned tries = 0; __atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE); tries++) {
        if (rt_quiet_as() || tries % SPINS != SPINS - 1)
            continue;
        /* A child that was forked while another thread held it, and that we do not know of. */
        if (process_foreign_as())
            return false;
        sys_call3_as(SYS_sched_yield, 0, 0, 0);
    }
    __atomic_fetch_add(&version, 1, __ATOMIC_ACQ_REL);
    return true;
}

static void lock_release(void)
{
    __atomic_fetch_add(&version, 1, __ATOMIC_ACQ_REL);
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

static uint32_t slot_of(uint64_t address)
{
    return (uint32_t)(heap_hash((const void *)address) >> (64 - SLOT_BITS));
}

static uint8_t *filter_of(uint64_t address)
{
    return &heap_filter[heap_hash((const void *)address) >> (64 - HEAP_FILTER_BITS)];
}

/* Where the address is, or the free slot where it belongs. */
static uint32_t find(uint64_t address)
{
    uint32_t at = slot_of(address);
    for (unsigned steps = 0; steps < SLOTS; steps++) {
        uint64_t there = __atomic_load_n(&slots[at].address, __ATOMIC_RELAXED);
        if (there == address || !there)
            break;
        at = (at + 1) % SLOTS;
    }
    return at;
}

static void cell_change(spool_ref ref, uint64_t change)
{
    struct spool_heap_cell *cell = spool_at(&guest.spool, ref, sizeof *cell);
    struct spool_heap *heap = &guest.process->heap;
    if (!cell)
        return;
    if (cell->stamp != heap->peak_id) {
        cell->saved = cell->live;
        cell->stamp = heap->peak_id;
    }
    cell->live += change;
    heap->live += change;
    if (heap->live <= heap->peak || heap->live >> 63)
        return;
    heap->peak = heap->live;
    heap->peak_id++;
    if (!rt_quiet_as())
        heap->peak_ns = thread_monotonic_ns_as();
}

static void insert(uint64_t address, struct heap_sampled sampled)
{
    uint32_t at = find(address);
    if (slots[at].address) { /* freed in a way that we did not see */
        cell_change(slots[at].sampled.cell, -(uint64_t)slots[at].sampled.weight);
    } else {
        used++;
        uint8_t *filter = filter_of(address);
        if (*filter != STICKY)
            __atomic_store_n(filter, (uint8_t)(*filter + 1), __ATOMIC_RELAXED);
    }
    slots[at].sampled = sampled;
    __atomic_store_n(&slots[at].address, address, __ATOMIC_RELAXED);
    cell_change(sampled.cell, sampled.weight);
}

/* Knuth, The Art of Computer Programming, vol. 3, section 6.4, algorithm R. */
static void take_out(uint32_t hole)
{
    uint8_t *filter = filter_of(slots[hole].address);
    if (*filter != STICKY)
        __atomic_store_n(filter, (uint8_t)(*filter - 1), __ATOMIC_RELAXED);
    used--;
    for (uint32_t at = (hole + 1) % SLOTS; slots[at].address; at = (at + 1) % SLOTS) {
        uint32_t home = slot_of(slots[at].address);
        if ((at - home) % SLOTS < (at - hole) % SLOTS)
            continue; /* it may not move above its home */
        slots[hole].sampled = slots[at].sampled;
        __atomic_store_n(&slots[hole].address, slots[at].address, __ATOMIC_RELAXED);
        hole = at;
    }
    __atomic_store_n(&slots[hole].address, 0, __ATOMIC_RELAXED);
}

static spool_ref cell_of(struct cct_node *node)
{
    if (!node->cell) {
        struct spool_heap_cell *cell = spool_alloc_as(&guest.spool, sizeof *cell);
        if (cell)
            __atomic_store_n(&node->cell, spool_ref_of(&guest.spool, cell), __ATOMIC_RELEASE);
    }
    return node->cell;
}

void heap_table_add(const void *address, struct cct_node *node, uint64_t weight)
{
    struct heap_sampled sampled = {cell_of(node),
                                   weight < UINT32_MAX ? (uint32_t)weight : UINT32_MAX};
    if (!heap_filter || !sampled.cell || used >= FULL) {
        __atomic_fetch_add(&guest.process->heap.missed, weight, __ATOMIC_RELAXED);
        return;
    }
    if (!lock_take())
        return;
    insert((uint64_t)address, sampled);
    lock_release();
}

void heap_table_restore(const void *address, struct heap_sampled sampled)
{
    struct sync_hold hold;
    sync_mask(&hold);
    if (lock_take()) {
        insert((uint64_t)address, sampled);
        lock_release();
    }
    sync_unmask(&hold);
}

/* Looks without the lock: certain only if nothing changed meanwhile. */
static bool certainly_absent(uint64_t address)
{
    uint32_t before = __atomic_load_n(&version, __ATOMIC_ACQUIRE);
    bool absent = slots[find(address)].address != address;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return absent && !(before & 1) && __atomic_load_n(&version, __ATOMIC_RELAXED) == before;
}

struct heap_sampled heap_table_remove(const void *address)
{
    struct heap_sampled sampled = {0, 0};
    struct sync_hold hold;
    if (!rt_profiled_as() || certainly_absent((uint64_t)address))
        return sampled;
    sync_mask(&hold);
    if (lock_take()) {
        uint32_t at = find((uint64_t)address);
        if (slots[at].address) {
            sampled = slots[at].sampled;
            take_out(at);
            cell_change(sampled.cell, -(uint64_t)sampled.weight);
        }
        lock_release();
    }
    sync_unmask(&hold);
    return sampled;
}

void heap_table_begin(void)
{
    enum { SIZE = SLOTS * sizeof(struct slot) + FILTER };
    long at = own_map_as((uint64_t)slots, SIZE, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (slots ? MAP_FIXED : 0), -1);
    if (sys_failed(at))
        return;
    lock = version = used = 0;
    slots = (struct slot *)at;
    __atomic_store_n(&heap_filter, (uint8_t *)(slots + SLOTS), __ATOMIC_RELEASE);
}

void heap_table_fork_child(void)
{
    if (heap_filter)
        heap_table_begin();
}
