/* The programs in the kernel. At a sample of the CPU's clock, the user's stack is walked:
 *
 *     cpu-clock ──> machine_walk ──┬─ the walk reaches the root: one small record     ──> ring
 *                                  └─ else: a record of what is missing, and perf's   ──> ring
 *                                     own sample, with registers and a piece of stack
 *
 * It returns 0 if perf is to write no sample. So nothing is lost by what it cannot do. The others
 * are about waits (waits.bpf.inc).
 *
 * Context: the kernel's timer interrupt; no two at a time on one CPU.
 * Ownership: as in stack.bpf.inc. */
#include <linux/bpf_perf_event.h>

#include "collector/machine/bpf/stack.bpf.inc"
#include "collector/machine/bpf/waits.bpf.inc"

/* The kernel's helpers ask for a licence that agrees with its own: this file and what it includes
 * may be used by the GPL, version 2, as well as by the project's licence. */
char walk_license[] SEC("license") = "GPL";

SEC("perf_event")
int machine_walk(struct bpf_perf_event_data *ctx)
{
    uint32_t zero = 0;
    struct scratch *s = bpf_map_lookup_elem(&scratches, &zero);
    struct walk w;
    if (!s)
        return 1;
    user_walk(s, &w, bpf_get_current_task_btf(), WALK_CPU);
    if (s->record.h.reason == WALK_DONE)
        return sample_write(ctx, &s->record, w.count);
    record_write(ctx, &s->record, 0);
    return 1;
}
