#include "calibrate/calibrate.h"

#include <cpuid.h>
#include <math.h>
#include <string.h>

#include "calibrate/measure.h"

const char *calibrate_nearest(void)
{
    unsigned most, b = 0, c = 0, d = 0;
    __get_cpuid(0, &most, &b, &c, &d);
    return b == signature_AMD_ebx ? "zen4" : "golden-cove";
}

/* ---- what was measured ---- */

/* The key whose value is at `field`, and that it was measured. */
static const struct machine_key *note_measured(struct measuring *g, const uint32_t *field)
{
    size_t offset = (size_t)((const uint8_t *)field - (const uint8_t *)&g->m);
    unsigned i = 0;
    while (machine_key_at(i)->field != offset)
        i++;
    g->measured[i] = true;
    return machine_key_at(i);
}

void found(struct measuring *g, uint32_t *field, double value)
{
    if (!(value > 0) || !isfinite(value))
        return;
    const struct machine_key *key = note_measured(g, field);
    double whole = floor(value + 0.5);
    whole = whole < key->least ? key->least : whole;
    *field = (uint32_t)(whole > key->most ? key->most : whole);
}

static void found_switch(struct measuring *g, uint32_t *field, uint32_t value)
{
    note_measured(g, field);
    *field = value;
}

/* As many ports as begin in a cycle: those of the machine that it began with, the first ones of
 * them, or others besides that general instructions use. */
static void found_ports(struct measuring *g, uint32_t *ports, double a_cycle, uint32_t others)
{
    unsigned wanted = (unsigned)(a_cycle + 0.5);
    uint32_t list = *ports;
    if (!(a_cycle > 0) || wanted > MACHINE_PORTS)
        return;
    wanted = wanted ? wanted : 1;
    while ((unsigned)__builtin_popcount(list) > wanted)
        list &= ~(1u << (31 - __builtin_clz(list)));
    for (unsigned i = 0; i < MACHINE_PORTS && (unsigned)__builtin_popcount(list) < wanted; i++)
        list |= others & 1u << i;
    found_switch(g, ports, list);
}

static void find_classes(struct measuring *g)
{
    const struct form *f;
    for (unsigned i = 0; (f = form_at(i)); i++) {
        if (!form_runs(f))
            continue;
        double latency = measure_latency(&g->t, f), each = measure_each(&g->t, f);
        bool general = f->values == FORM_GENERAL;
        found(g, &g->m.latency[f->class], latency);
        if (f->unpipelined)
            found(g, &g->m.busy[f->class], each);
        else
            found_ports(g, &g->m.ports[f->class], 1 / each,
                        g->m.ports[general ? UOP_ALU : UOP_VEC_ALU]);
    }
    for (unsigned wide = 0; wide < 2; wide++) {
        struct measured_division d = measure_division(&g->t, wide);
        unsigned class = wide ? UOP_DIV64 : UOP_DIV32;
        found(g, &g->m.latency[class], d.latency);
        found(g, &g->m.busy[class], d.each);
    }
    found(g, &g->m.latency[UOP_CROSS], measure_crossing(&g->t));
    found_ports(g, &g->m.ports[UOP_BRANCH], measure_branches(&g->t), g->m.ports[UOP_ALU]);
}

static void find_memory(struct measuring *g)
{
    struct machine *m = &g->m;
    enum { WORD = 8 };
    uint32_t all = (1u << MACHINE_PORTS) - 1, taken = 0;
    for (unsigned i = 0; i < UOP_CLASS_COUNT; i++)
        taken |= m->ports[i];
    found_ports(g, &m->ports[UOP_LOAD], measure_loads(&g->t, WORD), all & ~taken);
    found(g, &m->l1d_bank_loads, measure_loads(&g->t, 0));
    double stores = measure_stores(&g->t);
    found_ports(g, &m->ports[UOP_STORE_DATA], stores, all & ~taken);
    found_ports(g, &m->ports[UOP_STORE_ADDRESS], stores, all & ~taken);
    found(g, &m->store_drain_width, stores);
    found_switch(g, &m->memory_renaming, measure_renaming(&g->t));
    found(g, &m->forward_latency, measure_forwarding(&g->t));
    found(g, &m->lock_latency, measure_lock(&g->t));
    find_caches(g);
}

static void find_targets(struct measuring *g)
{
    struct machine *m = &g->m;
    struct measured_targets targets = measure_targets(&g->t);
    struct measured_bubbles bubbles = measure_bubbles(&g->t);
    found(g, &m->btb_l1_size, targets.entries);
    found(g, &m->btb_l2_penalty, targets.penalty);
    found(g, &m->return_penalty, bubbles.back);
    found(g, &m->indirect_penalty, bubbles.indirect);
    m->btb_l1_size -= m->btb_l1_size % m->btb_l1_ways;
}

static void find_window(struct measuring *g)
{
    struct machine *m = &g->m;
    double width = measure_nops(&g->t, 3, 120);
    found(g, &m->dispatch_width, width);
    m->retire_width = m->retire_width < m->dispatch_width ? m->dispatch_width : m->retire_width;
    m->uop_cache_width =
        m->uop_cache_width < m->dispatch_width ? m->dispatch_width : m->uop_cache_width;
    found(g, &m->fetch_width, measure_nops(&g->t, 3, 9000));
    found_switch(g, &m->macro_fusion, measure_macro_fusion(&g->t, m->dispatch_width));
    found_switch(g, &m->micro_fusion, measure_micro_fusion(&g->t, m->dispatch_width));
    found_switch(g, &m->move_elimination, measure_moves(&g->t));
    found_switch(g, &m->add_elimination, measure_adds(&g->t));
    found(g, &m->mispredict_penalty, measure_misprediction(&g->t));
    found(g, &m->rob_size, measure_window(&g->t, WINDOW_NOPS));
    found(g, &m->lq_size, measure_window(&g->t, WINDOW_LOADS));
    found(g, &m->sq_size, measure_window(&g->t, WINDOW_STORES));
}

/* What contradicts itself keeps the values that the machine began with. */
static void agree(struct measuring *g, const struct machine *before)
{
    struct machine *m = &g->m;
    if (m->retire_width == 11)
        m->retire_width = 12;
    if (!machine_check(m, NULL)) {
#define BACK(name) m->name = before->name
        BACK(l1d_latency), BACK(l2_latency), BACK(l3_latency), BACK(memory_latency);
        BACK(l1i_size), BACK(l1d_size), BACK(l2_size), BACK(l3_size), BACK(rob_size);
        BACK(l1i_ways), BACK(l1d_ways), BACK(l2_ways), BACK(l3_ways);
#undef BACK
    }
}

bool calibrate(struct machine *m, bool measured[], double seconds, struct err *e)
{
    struct measuring g = {.m = *m, .measured = measured};
    bool ok = timing_make(&g.t, MEASURE_CHASE, seconds, e);
    if (ok) {
        find_window(&g);
        find_targets(&g);
        find_classes(&g);
        find_memory(&g);
        if (g.t.failed)
            ok = err_set(e, ERR_INTERNAL, "this machine cannot be measured: its memory's "
                                          "protection cannot be changed (mprotect)");
        agree(&g, m);
        *m = g.m;
    }
    timing_free(&g.t);
    return ok;
}
