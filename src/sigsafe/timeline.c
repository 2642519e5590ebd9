#include "sigsafe/timeline.h"

#include "sigsafe/sample_path.h"

enum { TIMELINE_PARTS = 16 }; /* slots that one sample may fill, if its weight needs so many */

static bool chunk_make_as(struct timeline *t, const struct spool *spool, uint32_t side,
                          uint32_t chunk)
{
    if (t->chunks[side][chunk])
        return true;
    uint64_t *made = spool_alloc_as(spool, timeline_chunk_slots(chunk) * sizeof *made);
    if (!made)
        return false;
    t->chunks[side][chunk] = made;
    __atomic_store_n(&t->record->sides[side].chunks[chunk], spool_ref_of(spool, made),
                     __ATOMIC_RELAXED);
    return true;
}

static void recent_forget(struct timeline *t)
{
    for (unsigned i = 0; i < TIMELINE_RECENT; i++)
        t->recent[i] = 0; /* slot 0 is a BIN */
}

/* The slots from `used` on, to the end of their chunk. */
static void next_find(struct timeline *t)
{
    uint32_t chunk = timeline_chunk(t->used), at = timeline_chunk_at(t->used);
    t->next = t->end = NULL;
    if (t->used >= TIMELINE_SLOTS || !t->chunks[t->side][chunk])
        return;
    t->next = &t->chunks[t->side][chunk][at];
    t->end = t->next + timeline_chunk_slots(chunk) - at;
}

/* From now on slots of this side are written, from its beginning. */
static void side_begin(struct timeline *t, uint32_t side)
{
    t->side = side;
    t->used = t->bins = t->bin_at = 0;
    next_find(t);
}

/* The record, and the first chunk behind it. */
static bool make_as(struct timeline *t, const struct spool *spool, uint32_t *link)
{
    struct spool_timeline *record =
        spool_alloc_as(spool, sizeof *record + TIMELINE_FIRST * sizeof(uint64_t));
    if (!record)
        return false;
    for (unsigned side = 0; side < 2; side++)
        for (unsigned i = 0; i < TIMELINE_CHUNKS; i++)
            t->chunks[side][i] = NULL;
    t->record = record;
    t->published = &record->sides[0].used;
    t->bin = 0;
    t->shift = TIMELINE_SHIFT;
    t->full = 0;
    t->chunks[0][0] = (uint64_t *)(record + 1);
    side_begin(t, 0);
    recent_forget(t);
    record->sides[0].shift = t->shift;
    record->sides[0].chunks[0] = spool_ref_of(spool, t->chunks[0][0]);
    __atomic_store_n(link, spool_ref_of(spool, record), __ATOMIC_RELEASE);
    return true;
}
_Static_assert(sizeof(struct spool_timeline) % SPOOL_UNIT == 0, "a chunk follows the record");

/* ---- putting ---- */

enum { MOST = 3 }; /* slots of one weight: BIN, SPAN and its own */

SAMPLE_PATH
static inline uint16_t *recent_of(struct timeline *t, uint64_t slot)
{
    uint32_t key = timeline_what(slot) ^ timeline_metric(slot) << 28;
    return &t->recent[key * UINT32_C(0x9e3779b1) >> 24];
}
_Static_assert(TIMELINE_RECENT == 1 << 8, "an index is the hash's upper 8 bits");

/* Adds to the slot that has the same node and metric in the current bin. False: none is known. */
SAMPLE_PATH
static inline bool add_to(const struct timeline *t, uint32_t at, uint64_t slot)
{
    if (at < t->bin_at || at >= t->used)
        return false;
    uint64_t *there = &t->chunks[t->side][timeline_chunk(at)][timeline_chunk_at(at)];
    uint64_t sum = *there + (slot >> 36 << 36);
    if ((*there ^ slot) << 28 || sum < *there)
        return false;
    /* The tree has it before: a reader finds no more here. */
    __atomic_store_n(there, sum, __ATOMIC_RELEASE);
    return true;
}

/* There is a chunk (chunk_next): if there were none, false, and a slot would be lost rather than a
 * program. */
SAMPLE_PATH
static inline bool append(struct timeline *t, uint64_t slot)
{
    if (t->next == t->end)
        return false;
    *t->next++ = slot;
    t->used++;
    return true;
}

SAMPLE_PATH
static inline bool put_bin(struct timeline *t, uint32_t bin)
{
    if (!append(t, timeline_slot(TIMELINE_BIN, bin)))
        return false;
    t->bins++;
    t->bin = bin;
    t->bin_at = t->used;
    return true;
}

static void chunk_next(struct timeline *t)
{
    if (t->next == t->end)
        next_find(t);
}

/* There is room for MOST slots. Bins come in order. */
static void put(struct timeline *t, uint32_t bin, uint32_t span, uint64_t slot)
{
    chunk_next(t);
    if ((!t->used || bin != t->bin) && !put_bin(t, bin))
        return;
    if (!span) {
        uint16_t *recent = recent_of(t, slot);
        if (add_to(t, *recent, slot))
            return;
        *recent = (uint16_t)t->used;
    }
    chunk_next(t);
    if (span && !append(t, timeline_slot(TIMELINE_SPAN, span)))
        return;
    chunk_next(t);
    append(t, slot);
}

/* ---- compaction ---- */

/* Slots of a side, one after the other. */
struct walk {
    const struct timeline *t;
    uint32_t side, chunk;
    uint64_t *at, *end;
    uint32_t left;
};

static void walk_chunk(struct walk *w)
{
    w->at = w->t->chunks[w->side][w->chunk];
    w->end = w->at + timeline_chunk_slots(w->chunk);
    w->chunk++;
}

static struct walk walk_begin(const struct timeline *t, uint32_t side, uint32_t count)
{
    struct walk w = {.t = t, .side = side, .left = count};
    walk_chunk(&w);
    return w;
}

/* The next slot; NULL: there is none left. */
static inline uint64_t *walk_next(struct walk *w)
{
    if (!w->left)
        return NULL;
    if (w->at == w->end)
        walk_chunk(w);
    w->left--;
    return w->at++;
}

/* Puts the first `count` slots of a side, whose bins become 2^wider times as wide, into side `to`:
 * the other one, or the same one, where what is put never overtakes what is read. */
static void pass(struct timeline *t, uint32_t from, uint32_t to, uint32_t wider)
{
    struct walk w = walk_begin(t, from, t->used);
    uint32_t bin = 0, span = 0;
    recent_forget(t);
    side_begin(t, to);
    for (const uint64_t *slot; (slot = walk_next(&w));) {
        if (timeline_what(*slot) == TIMELINE_BIN) {
            bin = timeline_number(*slot);
        } else if (timeline_what(*slot) == TIMELINE_SPAN) {
            span = timeline_number(*slot);
        } else {
            uint32_t last = bin >> wider, first = (bin - span) >> wider;
            put(t, last, last - first, *slot);
            span = 0;
        }
    }
    t->shift += wider;
}

/* How much wider bins become for so many to be left. Two neighbours become one when their numbers
 * are equal. */
static uint32_t wider_for(const struct timeline *t, uint32_t target)
{
    uint32_t joined[33], bin = 0, bins = t->bins, wider = 0;
    struct walk w = walk_begin(t, t->side, t->used);
    for (unsigned i = 0; i < 33; i++)
        joined[i] = 0;
    for (const uint64_t *slot; (slot = walk_next(&w));) {
        if (timeline_what(*slot) != TIMELINE_BIN)
            continue;
        uint32_t differ = bin ^ timeline_number(*slot);
        bin = timeline_number(*slot);
        if (w.left + 1 < t->used)
            joined[differ ? 32 - __builtin_clz(differ) : 0]++;
    }
    while (bins > target && wider < 31)
        bins -= joined[++wider];
    return wider;
}

/* The rest of one bin, whose BIN has been read: the sums of its weights that are not spread, by
 * metric. */
static void bin_sum(struct walk w, uint64_t sum[TIMELINE_METRICS])
{
    for (unsigned m = 0; m < TIMELINE_METRICS; m++)
        sum[m] = 0;
    for (const uint64_t *slot; (slot = walk_next(&w)) && timeline_what(*slot) != TIMELINE_BIN;)
        if (timeline_what(*slot) == TIMELINE_SPAN)
            walk_next(&w);
        else
            sum[timeline_metric(*slot)] += timeline_weight(*slot);
}

enum { SHARES = 64 };

/* How small a part of its bin's weight it is, as a power of two. */
static inline uint32_t share_of(uint64_t slot, const uint64_t sum[TIMELINE_METRICS])
{
    uint64_t all = sum[timeline_metric(slot)] | 1, part = timeline_weight(slot) | 1;
    return (uint32_t)(__builtin_clzll(part) - __builtin_clzll(all));
}

/* Of one bin: 1 + the smallest share of each metric, or 1 + SHARES where there is a rest; 0:
 * none. */
struct smallest {
    uint32_t share[TIMELINE_METRICS];
};

static void smallest_note(struct smallest *s, uint64_t slot, uint32_t share)
{
    uint32_t *of = &s->share[timeline_metric(slot)];
    *of = *of > share + 1 ? *of : share + 1;
}

/* The bin is over: a metric has a rest in it unless its smallest share is kept. */
static void smallest_count(struct smallest *s, uint32_t rests[SHARES + 1])
{
    for (unsigned m = 0; m < TIMELINE_METRICS; m++) {
        if (s->share[m])
            rests[s->share[m] - 1]++;
        s->share[m] = 0;
    }
}

/* The smallest shares that can be kept within TIMELINE_KEPT slots; all from there on become
 * rests. */
static uint32_t shares_kept(const struct timeline *t)
{
    uint32_t slots[SHARES], rests[SHARES + 1], all = t->bins, share = 0;
    uint64_t sum[TIMELINE_METRICS];
    struct smallest smallest;
    struct walk w = walk_begin(t, t->side, t->used);
    for (unsigned i = 0; i < SHARES; i++)
        slots[i] = rests[i] = 0;
    for (unsigned m = 0; m < TIMELINE_METRICS; m++)
        smallest.share[m] = 0;
    rests[SHARES] = 0;
    for (const uint64_t *slot; (slot = walk_next(&w));) {
        if (timeline_what(*slot) == TIMELINE_BIN) {
            smallest_count(&smallest, rests);
            bin_sum(w, sum);
        } else if (timeline_what(*slot) == TIMELINE_SPAN) {
            all += 2;
            walk_next(&w);
        } else if (timeline_what(*slot) != TIMELINE_REST) {
            slots[share_of(*slot, sum)]++;
            smallest_note(&smallest, *slot, share_of(*slot, sum));
        } else {
            smallest_note(&smallest, *slot, SHARES);
        }
    }
    smallest_count(&smallest, rests);
    for (unsigned i = 0; i <= SHARES; i++)
        all += rests[i];
    /* Of each share that is kept there are at least as many slots as of rests that it spares. */
    for (; share < SHARES && all + slots[share] - rests[share] <= TIMELINE_KEPT; share++)
        all += slots[share] - rests[share];
    return share;
}

static void rests_put(struct walk *to, uint64_t rest[TIMELINE_METRICS])
{
    for (uint32_t m = 0; m < TIMELINE_METRICS; m++)
        for (uint64_t part; rest[m]; rest[m] -= part) {
            part = rest[m] < TIMELINE_WEIGHT_MAX ? rest[m] : TIMELINE_WEIGHT_MAX;
            *walk_next(to) = timeline_weighted(TIMELINE_REST, m, part);
        }
}

/* In place: of what is folded there are at least as many slots as of rests. */
static void fold(struct timeline *t)
{
    uint32_t kept = shares_kept(t);
    uint64_t sum[TIMELINE_METRICS], rest[TIMELINE_METRICS];
    struct walk w = walk_begin(t, t->side, t->used), to = w;
    for (unsigned m = 0; m < TIMELINE_METRICS; m++)
        rest[m] = 0;
    for (const uint64_t *next; (next = walk_next(&w));) {
        uint64_t slot = *next;
        if (timeline_what(slot) == TIMELINE_BIN) {
            rests_put(&to, rest);
            bin_sum(w, sum);
            *walk_next(&to) = slot;
        } else if (timeline_what(slot) == TIMELINE_SPAN) {
            uint64_t spread = *walk_next(&w);
            *walk_next(&to) = slot;
            *walk_next(&to) = spread;
        } else if (timeline_what(slot) != TIMELINE_REST && share_of(slot, sum) < kept) {
            *walk_next(&to) = slot;
        } else {
            rest[timeline_metric(slot)] += timeline_weight(slot);
        }
    }
    rests_put(&to, rest);
    t->used -= to.left;
}

/* Weights that are spread over bins are not folded. In bin 0 nothing is spread. */
static void spans_join(struct timeline *t)
{
    while (t->used > TIMELINE_KEPT && t->bin) {
        uint32_t wider = wider_for(t, t->bins > 1 ? t->bins / 2 : 1);
        pass(t, t->side, t->side, wider ? wider : 1);
    }
    if (t->used > TIMELINE_KEPT)
        fold(t);
}

static uint32_t bins_wanted(const struct timeline *t)
{
    return t->bins > 2 * TIMELINE_BINS ? t->bins / 2 : TIMELINE_BINS;
}

/* Into the other side, of which a quarter is free then. False, and nothing has changed, without
 * storage. */
static bool compact_as(struct timeline *t, const struct spool *spool, uint32_t least_wider)
{
    uint32_t other = !t->side;
    for (uint32_t chunk = 0; chunk < TIMELINE_CHUNKS; chunk++)
        if (!chunk_make_as(t, spool, other, chunk))
            return false;
    uint32_t wider = wider_for(t, bins_wanted(t));
    pass(t, t->side, other, wider > least_wider ? wider : least_wider);
    while (t->used > TIMELINE_KEPT && t->bins > TIMELINE_BINS)
        pass(t, other, other, wider_for(t, bins_wanted(t)));
    if (t->used > TIMELINE_KEPT)
        fold(t);
    spans_join(t);
    t->full = t->used > TIMELINE_KEPT;
    recent_forget(t);
    t->bin_at = t->used;
    next_find(t);
    struct spool_timeline_side *side = &t->record->sides[other];
    t->published = &side->used;
    side->shift = t->shift;
    __atomic_store_n(&side->used, t->used, __ATOMIC_RELAXED);
    /* Pairs with the reader's acquire load. */
    __atomic_store_n(&t->record->active, t->record->active + 1, __ATOMIC_RELEASE);
    return true;
}

/* ---- adding ---- */

/* For MOST slots more: the next chunk, or half-empty ones. */
static bool room_as(struct timeline *t, const struct spool *spool)
{
    if (t->used + MOST > TIMELINE_SLOTS && (t->full || !compact_as(t, spool, 0)))
        return false;
    if (t->used + MOST > TIMELINE_SLOTS)
        return false;
    return chunk_make_as(t, spool, t->side, timeline_chunk(t->used + MOST - 1));
}

/* Bins that the weight is spread over, besides its own. */
static uint32_t span_of(const struct timeline *t, const struct timeline_moment *m, uint32_t bin)
{
    uint64_t begin = m->ns > m->span_ns ? m->ns - m->span_ns : 0;
    return bin - (uint32_t)(begin >> t->shift);
}

/* Publishes complete slots: pairs with the reader's acquire load. */
static inline void publish(struct timeline *t)
{
    __atomic_store_n(t->published, t->used, __ATOMIC_RELEASE);
}

bool timeline_add_as(struct timeline *t, const struct spool *spool, uint32_t *link,
                     const struct timeline_moment *m)
{
    if (!t->record && !make_as(t, spool, link))
        return false;
    uint64_t weight = m->weight;
    for (unsigned parts = 0; weight && parts < TIMELINE_PARTS; parts++) {
        if (t->end - t->next < MOST && !room_as(t, spool))
            return false;
        while (m->ns >> t->shift > UINT32_MAX)
            if (!compact_as(t, spool, 1))
                return false;
        uint32_t bin = (uint32_t)(m->ns >> t->shift);
        bool behind = t->used && bin < t->bin; /* another processor's counter is */
        if (behind)
            bin = t->bin;
        uint64_t part = weight < TIMELINE_WEIGHT_MAX ? weight : TIMELINE_WEIGHT_MAX;
        put(t, bin, m->span_ns && !behind ? span_of(t, m, bin) : 0,
            timeline_weighted(m->node, m->metric, part));
        weight -= part;
        publish(t);
    }
    return !weight;
}

SAMPLE_PATH
static inline bool add_one(struct timeline *t, uint64_t ns, uint32_t metric, spool_ref node)
{
    if (t->end - t->next < MOST)
        return false;
    uint64_t bin = ns >> t->shift, slot = timeline_weighted(node, metric, 1);
    uint16_t *recent = recent_of(t, slot);
    if (bin == t->bin && t->used) {
        if (add_to(t, *recent, slot))
            return true;
    } else if (bin <= t->bin || bin > UINT32_MAX || !put_bin(t, (uint32_t)bin)) {
        return false;
    }
    *recent = (uint16_t)t->used;
    append(t, slot);
    publish(t);
    return true;
}

/* Nearly all samples are of the first metric, whose slots take fewer instructions. */
SAMPLE_PATH
bool timeline_add_one_as(struct timeline *t, uint64_t ns, uint32_t metric, spool_ref node)
{
    return metric ? add_one(t, ns, metric, node) : add_one(t, ns, 0, node);
}
