/* Processes, with their address space and JIT symbols. */
#include "profile/kind/kind.h"

/* Addresses are stored as differences modulo 2^64, so any order round-trips. */
static void put_process(struct buf *b, const struct profile_process *r)
{
    buf_put_sleb(b, r->pid);
    buf_put_sleb(b, r->ppid);
    buf_put_string(b, r->name);
    buf_put_string(b, r->command);
    buf_put_uleb(b, r->start_ns);
    buf_put_uleb(b, r->end_ns);
    buf_put_uleb(b, r->end);
    buf_put_uleb(b, r->epochs);
    buf_put_uleb(b, r->mechanism);
    buf_put_uleb(b, r->arm_error);
    buf_put_uleb(b, r->exclude_kernel);
    write_counts(b, r->drops, 0, DROP_COUNT);
    uint64_t last = 0;
    buf_put_uleb(b, r->map_count);
    for (uint32_t i = 0; i < r->map_count; i++) {
        const struct profile_map *m = &r->maps[i];
        buf_put_uleb(b, m->image);
        buf_put_uleb(b, m->epoch_first);
        buf_put_uleb(b, m->epoch_last);
        buf_put_sleb(b, (int64_t)(m->lo - last));
        buf_put_sleb(b, (int64_t)(m->hi - m->lo));
        buf_put_sleb(b, (int64_t)(m->lo - m->bias));
        last = m->lo;
    }
    last = 0;
    buf_put_uleb(b, r->jit_count);
    for (uint32_t i = 0; i < r->jit_count; i++) {
        buf_put_uleb(b, r->jit[i].address - last);
        buf_put_uleb(b, r->jit[i].size);
        buf_put_string(b, r->jit[i].name);
        last = r->jit[i].address;
    }
}

static void put(struct buf *b, const struct encoder *x)
{
    buf_put_uleb(b, x->p->process_count);
    for (uint32_t i = 0; i < x->p->process_count; i++)
        put_process(b, &x->p->processes[i]);
}

static bool check(const struct profile *p, struct err *e)
{
    for (uint32_t i = 0; i < p->process_count; i++) {
        const struct profile_process *r = &p->processes[i];
        for (uint32_t k = 0; k < r->map_count; k++)
            if (r->maps[k].image >= p->image_count)
                return err_set(e, ERR_INTERNAL,
                               "the profile cannot be written: map %u of process %u "
                               "is of no image",
                               k, i);
        for (uint32_t k = 1; k < r->jit_count; k++)
            if (r->jit[k].address < r->jit[k - 1].address)
                return err_set(e, ERR_INTERNAL,
                               "the profile cannot be written: the JIT symbols of "
                               "process %u are not sorted",
                               i);
    }
    return true;
}

static void get_maps(struct decoder *d, struct cursor *c, struct profile_process *r)
{
    uint64_t last = 0;
    uint32_t count = cursor_count(c, 6, "a number of maps that fits the section");
    r->maps = read_array(c, count, sizeof *r->maps);
    for (; r->map_count < count && !c->failed; r->map_count++) {
        struct profile_map *m = &r->maps[r->map_count];
        uint64_t images = d->p->image_count;
        if (!images)
            cursor_fail(c, "no map, as there is no image");
        m->image = (uint32_t)cursor_uleb(c, images - 1, "the index of an image");
        m->epoch_first = read_u32(c, "an epoch");
        m->epoch_last = read_u32(c, "an epoch");
        m->lo = last + (uint64_t)cursor_sleb(c, "where a map begins");
        m->hi = m->lo + (uint64_t)cursor_sleb(c, "how long a map is");
        m->bias = m->lo - (uint64_t)cursor_sleb(c, "the bias of a map");
        last = m->lo;
    }
}

static void get_jit(struct cursor *c, struct profile_process *r)
{
    uint64_t last = 0;
    uint32_t count = cursor_count(c, 3, "a number of JIT symbols that fits the section");
    r->jit = read_array(c, count, sizeof *r->jit);
    for (; r->jit_count < count && !c->failed; r->jit_count++) {
        struct profile_jit_symbol *s = &r->jit[r->jit_count];
        last += cursor_uleb(c, UINT64_MAX - last, "an address not below the one before it");
        s->address = last;
        s->size = read_u64(c, "the size of a JIT symbol");
        s->name = cursor_string(c, "the name of a JIT symbol");
    }
}

static void get(struct decoder *d, struct cursor *c)
{
    struct profile *p = d->p;
    uint32_t count = cursor_count(c, 13 + d->drops.count, "a number of processes that fits");
    p->processes = read_array(c, count, sizeof *p->processes);
    while (p->process_count < count && !c->failed) {
        struct profile_process *r = &p->processes[p->process_count++];
        r->pid = read_i32(c, "a process id");
        r->ppid = read_i32(c, "a parent's process id");
        r->name = cursor_string(c, "the name of a process");
        r->command = cursor_string(c, "the command of a process");
        r->start_ns = read_u64(c, "when a process began");
        r->end_ns = read_u64(c, "when a process ended");
        r->end = (uint32_t)cursor_uleb(c, PROFILE_END_KILLED, "how a process ended, 0 to 3");
        r->epochs = read_u32(c, "the number of epochs");
        r->mechanism = read_u32(c, "a mechanism");
        r->arm_error = read_u32(c, "an error number");
        r->exclude_kernel = read_u32(c, "whether the kernel is excluded");
        read_counts(c, &d->drops, r->drops);
        get_maps(d, c, r);
        get_jit(c, r);
    }
}

/* With all that other sections say of a process. */
static bool merge(struct merger *m)
{
    struct profile *into = m->into, *from = m->from;
    struct profile_process *processes =
        extend_array(into->processes, into->process_count, from->process_count, sizeof *processes);
    if (!processes)
        return false;
    into->processes = processes;
    for (uint32_t i = 0; i < from->process_count; i++) {
        struct profile_process *r = &processes[into->process_count++];
        *r = from->processes[i];
        from->processes[i] = (struct profile_process){0};
        for (uint32_t k = 0; k < r->map_count; k++)
            r->maps[k].image = m->image_of[r->maps[k].image];
    }
    for (uint32_t i = 0; i < into->process_count; i++) {
        uint64_t later = m->recordings.later_ns[i];
        processes[i].recording = m->recordings.number[i];
        processes[i].start_ns += later;
        processes[i].end_ns += processes[i].end_ns ? later : 0;
        processes[i].heap_peak_ns += processes[i].heap_peak_ns ? later : 0;
    }
    return true;
}

const struct section_kind kind_processes = {
    .type = {4, "processes", SECTION_REQUIRED},
    .about = "with their address space and JIT symbols",
    .check = check,
    .put = put,
    .get = get,
    .merge = merge,
};
