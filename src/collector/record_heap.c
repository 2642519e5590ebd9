#include "collector/record_heap.h"

#include <stdlib.h>

#include "base/saturate.h"

#define MIB (1024.0 * 1024.0)

static void put_mapped(struct buf *b, const struct profile *p)
{
    uint64_t bytes = 0, calls = 0;
    for (uint32_t i = 0; i < p->process_count; i++) {
        bytes = add_saturated(bytes, p->processes[i].heap_mapped);
        calls = add_saturated(calls, p->processes[i].heap_mappings);
    }
    if (calls)
        buf_printf(b,
                   "%.1f MiB were mapped by the program itself, by %llu call%s of mmap and sbrk: "
                   "counted as allocations where they were mapped; what an allocator of its own "
                   "gives of them is not seen\n",
                   (double)bytes / MIB, (unsigned long long)calls, calls == 1 ? "" : "s");
}

/* By process, the most that it had live. NULL without memory. */
static uint64_t *peaks_get(const struct profile *p)
{
    uint32_t peak = profile_metric_of_heap(p) + HEAP_PEAK;
    uint64_t *peaks = calloc((size_t)p->process_count + 1, sizeof *peaks);
    for (uint32_t i = 0; peaks && i < p->thread_count; i++) {
        const struct profile_thread *t = &p->threads[i];
        for (uint32_t k = 0; k < t->node_count; k++)
            peaks[t->process] = add_saturated(peaks[t->process], t->nodes[k].more[peak - 1]);
    }
    return peaks;
}

/* An allocator has overhead, threads have stacks, and the peak is an estimate: less than a quarter,
 * or than LEAST, is not worth a word. */
static void put_unexplained(struct buf *b, const struct profile *p)
{
    enum { LEAST = 4 << 20, SAMPLES = 4 };
    double grown = 0, seen = 0, period = (double)p->metrics[profile_metric_of_heap(p)].period;
    uint64_t *peaks = peaks_get(p), processes = 0;
    for (uint32_t i = 0; peaks && i < p->process_count; i++) {
        double more = (double)p->processes[i].heap_grown,
               live = (double)peaks[i] * period;
        if (more - live < (double)LEAST + (double)SAMPLES * period || more - live < more / 4)
            continue;
        processes++;
        grown += more;
        seen += live;
    }
    free(peaks);
    if (processes)
        buf_printf(b,
                   "%.1f MiB of %.1f MiB by which the memory of %llu process%s grew are not "
                   "explained by allocations that were seen: mapped by system calls of their "
                   "own, stacks, or the allocator's overhead\n",
                   (grown - seen) / MIB, grown / MIB, (unsigned long long)processes,
                   processes == 1 ? "" : "es");
}

void record_heap_put(struct buf *b, const struct profile *p)
{
    if (profile_metric_of_heap(p) == UINT32_MAX)
        return;
    put_mapped(b, p);
    put_unexplained(b, p);
}
