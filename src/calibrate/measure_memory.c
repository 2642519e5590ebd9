/* Loads, stores and caches. */
#include "calibrate/measure.h"

#include <cpuid.h>
#include <unistd.h>
#include <x86intrin.h>

enum { ROUNDS = 40, IN_A_ROW = 60, LINE = 64 };

static double a_cycle(double all)
{
    return all > 0 ? IN_A_ROW / all : 0;
}

double measure_loads(struct timing *t, uint32_t distance)
{
    static const uint8_t to[] = {X86_RAX, X86_RCX, X86_RDX, X86_RBX, X86_R8, X86_R9};
    struct emit *e = timing_begin(t);
    for (unsigned i = 0; i < IN_A_ROW; i++)
        emit_mov_rm(e, 8, to[i % sizeof to], emit_at(TIMING_DATA, (int32_t)(i * distance)));
    return a_cycle(timing_end(t, ROUNDS));
}

double measure_stores(struct timing *t)
{
    struct emit *e = timing_begin(t);
    for (unsigned i = 0; i < IN_A_ROW; i++)
        emit_mov_mr(e, 8, emit_at(TIMING_DATA, (int32_t)(i * 8)), X86_RAX);
    return a_cycle(timing_end(t, ROUNDS));
}

/* Through memory and an addition, to and fro. Only where the load's address is written in another
 * way than the store's is it computed before it is known to be the same. */
static double through_memory(struct timing *t, bool alike)
{
    struct emit *e = timing_begin(t);
    emit_mov_rr(e, 8, X86_RCX, TIMING_DATA);
    emit_alu_rr(e, EMIT_XOR, 4, X86_RDX, X86_RDX);
    for (unsigned i = 0; i < IN_A_ROW; i++) {
        emit_alu_rr(e, EMIT_ADD, 8, X86_RAX, X86_RSI);
        emit_mov_mr(e, 8, emit_at(TIMING_DATA, 0), X86_RAX);
        emit_mov_rm(e, 8, X86_RAX, alike ? emit_at(TIMING_DATA, 0)
                                         : emit_indexed(X86_RCX, X86_RDX, 1, 0));
    }
    return timing_end(t, ROUNDS) / IN_A_ROW;
}

/* The addition and the store take a cycle each. */
double measure_forwarding(struct timing *t)
{
    return through_memory(t, false) - 2;
}

uint32_t measure_renaming(struct timing *t)
{
    enum { TIMES = 8 };
    double least = 0;
    for (unsigned i = 0; i < TIMES; i++) { /* what disturbs it makes it slower */
        double each = through_memory(t, true);
        least = each > 0 && (least == 0 || each < least) ? each : least;
    }
    return least > 0 && least < 2.5;
}

/* Without waiting for it: what the model adds to a locked instruction's load. */
double measure_lock(struct timing *t)
{
    struct emit *e = timing_begin(t);
    for (unsigned i = 0; i < IN_A_ROW; i++) {
        const uint8_t lock = 0xf0;
        emit_copy(e, &lock, 1);
        emit_alu_mi(e, EMIT_ADD, 8, emit_at(TIMING_DATA, 0), 1);
    }
    return timing_end(t, ROUNDS) / IN_A_ROW;
}

/* ---- chases ---- */

uint8_t *measure_make_chase(struct timing *t, size_t bytes, size_t distance)
{
    uint8_t *begin = t->data + TIMING_DATA_SIZE;
    size_t count = bytes / distance;
    uint64_t chance = 1;
    for (size_t i = 0; i < count; i++)
        *(uint8_t **)(void *)(begin + i * distance) = begin + i * distance;
    for (size_t i = count - 1; i > 0; i--) { /* Sattolo: one cycle of all */
        chance = chance * 6364136223846793005u + 1442695040888963407u;
        uint8_t **a = (uint8_t **)(void *)(begin + i * distance);
        uint8_t **b = (uint8_t **)(void *)(begin + (chance >> 33) % i * distance);
        uint8_t *was = *a;
        *a = *b;
        *b = was;
    }
    return begin;
}

static struct emit *begin_chase(struct timing *t, uint8_t *first, unsigned loads)
{
    struct emit *e = timing_begin(t);
    *(uint8_t **)(void *)t->data = first;
    emit_mov_rm(e, 8, X86_RAX, emit_at(TIMING_DATA, 0));
    for (unsigned i = 0; i < loads; i++)
        emit_mov_rm(e, 8, X86_RAX, emit_at(X86_RAX, 0));
    emit_mov_mr(e, 8, emit_at(TIMING_DATA, 0), X86_RAX);
    return e;
}

/* Lines of so many bytes are used in turn: of the level that has them. */
static double chase(struct timing *t, size_t bytes)
{
    enum { LOADS = 400 };
    begin_chase(t, measure_make_chase(t, bytes, LINE), LOADS);
    return timing_end(t, (uint32_t)(bytes / LINE / LOADS + 1)) / LOADS;
}

enum { FLUSHED = 128, FLUSHED_DISTANCE = 17 * LINE };

static void flush(void *context)
{
    const struct timing *t = context;
    uint8_t *first = t->data + TIMING_DATA_SIZE;
    for (unsigned i = 0; i < FLUSHED; i++)
        _mm_clflush(first + (size_t)i * FLUSHED_DISTANCE);
    *(uint8_t **)(void *)t->data = first;
    _mm_mfence();
}

static double chase_flushed(struct timing *t)
{
    begin_chase(t, measure_make_chase(t, FLUSHED * FLUSHED_DISTANCE, FLUSHED_DISTANCE), FLUSHED);
    return timing_end_after(t, 1, flush, t) / FLUSHED;
}

/* ---- levels ---- */

/* Ways that do not divide the lines are those of several slices: fewer are taken. */
static void find_cache(struct measuring *g, uint32_t *size, uint32_t *ways, int size_name,
                       int ways_name)
{
    long bytes = sysconf(size_name), assoc = sysconf(ways_name);
    if (bytes < 1024 || bytes > 1 << 30 || bytes % LINE)
        return;
    uint32_t lines = (uint32_t)(bytes / LINE), most = assoc > 0 && assoc <= 64 ? (uint32_t)assoc
                                                                              : *ways;
    while (lines % most)
        most--;
    found(g, size, (double)bytes);
    found(g, ways, most);
}

/* What such a machine says of its last cache is the host's, all of it. */
static bool is_virtual(void)
{
    unsigned a, b, c = 0, d;
    return __get_cpuid(1, &a, &b, &c, &d) && c >> 31;
}

void find_caches(struct measuring *g)
{
    struct machine *m = &g->m;
    find_cache(g, &m->l1i_size, &m->l1i_ways, _SC_LEVEL1_ICACHE_SIZE, _SC_LEVEL1_ICACHE_ASSOC);
    find_cache(g, &m->l1d_size, &m->l1d_ways, _SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL1_DCACHE_ASSOC);
    find_cache(g, &m->l2_size, &m->l2_ways, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL2_CACHE_ASSOC);
    if (!is_virtual())
        find_cache(g, &m->l3_size, &m->l3_ways, _SC_LEVEL3_CACHE_SIZE,
                   _SC_LEVEL3_CACHE_ASSOC);
    found(g, &m->l1d_latency, chase(&g->t, 4096));
    if (m->l2_size > 4 * m->l1d_size)
        found(g, &m->l2_latency, chase(&g->t, 3 * (size_t)m->l1d_size));
    if (m->l3_size > 8 * m->l2_size && 4 * (size_t)m->l2_size <= MEASURE_CHASE)
        found(g, &m->l3_latency, chase(&g->t, 4 * (size_t)m->l2_size));
    found(g, &m->memory_latency, chase_flushed(&g->t));
}
