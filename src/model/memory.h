/* Caches, TLBs and memory of one core.
 *
 *     load ──> dtlb ──> l1d ──> l2 ──> l3 ──> memory
 *     code ──> itlb ──> l1i ──┘
 *
 * Addresses are translated to pages that are handed out in the order of first use, so that what is
 * modelled does not depend on where the program's memory was mapped.
 *
 * A level's latency is from the beginning of the access to its data. A line that is on its way has
 * a time at which it is there. Accesses come in the order of the program, with times in any order:
 * what is limited in time (lines on their way, transfers from memory) is booked in tables of time
 * (struct booking).
 *
 * Context: one thread.
 * Ownership: made and freed with the core. */
#ifndef PENUMBRA_MODEL_MEMORY_H
#define PENUMBRA_MODEL_MEMORY_H

#include "model/machine.h"

enum { LINE_SHIFT = 6, PAGE_SHIFT = 12, PAGES_RECENT = 64 };

enum line_state { LINE_DIRTY = 1, LINE_AHEAD = 2 };
enum memory_level { LEVEL_L1, LEVEL_L2, LEVEL_L3, LEVEL_MEMORY };

/* Sets of tags, the least recently used of which makes room. */
struct set_table {
    uint64_t *tags;  /* + 1; 0: empty */
    uint8_t *marks;  /* of tags: 16 entries are compared at once */
    uint32_t *used;
    uint32_t sets, ways, clock;
    uint32_t mask;       /* sets - 1 where that is a mask; else 0 */
    uint32_t recent[64]; /* by the low bits of the tag: the entry that was found last */
};

bool set_table_make(struct set_table *t, uint32_t entries, uint32_t ways);
void set_table_free(struct set_table *t);
/* The entry of `tag`; *hit: it was there. Else it takes the place of another, *evicted (0: none),
 * if `insert`; or UINT32_MAX is returned. */
uint32_t set_table_find(struct set_table *t, uint64_t tag, bool insert, bool *hit,
                        uint64_t *evicted);
/* The same of a tag that is not there. */
uint32_t set_table_insert(struct set_table *t, uint64_t tag, uint64_t *evicted);

/* How much of something is in use, by time: `unit` cycles an entry. */
struct booking {
    struct booked { uint64_t at; uint32_t used; } *table;
    uint32_t mask, unit, limit;
};

bool booking_make(struct booking *b, uint32_t entries, uint32_t unit, uint32_t limit);
/* The first time from `at` on at which less than the limit is in use. */
uint64_t booking_free_at(const struct booking *b, uint64_t at);
/* One more is in use from `at` until before `end`. */
void booking_take(struct booking *b, uint64_t at, uint64_t end);

struct cache {
    struct set_table lines;
    uint64_t *ready;       /* by entry: when the line is there */
    uint8_t *source, *state; /* enum memory_level; enum line_state */
    struct booking misses; /* on their way */
    struct cache *below;   /* NULL: memory */
    uint32_t latency, prefetcher, degree, level;
};

struct model_memory {
    const struct machine *m;
    bool warming; /* no time passes: nothing is booked, and lines are there at once */
    struct cache l1i, l1d, l2, l3;
    struct booking transfers; /* from and to memory */
    struct set_table itlb, dtlb, stlb;
    struct stride { uint64_t pc, last; int64_t stride; uint32_t sure; } *strides;
    struct pages {
        uint64_t *from; /* + 1; open addressing */
        uint64_t *to;
        uint32_t capacity, count;
        struct page { uint64_t from, to; } recent[PAGES_RECENT]; /* by the low bits of the page */
    } pages;
};

struct memory_answer {
    uint64_t done;     /* when the data is there */
    uint32_t tlb;      /* cycles that the translation took besides */
    uint8_t level;     /* enum memory_level: where it was */
    bool walked;
};

bool memory_make(struct model_memory *mem, const struct machine *m);
void memory_free(struct model_memory *mem);

/* One access within a line, by the instruction at pc, from time `at` on. */
struct memory_answer memory_data(struct model_memory *mem, uint64_t pc, uint64_t address,
                                 uint64_t at, bool store);
/* A line of code; done is `at` where it is in the cache. */
struct memory_answer memory_code(struct model_memory *mem, uint64_t address, uint64_t at);
/* Addresses from here on, as far as there are below it, are the processor's own, and as they are:
 * no page of the program's is another because of them. */
#define MEMORY_OWN (UINT64_C(1) << 60)
uint64_t memory_translate_page(struct model_memory *mem, uint64_t address);
/* The address with its page replaced. */
static inline uint64_t memory_translate(struct model_memory *mem, uint64_t address)
{
    uint64_t page = address >> PAGE_SHIFT;
    const struct page *recent = &mem->pages.recent[page % PAGES_RECENT];
    return recent->from == page + 1
               ? recent->to << PAGE_SHIFT | (address & ((1u << PAGE_SHIFT) - 1))
               : memory_translate_page(mem, address);
}

#endif
