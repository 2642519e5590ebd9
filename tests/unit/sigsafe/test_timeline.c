/* The time axis of a thread: its bound holds in an hour, its sums are those of the tree, its bins
 * are in order, and it is well formed before each of its stores. */
#include "sigsafe/timeline.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cmocka.h>

#include "../sanitized.h"

enum { NODES = 30000, SPOOL_BYTES = 1 << 20, PAGE = 4096 };
#define MS UINT64_C(1000000)

static struct {
    struct spool spool;
    struct timeline line;
    uint32_t link;
    uint64_t tree[NODES], all; /* what the nodes of the tree have */
    uint32_t metrics;          /* node n is of metric n % metrics; 0: all are of metric 0 */
} at;

static void begin(void)
{
    if (at.spool.base)
        munmap(at.spool.base, SPOOL_BYTES);
    memset(&at, 0, sizeof at);
    at.spool = (struct spool){.mapped = SPOOL_BYTES};
    at.spool.base =
        mmap(NULL, SPOOL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(at.spool.base != MAP_FAILED);
    struct spool_header *h = spool_header(&at.spool);
    h->limit = h->size = SPOOL_BYTES;
    h->next = SPOOL_HEADER_SIZE;
}

static uint64_t taken_bytes(void)
{
    return spool_header(&at.spool)->next - SPOOL_HEADER_SIZE;
}

static uint64_t draw(uint64_t *state, uint64_t bound)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    return cct_hash(*state) % bound;
}

static uint32_t metric_of(uint32_t node)
{
    return at.metrics ? node % at.metrics : 0;
}

static bool add(uint64_t ns, uint32_t node, uint64_t weight, uint64_t span_ns)
{
    const struct timeline_moment m = {.ns = ns,
                                      .span_ns = span_ns,
                                      .weight = weight,
                                      .metric = metric_of(node),
                                      .node = TIMELINE_NODES + node};
    at.tree[node] += weight;
    at.all += weight;
    return (weight == 1 && !span_ns && timeline_add_one_as(&at.line, ns, m.metric, m.node)) ||
           timeline_add_as(&at.line, &at.spool, &at.link, &m);
}

/* What a reader finds. */
struct found {
    uint64_t node[NODES], all, rest, rests[TIMELINE_METRICS];
    uint32_t bins, shift, first, last, longest, slots;
    bool in_order;
};

static struct found *read_line(void)
{
    static struct found f;
    memset(&f, 0, sizeof f);
    f.in_order = true;
    const struct spool_timeline *t = spool_at(&at.spool, at.link, sizeof *t);
    if (!t)
        return &f;
    const struct spool_timeline_side *side = &t->sides[t->active % 2];
    uint32_t span = 0;
    f.shift = side->shift;
    f.slots = side->used;
    for (uint32_t i = 0; i < side->used; i++) {
        uint32_t chunk = timeline_chunk(i);
        const uint64_t *slots =
            spool_at(&at.spool, side->chunks[chunk], timeline_chunk_slots(chunk) * sizeof *slots);
        uint64_t slot = slots[timeline_chunk_at(i)];
        uint32_t what = timeline_what(slot);
        if (what == TIMELINE_BIN) {
            f.in_order &= !f.bins || timeline_number(slot) > f.last;
            f.last = timeline_number(slot);
            f.first = f.bins++ ? f.first : f.last;
        } else if (what == TIMELINE_SPAN) {
            span = timeline_number(slot);
            f.longest = span > f.longest ? span : f.longest;
            f.in_order &= span <= f.last;
        } else {
            f.in_order &= f.bins && (what == TIMELINE_REST || what >= TIMELINE_NODES);
            f.all += timeline_weight(slot);
            if (what == TIMELINE_REST) {
                f.rest += timeline_weight(slot);
                f.rests[timeline_metric(slot)] += timeline_weight(slot);
            } else {
                f.node[what - TIMELINE_NODES] += timeline_weight(slot);
            }
            span = 0;
        }
    }
    return &f;
}

/* Bins add up to the tree; what is not listed is the rest. */
static const struct found *assert_sums(void)
{
    const struct found *f = read_line();
    uint64_t unlisted = 0, by_metric[TIMELINE_METRICS] = {0};
    for (unsigned i = 0; i < NODES; i++) {
        assert_true(f->node[i] <= at.tree[i]);
        unlisted += at.tree[i] - f->node[i];
        by_metric[metric_of(i)] += at.tree[i] - f->node[i];
    }
    assert_int_equal(f->all, at.all);
    assert_int_equal(f->rest, unlisted);
    for (unsigned m = 0; m < TIMELINE_METRICS; m++)
        assert_true(!at.metrics || f->rests[m] == by_metric[m]);
    assert_true(f->in_order);
    return f;
}

static void layout(void **state)
{
    (void)state;
    uint32_t next = 0;
    for (uint32_t chunk = 0; chunk < TIMELINE_CHUNKS; chunk++)
        for (uint32_t i = 0; i < timeline_chunk_slots(chunk); i++, next++) {
            assert_int_equal(timeline_chunk(next), chunk);
            assert_int_equal(timeline_chunk_at(next), i);
        }
    assert_int_equal(next, TIMELINE_SLOTS);
}

/* A thread of few samples takes little; a node has one slot a bin. */
static void small(void **state)
{
    (void)state;
    begin();
    for (unsigned i = 0; i < 5; i++)
        assert_true(add((1 + i / 2) << TIMELINE_SHIFT, i % 2, 1, 0));
    assert_true(add(UINT64_C(3) << TIMELINE_SHIFT, 0, 7, 0));
    const struct found *f = assert_sums();
    assert_int_equal(f->bins, 3);
    assert_int_equal(f->first, 1);
    assert_int_equal(f->slots, 8);
    assert_int_equal(f->node[0], 10);
    assert_true(taken_bytes() <= 256);
}

/* An hour at 1 kHz, by a simulated clock. */
static const struct found *hour(uint32_t hot, uint32_t cold)
{
    uint64_t seed = 1, ns = 5 * MS;
    begin();
    for (unsigned i = 0; i < 3600 * 1000; i++) {
        uint32_t phase = i / 600000;
        ns += MS / 2 + draw(&seed, MS);
        uint64_t deep = cold ? draw(&seed, 1 + draw(&seed, cold)) : 0;
        uint32_t node = cold && draw(&seed, 3) == 0 ? hot * 8 + (uint32_t)deep
                                                    : phase * hot + (uint32_t)draw(&seed, hot);
        assert_true(add(ns, node, 1, 0));
        if (i % 100000 == 0)
            assert_sums();
    }
    const struct found *f = assert_sums();
    assert_true(taken_bytes() <= (64 << 10) + 256);
    assert_in_range(f->last, (ns >> f->shift), (ns >> f->shift));
    return f;
}

static void an_hour(void **state)
{
    (void)state;
    const struct found *f = hour(8, 0);
    assert_int_equal(f->rest, 0); /* so each node has what the tree says */
    assert_in_range(f->bins, TIMELINE_BINS, TIMELINE_SLOTS / 4);
}

static void an_hour_of_many(void **state)
{
    (void)state;
    const struct found *f = hour(8, 20000);
    assert_in_range(f->bins, TIMELINE_BINS / 2, TIMELINE_BINS * 4);
    assert_true(f->rest > 0);
    for (unsigned i = 0; i < 6 * 8; i++) /* what is heavy is known to the last sample, or nearly */
        assert_true(f->node[i] >= at.tree[i] / 10 * 9);
}

/* In an hour of phases of ten minutes the hot nodes are where they were. */
/* Triggers share the room: each keeps its bins, and one with few contexts keeps nearly all beside
 * another that has many. */
static void several_metrics(void **state)
{
    (void)state;
    enum { METRICS = 4 };
    uint64_t seed = 2;
    begin();
    at.metrics = METRICS;
    for (unsigned i = 0; i < 1000 * 1000; i++) {
        uint32_t metric = i % METRICS, most = metric == 3 ? 5000 : 2;
        assert_true(add(i * MS, (uint32_t)draw(&seed, most) * METRICS + metric, 1, 0));
        if (i % 100000 == 0)
            assert_sums();
    }
    const struct found *f = assert_sums();
    assert_true(taken_bytes() <= (64 << 10) + 256);
    assert_in_range(f->bins, TIMELINE_BINS / 2, TIMELINE_BINS * 4);
    assert_true(f->rests[3] > 0);
    for (unsigned m = 0; m < 3; m++)
        assert_in_range(f->rests[m], 0, 250);
}

static void in_time(void **state)
{
    (void)state;
    hour(1, 0);
    const struct spool_timeline *t = spool_at(&at.spool, at.link, sizeof *t);
    const struct spool_timeline_side *side = &t->sides[t->active % 2];
    uint32_t bin = 0;
    for (uint32_t i = 0; i < side->used; i++) {
        uint64_t slot = at.line.chunks[t->active % 2][timeline_chunk(i)][timeline_chunk_at(i)];
        if (timeline_what(slot) == TIMELINE_BIN)
            bin = timeline_number(slot);
        else
            assert_in_range(
                bin,
                (600 * (uint64_t)(timeline_what(slot) - TIMELINE_NODES) * 999 * MS) >> side->shift,
                (600 * (uint64_t)(timeline_what(slot) - TIMELINE_NODES + 1) * 1001 * MS + 5 * MS) >>
                    side->shift);
    }
}

/* What is charged at a wait's end is spread over it. */
static void waits(void **state)
{
    (void)state;
    begin();
    assert_true(add(20000 * MS, 1, 10000, 10000 * MS));
    const struct found *f = assert_sums();
    assert_in_range(f->longest, (10000 * MS >> TIMELINE_SHIFT), (10000 * MS >> TIMELINE_SHIFT) + 1);
    assert_int_equal(f->bins, 1);
    begin();
    assert_true(add(5 * MS, 1, 10000, 10000 * MS)); /* as if it had begun before the recording */
    assert_int_equal(read_line()->longest, 5 * MS >> TIMELINE_SHIFT);
    /* For a week: 20 ms, 3 s, and 300 s at a time. */
    uint64_t seed = 3, ns = 0;
    begin();
    for (unsigned i = 0; ns < 7 * 86400 * 1000 * MS; i++) {
        uint64_t wait = i % 100 == 99 ? 300000 : i % 10 == 9 ? 3000 : 20;
        ns += wait * MS + draw(&seed, MS);
        assert_true(add(ns, (uint32_t)draw(&seed, 400), wait, wait * MS));
        if (i % 1000 == 0)
            assert_sums();
    }
    f = assert_sums();
    assert_true(taken_bytes() <= (64 << 10) + 256);
    assert_in_range(f->bins, TIMELINE_BINS / 2, TIMELINE_SLOTS);
}

/* A thread that works once in ten seconds; years; weights that no slot holds; a clock that is
 * behind; metrics. */
static void extremes(void **state)
{
    (void)state;
    begin();
    for (unsigned i = 0; i < 20000; i++)
        assert_true(add(i * 10000 * MS, i % 50, 1, 0));
    assert_in_range(assert_sums()->bins, TIMELINE_BINS / 2, TIMELINE_SLOTS);
    assert_true(add(UINT64_MAX / 2, 0, 1, UINT64_MAX));
    assert_sums();
    begin();
    assert_true(add(MS, 3, TIMELINE_WEIGHT_MAX * 5 + 3, 0));
    assert_true(add(MS, 3, TIMELINE_WEIGHT_MAX - 1, 0));
    assert_true(add(900 * MS, 4, 1, 0));
    assert_true(add(800 * MS, 4, 1, 0));
    assert_int_equal(assert_sums()->bins, 2);
    struct timeline_moment m = {
        .ns = 900 * MS, .weight = 1, .metric = 5, .node = TIMELINE_NODES + 4};
    uint32_t slots = read_line()->slots;
    for (unsigned i = 0; i < 2; i++)
        assert_true(timeline_add_as(&at.line, &at.spool, &at.link, &m));
    assert_int_equal(read_line()->slots, slots + 1);
    /* More than all slots that one sample may fill: the rest of it has no time. */
    assert_false(add(MS, 5, UINT64_C(1) << 40, 0));
}

/* A counter that is behind, as when it was set back: weights of several periods have no span
 * then. */
static void behind(void **state)
{
    (void)state;
    begin();
    assert_true(add(UINT64_C(1000) << TIMELINE_SHIFT, 0, 1, 0));
    for (unsigned i = 0; i < 10000; i++)
        assert_true(add(0, i % 700, 2 + i % 5, 5 * MS));
    const struct found *f = assert_sums();
    assert_int_equal(f->longest, 0);
    assert_int_equal(f->bins, 1);
    assert_true(taken_bytes() <= (64 << 10) + 256);
}

/* A side full of spans that all end in one bin is folded in the end. */
static void one_bin_of_spans(void **state)
{
    (void)state;
    begin();
    for (unsigned i = 0; i < 30000; i++)
        assert_true(add(UINT64_C(1000) << TIMELINE_SHIFT, i, 2, 5 * MS));
    const struct found *f = assert_sums();
    assert_true(f->slots <= TIMELINE_SLOTS);
    assert_true(taken_bytes() <= (64 << 10) + 256);
}

/* What cannot be compacted: the rest of the weights has no time, and nothing is compacted again. */
static void weights_without_room(void **state)
{
    (void)state;
    uint64_t kept = 0;
    begin();
    for (unsigned i = 0; i < 10000; i++)
        kept += add(MS, 1, TIMELINE_WEIGHT_MAX, 0) ? TIMELINE_WEIGHT_MAX : 0;
    assert_true(kept < at.all);
    assert_int_equal(read_line()->all, kept);
    assert_true(read_line()->slots <= TIMELINE_SLOTS);
    const struct spool_timeline *t = spool_at(&at.spool, at.link, sizeof *t);
    assert_in_range(t->active, 1, 4);
}

/* Without storage, samples have no time, and what is there stays. */
static void no_storage(void **state)
{
    (void)state;
    for (uint64_t most = 0; most < 70000; most += 992) {
        uint64_t seed = most, kept = 0;
        begin();
        spool_header(&at.spool)->limit = SPOOL_HEADER_SIZE + most;
        for (unsigned i = 0; i < 9000; i++)
            kept += add(i * MS, (uint32_t)draw(&seed, 3000), 1, 0);
        assert_int_equal(read_line()->all, kept);
        assert_true(read_line()->in_order);
        assert_true(taken_bytes() <= most);
    }
}

/* ---- between stores ---- */

static struct {
    volatile sig_atomic_t stores, bad;
    uint64_t before, weight; /* all that had been added; the sample in progress */
} crash;

static void locked(bool on)
{
    mprotect(at.spool.base + PAGE, SPOOL_BYTES - PAGE, on ? PROT_READ : PROT_READ | PROT_WRITE);
}

/* Before a store: a reader finds all samples but, perhaps, the one in progress. */
static void before_store(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    ucontext_t *u = context;
    if ((uint8_t *)info->si_addr < at.spool.base ||
        (uint8_t *)info->si_addr >= at.spool.base + SPOOL_BYTES)
        abort();
    const struct found *f = read_line();
    crash.stores++;
    crash.bad |= !f->in_order || f->all < crash.before || f->all > crash.before + crash.weight;
    for (unsigned i = 0; i < NODES; i += crash.stores % 64 ? NODES : 1)
        crash.bad |= f->node[i] > at.tree[i];
    locked(false);
    u->uc_mcontext.gregs[REG_EFL] |= 0x100; /* one instruction */
}

static void after_store(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    ucontext_t *u = context;
    locked(true);
    u->uc_mcontext.gregs[REG_EFL] &= ~0x100LL;
}

static void between_stores(void **state)
{
    (void)state;
    const struct sigaction store = {.sa_sigaction = before_store, .sa_flags = SA_SIGINFO},
                           step = {.sa_sigaction = after_store, .sa_flags = SA_SIGINFO};
    uint64_t seed = 9;
    begin();
    sigaction(SIGSEGV, &store, NULL);
    sigaction(SIGTRAP, &step, NULL);
    for (unsigned i = 0; at.line.record == NULL || at.line.record->active < 3; i++) {
        bool wait = i % 40 == 0;
        crash.before = at.all;
        crash.weight = wait ? 9 : 1 + i % 3;
        bool look = i < 100 || at.line.used > TIMELINE_SLOTS - 20;
        if (look)
            locked(true);
        bool ok = add(i * 5 * MS / 4, (uint32_t)draw(&seed, 1 + draw(&seed, 4000)), crash.weight,
                      wait ? 9 * MS : 0);
        locked(false);
        assert_true(ok);
        assert_false(crash.bad);
    }
    signal(SIGSEGV, SIG_DFL);
    signal(SIGTRAP, SIG_DFL);
    assert_true(crash.stores > 3 * TIMELINE_SLOTS);
    assert_true(assert_sums()->rest > 0);
}

/* ---- what it costs ---- */

static volatile sig_atomic_t counted;

static void count(int signal)
{
    (void)signal;
    counted++;
}

static uint64_t instructions(uint64_t ns, uint32_t node)
{
    counted = 0;
    __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "cc", "memory");
    add(ns, node, 1, 0);
    __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "cc", "memory");
    return (uint64_t)counted;
}

/* A sample's own instructions, where it does not compact: sanitizers add theirs. */
static void cost(void **state)
{
    (void)state;
    if (SANITIZED)
        skip();
    enum { STEPPED = 40 };
    uint64_t seed = 11, all = 0, most = 0;
    begin();
    signal(SIGTRAP, count);
    for (unsigned i = 0, stepped = 0; stepped < STEPPED; i++) {
        uint32_t node = (uint32_t)draw(&seed, 1 + draw(&seed, 400));
        if (i % 100 || at.line.used + 3 > TIMELINE_SLOTS) {
            add(i * MS, node, 1, 0);
            continue;
        }
        uint64_t own = instructions(i * MS, node);
        all += own;
        most = own > most ? own : most;
        stepped++;
    }
    signal(SIGTRAP, SIG_DFL);
    print_message("a sample: %u instructions, at most %u\n", (unsigned)(all / STEPPED),
                  (unsigned)most);
    assert_in_range(all / STEPPED, 20, 150);
    assert_in_range(most, 20, 1000); /* the first one makes the timeline */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(layout),
                                       cmocka_unit_test(small),
                                       cmocka_unit_test(an_hour),
                                       cmocka_unit_test(an_hour_of_many),
                                       cmocka_unit_test(several_metrics),
                                       cmocka_unit_test(in_time),
                                       cmocka_unit_test(waits),
                                       cmocka_unit_test(extremes),
                                       cmocka_unit_test(no_storage),
                                       cmocka_unit_test(behind),
                                       cmocka_unit_test(one_bin_of_spans),
                                       cmocka_unit_test(weights_without_room),
                                       cmocka_unit_test(between_stores),
                                       cmocka_unit_test(cost)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
