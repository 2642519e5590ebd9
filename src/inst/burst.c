#include "inst/inst.h"

/* Marsaglia, Xorshift RNGs, 2003; the multiplication is Vigna's, 2016. */
uint64_t inst_random_as(struct inst_thread *t)
{
    uint64_t x = t->random;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    t->random = x;
    return x * UINT64_C(0x2545f4914f6cdd1d);
}

/* Checks of a burst (section 2 of the paper: a counted back edge; Hirzel and Chilimbi, Bursty
 * Tracing, 2001, whose nInstr it is). */
static uint32_t iterations(void)
{
    uint32_t n = inst.settings->iterations;
    return n ? n : 1;
}

/* From 1 to n. */
static uint32_t one_to_as(struct inst_thread *t, uint32_t n)
{
    return (uint32_t)((inst_random_as(t) >> 32) * n >> 32) + 1;
}

/* Of the checks after a burst, the how manieth begins the next one: so that on average, or exactly,
 * one in `interval` is in a burst. */
static uint32_t draw_as(struct inst_thread *t, uint32_t interval)
{
    uint32_t n = iterations(), gap = interval * n - (n - 1), half = gap / 2;
    if (inst.settings->fixed)
        return gap;
    return gap - half - 1 + one_to_as(t, 2 * half + 1);
}

/* The how manieth check of a thread is its first sample. A thread may begin within a burst: *left:
 * checks of it from then on; 0: it does not. */
static uint32_t first_as(struct inst_thread *t, uint32_t interval, uint32_t *left)
{
    uint32_t n = iterations(), cycle = interval * n;
    *left = 0;
    if (inst.settings->fixed && inst.settings->seed)
        return interval;
    uint32_t at = one_to_as(t, cycle);
    if (at <= cycle - (n - 1))
        return at;
    *left = cycle - at + 1;
    return 1;
}

/* 0: nothing is to be observed. */
static uint32_t interval_as(void)
{
    uint32_t interval = __atomic_load_n(&inst.settings->interval, __ATOMIC_RELAXED);
    if (__atomic_load_n(&spool_header(&guest.spool)->state, __ATOMIC_RELAXED) != SPOOL_RUNNING)
        return 0;
    return interval < INST_INTERVAL_MOST ? interval : INST_INTERVAL_MOST;
}

/* Bursts of one window are not independent: they count as one. */
static void begin_as(struct inst_thread *t, const struct inst_module *own, uint32_t interval)
{
    struct spool_inst_thread *c = t->counted;
    bool in_window = own->switched && inst.settings->windows > 1;
    uint32_t window =
        in_window ? __atomic_load_n(&inst.settings->window, __ATOMIC_RELAXED) : 0;
    if (!window || window != t->window)
        t->burst = t->burst + 1 ? t->burst + 1 : 1;
    t->window = window;
    t->interval = interval;
    t->weight = interval * (in_window ? inst.settings->windows : 1);
    t->bursting = own->number;
    bool pairs = (inst_random_as(t) >> 32) % INST_PAIR_EVERY == 0;
    t->pairing = interval == 1 ? 1 : pairs ? INST_PAIR_EVERY : 0;
    if (c->most < t->weight)
        c->most = t->weight;
    __asm__("addq $1, %0" : "+m"(c->bursts) : : "cc");
    __asm__("addq $1, %0" : "+m"(t->record->taken) : : "cc");
}

/* False: the check that has brought it here is none that was drawn. *next: how many pass until one
 * brings it here again. */
static bool is_drawn_as(struct inst_thread *t, uint32_t module, uint32_t interval, int32_t *next)
{
    bool first = t->drawn[module] != interval;
    uint32_t *left = &t->left[module];
    t->drawn[module] = interval;
    *next = INST_IDLE;
    if (!interval)
        return false;
    uint32_t at = first ? first_as(t, interval, left) : 1;
    if (at > 1) {
        *next = (int32_t)at - 2;
        return false;
    }
    *left = *left ? *left - 1 : iterations() - 1;
    *next = *left ? 0 : (int32_t)draw_as(t, interval) - 1;
    return true;
}

/* With a timer, instead: what it has switched on is off after one sample. */
static bool is_timed_as(const struct penumbra_inst_module *m, uint32_t interval, int32_t *next)
{
    const struct inst_module *own = m->data;
    bool timed = own->switched && interval;
    *next = timed ? 0 : INST_IDLE;
    return timed && __atomic_exchange_n(m->armed, 0, __ATOMIC_RELAXED);
}

/* Whether the sample that is due goes on with the burst that the thread is in. */
static bool goes_on(const struct inst_thread *t, uint32_t module, uint32_t interval)
{
    return t->weight && t->interval == interval && t->left[module] && t->bursting == module &&
           t->drawn[module] == interval;
}

/* The counter is below 0 until the end, so that checks of a handler that comes now are samples,
 * too. */
void inst_sample_as(struct penumbra_inst_module *m, int32_t *counter)
{
    bool armed = __atomic_load_n(&inst.armed, __ATOMIC_RELAXED);
    struct inst_thread *t = armed ? inst_thread_as() : NULL;
    const struct inst_module *own = m->data;
    int32_t next = INST_IDLE;
    if (t) {
        uint32_t interval = interval_as();
        bool on = goes_on(t, own->number, interval);
        if (!on && t->met_count)
            inst_pairs_as(t);
        t->weight = on ? t->weight : 0;
        bool drawn = inst.settings->timer_us ? is_timed_as(m, interval, &next)
                                             : is_drawn_as(t, own->number, interval, &next);
        if (drawn && !on)
            begin_as(t, own, interval);
    }
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    *counter = next;
}
