#include "export/firefox_samples.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "export/firefox_tables.h"
#include "profile/timeline.h"

enum { PIECES_MAX = 64 }; /* of weight that lasted long */

static bool add(struct firefox_samples *s, const struct firefox_sample *one)
{
    if (!ARRAY_ROOM(s->list, s->count, s->capacity))
        return false;
    s->list[s->count++] = *one;
    return true;
}

/* As much of the length as the weight is of the total. */
static uint64_t part(uint64_t length, uint64_t weight, uint64_t total)
{
    return total ? (uint64_t)((double)length * ((double)weight / (double)total)) : 0;
}

/* Moments of one bin follow each other within it. */
static bool add_bin(struct firefox_samples *s, const struct moment *list, size_t count,
                    uint32_t *const *stacks)
{
    uint64_t total = 0, before = 0, length = list->to_ns - list->from_ns;
    bool ok = true;
    for (size_t i = 0; i < count; i++)
        total += list[i].weight;
    for (size_t i = 0; ok && i < count; i++) {
        const struct moment *m = &list[i];
        uint64_t middle = before + m->weight / 2;
        struct firefox_sample one = {
            .from_ns = m->from_ns, .to_ns = m->to_ns, .weight = m->weight,
            .at_ns = m->from_ns + part(length, middle, total),
            .stack = stacks[m->thread][m->node]};
        before += m->weight;
        ok = add(s, &one);
    }
    return ok;
}

/* A moment that lasted several bins. */
static bool add_long(struct firefox_samples *s, const struct moment *m, uint64_t bins,
                     uint32_t stack)
{
    uint64_t pieces = bins < PIECES_MAX ? bins : PIECES_MAX;
    bool ok = true;
    pieces = m->weight < pieces ? m->weight : pieces;
    for (uint64_t i = 0; ok && i < pieces; i++) {
        struct firefox_sample one = {
            .from_ns = m->from_ns + part(m->to_ns - m->from_ns, i, pieces),
            .to_ns = m->from_ns + part(m->to_ns - m->from_ns, i + 1, pieces),
            .weight = m->weight / pieces + (i < m->weight % pieces), .stack = stack};
        one.at_ns = one.from_ns + (one.to_ns - one.from_ns) / 2;
        ok = add(s, &one);
    }
    return ok;
}

static int compare(const void *a, const void *b)
{
    const struct firefox_sample *x = a, *y = b;
    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static void sort(struct firefox_samples *s)
{
    if (s->count)
        qsort(s->list, s->count, sizeof *s->list, compare);
}

/* Marks the beginnings and the ends of stretches without samples. */
static bool add_gaps(struct firefox_samples *s)
{
    size_t count = s->count;
    uint64_t end = count ? s->list[0].to_ns : 0;
    bool ok = true;
    for (size_t i = 1; ok && i < count; i++) {
        struct firefox_sample next = s->list[i];
        if (next.from_ns > end) {
            struct firefox_sample gap = {end, end, end, 0, FIREFOX_NO_STACK};
            ok = add(s, &gap);
            gap.from_ns = gap.to_ns = gap.at_ns = next.from_ns;
            ok = ok && add(s, &gap);
        }
        end = next.to_ns > end ? next.to_ns : end;
    }
    sort(s);
    return ok;
}

static uint64_t bins_of(const struct profile *p, const struct moment *m)
{
    const struct profile_timeline *t = p->threads[m->thread].timeline;
    return t ? (m->to_ns - m->from_ns) >> t->shift : 0;
}

bool firefox_samples_of(struct firefox_samples *s, const struct profile *p,
                        const struct moments *m, uint32_t *const *stacks)
{
    bool ok = true;
    s->count = 0;
    for (size_t i = 0, next; ok && i < m->count; i = next) {
        const struct moment *first = &m->list[i];
        uint64_t bins = bins_of(p, first);
        next = i + 1;
        if (bins > 1) {
            ok = add_long(s, first, bins, stacks[first->thread][first->node]);
            continue;
        }
        while (next < m->count && m->list[next].from_ns == first->from_ns &&
               m->list[next].to_ns == first->to_ns)
            next++;
        ok = add_bin(s, first, next - i, stacks);
    }
    sort(s);
    return ok && add_gaps(s);
}

void firefox_samples_fini(struct firefox_samples *s)
{
    free(s->list);
    *s = (struct firefox_samples){0};
}

/* ---- the table ---- */

static void put_weights(struct json *j, const struct firefox_samples *s,
                        const struct profile_metric *metric)
{
    bool time = strcmp(metric->unit, "nanoseconds") == 0;
    json_key(j, "weight");
    json_open(j, '[');
    for (size_t i = 0; i < s->count; i++) {
        uint64_t amount = s->list[i].weight * metric->period;
        if (time)
            json_millionths(j, amount);
        else
            json_u64(j, amount);
    }
    json_close(j, ']');
    json_key_string(j, "weightType", time                                  ? "tracing-ms"
                                     : strcmp(metric->unit, "bytes") == 0 ? "bytes"
                                                                          : "samples");
}

/* How busy the thread is between two samples. */
static void put_cpu(struct json *j, const struct firefox_samples *s,
                    const struct profile_metric *metric)
{
    if (strcmp(metric->trigger, "cpu") != 0)
        return;
    json_key(j, "threadCPUDelta");
    json_open(j, '[');
    for (size_t i = 0; i < s->count; i++)
        json_u64(j, s->list[i].weight * metric->period);
    json_close(j, ']');
}

void firefox_put_samples(struct json *j, const struct firefox_samples *s,
                         const struct profile_metric *metric)
{
    json_key(j, "samples");
    json_open(j, '{');
    json_key_u64(j, "length", s->count);
    json_key(j, "stack");
    json_open(j, '[');
    for (size_t i = 0; i < s->count; i++) {
        if (s->list[i].stack == FIREFOX_NO_STACK)
            json_null(j);
        else
            json_u64(j, s->list[i].stack);
    }
    json_close(j, ']');
    json_key(j, "time");
    json_open(j, '[');
    for (size_t i = 0; i < s->count; i++)
        json_millionths(j, s->list[i].at_ns);
    json_close(j, ']');
    put_weights(j, s, metric);
    put_cpu(j, s, metric);
    json_close(j, '}');
}
