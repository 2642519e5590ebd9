#include "model/memory.h"

#include <emmintrin.h>
#include <stdlib.h>

#include "sigsafe/hash.h"

enum {
    MARKS = sizeof(__m128i),
    STRIDES = 512, STRIDE_SURE = 2,
    MISS_UNIT = 8, MISS_BOOKING = 1 << 14, TRANSFER_BOOKING = 1 << 14,
    PAGES_FIRST = 1 << 12,
};

/* ---- tables ---- */

bool set_table_make(struct set_table *t, uint32_t entries, uint32_t ways)
{
    *t = (struct set_table){.ways = ways, .sets = entries / ways};
    if (!entries)
        return true;
    t->mask = t->sets & (t->sets - 1) ? 0 : t->sets - 1;
    t->tags = calloc(entries, sizeof *t->tags);
    t->used = calloc(entries, sizeof *t->used);
    t->marks = calloc(entries + MARKS, 1);
    return t->tags && t->used && t->marks;
}

void set_table_free(struct set_table *t)
{
    free(t->tags);
    free(t->used);
    free(t->marks);
}

/* A later use has a greater number. Before those run out all are halved. */
static uint32_t use_number(struct set_table *t)
{
    if (t->clock == UINT32_MAX) {
        for (uint32_t i = 0; i < t->sets * t->ways; i++)
            t->used[i] /= 2;
        t->clock /= 2;
    }
    return ++t->clock;
}

/* Of the bits above those that choose a set, mostly. */
static uint8_t mark_of(uint64_t tag)
{
    return (uint8_t)(hash_word(tag) >> 56);
}

/* The entry of the tag among `ways` from `first` on, or UINT32_MAX. */
static uint32_t search(const struct set_table *t, uint64_t tag, uint32_t first)
{
    const __m128i mark = _mm_set1_epi8((char)mark_of(tag));
    for (uint32_t i = 0; i < t->ways; i += MARKS) {
        __m128i marks = _mm_loadu_si128((const void *)&t->marks[first + i]);
        uint32_t same = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(marks, mark));
        for (; same; same &= same - 1) {
            uint32_t way = i + (uint32_t)__builtin_ctz(same);
            if (way < t->ways && t->tags[first + way] == tag + 1)
                return first + way;
        }
    }
    return UINT32_MAX;
}

static uint32_t oldest_of(const struct set_table *t, uint32_t first)
{
    uint32_t oldest = first;
    for (uint32_t i = first + 1; i < first + t->ways; i++)
        if (t->used[i] < t->used[oldest])
            oldest = i;
    return oldest;
}

static uint32_t set_of(const struct set_table *t, uint64_t tag)
{
    return (uint32_t)(t->mask ? tag & t->mask : tag % t->sets) * t->ways;
}

static uint32_t use(struct set_table *t, uint64_t tag, uint32_t entry)
{
    t->used[entry] = use_number(t);
    return t->recent[tag % (sizeof t->recent / sizeof *t->recent)] = entry;
}

uint32_t set_table_insert(struct set_table *t, uint64_t tag, uint64_t *evicted)
{
    uint32_t entry = oldest_of(t, set_of(t, tag));
    *evicted = t->tags[entry];
    t->tags[entry] = tag + 1;
    t->marks[entry] = mark_of(tag);
    return use(t, tag, entry);
}

uint32_t set_table_find(struct set_table *t, uint64_t tag, bool insert, bool *hit,
                        uint64_t *evicted)
{
    uint32_t entry = t->recent[tag % (sizeof t->recent / sizeof *t->recent)];
    *evicted = 0;
    if (t->tags[entry] != tag + 1)
        entry = search(t, tag, set_of(t, tag));
    *hit = entry != UINT32_MAX;
    if (*hit)
        return use(t, tag, entry);
    return insert ? set_table_insert(t, tag, evicted) : UINT32_MAX;
}

bool booking_make(struct booking *b, uint32_t entries, uint32_t unit, uint32_t limit)
{
    *b = (struct booking){.mask = entries - 1, .unit = unit, .limit = limit};
    b->table = calloc(entries, sizeof *b->table);
    return b->table;
}

/* What has been overwritten by a later time is taken to be full. */
uint64_t booking_free_at(const struct booking *b, uint64_t at)
{
    uint64_t slot = at / b->unit;
    for (;; slot++) {
        const struct booked *k = &b->table[slot & b->mask];
        if (k->at < slot || (k->at == slot && k->used < b->limit))
            break;
    }
    uint64_t begin = slot * b->unit;
    return begin > at ? begin : at;
}

void booking_take(struct booking *b, uint64_t at, uint64_t end)
{
    uint64_t slot = at / b->unit, last = (end > at ? end - 1 : at) / b->unit;
    for (; slot <= last; slot++) {
        struct booked *k = &b->table[slot & b->mask];
        if (k->at < slot)
            *k = (struct booked){slot, 0};
        k->used += k->at == slot;
    }
}

/* ---- making ---- */

static bool make_cache(struct cache *c, uint32_t level, uint32_t size, uint32_t ways,
                       uint32_t latency, uint32_t mshr)
{
    uint32_t lines = size >> LINE_SHIFT;
    *c = (struct cache){.latency = latency, .level = level};
    if (!set_table_make(&c->lines, lines, ways))
        return false;
    if (!lines)
        return true;
    c->ready = calloc(lines, sizeof *c->ready);
    c->source = calloc(lines, 1);
    c->state = calloc(lines, 1);
    return booking_make(&c->misses, MISS_BOOKING, MISS_UNIT, mshr) && c->ready && c->source &&
           c->state;
}

static void free_cache(struct cache *c)
{
    set_table_free(&c->lines);
    free(c->ready);
    free(c->source);
    free(c->state);
    free(c->misses.table);
}

bool memory_make(struct model_memory *mem, const struct machine *m)
{
    *mem = (struct model_memory){.m = m};
    /* Code misses have as many entries as data. */
    bool ok =
        make_cache(&mem->l1i, LEVEL_L1, m->l1i_size, m->l1i_ways, 0, m->l1d_mshr_size) &&
        make_cache(&mem->l1d, LEVEL_L1, m->l1d_size, m->l1d_ways, m->l1d_latency,
                   m->l1d_mshr_size) &&
        make_cache(&mem->l2, LEVEL_L2, m->l2_size, m->l2_ways, m->l2_latency, m->l2_mshr_size) &&
        make_cache(&mem->l3, LEVEL_L3, m->l3_size, m->l3_ways, m->l3_latency, m->l3_mshr_size);
    struct cache *third = m->l3_size ? &mem->l3 : NULL, *second = m->l2_size ? &mem->l2 : third;
    mem->l1i.below = mem->l1d.below = second;
    mem->l2.below = third;
    mem->l1d.prefetcher = m->l1d_prefetcher;
    mem->l1d.degree = m->l1d_prefetch_degree;
    mem->l2.prefetcher = m->l2_prefetcher;
    mem->l2.degree = m->l2_prefetch_degree;

    ok = ok && booking_make(&mem->transfers, TRANSFER_BOOKING, m->memory_interval, 1) &&
         set_table_make(&mem->itlb, m->itlb_size, m->itlb_ways) &&
         set_table_make(&mem->dtlb, m->dtlb_size, m->dtlb_ways) &&
         set_table_make(&mem->stlb, m->stlb_size, m->stlb_ways);
    mem->strides = calloc(STRIDES, sizeof *mem->strides);
    mem->pages.from = calloc(PAGES_FIRST, sizeof *mem->pages.from);
    mem->pages.to = calloc(PAGES_FIRST, sizeof *mem->pages.to);
    mem->pages.capacity = PAGES_FIRST;
    return ok && mem->strides && mem->pages.from && mem->pages.to;
}

void memory_free(struct model_memory *mem)
{
    free_cache(&mem->l1i);
    free_cache(&mem->l1d);
    free_cache(&mem->l2);
    free_cache(&mem->l3);
    free(mem->transfers.table);
    set_table_free(&mem->itlb);
    set_table_free(&mem->dtlb);
    set_table_free(&mem->stlb);
    free(mem->strides);
    free(mem->pages.from);
    free(mem->pages.to);
}

/* ---- pages ---- */

static uint32_t page_slot(const struct pages *p, uint64_t page)
{
    uint32_t at = (uint32_t)(hash_word(page) >> 32) & (p->capacity - 1);
    while (p->from[at] && p->from[at] != page + 1)
        at = (at + 1) & (p->capacity - 1);
    return at;
}

/* Without memory the table stays as it is, as long as it has room. */
static void grow_pages(struct pages *p)
{
    struct pages more = *p;
    more.capacity *= 2;
    more.from = calloc(more.capacity, sizeof *more.from);
    more.to = calloc(more.capacity, sizeof *more.to);
    if (!more.from || !more.to) {
        free(more.from);
        free(more.to);
        return;
    }
    for (uint32_t i = 0; i < p->capacity; i++)
        if (p->from[i]) {
            uint32_t at = page_slot(&more, p->from[i] - 1);
            more.from[at] = p->from[i];
            more.to[at] = p->to[i];
        }
    free(p->from);
    free(p->to);
    *p = more;
}

uint64_t memory_translate_page(struct model_memory *mem, uint64_t address)
{
    if (address >= MEMORY_OWN && address < 2 * MEMORY_OWN)
        return address;
    struct pages *p = &mem->pages;
    uint64_t page = address >> PAGE_SHIFT, offset = address & ((1u << PAGE_SHIFT) - 1);
    struct page *recent = &p->recent[page % PAGES_RECENT];
    if (p->count >= p->capacity / 2)
        grow_pages(p);
    uint32_t at = page_slot(p, page);
    if (!p->from[at]) {
        if (p->count + 1 >= p->capacity)
            return address; /* no memory to remember it in */
        p->from[at] = page + 1;
        p->to[at] = ++p->count;
    }
    *recent = (struct page){page + 1, p->to[at]};
    return recent->to << PAGE_SHIFT | offset;
}

static uint32_t translation_cycles(struct model_memory *mem, struct set_table *first, uint64_t page,
                                   bool *walked)
{
    bool hit;
    uint64_t evicted;
    set_table_find(first, page, true, &hit, &evicted);
    *walked = false;
    if (hit)
        return 0;
    if (mem->m->stlb_size) {
        set_table_find(&mem->stlb, page, true, &hit, &evicted);
        if (hit)
            return mem->m->stlb_latency;
    }
    *walked = true;
    return mem->m->stlb_latency + mem->m->page_walk_latency;
}

/* ---- caches ---- */

static uint64_t transfer_at(struct model_memory *mem, uint64_t at)
{
    if (mem->warming)
        return at;
    uint64_t begin = booking_free_at(&mem->transfers, at);
    booking_take(&mem->transfers, begin, begin + 1);
    return begin;
}

/* A line that was written to and leaves. */
static void write_back(struct model_memory *mem, struct cache *c, uint64_t line, uint64_t at)
{
    for (; c; c = c->below) {
        bool hit;
        uint64_t evicted;
        uint32_t entry = set_table_find(&c->lines, line, false, &hit, &evicted);
        if (hit) {
            c->state[entry] |= LINE_DIRTY;
            return;
        }
    }
    transfer_at(mem, at);
}

static uint64_t fetch_line(struct model_memory *mem, struct cache *c, uint64_t line, uint64_t at,
                           bool ahead, uint8_t *level);

static uint64_t fetch_below(struct model_memory *mem, struct cache *c, uint64_t line, uint64_t at,
                            uint8_t *level)
{
    if (c->below)
        return fetch_line(mem, c->below, line, at, false, level);
    *level = LEVEL_MEMORY;
    return transfer_at(mem, at) + mem->m->memory_latency;
}

/* Lines of the same page behind one that was asked for. */
static void fetch_next(struct model_memory *mem, struct cache *c, uint64_t line, uint64_t at)
{
    const uint64_t page = PAGE_SHIFT - LINE_SHIFT;
    uint8_t level;
    if (c->prefetcher != PREFETCHER_NEXT_LINE)
        return;
    for (uint64_t next = line + 1; next <= line + c->degree && next >> page == line >> page; next++)
        fetch_line(mem, c, next, at, true, &level);
}

static uint64_t found_line(struct model_memory *mem, struct cache *c, uint32_t entry, uint64_t line,
                           uint64_t at, bool ahead, uint8_t *level)
{
    uint64_t done = at + c->latency, ready = c->ready[entry];
    bool coming = ready > done;
    *level = coming ? c->source[entry] : (uint8_t)c->level;
    if (!ahead && c->state[entry] & LINE_AHEAD) { /* the first use of what was fetched ahead */
        c->state[entry] &= (uint8_t)~LINE_AHEAD;
        fetch_next(mem, c, line, at);
    }
    return coming ? ready : done;
}

/* When the line is there; it is in the cache from then on. What is fetched ahead waits for
 * nothing: where no miss is free it is not fetched. */
static uint64_t fetch_line(struct model_memory *mem, struct cache *c, uint64_t line, uint64_t at,
                           bool ahead, uint8_t *level)
{
    bool hit;
    uint64_t evicted;
    uint32_t entry = set_table_find(&c->lines, line, false, &hit, &evicted);
    if (hit)
        return found_line(mem, c, entry, line, at, ahead, level);
    uint64_t begin = mem->warming ? at : booking_free_at(&c->misses, at);
    if (ahead && begin > at)
        return at;
    uint64_t done = fetch_below(mem, c, line, begin, level);
    if (mem->warming)
        done = at;
    else
        booking_take(&c->misses, begin, done);
    entry = set_table_insert(&c->lines, line, &evicted);
    if (evicted && c->state[entry] & LINE_DIRTY)
        write_back(mem, c->below, evicted - 1, begin);
    c->ready[entry] = done;
    c->source[entry] = *level;
    c->state[entry] = ahead ? LINE_AHEAD : 0;
    if (!ahead)
        fetch_next(mem, c, line, begin);
    return done;
}

/* Addresses at equal distances, by the instruction. */
static void fetch_stride(struct model_memory *mem, uint64_t pc, uint64_t address, uint64_t at)
{
    struct stride *s = &mem->strides[pc % STRIDES];
    int64_t stride = (int64_t)(address - s->last);
    uint8_t level;
    if (s->pc != pc) {
        *s = (struct stride){.pc = pc, .last = address};
        return;
    }
    s->sure = stride == s->stride ? s->sure + (s->sure < STRIDE_SURE) : 0;
    s->stride = stride;
    s->last = address;
    if (s->sure < STRIDE_SURE || !stride)
        return;
    if (stride > 0 && stride < 1 << LINE_SHIFT)
        stride = 1 << LINE_SHIFT;
    else if (stride < 0 && stride > -(1 << LINE_SHIFT))
        stride = -(1 << LINE_SHIFT);
    for (uint32_t i = 1; i <= mem->l1d.degree; i++) {
        uint64_t next = address + (uint64_t)stride * i;
        if (next >> PAGE_SHIFT != address >> PAGE_SHIFT)
            break;
        fetch_line(mem, &mem->l1d, next >> LINE_SHIFT, at, true, &level);
    }
}

struct memory_answer memory_data(struct model_memory *mem, uint64_t pc, uint64_t address,
                                 uint64_t at, bool store)
{
    struct memory_answer a = {.level = LEVEL_L1};
    uint64_t real = memory_translate(mem, address), line = real >> LINE_SHIFT, evicted;
    bool hit;
    a.tlb = translation_cycles(mem, &mem->dtlb, real >> PAGE_SHIFT, &a.walked);
    a.done = fetch_line(mem, &mem->l1d, line, at + a.tlb, false, &a.level);
    if (store) {
        uint32_t entry = set_table_find(&mem->l1d.lines, line, false, &hit, &evicted);
        if (hit)
            mem->l1d.state[entry] |= LINE_DIRTY;
    }
    if (mem->l1d.prefetcher == PREFETCHER_STRIDE)
        fetch_stride(mem, pc, real, at);
    return a;
}

struct memory_answer memory_code(struct model_memory *mem, uint64_t address, uint64_t at)
{
    struct memory_answer a = {.level = LEVEL_L1};
    uint64_t real = memory_translate(mem, address);
    a.tlb = translation_cycles(mem, &mem->itlb, real >> PAGE_SHIFT, &a.walked);
    a.done = fetch_line(mem, &mem->l1i, real >> LINE_SHIFT, at + a.tlb, false, &a.level);
    return a;
}
