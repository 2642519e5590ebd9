#include "profile/sections.h"

#include <stdlib.h>
#include <string.h>

static uint64_t get(struct cursor *c, const char *what)
{
    return cursor_uleb(c, UINT64_MAX, what);
}

static bool is_there(const struct decoder *d, enum section_type type)
{
    return d->file.known[type].offset != 0;
}

/* ---- phases ---- */

bool section_phases_needed(const struct profile *p)
{
    for (uint32_t i = 0; i < p->process_count; i++)
        if (p->processes[i].pauses || p->processes[i].paused_ns || p->processes[i].phases_refused)
            return true;
    return p->phase_count > 0;
}

void section_phases_put(struct section_out *out, const struct profile *p)
{
    struct buf *b = &out->raw;
    out->type = SECTION_PHASES;
    out->optional = true;
    buf_put_uleb(b, p->phase_count);
    for (uint32_t i = 0; i < p->phase_count; i++) {
        const struct profile_phase *phase = &p->phases[i];
        size_t length = strlen(phase->name);
        buf_put_uleb(b, length);
        buf_put(b, phase->name, length);
        buf_put_uleb(b, phase->outer);
        buf_put_uleb(b, phase->begun);
        buf_put_uleb(b, phase->elapsed_ns);
    }
    for (uint32_t i = 0; i < p->thread_count; i++)
        buf_put_uleb(b, p->threads[i].phase);
    for (uint32_t i = 0; i < p->process_count; i++) {
        buf_put_uleb(b, p->processes[i].pauses);
        buf_put_uleb(b, p->processes[i].paused_ns);
        buf_put_uleb(b, p->processes[i].phases_refused);
    }
}

bool section_phases_get(struct decoder *d)
{
    struct profile *p = d->p;
    struct cursor c;
    if (!is_there(d, SECTION_PHASES))
        return true;
    if (!decode_open(d, SECTION_PHASES, &c))
        return false;
    uint32_t count = cursor_count(&c, 4, "a number of phases that fits the section");
    p->phases = decode_array(&c, count, sizeof *p->phases);
    for (; p->phase_count < count && !c.failed; p->phase_count++) {
        struct profile_phase *phase = &p->phases[p->phase_count];
        phase->name = cursor_string(&c, "the name of a phase");
        if (!phase->name)
            break;
        phase->outer = (uint32_t)cursor_uleb(&c, p->phase_count, "a phase before this one");
        phase->begun = get(&c, "how often a phase began");
        phase->elapsed_ns = get(&c, "how long a phase lasted");
    }
    for (uint32_t i = 0; i < p->thread_count; i++)
        p->threads[i].phase = (uint32_t)cursor_uleb(&c, p->phase_count, "the phase of a thread");
    for (uint32_t i = 0; i < p->process_count; i++) {
        p->processes[i].pauses = get(&c, "a number of pauses");
        p->processes[i].paused_ns = get(&c, "the time in pauses");
        p->processes[i].phases_refused = get(&c, "a number of refused phases");
    }
    return decode_close(&c);
}

/* ---- heap ---- */

bool section_heap_needed(const struct profile *p)
{
    return strcmp(p->trigger, "malloc") == 0;
}

void section_heap_put(struct section_out *out, const struct profile *p)
{
    struct buf *b = &out->raw;
    out->type = SECTION_HEAP;
    out->optional = true;
    for (uint32_t i = 0; i < p->process_count; i++) {
        buf_put_uleb(b, p->processes[i].heap_peak_ns);
        buf_put_uleb(b, p->processes[i].heap_missed);
    }
    for (uint32_t i = 0; i < p->thread_count; i++)
        for (uint32_t k = 0; k < p->threads[i].node_count; k++)
            buf_put_uleb(b, p->threads[i].nodes[k].live);
    for (uint32_t i = 0; i < p->thread_count; i++)
        for (uint32_t k = 0; k < p->threads[i].node_count; k++)
            buf_put_uleb(b, p->threads[i].nodes[k].peak);
}

bool section_heap_get(struct decoder *d)
{
    struct profile *p = d->p;
    struct cursor c;
    if (!is_there(d, SECTION_HEAP))
        return true;
    if (!decode_open(d, SECTION_HEAP, &c))
        return false;
    for (uint32_t i = 0; i < p->process_count; i++) {
        p->processes[i].heap_peak_ns = get(&c, "when the most was live");
        p->processes[i].heap_missed = get(&c, "a number of missed allocations");
    }
    for (uint32_t i = 0; i < p->thread_count; i++)
        for (uint32_t k = 0; k < p->threads[i].node_count && !c.failed; k++)
            p->threads[i].nodes[k].live = get(&c, "what a node has live at the end");
    for (uint32_t i = 0; i < p->thread_count; i++)
        for (uint32_t k = 0; k < p->threads[i].node_count && !c.failed; k++)
            p->threads[i].nodes[k].peak = get(&c, "what a node had live at the peak");
    return decode_close(&c);
}

/* ---- sandboxes ---- */

bool section_sandboxes_needed(const struct profile *p)
{
    return profile_sandboxed(p) != 0;
}

void section_sandboxes_put(struct section_out *out, const struct profile *p)
{
    out->type = SECTION_SANDBOXES;
    out->optional = true;
    for (uint32_t i = 0; i < p->process_count; i++) {
        buf_put_uleb(&out->raw, p->processes[i].sandboxed ? 1 + p->processes[i].sandbox_silenced : 0);
        buf_put_uleb(&out->raw, p->processes[i].sandbox_threads);
        buf_put_uleb(&out->raw, p->processes[i].sandbox_processes);
    }
}

bool section_sandboxes_get(struct decoder *d)
{
    struct profile *p = d->p;
    struct cursor c;
    if (!is_there(d, SECTION_SANDBOXES))
        return true;
    if (!decode_open(d, SECTION_SANDBOXES, &c))
        return false;
    for (uint32_t i = 0; i < p->process_count; i++) {
        uint64_t silenced = get(&c, "a number of threads that a sandbox silenced");
        p->processes[i].sandboxed = silenced != 0;
        p->processes[i].sandbox_silenced = silenced ? silenced - 1 : 0;
        p->processes[i].sandbox_threads = get(&c, "a number of threads in a sandbox");
        p->processes[i].sandbox_processes = get(&c, "a number of processes in a sandbox");
    }
    return decode_close(&c);
}

/* ---- CPU time ---- */

bool section_cpu_time_needed(const struct profile *p)
{
    for (uint32_t i = 0; i < p->process_count; i++)
        if (p->processes[i].early_cpu_ns)
            return true;
    return p->kernel_cpu_ns != 0;
}

void section_cpu_time_put(struct section_out *out, const struct profile *p)
{
    out->type = SECTION_CPU_TIME;
    out->optional = true;
    buf_put_uleb(&out->raw, p->kernel_cpu_ns);
    for (uint32_t i = 0; i < p->process_count; i++)
        buf_put_uleb(&out->raw, p->processes[i].early_cpu_ns);
}

bool section_cpu_time_get(struct decoder *d)
{
    struct profile *p = d->p;
    struct cursor c;
    if (!is_there(d, SECTION_CPU_TIME))
        return true;
    if (!decode_open(d, SECTION_CPU_TIME, &c))
        return false;
    p->kernel_cpu_ns = get(&c, "the CPU time that the kernel accounts");
    for (uint32_t i = 0; i < p->process_count; i++)
        p->processes[i].early_cpu_ns = get(&c, "the CPU time before the first sample could come");
    return decode_close(&c);
}

/* ---- what signals have cost ---- */

bool section_delivered_needed(const struct profile *p)
{
    for (uint32_t i = 0; i < p->thread_count; i++)
        if (p->threads[i].deliveries || p->threads[i].delivered_ns || p->threads[i].switches || p->threads[i].switched_ns)
            return true;
    return false;
}

void section_delivered_put(struct section_out *out, const struct profile *p)
{
    out->type = SECTION_DELIVERED;
    out->optional = true;
    for (uint32_t i = 0; i < p->thread_count; i++) {
        buf_put_uleb(&out->raw, p->threads[i].delivered_ns);
        buf_put_uleb(&out->raw, p->threads[i].switches);
        buf_put_uleb(&out->raw, p->threads[i].switched_ns);
    }
}

bool section_delivered_get(struct decoder *d)
{
    struct profile *p = d->p;
    struct cursor c;
    for (uint32_t i = 0; i < p->thread_count; i++)
        p->threads[i].delivered_ns = p->threads[i].deliveries * p->delivery_ns;
    if (!is_there(d, SECTION_DELIVERED))
        return true;
    if (!decode_open(d, SECTION_DELIVERED, &c))
        return false;
    for (uint32_t i = 0; i < p->thread_count; i++) {
        p->threads[i].delivered_ns = get(&c, "what a thread's signals have cost");
        p->threads[i].switches = get(&c, "a number of switches");
        p->threads[i].switched_ns = get(&c, "what switches have cost");
    }
    return decode_close(&c);
}
