#include "profile/spool_read.h"

#include "sigsafe/shadow_account.h"

/* No visited bits here: the walk ends after as many steps as records fit into the used part. */
struct walk {
    struct spool used;
    uint64_t steps;
    uint64_t ticks;
};

_Static_assert(sizeof(struct spool_thread) <= sizeof(struct spool_process),
               "a thread is the smallest record that is walked over");

static const void *next_record(struct walk *w, const spool_ref *link, uint64_t size)
{
    spool_ref ref = __atomic_load_n(link, __ATOMIC_ACQUIRE);
    if (!ref || !w->steps)
        return NULL;
    w->steps--;
    return spool_at(&w->used, ref, size);
}

static uint64_t load(const uint64_t *at)
{
    return __atomic_load_n(at, __ATOMIC_RELAXED);
}

static void add_drops(struct profile_totals *out, const uint64_t *drops)
{
    for (unsigned i = 0; i < DROP_COUNT; i++) {
        uint64_t n = load(&drops[i]);
        out->drops[i] += n;
        out->dropped_all += i == DROP_PAUSED ? 0 : n;
    }
}

/* Of the first trigger: the others count in other units. */
static void add_samples(struct profile_totals *out, const struct spool_thread *t)
{
    out->taken += load(&t->taken);
    out->weight += load(&t->weight);
    out->weight_squares += load(&t->weight_squares);
    out->guessed += load(&t->guessed);
    for (unsigned i = 1; i < TRUNC_COUNT; i++) {
        uint64_t n = load(&t->truncated[i]);
        out->truncated[i] += n;
        out->truncated_all += n;
    }
    add_drops(out, t->drops);
}

static void add_thread(struct walk *w, struct profile_totals *out, const struct spool_thread *t)
{
    if (!t->which)
        add_samples(out, t);
    out->cpu_ns += load(&t->cpu_ns);
    out->deliveries += load(&t->deliveries);
    out->delivered_ns += load(&t->delivered_ns);
    out->switched_ns += load(&t->switched_ns);
    out->nodes += load(&t->nodes);
    w->ticks += load(&t->cost_ticks);
}

void spool_totals(const struct spool *s, struct profile_totals *out, uint32_t *processes,
                  uint32_t *threads)
{
    const struct spool_header *h = spool_header(s);
    uint64_t next = load(&h->next);
    struct walk w = {.used = *s};
    if (next < w.used.mapped)
        w.used.mapped = next;
    w.steps = w.used.mapped / sizeof(struct spool_thread);
    *out = (struct profile_totals){0};
    *processes = *threads = 0;
    add_drops(out, h->drops);
    const struct spool_process *p = next_record(&w, &h->processes, sizeof *p);
    for (; p; p = next_record(&w, &p->next, sizeof *p)) {
        ++*processes;
        out->sandboxed += spool_sandbox_hides(p);
        add_drops(out, p->drops);
        const struct spool_shadows *shadows = next_record(&w, &p->shadows, sizeof *shadows);
        if (shadows)
            out->shadows_ns +=
                shadow_own_cost_ns(load(&shadows->cost_ns), load(&shadows->signals_ns));
        const struct spool_thread *t = next_record(&w, &p->threads, sizeof *t);
        for (; t; t = next_record(&w, &t->next, sizeof *t)) {
            ++*threads;
            add_thread(&w, out, t);
        }
    }
    uint64_t hz = h->tsc_hz;
    out->cost_ns = hz ? (uint64_t)((unsigned __int128)w.ticks * 1000000000u / hz) : 0;
}
